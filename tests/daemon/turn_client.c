/*
 * turn_client.c: a client of meted that keeps to its turns, without a driver under it: what a program with the shim
 * does at the gate, by the book (src/wire/turn.h). Its engine is a sleep.
 *
 *   turn_client SOCKET DEVICE KERNEL_US PAUSE_US SECONDS
 *
 *   turn_client SOCKET DEVICE cheat 0 SECONDS
 *   turn_client SOCKET DEVICE late 0 SECONDS
 *
 *   turn_client SOCKET DEVICE crowd PROCESSES SECONDS
 *
 * Launches a kernel, waits for its end, pauses, and so on, for so long. When meted goes away it connects again. Prints
 * "at BUSY_US" whenever it reads a line ("behind": what its tenant is behind its guarantee by at least, in us, "clock":
 * the same by the clock, instead), before which "fill" fills the ring of its edges, with a begin as the last one, and
 * "exact" says that kernels end from now on when they should, as by a device's clock, however late that is noticed; and
 * at the end "done LAUNCHES BUSY_US WAITED_US LONGEST_WAIT_US". A cheat writes what comes to hand over its half of the
 * turns, and rings all the time. One that is late fills the ring of its edges every few milliseconds, dated back, and
 * rings. A crowd is so many more processes, each of which wants a turn and makes no use of it, while the first rings,
 * twenty times a millisecond.
 */
#include "base/clock.h"
#include "wire/decode.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#define CROWDED_NS 30000000000u /* how long a process of a crowd tries to be seated */

static int sock = -1, bell = -1;
static struct wire_page *page;
static struct wire_turn *turn;
static unsigned int device;
static uint64_t busy_ns;
static bool exact;

static int hello(const char *path)
{
	struct wire_hello h = { .version = WIRE_VERSION, .library = 1, .command = "turn_client" };
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(2 * sizeof(int))];
	static struct wire_welcome w;
	struct iovec io = { &w, sizeof(w) };
	struct msghdr msg = {
		.msg_iov = &io, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)
	};
	int fds[2];

	if (sock >= 0)
		close(sock);
	memcpy(&h.image, (const void *)getauxval(AT_RANDOM), sizeof(h.image));
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (connect(sock, (struct sockaddr *)&address, sizeof(address)))
		return -errno;
	wire_head(&h.head, WIRE_HELLO, sizeof(h), 1, WIRE_OK);
	if (send(sock, &h, sizeof(h), MSG_NOSIGNAL) < 0 || recvmsg(sock, &msg, MSG_CMSG_CLOEXEC) <= 0)
		return -ECONNRESET;
	if (w.head.status)
		return -EPROTO;
	memcpy(fds, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(fds));
	if (!page)
		page = mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED, fds[0], 0);
	close(fds[0]);
	if (bell >= 0)
		close(bell);
	bell = fds[1];
	turn = &page->turn[device][WIRE_COMPUTE];
	return 0;
}

static void ring(uint32_t about)
{
	static const uint64_t one = 1;

	if (atomic_load(&turn->listen) & about && write(bell, &one, sizeof(one)) < 0 && errno != EAGAIN)
		perror("bell");
}

static void sleep_until(uint64_t at_ns)
{
	struct timespec t = { .tv_sec = (time_t)(at_ns / 1000000000), .tv_nsec = (long)(at_ns % 1000000000) };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL))
		;
}

static bool may_go(void)
{
	uint32_t gate = atomic_load(&turn->gate);

	return !(gate & WIRE_GATED) || gate & WIRE_OPEN;
}

/* As if many kernels had run while meted does not look: the end of the last of them does not find a place. */
static void fill_edges(void)
{
	uint32_t places = WIRE_EDGES - (atomic_load(&turn->edge_head) - atomic_load(&turn->edge_tail));

	for (bool begins = places & 1; wire_edge_put(turn, clock_now_ns(), begins); begins = !begins)
		;
}

/* Not taken from what the tenant is behind by yet, beside work of unknown length: it may be. */
static int64_t put_off(void)
{
	return (int64_t)(atomic_load(&turn->put_off_ns) + atomic_load(&turn->put_off_free_ns));
}

/* Somebody asks for what has been done so far. */
static void say_progress(void)
{
	struct pollfd asked = { .fd = STDIN_FILENO, .events = POLLIN };
	char line[64];

	if (poll(&asked, 1, 0) != 1 || !fgets(line, sizeof(line), stdin))
		return;
	if (!strcmp(line, "fill\n"))
		fill_edges();
	exact |= !strcmp(line, "exact\n");
	if (!strcmp(line, "behind\n"))
		printf("at %" PRId64 "\n", (atomic_load(&turn->arrears_ns) - put_off()) / 1000);
	else if (!strcmp(line, "clock\n"))
		printf("at %" PRId64 "\n", atomic_load(&turn->by_clock_ns) / 1000);
	else
		printf("at %" PRIu64 "\n", busy_ns / 1000);
	fflush(stdout);
}

/* Connects again when meted has gone; as long as that does not work the gate is as it was. */
static void keep_connected(const char *path)
{
	struct pollfd p = { .fd = sock, .events = POLLIN };

	if (poll(&p, 1, 0) == 1)
		while (hello(path) && !may_go()) {
			say_progress();
			usleep(2000);
		}
}

static void wait_for_turn(const char *path, uint64_t length_ns, uint64_t end_ns)
{
	uint64_t from = clock_now_ns();

	atomic_store(&turn->waiting_since_ns, from);
	atomic_store(&turn->needs_ns, length_ns);
	atomic_store(&turn->waiting, 1);
	ring(WIRE_ON_DEMAND | WIRE_ON_WAIT);
	for (;;) {
		struct timespec patience = { .tv_nsec = 5000000 };
		uint32_t gate = atomic_load(&turn->gate);

		if (!(gate & WIRE_GATED) || gate & WIRE_OPEN || clock_now_ns() > end_ns)
			break;
		say_progress();
		if (syscall(SYS_futex, &turn->gate, FUTEX_WAIT, gate, &patience, NULL, 0) && errno == ETIMEDOUT)
			keep_connected(path);
	}
	atomic_store(&turn->waiting, 0);
	atomic_fetch_add(&turn->waited_ns, clock_now_ns() - from);
}

/* Value: false when the gate has closed in the same instant. */
static bool submit(uint64_t length_ns)
{
	uint64_t now = clock_now_ns(), end;

	atomic_store(&turn->done_by_ns, now + length_ns);
	atomic_store(&turn->busy_since_ns, now);
	if (!may_go()) {
		atomic_store(&turn->busy_since_ns, 0);
		ring(WIRE_ON_IDLE);
		return false;
	}
	ring(wire_listen_begin(atomic_load(&turn->until_ns), now, length_ns));
	wire_edge_put(turn, now, true);
	sleep_until(now + length_ns);
	end = exact ? now + length_ns : clock_now_ns();
	wire_edge_put(turn, end, false);
	atomic_fetch_add(&turn->busy_ns, end - now);
	atomic_store(&turn->busy_since_ns, 0);
	ring(WIRE_ON_IDLE | WIRE_ON_PAUSE | WIRE_ON_EDGE);
	return true;
}

/* All of the turns but for what meted alone writes there: it would be overwriting the cheat's own gate. */
static int cheat(uint64_t end_ns)
{
	uint64_t random = clock_now_ns();
	static const uint64_t one = 1;

	while (clock_now_ns() < end_ns) {
		size_t half = offsetof(struct wire_turn, busy_since_ns) / 8, words = sizeof(*turn) / 8;
		_Atomic uint64_t *at = (_Atomic uint64_t *)turn;

		random = random * 6364136223846793005u + 1442695040888963407u;
		atomic_store(&at[half + (random >> 33) % (words - half)], random >> (random >> 58));
		if (write(bell, &one, sizeof(one)) < 0 && errno != EAGAIN)
			return 1;
	}
	printf("done\n");
	return 0;
}

static int late(uint64_t end_ns)
{
	static const uint64_t one = 1;
	uint64_t now_ns;

	while ((now_ns = clock_now_ns()) < end_ns) {
		for (uint64_t i = 0; i < WIRE_EDGES; i++)
			wire_edge_put(turn, now_ns - (WIRE_EDGES - i) * 1000, !(i % 2));
		if (write(bell, &one, sizeof(one)) < 0 && errno != EAGAIN)
			return 1;
		sleep_until(now_ns + 3000000);
	}
	printf("done\n");
	return 0;
}

/* Where many connect at once, meted closes connections that have said no HELLO yet: such a one begins again. */
static int hello_in_a_crowd(const char *path)
{
	uint64_t end_ns = clock_now_ns() + CROWDED_NS;
	int r;

	while ((r = hello(path)) == -ECONNRESET && clock_now_ns() < end_ns)
		sleep_until(clock_now_ns() + 20000000);
	return r;
}

static _Noreturn void stand(const char *path, int told, pid_t parent)
{
	int failed;

	prctl(PR_SET_PDEATHSIG, SIGKILL, 0ul, 0ul, 0ul);
	if (getppid() != parent)
		_exit(1);
	sock = bell = -1;
	munmap(page, sizeof(*page));
	page = NULL;
	failed = hello_in_a_crowd(path);
	if (write(told, &failed, sizeof(failed)) != sizeof(failed) || failed)
		_exit(1);
	atomic_store(&turn->waiting_since_ns, clock_now_ns());
	atomic_store(&turn->waiting, 1);
	for (;;)
		pause();
}

static int crowd(const char *path, unsigned int processes, double seconds)
{
	uint64_t end_ns;
	int told[2], failed = 0;
	pid_t parent = getpid();

	if (pipe(told))
		return 1;
	for (unsigned int i = 0; i < processes; i++)
		switch (fork()) {
		case -1:
			perror("a process of the crowd");
			return 1;
		case 0:
			stand(path, told[1], parent);
		}
	close(told[1]);
	for (unsigned int i = 0; i < processes; i++)
		if (read(told[0], &failed, sizeof(failed)) != sizeof(failed) || failed) {
			fprintf(stderr, "process %u of the crowd is not seated: %s\n", i, strerror(-failed));
			return 1;
		}
	printf("stands\n");
	fflush(stdout);
	end_ns = clock_now_ns() + (uint64_t)(seconds * 1e9);
	while (clock_now_ns() < end_ns) {
		ring(~0u);
		sleep_until(clock_now_ns() + 50000);
	}
	printf("done\n");
	return 0;
}

int main(int argc, char **argv)
{
	uint64_t length_ns, pause_ns, end_ns, waited_ns = 0, longest_ns = 0, launches = 0, from;

	if (argc != 6)
		return 2;
	device = (unsigned int)atoi(argv[2]);
	length_ns = strtoull(argv[3], NULL, 10) * 1000;
	pause_ns = strtoull(argv[4], NULL, 10) * 1000;
	prctl(PR_SET_TIMERSLACK, 1ul, 0ul, 0ul, 0ul);
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0ul, 0ul, 0ul);
	setvbuf(stdin, NULL, _IONBF, 0);
	if (hello(argv[1]))
		return 1;
	printf("ready\n");
	fflush(stdout);
	end_ns = clock_now_ns() + (uint64_t)(strtod(argv[5], NULL) * 1e9);
	if (!strcmp(argv[3], "cheat"))
		return cheat(end_ns);
	if (!strcmp(argv[3], "late"))
		return late(end_ns);
	if (!strcmp(argv[3], "crowd"))
		return crowd(argv[1], (unsigned int)atoi(argv[4]), strtod(argv[5], NULL));
	while ((from = clock_now_ns()) < end_ns) {
		bool done;

		say_progress();
		if (!may_go())
			wait_for_turn(argv[1], length_ns, end_ns);
		waited_ns += clock_now_ns() - from;
		if (clock_now_ns() - from > longest_ns)
			longest_ns = clock_now_ns() - from;
		from = clock_now_ns();
		done = from < end_ns && submit(length_ns);
		keep_connected(argv[1]);
		if (done) {
			busy_ns += clock_now_ns() - from;
			launches++;
			if (pause_ns)
				sleep_until(clock_now_ns() + pause_ns);
		}
		say_progress();
	}
	printf("done %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", launches, busy_ns / 1000, waited_ns / 1000,
	       longest_ns / 1000);
	return 0;
}
