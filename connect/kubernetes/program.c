/* program.c: see program.h. */
#include "connect/kubernetes/program.h"

#include "base/clean_text.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>

void program_log(const char *fmt, ...)
{
	char text[1280];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	clean_text_line(text);
	fprintf(stderr, "%s: %s\n", program_invocation_short_name, text);
}

static void leave(struct watch *w, uint32_t events)
{
	*(bool *)w->owner = true;
}

int program_watch_signals(struct loop *loop, struct watch *w, bool *ended)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	*w = (struct watch){ .fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK), .ready = leave, .owner = ended };
	return w->fd < 0 ? -errno : loop_add(loop, w, EPOLLIN);
}
