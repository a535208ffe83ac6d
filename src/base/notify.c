/* notify.c: see notify.h. */
#include "base/notify.h"

#include "base/cleanup.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

void notify_tell(const char *state)
{
	const char *name = getenv("NOTIFY_SOCKET");
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	size_t length = name ? strlen(name) : 0;
	_cleanup_close_ int fd = -1;

	if (length < 2 || length >= sizeof(address.sun_path) || (*name != '/' && *name != '@'))
		return;
	memcpy(address.sun_path, name, length);
	if (*name == '@')
		address.sun_path[0] = 0;
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd >= 0)
		sendto(fd, state, strlen(state), MSG_NOSIGNAL | MSG_DONTWAIT, (struct sockaddr *)&address,
		       (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length));
}
