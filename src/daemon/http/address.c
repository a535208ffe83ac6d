/* address.c: see address.h. */
#include "daemon/http/address.h"

#include "base/cleanup.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
		snprintf(error, size, "it must be ADDRESS:PORT, as 127.0.0.1:7480 or [::1]:7480");
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

/* The address in digits. Value: 0 with *ret, to be freed, or -EINVAL. */
static int resolve(const char *text, struct addrinfo **ret, char *error, size_t size)
{
	struct addrinfo hints = { .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE,
				  .ai_socktype = SOCK_STREAM };
	char host[128], port[8];
	int r = split_address(text, host, port, error, size);

	if (r)
		return r;
	if (!getaddrinfo(*host ? host : NULL, port, &hints, ret))
		return 0;
	snprintf(error, size, "it must be an address of this machine and a port, in digits, as 127.0.0.1:7480");
	return -EINVAL;
}

/* What a bind that failed comes from, and the remedy. */
static void say_refused(int r, char *error, size_t size)
{
	static const struct {
		int r;
		const char *text;
	} rows[] = {
		{ -EADDRNOTAVAIL, "this machine has no such address: `ip address` lists those that it has" },
		{ -EADDRINUSE, "another program listens there: `ss -ltnp` names it; choose another port, or end it" },
		{ -EACCES, "ports below 1024 need CAP_NET_BIND_SERVICE: choose a port from 1024 on" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (rows[i].r == r) {
			snprintf(error, size, "%s", rows[i].text);
			return;
		}
	snprintf(error, size, "cannot listen there: %s: choose another address or port", strerror(-r));
}

static int bind_to(const struct addrinfo *a)
{
	_cleanup_close_ int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int one = 1;

	if (fd >= 0)
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	return fd < 0 || bind(fd, a->ai_addr, a->ai_addrlen) ? -errno : steal_fd(&fd);
}

int address_listen(const char *text, bool *ret_loopback, char *address, size_t address_size, char *error, size_t size)
{
	struct sockaddr_storage bound;
	socklen_t length = sizeof(bound);
	struct addrinfo *found = NULL;
	int fd, r = resolve(text, &found, error, size);

	if (r)
		return r;
	fd = bind_to(found);
	*ret_loopback = address_is_loopback(found->ai_addr);
	freeaddrinfo(found);
	if (fd >= 0 && !listen(fd, BACKLOG) && !getsockname(fd, (struct sockaddr *)&bound, &length)) {
		address_write((struct sockaddr *)&bound, address, address_size);
		return fd;
	}
	r = fd < 0 ? fd : -errno;
	if (fd >= 0)
		close(fd);
	say_refused(r, error, size);
	return r;
}

static in_port_t port_of(const struct sockaddr *a)
{
	return a->sa_family == AF_INET6 ? ((const struct sockaddr_in6 *)(const void *)a)->sin6_port
					: ((const struct sockaddr_in *)(const void *)a)->sin_port;
}

static bool is_any(const struct sockaddr *a)
{
	if (a->sa_family == AF_INET6)
		return IN6_IS_ADDR_UNSPECIFIED(&((const struct sockaddr_in6 *)(const void *)a)->sin6_addr);
	return ((const struct sockaddr_in *)(const void *)a)->sin_addr.s_addr == INADDR_ANY;
}

/* Who listens at `own` is in the way of `a`. */
static bool covers(const char *own, const struct sockaddr *a)
{
	struct addrinfo *found = NULL;
	char one[80], other[80], error[200];
	bool same;

	if (!own || !*own || resolve(own, &found, error, sizeof(error)))
		return false;
	address_write(a, one, sizeof(one));
	address_write(found->ai_addr, other, sizeof(other));
	same = !strcmp(one, other) ||
	       (port_of(a) == port_of(found->ai_addr) && (is_any(a) || is_any(found->ai_addr)));
	freeaddrinfo(found);
	return same;
}

int address_try(const char *text, const char *own, bool *ret_loopback, char *error, size_t size)
{
	struct addrinfo *found = NULL;
	int r = resolve(text, &found, error, size), fd;

	if (r)
		return r;
	*ret_loopback = address_is_loopback(found->ai_addr);
	fd = bind_to(found);
	if (fd >= 0)
		close(fd);
	else if (fd != -EADDRINUSE || !covers(own, found->ai_addr))
		say_refused(r = fd, error, size);
	freeaddrinfo(found);
	return r;
}
