/*
 * nccl_fuzz.c: fuzz target for what is said to NCCL's ranks before they know each other, and over the lines between
 * them.
 *
 * An input is a sequence of callers. Each says a hello, whole or cut, with the secret or without; some pass a
 * descriptor for shared memory, and write what they like into its rings. One half of the callers comes to the root,
 * the other one to a rank. What must hold: who has not said the secret is never taken; a rank is taken once; of memory
 * that is not sealed, or of another size, no line is made; a line never hands out more than it was asked for.
 *
 * meet.c and line.c are included, so that their parts can be called one by one: nobody waits here.
 */
#include "libs/nccl/line.c"
#include "libs/nccl/meet.c"

#include <stdarg.h>

#define check(cond)                                                                                                    \
	do {                                                                                                           \
		if (!(cond)) {                                                                                         \
			fprintf(stderr, "nccl_fuzz: %s does not hold\n", #cond);                                       \
			abort();                                                                                       \
		}                                                                                                      \
	} while (0)

#define RANKS 4
#define OWN 1 /* the rank that is called */
#define MOST 48

enum flag {
	TO_ROOT = 1,
	SECRETLY = 2, /* with the secret */
	LOCAL = 4,
	SENDS = 8,   /* a descriptor */
	SEALED = 16, /* which is sealed memory */
	SIZED = 32,  /* as large as it must be */
	PIECES = 64, /* the hello comes in two pieces */
	LEAVES = 128,
};

struct input {
	uint8_t flags;
	uint8_t cut; /* 0: all of the hello; else so many bytes of it */
	uint8_t rank, ranks;
	uint8_t version;
	uint8_t bytes[11]; /* of the hello's rest */
	uint64_t counters[4];
};

static const uint8_t secret[SECRET] = "a secret of all";
static unsigned long taken, shared;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length);

/* Of comm.c and log.c. */
void nccl_fail(struct ncclComm *c, ncclResult_t result, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(c->error, sizeof(c->error), fmt, ap);
	va_end(ap);
	c->state = (int)result;
}

void log_line(const char *fmt, ...)
{
	(void)fmt;
}

static struct hello hello_of(const struct input *in)
{
	struct hello h = { .magic = MEET_MAGIC,
			   .version = in->version & 3 ? MEET_VERSION : in->version,
			   .rank = in->rank > 250 ? UINT32_MAX : in->rank % (2 * RANKS),
			   .ranks = in->ranks > 250 ? UINT32_MAX
				    : in->ranks & 3 ? RANKS
						    : in->ranks * 8u };

	if (in->version == 255)
		h.magic++;
	if (in->flags & SECRETLY)
		memcpy(h.secret, secret, SECRET);
	else
		memcpy(h.secret, in->bytes, sizeof(in->bytes));
	memcpy(&h.listens, in->bytes, sizeof(h.listens));
	memcpy(h.name, in->bytes, sizeof(in->bytes));
	return h;
}

static void send_memory(int fd, const struct input *in)
{
	int memory = memfd_create("nccl-fuzz", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	char control[CMSG_SPACE(sizeof(int))] = { 0 }, byte = 'm';
	struct iovec iov = { &byte, 1 };
	struct msghdr m = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)
	};
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);

	check(memory >= 0);
	check(!ftruncate(memory,
			 in->flags & SIZED ? (off_t)(2 * sizeof(struct ring)) : (off_t)(in->counters[3] % 65536)));
	check(pwrite(memory, in->counters, 8, 0) == 8 || !(in->flags & SIZED));
	if (in->flags & SEALED)
		check(!fcntl(memory, F_ADD_SEALS, SEALS));
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &memory, sizeof(int));
	if (!(in->flags & SENDS))
		m.msg_controllen = 0;
	check(sendmsg(fd, &m, MSG_NOSIGNAL) == 1 || in->flags & LEAVES);
	close(memory);
}

/* Hears until the caller is known. Value: as caller_hear(). */
static int hear(struct caller *k, int fd, const struct input *in)
{
	const struct hello h = hello_of(in);
	const size_t bytes = in->cut ? in->cut % sizeof(h) : sizeof(h), first = in->flags & PIECES ? bytes / 2 : 0;
	int r = 0;

	if (first) {
		check(send(fd, &h, first, MSG_NOSIGNAL) == (ssize_t)first);
		r = caller_hear(k, secret);
	}
	if (bytes > first)
		check(send(fd, (const char *)&h + first, bytes - first, MSG_NOSIGNAL) == (ssize_t)(bytes - first));
	if (in->flags & LEAVES)
		shutdown(fd, SHUT_WR);
	if (!r)
		r = caller_hear(k, secret);
	check(r <= 0 || (in->flags & SECRETLY && bytes == sizeof(h) && h.magic == MEET_MAGIC));
	return r;
}

static void come_to_root(struct gathering *g, struct caller *k)
{
	const uint32_t rank = k->hello.rank, before = g->come;
	const bool free_place = g->ranks && rank < g->ranks && g->fds[rank] < 0;

	gathering_take(g, k);
	gathering_look(g);
	check(g->come <= g->ranks && g->come - before <= 1);
	check(!g->ranks || before == g->come || free_place || !before);
	taken += g->come != before;
}

/* The other rank writes what it likes to its side, and both read and write. */
static void use_line(struct line *l, const struct input *in)
{
	static uint8_t room[RING + 16];

	for (int i = 0; i < 3; i++) {
		long n;

		if (l->memory && i) {
			atomic_store(&l->in->written, in->counters[i]);
			atomic_store(&l->out->read, in->counters[3 - i]);
		}
		n = line_read(l, room, (size_t)in->counters[2] % sizeof(room));
		check(n >= -1 && n <= (long)(in->counters[2] % sizeof(room)));
		n = line_write(l, room, (size_t)in->counters[1] % sizeof(room));
		check(n >= -1 && n <= (long)(in->counters[1] % sizeof(room)));
		line_over(l);
		line_lost(l);
	}
	shared += l->memory != NULL;
}

static void come_to_rank(struct meeting *m, struct caller *k, int fd, const struct input *in)
{
	const uint32_t rank = k->hello.rank;
	const bool free_place = rank < RANKS && rank > OWN && !m->c->lines[rank];
	bool line;

	if (k->local)
		send_memory(fd, in);
	line = line_from(m, k);
	check(!line || free_place);
	check(!line || !k->local || (in->flags & SENDS && in->flags & SEALED && in->flags & SIZED));
	if (line)
		use_line(m->c->lines[rank], in);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length)
{
	struct line *known[RANKS] = { 0 };
	struct ncclComm c = { .rank = OWN, .ranks = RANKS, .lines = known };
	struct meeting m = { .c = &c, .tcp = -1, .local = -1, .end = INT64_MAX };
	struct gathering g = { 0 };
	int ends[MOST], count = 0;

	for (size_t at = 0; at < length && count < MOST; at += sizeof(struct input)) {
		struct input in = { 0 };
		struct caller k = { .end = INT64_MAX };
		int pair[2], r;

		memcpy(&in, data + at, length - at < sizeof(in) ? length - at : sizeof(in));
		check(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair));
		ends[count++] = pair[1];
		k.fd = pair[0];
		k.local = in.flags & LOCAL;
		r = hear(&k, pair[1], &in);
		if (r <= 0)
			close(k.fd);
		else if (in.flags & TO_ROOT)
			come_to_root(&g, &k);
		else
			come_to_rank(&m, &k, pair[1], &in);
	}
	for (int i = 0; i < count; i++)
		close(ends[i]);
	gathering_end(&g);
	for (int i = 0; i < RANKS; i++)
		line_free(known[i], false);
	return 0;
}

#ifndef FUZZ_ENGINE
static uint64_t state = 88172645463325252u;

static uint64_t next(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	return state ^= state << 17;
}

int main(void)
{
	const unsigned int rounds = getenv("METE_TEST_SANITIZED") ? 300 : 1000;

	for (unsigned int i = 0; i < rounds; i++) {
		struct input in[12];

		for (int k = 0; k < 12; k++) {
			for (size_t at = 0; at < sizeof(in[k]); at += 8)
				memcpy((char *)&in[k] + at, &(uint64_t){ next() }, 8);
			in[k].cut = next() % 4 ? 0 : in[k].cut;
			in[k].flags |= next() % 3 ? SECRETLY | SENDS | SIZED | SEALED : 0;
			in[k].flags &= next() % 4 ? (uint8_t)~LEAVES : 0xff;
			for (int n = 0; n < 4; n++)
				in[k].counters[n] = next() % 2 ? next() % (2 * RING) : in[k].counters[n];
		}
		LLVMFuzzerTestOneInput((const uint8_t *)in, sizeof(in));
	}
	printf("nccl_fuzz: %u rounds, %lu ranks taken, %lu lines with shared memory, no violation\n", rounds, taken,
	       shared);
	return !taken || !shared;
}
#endif
