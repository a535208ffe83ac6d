/*
 * delay_line.c: a longer line: delay_line HOST PORT MICROSECONDS listens on loopback, says "PORT" on stdout, and
 * carries each connection to HOST PORT; every byte arrives so much later, in both directions.
 *
 * For machines whose kernel cannot delay packets (tc netem). On SIGUSR1 all connections are dropped and no new one
 * comes: a line that is cut. On SIGUSR2 nothing is carried any more, and nothing is closed: a line that is silent.
 */
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define LINES 256
#define PIECE 65536
#define HELD (64u << 20) /* what one direction holds at most: delay x bandwidth */

struct piece {
	struct piece *next;
	uint64_t due_ns;
	size_t bytes, sent;
	bool end; /* the sender has closed its side */
	char data[];
};

struct way { /* one direction */
	int from, to;
	struct piece *first, **last;
	size_t held;
	bool read_end, written_end;
};

static struct way ways[2 * LINES];
static unsigned int way_count;
static volatile sig_atomic_t cut, silent;

static void on_signal(int sig)
{
	if (sig == SIGUSR1)
		cut = 1;
	else
		silent = 1;
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void quick(int fd)
{
	int on = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

static void add(int from, int to)
{
	struct way *w = &ways[way_count++];

	*w = (struct way){ .from = from, .to = to };
	w->last = &w->first;
}

static void take(struct way *w, uint64_t delay_ns)
{
	struct piece *p = malloc(sizeof(*p) + PIECE);
	ssize_t n = p ? recv(w->from, p->data, PIECE, MSG_DONTWAIT) : -1;

	if (!p || (n < 0 && (errno == EAGAIN || errno == EINTR))) {
		free(p);
		return;
	}
	p->next = NULL;
	p->due_ns = now_ns() + delay_ns;
	p->bytes = n > 0 ? (size_t)n : 0;
	p->sent = 0;
	p->end = n <= 0;
	w->read_end = p->end;
	w->held += p->bytes;
	*w->last = p;
	w->last = &p->next;
}

/* What is due goes on its way. Value: when the next is due, 0: nothing is held; the far side is full: *ret_full. */
static uint64_t give(struct way *w, bool *ret_full)
{
	*ret_full = false;
	while (w->first && w->first->due_ns <= now_ns()) {
		struct piece *p = w->first;

		if (p->end) {
			shutdown(w->to, SHUT_WR);
			w->written_end = true;
		} else {
			ssize_t n = send(w->to, p->data + p->sent, p->bytes - p->sent, MSG_DONTWAIT | MSG_NOSIGNAL);

			if (n < 0 && errno == EAGAIN) {
				*ret_full = true;
				return 0;
			}
			if (n < 0) {
				shutdown(w->from, SHUT_RD);
				p->sent = p->bytes;
			} else {
				p->sent += (size_t)n;
			}
			if (p->sent < p->bytes)
				continue;
		}
		w->held -= p->bytes;
		w->first = p->next;
		if (!w->first)
			w->last = &w->first;
		free(p);
	}
	return w->first ? w->first->due_ns : 0;
}

static int dial(struct addrinfo *to)
{
	int fd = socket(to->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd >= 0 && connect(fd, to->ai_addr, to->ai_addrlen)) {
		close(fd);
		return -1;
	}
	return fd;
}

static void connection(int listener, struct addrinfo *to)
{
	int in = accept4(listener, NULL, NULL, SOCK_CLOEXEC), out = in >= 0 ? dial(to) : -1;

	if (out < 0 || way_count + 2 > 2 * LINES) {
		if (in >= 0)
			close(in);
		if (out >= 0)
			close(out);
		return;
	}
	quick(in);
	quick(out);
	add(in, out);
	add(out, in);
}

static void cut_all(int listener)
{
	close(listener);
	for (unsigned int i = 0; i < way_count; i += 2) {
		struct linger now = { .l_onoff = 1 };

		setsockopt(ways[i].from, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
		setsockopt(ways[i].to, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
		close(ways[i].from);
		close(ways[i].to);
	}
	pause();
	exit(0);
}

static void turn(int listener, struct addrinfo *to, uint64_t delay_ns)
{
	static struct pollfd p[2 * LINES + 1];
	uint64_t next_ns = 0, now;
	struct timespec wait;

	for (unsigned int i = 0; i < way_count; i++)
		p[i] = (struct pollfd){ .fd = -1 };
	for (unsigned int i = 0; i < way_count; i++) {
		bool full;
		uint64_t due_ns = give(&ways[i], &full);

		if (due_ns && (!next_ns || due_ns < next_ns))
			next_ns = due_ns;
		/* A way reads at its own place; that it can write is seen at its partner's, which reads there. */
		if (!ways[i].read_end && ways[i].held < HELD) {
			p[i].fd = ways[i].from;
			p[i].events |= POLLIN;
		}
		if (full) {
			p[i ^ 1].fd = ways[i].to;
			p[i ^ 1].events |= POLLOUT;
		}
	}
	p[way_count] = (struct pollfd){ .fd = listener, .events = POLLIN };
	now = now_ns();
	next_ns = next_ns > now ? next_ns - now : next_ns ? 1 : 1000000000;
	wait = (struct timespec){ .tv_sec = (time_t)(next_ns / 1000000000u), .tv_nsec = (long)(next_ns % 1000000000u) };
	if (ppoll(p, way_count + 1, &wait, NULL) <= 0)
		return;
	for (unsigned int i = 0; i < way_count; i++)
		if ((p[i].revents & (POLLIN | POLLHUP | POLLERR)) && !ways[i].read_end)
			take(&ways[i], delay_ns);
	if (p[way_count].revents)
		connection(listener, to);
}

int main(int argc, char **argv)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *to;
	socklen_t size = sizeof(a);
	uint64_t delay_ns;
	int listener;

	if (argc != 4 || getaddrinfo(argv[1], argv[2], &hints, &to))
		return 2;
	delay_ns = (uint64_t)(strtod(argv[3], NULL) * 1000);
	signal(SIGUSR1, on_signal);
	signal(SIGUSR2, on_signal);
	listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bind(listener, (struct sockaddr *)&a, sizeof(a)) || listen(listener, 64) ||
	    getsockname(listener, (struct sockaddr *)&a, &size))
		return 2;
	printf("%d\n", ntohs(a.sin_port));
	fflush(stdout);
	while (!cut && !silent)
		turn(listener, to, delay_ns);
	if (cut)
		cut_all(listener);
	while (!cut)
		pause();
	cut_all(listener);
	return 0;
}
