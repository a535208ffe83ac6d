/* notify.c: see notify.h. */
#include "base/notify.h"

#include "base/cleanup.h"
#include "base/send_fds.h"

#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* Value: whether there is somebody who wants to be told. */
static bool find_manager(struct sockaddr_un *ret, socklen_t *ret_length)
{
	const char *name = getenv("NOTIFY_SOCKET");
	size_t length = name ? strlen(name) : 0;

	*ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if (length < 2 || length >= sizeof(ret->sun_path) || (*name != '/' && *name != '@'))
		return false;
	memcpy(ret->sun_path, name, length);
	if (*name == '@')
		ret->sun_path[0] = 0;
	*ret_length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
	return true;
}

/* With a descriptor, unless `given` is below 0. Value: it has been sent. */
static bool send_state(const char *state, int given)
{
	_cleanup_close_ int fd = -1;
	struct sockaddr_un address;
	socklen_t length;

	if (!find_manager(&address, &length))
		return false;
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	return fd >= 0 && !connect(fd, (struct sockaddr *)&address, length) &&
	       send_fd(fd, state, strlen(state), given, MSG_DONTWAIT) >= 0;
}

void notify_tell(const char *state)
{
	send_state(state, -1);
}

/* It closes the descriptor when it has come to that: sd_notify_barrier(3). */
void notify_barrier(int timeout_ms)
{
	int ends[2];
	struct pollfd end;

	if (pipe2(ends, O_CLOEXEC))
		return;
	if (send_state("BARRIER=1", ends[1])) {
		close(ends[1]);
		ends[1] = -1;
		end = (struct pollfd){ .fd = ends[0] };
		poll(&end, 1, timeout_ms);
	}
	close(ends[0]);
	if (ends[1] >= 0)
		close(ends[1]);
}
