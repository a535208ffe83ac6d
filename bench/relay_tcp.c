/*
 * relay_tcp.c: what bench/relay and bench/ring compare with: relay_tcp rtt N | relay_tcp stream MIB
 *
 * Two processes and a TCP connection over loopback, nothing else: 64 bytes there and back, or one stream in writes of
 * 128 KiB. Prints one line of JSON. The two ends of the first as programs of their own, over any line:
 *
 *   relay_tcp echo ADDRESS      prints the port, serves one connection
 *   relay_tcp rtt N ADDRESS PORT
 */
#include "base/clock.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define WRITE_BYTES (128u << 10)
#define MESSAGE_BYTES 64u

static uint8_t buffer[WRITE_BYTES];

static void move_all(int fd, size_t bytes, bool out)
{
	ssize_t n;

	for (; bytes; bytes -= (size_t)n) {
		n = out ? write(fd, buffer, bytes) : read(fd, buffer, bytes);
		if (n <= 0)
			exit(1);
	}
}

static void pair(int fd[2])
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(a);
	int listener = socket(AF_INET, SOCK_STREAM, 0), one = 1;

	fd[0] = socket(AF_INET, SOCK_STREAM, 0);
	if (bind(listener, (struct sockaddr *)&a, sizeof(a)) || listen(listener, 1) ||
	    getsockname(listener, (struct sockaddr *)&a, &size) || connect(fd[0], (struct sockaddr *)&a, sizeof(a)))
		exit(1);
	fd[1] = accept(listener, NULL, NULL);
	close(listener);
	for (int i = 0; i < 2; i++)
		setsockopt(fd[i], IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

/* Until the other end closes. */
static void echo(int fd)
{
	for (;;) {
		move_all(fd, MESSAGE_BYTES, false);
		move_all(fd, MESSAGE_BYTES, true);
	}
}

static void ping(int fd, uint64_t n)
{
	uint64_t least = UINT64_MAX, all = clock_now_ns(), one;

	for (uint64_t i = 0; i < n; i++) {
		one = clock_now_ns();
		move_all(fd, MESSAGE_BYTES, true);
		move_all(fd, MESSAGE_BYTES, false);
		one = clock_now_ns() - one;
		least = one < least ? one : least;
	}
	all = clock_now_ns() - all;
	printf("{\"mean_us\": %.2f, \"least_us\": %.2f}\n", (double)all / (double)n / 1e3, (double)least / 1e3);
	close(fd);
}

static void round_trips(uint64_t n)
{
	int fd[2];

	pair(fd);
	if (!fork()) {
		close(fd[0]);
		echo(fd[1]);
	}
	close(fd[1]);
	ping(fd[0], n);
}

static void echo_at(const char *address)
{
	struct sockaddr_in a = { .sin_family = AF_INET };
	int listener = socket(AF_INET, SOCK_STREAM, 0), one = 1, fd;
	socklen_t size = sizeof(a);

	if (inet_pton(AF_INET, address, &a.sin_addr) != 1 || bind(listener, (struct sockaddr *)&a, sizeof(a)) ||
	    listen(listener, 1) || getsockname(listener, (struct sockaddr *)&a, &size))
		exit(1);
	printf("%u\n", ntohs(a.sin_port));
	fflush(stdout);
	fd = accept(listener, NULL, NULL);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	echo(fd);
}

static void ping_to(uint64_t n, const char *address, const char *port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port)) };
	int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;

	if (inet_pton(AF_INET, address, &a.sin_addr) != 1 || connect(fd, (struct sockaddr *)&a, sizeof(a)))
		exit(1);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	ping(fd, n);
}

static void stream(uint64_t mib)
{
	uint64_t since = clock_now_ns(), writes = (mib << 20) / WRITE_BYTES;
	int fd[2];

	pair(fd);
	if (!fork()) {
		close(fd[0]);
		for (uint64_t i = 0; i < writes; i++)
			move_all(fd[1], WRITE_BYTES, false);
		move_all(fd[1], 1, true);
		_exit(0);
	}
	close(fd[1]);
	for (uint64_t i = 0; i < writes; i++)
		move_all(fd[0], WRITE_BYTES, true);
	move_all(fd[0], 1, false);
	printf("{\"mb_s\": %.1f}\n", (double)(mib << 20) * 1e3 / (double)(clock_now_ns() - since));
	close(fd[0]);
}

int main(int argc, char **argv)
{
	uint64_t n = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;

	if (argc == 3 && !strcmp(argv[1], "echo"))
		echo_at(argv[2]);
	if (argc != (argc == 5 && !strcmp(argv[1], "rtt") ? 5 : 3) || !n)
		return 2;
	if (argc == 5)
		ping_to(n, argv[3], argv[4]);
	else if (!strcmp(argv[1], "rtt"))
		round_trips(n);
	else
		stream(n);
	wait(NULL);
	return 0;
}
