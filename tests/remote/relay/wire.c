/*
 * wire.c: a network cable between two network namespaces: wire FIRST SECOND DELAY_US LOSS_PPM REORDER_PPM
 *
 * A tun device "wire" in each; packets are carried from one to the other by this process, later, or not at all, or before
 * those that were sent just before them. It needs nothing of the kernel but tun devices, where the usual queueing
 * discipline for this is often missing. SIGUSR1 cuts the wire, SIGUSR2 mends it. Prints "ready" when the devices are
 * there.
 */
#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <unistd.h>

#define PACKET_MOST 2048u
#define QUEUE_MOST 16384u
#define SPIN_NS 30000u /* a timer is late by about as much: short delays are exact only without */
#define OVERTAKES 3u /* packets, one that is reordered */

struct packet {
	uint64_t due_ns;
	uint32_t bytes;
	uint8_t data[PACKET_MOST];
};

/* One direction. */
struct queue {
	struct packet *packets;
	unsigned int first, count;
	int from, to;
};

static volatile sig_atomic_t cut;

static void on_signal(int number)
{
	cut = number == SIGUSR1;
}

/* A tun device in the namespace of this name; the process stays there. */
static int open_tun(const char *name)
{
	char path[256];
	struct ifreq request = { .ifr_flags = IFF_TUN | IFF_NO_PI };
	int ns, fd;

	snprintf(path, sizeof(path), "/run/netns/%s", name);
	ns = open(path, O_RDONLY | O_CLOEXEC);
	if (ns < 0 || setns(ns, CLONE_NEWNET) < 0)
		return -1;
	close(ns);
	fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
	strcpy(request.ifr_name, "wire");
	return fd < 0 || ioctl(fd, TUNSETIFF, &request) < 0 ? -1 : fd;
}

/* True so many times in a million. */
static bool happens(unsigned int ppm)
{
	static uint64_t state = 4711;

	state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return (state >> 33) % 1000000 < ppm;
}

/* The last one goes before some that were sent earlier: each keeps its time, they change what they carry. */
static void overtake(struct queue *q)
{
	static struct packet other;

	for (unsigned int i = 0; i < OVERTAKES && q->count >= i + 2; i++) {
		struct packet *p = &q->packets[(q->first + q->count - 1 - i) % QUEUE_MOST],
			      *before = &q->packets[(q->first + q->count - 2 - i) % QUEUE_MOST];
		uint64_t due_ns = p->due_ns, before_ns = before->due_ns;

		other = *p;
		*p = *before;
		*before = other;
		p->due_ns = due_ns;
		before->due_ns = before_ns;
	}
}

static void take(struct queue *q, uint64_t delay_ns, unsigned int loss_ppm, unsigned int reorder_ppm)
{
	struct packet *p;
	ssize_t n;

	for (;;) {
		p = &q->packets[(q->first + q->count) % QUEUE_MOST];
		n = read(q->from, p->data, sizeof(p->data));
		if (n <= 0)
			return;
		if (cut || q->count + 1 == QUEUE_MOST || happens(loss_ppm))
			continue;
		p->bytes = (uint32_t)n;
		p->due_ns = clock_now_ns() + delay_ns;
		q->count++;
		if (happens(reorder_ppm))
			overtake(q);
	}
}

/* Value: when the next one is due; UINT64_MAX: there is none. */
static uint64_t give(struct queue *q)
{
	while (q->count && q->packets[q->first].due_ns <= clock_now_ns()) {
		struct packet *p = &q->packets[q->first];

		/* A device that takes no more drops, as a cable's far end would. */
		if (!cut && write(q->to, p->data, p->bytes) < 0 && errno == EINVAL)
			fprintf(stderr, "wire: a packet of %u bytes was refused\n", p->bytes);
		q->first = (q->first + 1) % QUEUE_MOST;
		q->count--;
	}
	return q->count ? q->packets[q->first].due_ns : UINT64_MAX;
}

int main(int argc, char **argv)
{
	struct queue there = { 0 }, back = { 0 };
	uint64_t delay_ns, due, other, now;
	struct timespec t;
	unsigned int loss, reorder;

	if (argc != 6)
		return 2;
	there.from = back.to = open_tun(argv[1]);
	there.to = back.from = open_tun(argv[2]);
	there.packets = calloc(QUEUE_MOST, sizeof(struct packet));
	back.packets = calloc(QUEUE_MOST, sizeof(struct packet));
	if (there.from < 0 || there.to < 0 || !there.packets || !back.packets) {
		perror("wire");
		return 1;
	}
	prctl(PR_SET_TIMERSLACK, 1);
	delay_ns = strtoull(argv[3], NULL, 10) * 1000;
	loss = (unsigned int)atoi(argv[4]);
	reorder = (unsigned int)atoi(argv[5]);
	signal(SIGUSR1, on_signal);
	signal(SIGUSR2, on_signal);
	printf("ready\n");
	fflush(stdout);
	for (;;) {
		struct pollfd p[2] = { { .fd = there.from, .events = POLLIN }, { .fd = back.from, .events = POLLIN } };

		due = give(&there);
		other = give(&back);
		due = due < other ? due : other;
		now = clock_now_ns();
		due = due == UINT64_MAX ? 1000000000 : due > now + SPIN_NS ? due - now - SPIN_NS : 0;
		t = (struct timespec){ (time_t)(due / 1000000000), (long)(due % 1000000000) };
		if (due)
			ppoll(p, 2, &t, NULL);
		else
			sched_yield();
		take(&there, delay_ns, loss, reorder);
		take(&back, delay_ns, loss, reorder);
	}
}
