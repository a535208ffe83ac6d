/* service.c: the service manager's side of meted. */
#include "daemon/settings/service.h"

#include "base/cleanup.h"
#include "base/notify.h"
#include "daemon/daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define FIRST_SOCKET 3 /* sd_listen_fds(3): SD_LISTEN_FDS_START */
#define SOCKETS_MAX 16
#define SOON_MS 1000u

static int sockets[SOCKETS_MAX];
static unsigned int socket_count;
static struct timer *watchdog;

/* What is not for this process (LISTEN_PID) was left behind in the environment by another. */
static unsigned int inherited(void)
{
	const char *pid = getenv("LISTEN_PID"), *count = getenv("LISTEN_FDS");
	long n = pid && count && strtol(pid, NULL, 10) == (long)getpid() ? strtol(count, NULL, 10) : 0;

	unsetenv("LISTEN_PID");
	unsetenv("LISTEN_FDS");
	unsetenv("LISTEN_FDNAMES");
	return n < 0 ? 0 : n > SOCKETS_MAX ? SOCKETS_MAX : (unsigned int)n;
}

static void find_sockets(void)
{
	static bool found;

	if (found)
		return;
	found = true;
	socket_count = inherited();
	for (unsigned int i = 0; i < socket_count; i++) {
		sockets[i] = FIRST_SOCKET + (int)i;
		fcntl(sockets[i], F_SETFD, FD_CLOEXEC);
		fcntl(sockets[i], F_SETFL, fcntl(sockets[i], F_GETFL) | O_NONBLOCK);
	}
}

static bool is_at(int fd, const char *path)
{
	struct sockaddr_un address = { 0 };
	socklen_t length = sizeof(address);
	int listens = 0;
	socklen_t size = sizeof(listens);

	return fd >= 0 && !getsockname(fd, (struct sockaddr *)&address, &length) && address.sun_family == AF_UNIX &&
	       !strncmp(address.sun_path, path, sizeof(address.sun_path)) &&
	       !getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) && listens;
}

int service_take_socket(const char *path)
{
	find_sockets();
	for (unsigned int i = 0; i < socket_count; i++)
		if (is_at(sockets[i], path))
			return steal_fd(&sockets[i]);
	return -1;
}

static void on_watchdog(void *owner)
{
	(void)owner;
	notify_tell("WATCHDOG=1");
}

/* Half of the time that is given, as sd_watchdog_enabled(3) advises. */
void service_watch(struct daemon *daemon, bool taken_over)
{
	const char *text = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
	uint64_t every_ms = text ? strtoull(text, NULL, 10) / 2000 : 0;

	if (!every_ms || (pid && strtol(pid, NULL, 10) != (long)getpid()))
		return;
	watchdog = timer_new(daemon->loop, on_watchdog, NULL);
	if (watchdog)
		timer_start(watchdog, every_ms < SOON_MS ? every_ms : SOON_MS, every_ms);
	if (!taken_over)
		notify_tell("WATCHDOG=1");
}

void service_leave(void)
{
	timer_free(watchdog);
	watchdog = NULL;
}
