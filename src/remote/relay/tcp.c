/*
 * tcp.c: connections, and the line that nothing protects, see line.h.
 *
 * While there is a deadline the socket does not block and poll() does; afterwards it blocks, which costs one call of
 * the kernel per read instead of three.
 */
#include "base/cleanup.h"
#include "base/clock.h"
#include "remote/relay/line.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define PARTS_MOST 4u
#define BACKLOG 256
#define NEAR_BYTES (512 << 10) /* see tcp_tune() */

/* -------------------------------------------------------------------------------------------------- descriptors --- */

int tcp_wait(int fd, short events, uint64_t until_ns)
{
	struct pollfd p = { .fd = fd, .events = events };
	int r;

	do {
		uint64_t now = clock_now_ns();

		if (until_ns && now >= until_ns)
			return -ETIMEDOUT;
		r = poll(&p, 1, until_ns ? (int)((until_ns - now) / 1000000 + 1) : -1);
	} while (r == 0 || (r < 0 && errno == EINTR));
	return r < 0 ? -errno : 0;
}

int tcp_until(int fd, uint64_t until_ns)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0)
		return -errno;
	flags = until_ns ? flags | O_NONBLOCK : flags & ~O_NONBLOCK;
	return fcntl(fd, F_SETFL, flags) < 0 ? -errno : 0;
}

ssize_t tcp_read(int fd, uint64_t until_ns, void *at, size_t bytes)
{
	ssize_t n;
	int r;

	for (;;) {
		n = recv(fd, at, bytes, 0);
		if (n >= 0)
			return n;
		if (errno == EINTR)
			continue;
		if (errno != EAGAIN || !until_ns)
			return -errno;
		r = tcp_wait(fd, POLLIN, until_ns);
		if (r < 0)
			return r;
	}
}

/* Takes what was written off the parts. Value: how many parts are done with. */
static unsigned int advance(struct iovec *parts, unsigned int n, size_t written)
{
	unsigned int i = 0;

	while (i < n && written >= parts[i].iov_len)
		written -= parts[i++].iov_len;
	if (i < n) {
		parts[i].iov_base = (uint8_t *)parts[i].iov_base + written;
		parts[i].iov_len -= written;
	}
	return i;
}

int tcp_write(int fd, uint64_t until_ns, const struct iovec *parts, unsigned int n)
{
	struct iovec left[PARTS_MOST];
	struct msghdr m = { .msg_iov = left };
	ssize_t written;
	int r;

	if (n > PARTS_MOST)
		return -EINVAL;
	memcpy(left, parts, n * sizeof(*parts));
	for (m.msg_iovlen = n; m.msg_iovlen;) {
		written = sendmsg(fd, &m, MSG_NOSIGNAL);
		if (written < 0 && errno == EAGAIN && until_ns) {
			r = tcp_wait(fd, POLLOUT, until_ns);
			if (r < 0)
				return r;
		} else if (written < 0 && errno != EINTR) {
			return -errno;
		} else if (written >= 0) {
			unsigned int done = advance(m.msg_iov, (unsigned int)m.msg_iovlen, (size_t)written);

			m.msg_iov += done;
			m.msg_iovlen -= done;
		}
	}
	return 0;
}

uint64_t tcp_round_trip_ns(int fd)
{
	struct tcp_info info = { 0 };
	socklen_t size = sizeof(info);

	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) < 0)
		return 0;
	return (uint64_t)info.tcpi_rtt * 1000;
}

static bool loopback(const struct sockaddr *a)
{
	if (a->sa_family == AF_INET)
		return (ntohl(((const struct sockaddr_in *)(const void *)a)->sin_addr.s_addr) >> 24) == 127;
	if (a->sa_family == AF_INET6) {
		const struct in6_addr *six = &((const struct sockaddr_in6 *)(const void *)a)->sin6_addr;

		return IN6_IS_ADDR_LOOPBACK(six) || (IN6_IS_ADDR_V4MAPPED(six) && six->s6_addr[12] == 127);
	}
	return a->sa_family == AF_UNIX;
}

bool tcp_is_loopback(int fd)
{
	struct sockaddr_storage a = { 0 };
	socklen_t size = sizeof(a);

	return getpeername(fd, (struct sockaddr *)&a, &size) == 0 && loopback((struct sockaddr *)&a);
}

void tcp_tune(int fd)
{
	int one = 1, near = NEAR_BYTES;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (tcp_is_loopback(fd))
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &near, sizeof(near));
}

static void write_address(const struct sockaddr *a, socklen_t size, char ret[64])
{
	char host[INET6_ADDRSTRLEN], port[8];

	if (getnameinfo(a, size, host, sizeof(host), port, sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV))
		snprintf(ret, 64, "?");
	else
		snprintf(ret, 64, strchr(host, ':') ? "[%s]:%s" : "%s:%s", host, port);
}

void tcp_peer_address(int fd, char ret[64])
{
	struct sockaddr_storage a = { 0 };
	socklen_t size = sizeof(a);

	if (getpeername(fd, (struct sockaddr *)&a, &size) < 0)
		snprintf(ret, 64, "?");
	else
		write_address((struct sockaddr *)&a, size, ret);
}

struct unproven_source tcp_peer_source(int fd)
{
	union {
		struct sockaddr_storage any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} a = { 0 };
	socklen_t size = sizeof(a);

	if (getpeername(fd, (struct sockaddr *)&a, &size) < 0)
		return (struct unproven_source){ 0 };
	if (a.any.ss_family == AF_INET)
		return unproven_source_of((const uint8_t *)&a.v4.sin_addr, 4);
	if (a.any.ss_family == AF_INET6)
		return unproven_source_of((const uint8_t *)&a.v6.sin6_addr, 16);
	return (struct unproven_source){ 0 };
}

/* ------------------------------------------------------------------------------------------------------ dialling ---
 */

static int dial_one(const struct addrinfo *a, uint64_t until_ns)
{
	_cleanup_close_ int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP);
	socklen_t size = sizeof(int);
	int r, error = 0;

	if (fd < 0)
		return -errno;
	if (connect(fd, a->ai_addr, a->ai_addrlen) < 0) {
		if (errno != EINPROGRESS)
			return -errno;
		r = tcp_wait(fd, POLLOUT, until_ns);
		if (r < 0)
			return r;
		if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0)
			return -errno;
		if (error)
			return -error;
	}
	return steal_fd(&fd);
}

/* getaddrinfo() takes the lower 16 bits of any number: 99999 would be port 34463. A name of a service is left to it. */
static bool port_fits(const char *port, unsigned long least)
{
	unsigned long n = strtoul(port, NULL, 10);

	return port[strspn(port, "0123456789")] || (strlen(port) <= 5 && n >= least && n <= UINT16_MAX);
}

static void say_unreachable(const char *host, const char *port, int error, char *text)
{
	switch (error) {
	case ECONNREFUSED:
		snprintf(text, RELAY_TEXT_BYTES,
			 "%s refuses connections to port %s; is `mete serve` running there, on this port?", host, port);
		break;
	case ETIMEDOUT:
		snprintf(text, RELAY_TEXT_BYTES,
			 "%s:%s does not answer; check the address, and whether a firewall lets the port through", host,
			 port);
		break;
	default:
		snprintf(text, RELAY_TEXT_BYTES, "%s:%s cannot be reached: %s; check the address and the network", host,
			 port, strerror(error));
	}
}

int tcp_dial(const char *host, const char *port, uint64_t until_ns, char ret_text[RELAY_TEXT_BYTES])
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG }, *all = NULL;
	int r, fd = -EHOSTUNREACH;

	if (!port_fits(port, 1)) {
		snprintf(ret_text, RELAY_TEXT_BYTES, "%s, port %s: there is no such port; give one from 1 to 65535",
			 host, port);
		return -1;
	}
	r = getaddrinfo(host, port, &hints, &all);
	if (r) {
		snprintf(ret_text, RELAY_TEXT_BYTES, "there is no host %s, port %s: %s; check how it is written", host,
			 port, r == EAI_SYSTEM ? strerror(errno) : gai_strerror(r));
		return -1;
	}
	for (struct addrinfo *a = all; a && fd < 0; a = a->ai_next)
		fd = dial_one(a, until_ns);
	freeaddrinfo(all);
	if (fd < 0) {
		say_unreachable(host, port, -fd, ret_text);
		return -1;
	}
	return fd;
}

/* ----------------------------------------------------------------------------------------------------- listening ---
 */

/* "ADDRESS", "ADDRESS:PORT", "[v6]:PORT", ":PORT". False: neither. */
static bool split(const char *where, char host[256], char port[32])
{
	const char *end = where + strlen(where), *colon = strrchr(where, ':');
	size_t n;

	snprintf(port, 32, "%s", RELAY_PORT);
	if (*where == '[') {
		const char *close = strchr(where, ']');

		if (!close || (close[1] && close[1] != ':'))
			return false;
		colon = close[1] ? close + 1 : NULL;
		n = (size_t)(close - where - 1);
		where++;
	} else {
		if (colon && strchr(where, ':') != colon)
			colon = NULL; /* an address of version 6, bare */
		n = (size_t)((colon ? colon : end) - where);
	}
	if (n >= 256 || (colon && (!colon[1] || strlen(colon + 1) >= 32)))
		return false;
	memcpy(host, where, n);
	host[n] = 0;
	if (colon)
		snprintf(port, 32, "%s", colon + 1);
	return true;
}

static int listen_one(const struct addrinfo *a)
{
	_cleanup_close_ int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP);
	int one = 1, zero = 0;

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) < 0)
		return -errno;
	/* "::" takes connections of version 4 as well. */
	if (a->ai_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof(zero));
	if (bind(fd, a->ai_addr, a->ai_addrlen) < 0 || listen(fd, BACKLOG) < 0)
		return -errno;
	return steal_fd(&fd);
}

static const char *listen_remedy(int error)
{
	switch (error) {
	case EADDRINUSE:
		return "; another server has it: end that, or choose another port";
	case EADDRNOTAVAIL:
		return "; `ip address` lists the addresses of this machine";
	case EACCES:
		return "; choose a port from 1024 on, or start it as root";
	default:
		return "; choose another address or port";
	}
}

int tcp_listen(const char *where, char ret_address[64], char ret_text[RELAY_TEXT_BYTES])
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE }, *all = NULL;
	struct sockaddr_storage bound = { 0 };
	socklen_t size = sizeof(bound);
	char host[256], port[32];
	int r, fd = -EADDRNOTAVAIL;

	if (!split(where, host, port)) {
		snprintf(ret_text, RELAY_TEXT_BYTES, "%s is no address to listen on; say ADDRESS:PORT", where);
		return -1;
	}
	if (!port_fits(port, 0)) {
		snprintf(ret_text, RELAY_TEXT_BYTES,
			 "cannot listen on %s: there is no port %s; give one from 1 to 65535, or 0 for any", where,
			 port);
		return -1;
	}
	r = getaddrinfo(host[0] ? host : NULL, port, &hints, &all);
	if (r) {
		snprintf(ret_text, RELAY_TEXT_BYTES, "cannot listen on %s: %s; say ADDRESS:PORT", where,
			 gai_strerror(r));
		return -1;
	}
	for (struct addrinfo *a = all; a && fd < 0; a = a->ai_next)
		fd = listen_one(a);
	freeaddrinfo(all);
	if (fd < 0) {
		snprintf(ret_text, RELAY_TEXT_BYTES, "cannot listen on %s: %s%s", where, strerror(-fd),
			 listen_remedy(-fd));
		return -1;
	}
	if (getsockname(fd, (struct sockaddr *)&bound, &size) == 0)
		write_address((struct sockaddr *)&bound, size, ret_address);
	return fd;
}

/* ---------------------------------------------------------------------------------------------------------- line ---
 */

struct tcp_line {
	struct line line;
	int fd;
	uint64_t until_ns;
};

static struct tcp_line *of(struct line *line)
{
	return (struct tcp_line *)(void *)line;
}

static ssize_t plain_read(struct line *line, void *at, size_t bytes)
{
	if (line->await && !of(line)->until_ns)
		return await_read(line->await, of(line)->fd, at, bytes);
	return tcp_read(of(line)->fd, of(line)->until_ns, at, bytes);
}

static int plain_write(struct line *line, const struct iovec *parts, unsigned int n)
{
	return tcp_write(of(line)->fd, of(line)->until_ns, parts, n);
}

static int plain_until(struct line *line, uint64_t until_ns)
{
	of(line)->until_ns = until_ns;
	return tcp_until(of(line)->fd, until_ns);
}

static void plain_cut(struct line *line)
{
	shutdown(of(line)->fd, SHUT_RDWR);
}

static void plain_peer(struct line *line, struct relay_peer *ret)
{
	ret->trust = RELAY_PLAIN;
	ret->name[0] = 0;
	tcp_peer_address(of(line)->fd, ret->address);
}

static uint64_t plain_round_trip(struct line *line)
{
	return tcp_round_trip_ns(of(line)->fd);
}

static int plain_fd(struct line *line)
{
	return of(line)->fd;
}

static int plain_explain(struct line *line, char ret_text[RELAY_TEXT_BYTES])
{
	return 0;
}

static void plain_close(struct line *line)
{
	close(of(line)->fd);
	free(line);
}

static const struct line_ops plain_ops = {
	.name = "plain",
	.read = plain_read,
	.write = plain_write,
	.until = plain_until,
	.cut = plain_cut,
	.peer = plain_peer,
	.round_trip_ns = plain_round_trip,
	.fd = plain_fd,
	.explain = plain_explain,
	.close = plain_close,
};

struct line *tcp_line(int take_fd)
{
	struct tcp_line *l = calloc(1, sizeof(*l));

	if (!l) {
		close(take_fd);
		return NULL;
	}
	l->line.ops = &plain_ops;
	l->fd = take_fd;
	tcp_tune(take_fd);
	return &l->line;
}
