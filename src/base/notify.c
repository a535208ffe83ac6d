/* notify.c: see notify.h. */
#include "base/notify.h"

#include "base/cleanup.h"

#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* Value: the address' length; 0: nobody wants to be told. */
static socklen_t find_manager(struct sockaddr_un *ret)
{
	const char *name = getenv("NOTIFY_SOCKET");
	size_t length = name ? strlen(name) : 0;

	*ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if (length < 2 || length >= sizeof(ret->sun_path) || (*name != '/' && *name != '@'))
		return 0;
	memcpy(ret->sun_path, name, length);
	if (*name == '@')
		ret->sun_path[0] = 0;
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
}

/* With a descriptor, unless `given` is below 0. Value: it has been sent. */
static bool send_state(const char *state, int given)
{
	_Alignas(struct cmsghdr) char room[CMSG_SPACE(sizeof(int))] = { 0 };
	struct sockaddr_un address;
	socklen_t length = find_manager(&address);
	struct iovec io = { (char *)(uintptr_t)state, strlen(state) };
	struct msghdr msg = { .msg_name = &address, .msg_namelen = length, .msg_iov = &io, .msg_iovlen = 1 };
	_cleanup_close_ int fd = length ? socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0) : -1;
	struct cmsghdr *c;

	if (fd < 0)
		return false;
	if (given >= 0) {
		msg.msg_control = room;
		msg.msg_controllen = sizeof(room);
		c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &given, sizeof(int));
	}
	return sendmsg(fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0;
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
