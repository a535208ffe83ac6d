/* taken.c: the side that comes: what is said when it has taken over, and what it does when it cannot; see upgrade.h. */
#include "daemon/codes.h"
#include "daemon/upgrade/upgrade.h"

#include "base/clock.h"
#include "daemon/daemon.h"
#include "daemon/journal.h"
#include "daemon/log.h"
#include "daemon/upgrade/handover.h"
#include "daemon/upgrade/own.h"
#include "daemon/upgrade/version.h"

#include <stdio.h>
#include <unistd.h>

/* Why the next one could not take over and this is the one before again; NULL: it is not. */
static const char *why_back(const struct daemon *daemon)
{
	return json_string_value(handover_get(daemon->runtime.handover, "back"));
}

static uint64_t resumed_ns;

void upgrade_resumed(void)
{
	resumed_ns = clock_now_ns();
}

static double stopped_ms(const struct daemon *daemon)
{
	return (double)(resumed_ns - handover_stopped_ns(daemon->runtime.handover)) / 1e6;
}

json_t *upgrade_answer(struct daemon *daemon)
{
	const char *from = json_string_value(handover_get(daemon->runtime.handover, "version"));

	if (why_back(daemon))
		return json_pack("{s:b s:s s:s}", "ok", 0, "code", code_word(CODE_UPGRADE), "error", why_back(daemon));
	return json_pack("{s:b s:s s:s s:f s:i}", "ok", 1, "version", daemon_version(), "from", from ? from : "",
			 "pause_ms", stopped_ms(daemon), "pid", (int)getpid());
}

void upgrade_taken(struct daemon *daemon)
{
	const char *from = json_string_value(handover_get(daemon->runtime.handover, "version"));

	if (why_back(daemon)) {
		log_line("not upgraded: %s; meted %s goes on after %.1f ms", why_back(daemon), daemon_version(),
			 stopped_ms(daemon));
		journal_add(daemon, JOURNAL_DAEMON, NULL, NULL, "not upgraded: %s", why_back(daemon));
		return;
	}
	log_line("meted %s has taken over from %s: no turns were given for %.1f ms", daemon_version(),
		 from ? from : "?", stopped_ms(daemon));
	journal_add(daemon, JOURNAL_DAEMON, NULL, NULL, "upgraded from meted %s to %s, no turns for %.1f ms",
		    from ? from : "?", daemon_version(), stopped_ms(daemon));
}

void upgrade_go_back(struct handover *h, const char *why)
{
	const char *binary = json_string_value(handover_get(h, "binary"));
	json_int_t fd = json_integer_value(handover_get(h, "own_file"));
	char text[1200];
	int file;

	if (!binary || fd <= 0 || handover_get(h, "back"))
		return;
	snprintf(text, sizeof(text), "meted %s could not take over: %s", daemon_version(), why);
	file = handover_return(h, text);
	if (file >= 0)
		own_become(NULL, (int)fd, binary, file);
}
