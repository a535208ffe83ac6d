/*
 * wire_client.c: a client of meted without a driver under it, for the tests of meted.
 *
 * Three ways to run:
 *   wire_client                           obeys lines on standard input, one answer line each (see commands[] below)
 *   wire_client hammer SOCKET POOL SLOT QUOTA SECONDS SEED
 *       allocates and frees at random as fast as it can, and goes on when meted is replaced under it. What a driver
 * would have given out stands in POOL, a file that all hammers map, one slot each: their sum is checked against QUOTA
 *       (units) after every allocation. Prints "done OPS HELD OVER LOST" at the end and waits for its input to close.
 *   wire_client burst SOCKET N
 *       N processes are made, wait together at a gate and attach at once; prints what each took, in nanoseconds.
 */
#include "base/clock.h"
#include "wire/decode.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static int sock = -1, bell = -1;
static struct wire_page *page;
static struct wire_welcome welcome;
static uint64_t image;
static uint32_t serial;
static uint32_t claim[WIRE_MAX_DEVICES];

/* The connection. Everything answers 0 or more, or -errno when the connection is lost. */

static int lose(int r)
{
	if (sock >= 0)
		close(sock);
	sock = -1;
	return r;
}

static int open_socket(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	lose(0);
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (sock < 0)
		return -errno;
	if (connect(sock, (struct sockaddr *)&address, sizeof(address)))
		return lose(-errno);
	return 0;
}

/* Descriptors that come with the answer go to ret_fds[2]. */
static int receive(void *answer, size_t size, int *ret_fds)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(2 * sizeof(int))];
	struct iovec io = { answer, size };
	struct msghdr msg = {
		.msg_iov = &io, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)
	};
	ssize_t n = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC);
	struct cmsghdr *c;

	if (n <= 0)
		return lose(n ? -errno : -ECONNRESET);
	c = CMSG_FIRSTHDR(&msg);
	if (c && ret_fds)
		memcpy(ret_fds, CMSG_DATA(c), c->cmsg_len - CMSG_LEN(0));
	return (int)n;
}

static int ask(void *request, enum wire_type type, size_t size, void *answer, size_t answer_size)
{
	struct wire_header *head = answer;
	int n;

	wire_head(request, type, size, ++serial, WIRE_OK);
	if (sock < 0)
		return -ENOTCONN;
	if (send(sock, request, size, MSG_NOSIGNAL) < 0)
		return lose(-errno);
	n = receive(answer, answer_size, NULL);
	if (n < 0)
		return n;
	if ((size_t)n < sizeof(*head) || head->serial != serial)
		return lose(-EPROTO);
	return (int)head->status;
}

/* What a test has this one say of itself, or do before it begins; `usual`: nothing of that name is set. */
static uint32_t word_of(const char *name, uint32_t usual)
{
	const char *value = getenv(name);

	return value ? (uint32_t)strtoul(value, NULL, 10) : usual;
}

static int hello(const char *path)
{
	struct wire_hello h = { .version = word_of("WIRE_CLIENT_VERSION", WIRE_VERSION),
				.library = word_of("WIRE_CLIENT_LIBRARY", 1),
				.command = "wire_client",
				.image = image };
	int fds[2] = { -1, -1 }, r = open_socket(path);
	struct wire_page *map;

	if (r)
		return r;
	memcpy(h.held_units, claim, sizeof(claim));
	wire_head(&h.head, WIRE_HELLO, sizeof(h), ++serial, WIRE_OK);
	if (send(sock, &h, sizeof(h), MSG_NOSIGNAL) < 0)
		return lose(-errno);
	r = receive(&welcome, sizeof(welcome), fds);
	if (r < 0)
		return r;
	if (welcome.head.status)
		return (int)welcome.head.status;
	if (fds[0] < 0 || fds[1] < 0)
		return lose(-EPROTO);
	map = mmap(NULL, sizeof(*map), PROT_READ | PROT_WRITE, MAP_SHARED, fds[0], 0);
	close(fds[0]);
	if (bell >= 0)
		close(bell);
	bell = fds[1];
	if (map == MAP_FAILED)
		return lose(-errno);
	if (page)
		munmap(page, sizeof(*page));
	page = map;
	return 0;
}

static int reserve(uint32_t device, uint32_t need, uint32_t want, uint32_t flags, uint32_t *ret_credit)
{
	struct wire_reserve q = { .device = device, .flags = flags, .need_units = need, .want_units = want };
	struct wire_reserved answer;
	int r = ask(&q, WIRE_RESERVE, sizeof(q), &answer, sizeof(answer));

	if (r >= 0 && ret_credit)
		*ret_credit = answer.credit_units;
	return r;
}

static int object(enum wire_type type, const char *key, uint32_t device, uint32_t units, struct wire_shared *ret)
{
	struct wire_object_request q = { .device = device, .units = units };

	memcpy(q.key, key, strnlen(key, sizeof(q.key)));
	return ask(&q, type, sizeof(q), ret, sizeof(*ret));
}

/* Lines. */

static void say(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
	fflush(stdout);
}

static unsigned long number(char **rest)
{
	char *word = strsep(rest, " ");

	return word ? strtoul(word, NULL, 0) : 0;
}

static void do_hello(char *rest)
{
	int r = hello(rest);

	say("%d %u %d %u", r, welcome.resumed, welcome.host_pid, welcome.device_count);
}

static void do_open(char *rest)
{
	say("%d", open_socket(rest));
}

static void do_close(char *rest)
{
	say("%d", lose(0));
}

static void do_reserve(char *rest)
{
	uint32_t device = (uint32_t)number(&rest), need = (uint32_t)number(&rest), want = (uint32_t)number(&rest);
	uint32_t flags = (uint32_t)number(&rest), credit = 0;
	int r = reserve(device, need, want, flags, &credit);

	say("%d %u", r, credit);
}

static void do_take(char *rest)
{
	uint32_t device = (uint32_t)number(&rest), units = (uint32_t)number(&rest);

	say("%d", wire_take(&page->account[device], units));
}

static void do_give(char *rest)
{
	uint32_t device = (uint32_t)number(&rest), units = (uint32_t)number(&rest);

	wire_give(&page->account[device], units);
	say("0");
}

static void do_word(char *rest)
{
	struct wire_account *a = &page->account[number(&rest)];
	uint64_t word = atomic_load(&a->word);

	say("%u %u %" PRIu64 " %u", wire_granted(word), wire_held(word), atomic_load(&a->quota_bytes),
	    atomic_load(&a->tight));
}

static void do_peak(char *rest)
{
	struct wire_account *a = &page->account[number(&rest)];

	atomic_store(&a->peak_units, number(&rest));
	say("0");
}

static void do_measuring(char *rest)
{
	struct wire_account *a = &page->account[number(&rest)];

	atomic_store(&a->measuring, (uint32_t)number(&rest));
	say("0");
}

/* Writes what only meted may write. */
static void do_forge(char *rest)
{
	struct wire_account *a = &page->account[number(&rest)];
	uint32_t granted = (uint32_t)number(&rest), held = (uint32_t)number(&rest);

	atomic_store(&a->word, wire_word(granted, held));
	say("0");
}

/* An object on the page that meted has not written. */
static void do_plant(char *rest)
{
	struct wire_object *o = &page->object[0];
	uint32_t device = (uint32_t)number(&rest);

	memcpy(o->key, "planted", 7);
	o->device = device;
	page->object_places = 1;
	atomic_store(&o->units, (uint32_t)number(&rest));
	say("0");
}

/* As a program whose memory may leave the device: where it is (enum wire_place), what is away, what can leave. */
static void do_place(char *rest)
{
	struct wire_account *a = &page->account[number(&rest)];
	uint32_t state = (uint32_t)number(&rest);

	atomic_store(&a->away_units, (uint32_t)number(&rest));
	atomic_store(&a->movable_units, (uint32_t)number(&rest));
	atomic_store(&a->place, WIRE_PLACE_MOVES | state);
	say("0");
}

/* Whether it is asked to leave. */
static void do_wish(char *rest)
{
	say("%d", (atomic_load(&page->account[number(&rest)].wish) & WIRE_LEAVE) != 0);
}

static void do_info(char *rest)
{
	struct wire_info q = { .device = (uint32_t)number(&rest) };
	struct wire_info_is answer = { 0 };
	int r = ask(&q, WIRE_INFO, sizeof(q), &answer, sizeof(answer));

	say("%d %" PRIu64 " %" PRIu64, r, answer.quota_bytes, answer.held_bytes);
}

/* Where so much goes when it leaves: the status, and whether there is a file for it. */
static void do_store(char *rest)
{
	struct wire_store q = { .device = (uint32_t)number(&rest) };
	struct wire_stored answer = { 0 };
	int r;

	q.units = (uint32_t)number(&rest);
	r = ask(&q, WIRE_STORE, sizeof(q), &answer, sizeof(answer));
	say("%d %u", r, answer.disk);
}

static void do_object(enum wire_type type, char *rest)
{
	const char *key = strsep(&rest, " ");
	uint32_t device = (uint32_t)number(&rest), units = (uint32_t)number(&rest);
	struct wire_shared answer = { 0 };
	int r = object(type, key ? key : "", device, units, &answer);

	say("%d %u %u", r, answer.units, answer.last);
}

static void do_share(char *rest)
{
	do_object(WIRE_SHARE, rest);
}

static void do_import(char *rest)
{
	do_object(WIRE_IMPORT, rest);
}

static void do_drop(char *rest)
{
	do_object(WIRE_DROP, rest);
}

static void do_event(char *rest)
{
	struct wire_event q = { .device = (uint32_t)number(&rest) };

	memcpy(q.text, rest ? rest : "", rest ? strnlen(rest, sizeof(q.text) - 1) : 0);
	wire_head(&q.head, WIRE_EVENT, sizeof(q), ++serial, WIRE_OK);
	say("%zd", send(sock, &q, sizeof(q), MSG_NOSIGNAL));
}

static void do_processes(char *rest)
{
	static struct wire_processes_are answer;
	struct wire_processes q = { .device = (uint32_t)number(&rest) };
	int r = ask(&q, WIRE_PROCESSES, sizeof(q), &answer, sizeof(answer));

	printf("%d %u", r, answer.count);
	for (uint32_t i = 0; r == 0 && i < answer.count; i++)
		printf(" %d:%u", answer.process[i].pid, answer.process[i].held_units);
	say("");
}

static void do_image(char *rest)
{
	image = number(&rest);
	say("0");
}

static void do_claim(char *rest)
{
	uint32_t device = (uint32_t)number(&rest);

	claim[device] = (uint32_t)number(&rest);
	say("0");
}

/* Sends the bytes given in hexadecimal as one packet; the answer's type and status, or why there is none. */
static void do_raw(char *rest)
{
	static unsigned char bytes[4096];
	struct wire_welcome answer;
	size_t n = 0;
	int r;

	while (rest && rest[0] && rest[1] && n < sizeof(bytes)) {
		char pair[3] = { rest[0], rest[1], 0 };

		bytes[n++] = (unsigned char)strtoul(pair, NULL, 16);
		rest += 2;
	}
	if (send(sock, bytes, n, MSG_NOSIGNAL) < 0) {
		say("%d", lose(-errno));
		return;
	}
	r = receive(&answer, sizeof(answer), NULL);
	if (r < 0)
		say("%d", r);
	else
		say("%u %u", answer.head.type, answer.head.status);
}

/* Cuts the page's file short, as a client can that has its descriptor. */
static void do_cut(char *rest)
{
	int fd = open(rest, O_RDWR);

	say("%d", fd < 0 ? -errno : ftruncate(fd, 0));
	if (fd >= 0)
		close(fd);
}

/*
 * record COUNT DEVICE ENGINE THREAD STREAM PREDICTED_US WAITED_US NAME: notes launches as a shim does while meted
 * traces, each PREDICTED_US after the other. Answers how many, 0 when nobody traces; and where the head was.
 */
static void do_record(char *rest)
{
	struct wire_trace *t = &page->trace;
	uint32_t count = (uint32_t)number(&rest), head = atomic_load(&t->head);
	struct wire_record r = { .device = (uint16_t)number(&rest) };
	uint64_t waited_us;

	r.engine = (uint16_t)number(&rest);
	r.thread = (uint32_t)number(&rest);
	r.stream = number(&rest);
	r.predicted_ns = number(&rest) * 1000;
	waited_us = number(&rest);
	r.bytes = 4096;
	memcpy(r.name, rest ? rest : "", rest ? strnlen(rest, sizeof(r.name)) : 0);
	r.submitted_ns = clock_now_ns();
	if (!atomic_load(&t->on))
		count = 0;
	for (uint32_t i = 0; i < count; i++) {
		r.passed_ns = r.submitted_ns + waited_us * 1000;
		t->record[(head + i) % WIRE_RECORDS] = r;
		atomic_store_explicit(&t->head, head + i + 1, memory_order_release);
		r.submitted_ns = r.passed_ns + r.predicted_ns;
	}
	say("%u %u", count, head);
}

/* tracing: is this client's ring read? */
static void do_tracing(char *rest)
{
	(void)rest;
	say("%u", atomic_load(&page->trace.on));
}

/* head N: says that N records were written. */
static void do_head(char *rest)
{
	atomic_store(&page->trace.head, (uint32_t)number(&rest));
	say("0");
}

/* stand DEVICE ENGINE THREADS: they stand at the gate since now. */
static void do_stand(char *rest)
{
	struct wire_turn *t = page->turn[number(&rest)];
	uint64_t engine = number(&rest);

	atomic_store(&t[engine].waiting_since_ns, clock_now_ns());
	atomic_store(&t[engine].waiting, (uint32_t)number(&rest));
	say("0");
}

/* Becomes another program with the same pid and start time, as exec does. */
static void do_exec(char *rest)
{
	char *args[] = { (char *)"wire_client", NULL };

	execv("/proc/self/exe", args);
	say("%d", -errno);
}

static const struct {
	const char *name;
	void (*fn)(char *rest);
} commands[] = {
	{ "hello", do_hello },	       { "open", do_open },   { "close", do_close }, { "reserve", do_reserve },
	{ "take", do_take },	       { "give", do_give },   { "word", do_word },   { "peak", do_peak },
	{ "measuring", do_measuring }, { "forge", do_forge }, { "info", do_info },   { "share", do_share },
	{ "import", do_import },       { "drop", do_drop },   { "event", do_event }, { "processes", do_processes },
	{ "image", do_image },	       { "claim", do_claim }, { "raw", do_raw },     { "cut", do_cut },
	{ "exec", do_exec },	       { "record", do_record }, { "tracing", do_tracing }, { "head", do_head },
	{ "plant", do_plant },
	{ "stand", do_stand },	       { "place", do_place },	{ "wish", do_wish },
	{ "store", do_store },
};

static void obey(char *line)
{
	char *rest = line, *word = strsep(&rest, " ");

	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		if (strcmp(commands[i].name, word))
			continue;
		commands[i].fn(rest);
		return;
	}
	say("unknown command %s", word);
}

/* The hammer. */

#define SLOTS 64
#define BLOCKS 24
#define PF_EXITING 4u /* of the kernel's sched.h */

struct pool_slot {
	_Atomic int32_t pid;
	_Atomic uint32_t units;
	char line[56]; /* one slot a cache line */
};

struct hammer {
	const char *path;
	struct pool_slot *slots, *slot;
	uint64_t quota_units;
	uint64_t random;
	uint32_t block[BLOCKS]; /* live allocations */
	bool shared[BLOCKS];	/* whose charge lies with an object */
	uint64_t ops, over, lost;
};

static uint32_t below(struct hammer *h, uint32_t n)
{
	h->random = h->random * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(h->random >> 33) % n;
}

/* False also of one that is about to end: its descriptors are closed, which meted sees, before it is a zombie. */
static bool alive(pid_t pid)
{
	char path[32], text[512], *at, state;
	unsigned int flags;
	int fd, n;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = (int)read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n > 0 ? n : 0] = 0;
	at = strrchr(text, ')');
	return at && sscanf(at, ") %c %*d %*d %*d %*d %*d %u", &state, &flags) == 2 && state != 'Z' && state != 'X' &&
	       !(flags & PF_EXITING);
}

/*
 * What the driver has given out. The dead's memory is gone; looked at only when the simple sum is too high. What moves
 * from one process to another while the slots are read one after the other must not count twice: of several readings
 * the least counts.
 */
static uint64_t pool_sum(struct hammer *h, bool living)
{
	uint32_t least[SLOTS];
	uint64_t sum = 0;

	for (int reading = 0; reading < (living ? 3 : 1); reading++)
		for (int i = 0; i < SLOTS; i++) {
			uint32_t units = atomic_load(&h->slots[i].units);

			least[i] = reading && least[i] < units ? least[i] : units;
		}
	for (int i = 0; i < SLOTS; i++)
		if (least[i] && (!living || alive(atomic_load(&h->slots[i].pid))))
			sum += least[i];
	return sum;
}

static void pool_take(struct hammer *h, uint32_t units)
{
	atomic_fetch_add(&h->slot->units, units);
	if (pool_sum(h, false) > h->quota_units && pool_sum(h, true) > h->quota_units)
		h->over++;
}

static void pool_give(struct hammer *h, uint32_t units)
{
	atomic_fetch_sub(&h->slot->units, units);
}

/* What must stand in the account: the allocations whose charge is not an object's. */
static void check_held(struct hammer *h)
{
	uint64_t held = 0;

	for (int i = 0; i < BLOCKS; i++)
		if (!h->shared[i])
			held += h->block[i];
	if (held != wire_held(atomic_load(&page->account[0].word)))
		h->lost++;
}

static void again(struct hammer *h)
{
	uint64_t until = clock_now_ns() + 10000000000u;

	while (hello(h->path)) {
		if (clock_now_ns() > until) {
			say("meted does not come back");
			exit(1);
		}
		usleep(500);
	}
}

/* Asks until there is an answer. */
static int insist_reserve(struct hammer *h, uint32_t need, uint32_t want, uint32_t flags)
{
	int r;

	while ((r = reserve(0, need, want, flags, NULL)) < 0)
		again(h);
	return r;
}

static void name_block(struct hammer *h, int i, char key[32])
{
	snprintf(key, 32, "%d-%d", (int)getpid(), i);
}

static int insist_object(struct hammer *h, enum wire_type type, int i)
{
	struct wire_shared answer;
	char key[32];
	int r;

	name_block(h, i, key);
	while ((r = object(type, key, 0, h->block[i], &answer)) < 0)
		again(h);
	return r;
}

static void allocate(struct hammer *h, int i)
{
	uint32_t units = 1 + below(h, (uint32_t)(h->quota_units / 12));

	while (!wire_take(&page->account[0], units))
		if (insist_reserve(h, units, units + below(h, 3) * units, 0) != WIRE_OK)
			return;
	pool_take(h, units);
	h->block[i] = units;
}

/* A size that is known only when the driver has taken it. */
static void measure(struct hammer *h, int i)
{
	struct wire_account *a = &page->account[0];
	uint32_t credit, units = 1 + below(h, (uint32_t)(h->quota_units / 12));
	uint64_t word;

	atomic_fetch_add(&a->measuring, 1);
	insist_reserve(h, 0, 0, WIRE_RESERVE_ALL);
	a = &page->account[0]; /* the connection may have been made anew, with the page mapped elsewhere */
	do {
		word = atomic_load(&a->word);
		credit = wire_granted(word) - wire_held(word);
	} while (credit && !wire_take(a, credit));
	if (units <= credit) {
		pool_take(h, units);
		h->block[i] = units;
		credit -= units;
	}
	if (credit)
		wire_give(a, credit);
	atomic_fetch_sub(&a->measuring, 1);
}

static void release(struct hammer *h, int i)
{
	pool_give(h, h->block[i]);
	if (h->shared[i])
		insist_object(h, WIRE_DROP, i);
	else
		wire_give(&page->account[0], h->block[i]);
	h->block[i] = 0;
	h->shared[i] = false;
}

static void hammer_step(struct hammer *h)
{
	int i = (int)below(h, BLOCKS);

	if (h->block[i] && !h->shared[i] && !below(h, 3)) {
		if (insist_object(h, WIRE_SHARE, i) == WIRE_OK)
			h->shared[i] = true;
	} else if (h->block[i]) {
		release(h, i);
	} else if (below(h, 8)) {
		allocate(h, i);
	} else {
		measure(h, i);
	}
	check_held(h);
	h->ops++;
}

static int hammer(char **args)
{
	struct hammer h = { .path = args[0], .quota_units = strtoull(args[3], NULL, 10) };
	uint64_t until = clock_now_ns() + (uint64_t)(strtod(args[4], NULL) * 1e9), held = 0;
	int fd = open(args[1], O_RDWR | O_CLOEXEC);
	char byte;

	h.slots = mmap(NULL, SLOTS * sizeof(*h.slots), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (fd < 0 || h.slots == MAP_FAILED)
		return 1;
	close(fd);
	h.slot = &h.slots[atoi(args[2])];
	h.random = strtoull(args[5], NULL, 10);
	atomic_store(&h.slot->units, 0);
	atomic_store(&h.slot->pid, getpid());
	again(&h);
	while (clock_now_ns() < until)
		hammer_step(&h);
	for (int i = 0; i < BLOCKS; i++)
		held += h.block[i];
	say("done %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64, h.ops, held, h.over, h.lost);
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
	return 0;
}

/* The burst. */

#define CROWDED_NS 30000000000u /* how long a process of a burst tries to attach */

/*
 * Where many connect at once, meted closes connections that have said no HELLO yet: such a one begins again, as
 * programs do.
 */
static int hello_in_a_crowd(const char *path)
{
	uint64_t end_ns = clock_now_ns() + CROWDED_NS;
	int r;

	while ((r = hello(path)) == -ECONNRESET && clock_now_ns() < end_ns)
		usleep(20000);
	return r;
}

/* One process of it; `out` gets how long it took, 0: it failed. */
static _Noreturn void attach_at(int gate, const char *path, int out)
{
	uint64_t took;
	char byte;

	if (read(gate, &byte, 1) < 0)
		_exit(1);
	took = clock_now_ns();
	took = hello_in_a_crowd(path) ? 0 : clock_now_ns() - took;
	_exit(write(out, &took, sizeof(took)) != sizeof(took));
}

static int burst(const char *path, int n)
{
	int gate[2], out[2];

	if (pipe(gate) || pipe(out))
		return 1;
	for (int i = 0; i < n; i++)
		switch (fork()) {
		case -1:
			perror("a process of the burst");
			return 1;
		case 0:
			close(gate[1]);
			attach_at(gate[0], path, out[1]);
		}
	usleep(200000); /* all are at the gate */
	close(gate[1]);
	close(out[1]);
	for (int i = 0; i < n; i++) {
		uint64_t took;

		if (read(out[0], &took, sizeof(took)) != sizeof(took))
			return 1;
		printf("%" PRIu64 " ", took);
	}
	printf("\n");
	while (waitpid(-1, NULL, 0) > 0)
		;
	return 0;
}

/* Calls of the kernel go through a filter that lets all pass. */
static void filter_enter(void)
{
	struct sock_filter all = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog program = { 1, &all };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		exit(1);
}

int main(int argc, char **argv)
{
	char line[16384];

	if (word_of("WIRE_CLIENT_FILTER", 0))
		filter_enter();
	/* A child obeys; it ends with its input. */
	if (word_of("WIRE_CLIENT_FORK", 0) && fork()) {
		wait(NULL);
		return 0;
	}
	memcpy(&image, (const void *)getauxval(AT_RANDOM), sizeof(image));
	if (argc == 8 && !strcmp(argv[1], "hammer"))
		return hammer(argv + 2);
	if (argc == 4 && !strcmp(argv[1], "burst"))
		return burst(argv[2], atoi(argv[3]));
	setvbuf(stdin, NULL, _IONBF, 0); /* what comes after "exec" is for the next image */
	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = 0;
		obey(line);
	}
	return 0;
}
