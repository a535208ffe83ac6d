/* address.c: see address.h. */
#include "daemon/http/address.h"

#include "base/cleanup.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BACKLOG 64

void address_write(const struct sockaddr *a, char *text, size_t size)
{
	char host[INET6_ADDRSTRLEN] = "?", port[16] = "?";
	bool six = a->sa_family == AF_INET6;

	getnameinfo(a, six ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in), host, sizeof(host), port,
		    sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV);
	snprintf(text, size, six ? "[%s]:%s" : "%s:%s", host, port);
}

static int split_address(const char *text, char host[128], char port[8], char *error, size_t size)
{
	const char *colon = strrchr(text, ':');
	size_t n = colon ? (size_t)(colon - text) : 0;

	if (!colon || n >= 128 || !colon[1] || strspn(colon + 1, "0123456789") != strlen(colon + 1) ||
	    strtoul(colon + 1, NULL, 10) > 65535 || strlen(colon + 1) > 5) {
		snprintf(error, size, "--http %.100s: it must be ADDRESS:PORT, as 127.0.0.1:7480 or [::1]:7480", text);
		return -EINVAL;
	}
	if (n > 1 && *text == '[' && text[n - 1] == ']') {
		text++;
		n -= 2;
	}
	memcpy(host, text, n);
	host[n] = 0;
	if (!strcmp(host, "localhost"))
		strcpy(host, "127.0.0.1");
	if (!strcmp(host, "*"))
		*host = 0;
	strcpy(port, colon + 1);
	return 0;
}

bool address_is_loopback(const struct sockaddr *a)
{
	const struct sockaddr_in *four = (const void *)a;
	const struct sockaddr_in6 *six = (const void *)a;

	if (a->sa_family == AF_INET)
		return ntohl(four->sin_addr.s_addr) >> 24 == 127;
	return a->sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&six->sin6_addr);
}

int address_listen(const char *text, bool *ret_loopback, char *address, size_t address_size, char *error, size_t size)
{
	struct addrinfo hints = { .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE,
				  .ai_socktype = SOCK_STREAM };
	struct sockaddr_storage bound;
	socklen_t length = sizeof(bound);
	struct addrinfo *found = NULL;
	_cleanup_close_ int fd = -1;
	char host[128], port[8];
	int one = 1, r = split_address(text, host, port, error, size);

	if (r)
		return r;
	if (getaddrinfo(*host ? host : NULL, port, &hints, &found)) {
		snprintf(error, size, "--http %.100s: it must be an address of this machine and a port, in digits",
			 text);
		return -EINVAL;
	}
	fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd >= 0)
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (fd < 0 || bind(fd, found->ai_addr, found->ai_addrlen) || listen(fd, BACKLOG) ||
	    getsockname(fd, (struct sockaddr *)&bound, &length)) {
		r = -errno;
		snprintf(error, size, "--http %.100s: cannot listen there: %s: choose another address or port", text,
			 strerror(-r));
		freeaddrinfo(found);
		return r;
	}
	*ret_loopback = address_is_loopback(found->ai_addr);
	freeaddrinfo(found);
	address_write((struct sockaddr *)&bound, address, address_size);
	return steal_fd(&fd);
}
