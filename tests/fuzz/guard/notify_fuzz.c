/*
 * notify_fuzz.c: fuzz target for calls that a supervisor makes in a tenant's place: what the program gives it, and what
 * the driver answers.
 *
 * An input is a sequence of calls. The program is this process: its memory is `program`, and no address counts as the
 * supervisor's own. The driver is here (ioctl, by the linker's --wrap): it writes over what it is given. What must
 * hold: what is charged is what the objects that there are hold; a pointer of the program's is as it was after the
 * call.
 */
#include "guard/notify/calls.h"
#include "rm/interface.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PARAMETERS_AT 4096u
#define LISTS_AT 8192u
#define QUOTA (UINT64_C(1) << 30)
#define MEMORY_MAJOR 1 /* /dev/random, which can be waited for as the driver's nodes can */
#define RANDOM_MINOR 8

#define check(cond)                                                                                                    \
	do {                                                                                                           \
		if (!(cond)) {                                                                                         \
			fprintf(stderr, "notify_fuzz: call %#x of %u bytes: %s is false\n", now.number, now.size,      \
				#cond);                                                                                \
			abort();                                                                                       \
		}                                                                                                      \
	} while (0)

enum flag {
	POINTS = 1,  /* to the parameters */
	LISTS = 2,   /* these point to lists */
	FAILS = 4,   /* the driver's call */
	REFUSED = 8, /* by its status, as it may stand anywhere */
	GONE = 16,   /* the caller */
	SWEEPS = 32,
	WRITES = 64, /* the driver writes everywhere */
};

struct input {
	uint16_t branch;
	uint8_t number, flags;
	uint32_t size, written;
	uint8_t bytes[184], parameters[136];
};

static struct input now;
static uint8_t program[16384] __attribute__((aligned(4096)));
static struct calls calls;
static int device = -1, self = -1;
static unsigned long reached, charged; /* calls that the driver got, and those behind which something was charged */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length);
int __wrap_ioctl(int fd, unsigned long request, void *argument);

static bool is_programs(uint64_t address)
{
	return address - (uintptr_t)program < sizeof program;
}

/* The driver's part. */
int __wrap_ioctl(int fd, unsigned long request, void *argument)
{
	uint8_t *to = argument;
	uint64_t parameters = 0;
	uint32_t size = _IOC_SIZE(request);

	(void)fd;
	if (request == SECCOMP_IOCTL_NOTIF_ID_VALID)
		return now.flags & GONE ? -1 : 0;
	reached++;
	if (now.flags & FAILS) {
		errno = EIO;
		return -1;
	}
	if (size >= 24)
		memcpy(&parameters, to + 16, sizeof parameters);
	/* Behind a pointer that has not been replaced the driver would read this process, not the program. */
	if (_IOC_NR(request) == RM_ESC_CONTROL && size >= 32 && memcmp(to + 24, "\0\0\0", 4))
		check(!is_programs(parameters));
	for (uint32_t at = 0; at + 4 <= size; at += 4)
		if (now.flags & REFUSED || (now.flags & WRITES && at != 16 && at != 20))
			memcpy(to + at, &now.written, now.flags & REFUSED && at < size - 8 ? 0 : 4);
	return 0;
}

/* All that is charged is held by something. */
static uint64_t held(const struct tenant_account *a)
{
	uint64_t sum = 0;

	for (uint32_t i = 1; i <= TENANT_OBJECTS_MOST; i++)
		sum += a->memory[i].references ? a->memory[i].bytes : 0;
	return sum;
}

static void begin(void)
{
	static struct tenant_account *account;

	if (device < 0) {
		device = open("/dev/random", O_RDWR | O_CLOEXEC);
		self = (int)syscall(SYS_pidfd_open, getpid(), 0);
	}
	if (calls.account) {
		close(calls.watch_fd);
		close(calls.watch_info_fd);
		if (calls.control_fd >= 0)
			close(calls.control_fd);
		tenant_account_free(account);
	}
	account = tenant_account_new(QUOTA);
	calls = (struct calls){
		.account = account, .devices = 1u << RANDOM_MINOR, .groups_most = 4, .major = MEMORY_MAJOR
	};
	calls.terms.slice_most_us = 2000;
	if (device < 0 || self < 0 || !account || calls_begin(&calls)) {
		perror("notify_fuzz");
		abort();
	}
}

static void make(void)
{
	const struct caller caller = { getpid(), self, -1, 1 };
	uint64_t at = (uintptr_t)program + PARAMETERS_AT, list = (uintptr_t)program + LISTS_AT, before, after;

	memset(program, 0, sizeof program);
	memcpy(program, now.bytes, sizeof now.bytes);
	memcpy(program + PARAMETERS_AT, now.parameters, sizeof now.parameters);
	if (now.flags & POINTS)
		memcpy(program + 16, &at, sizeof at);
	for (unsigned int i = 8; now.flags & LISTS && i <= 24; i += 8)
		memcpy(program + PARAMETERS_AT + i, &list, sizeof list);
	memcpy(&before, program + 16, sizeof before);
	calls.terms.branch = now.branch;
	calls_make(&calls, &caller, device, _IOC(_IOC_READ | _IOC_WRITE, 'F', now.number, now.size),
		   (uintptr_t)program);
	memcpy(&after, program + 16, sizeof after);
	if (now.flags & POINTS && !(now.flags & REFUSED))
		check(before == after || now.size < 24 || now.flags & WRITES);
	if (now.flags & SWEEPS)
		calls_sweep(&calls);
	charged += calls.account->used > 0;
	check(held(calls.account) == calls.account->used);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length)
{
	begin();
	for (size_t at = 0; at < length; at += sizeof now) {
		size_t n = length - at < sizeof now ? length - at : sizeof now;

		memset(&now, 0, sizeof now);
		memcpy(&now, data + at, n);
		now.size %= 256;
		make();
	}
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

#define CALLS 24

/* A client, or memory of one, as a program asks for it. */
static void make_memory(struct input *in)
{
	const bool client = next() % 4 == 0;
	const uint32_t words[12] = { 1, 1, 1 + (uint32_t)(next() % 4), client ? RM_CLASS_CLIENT : 0x40 };
	const uint64_t bytes = UINT64_C(1) << (12 + next() % 20);

	in->number = RM_ESC_ALLOC;
	in->branch = (uint16_t)(515 + next() % 80);
	in->size = next() % 2 ? 32 : 48;
	memset(in->bytes, 0, sizeof in->bytes);
	memcpy(in->bytes, words, sizeof words);
	in->flags = (uint8_t)((client ? 0 : POINTS) | (next() % 8 ? 0 : next() & (FAILS | REFUSED | SWEEPS)));
	memset(in->parameters, 0, sizeof in->parameters);
	memcpy(in->parameters + 64, &bytes, sizeof bytes);
}

int main(void)
{
	static const uint8_t numbers[] = { 0x27, 0x29, 0x2a, 0x2b, 0x2b, 0x2b, 0x34, 0x41, 0x4a, 0x4e, 201, 206 };
	static const uint32_t sizes[] = { 16, 28, 32, 40, 48, 56, 184 };
	static const uint32_t words[] = { 0,	1,    2,      6,	  0x41,	      0x71, 0x79,    0x40,
					  0x3e, 0x80, 0xa06c, 0x20801303, 0x20801301, ~0u,  1u << 20 };
	unsigned int rounds = getenv("METE_TEST_SANITIZED") ? 300 : 2000;

	for (unsigned int i = 0; i < rounds; i++) {
		static struct input in[CALLS];

		for (int c = 0; c < CALLS; c++) {
			uint32_t *w = (uint32_t *)in[c].bytes;

			for (size_t at = 0; at + 8 <= sizeof in[c]; at += 8)
				memcpy((char *)&in[c] + at, &(uint64_t){ next() }, 8);
			in[c].branch = (uint16_t)(510 + in[c].branch % 100);
			in[c].number = c % 5 ? numbers[in[c].number % sizeof numbers] : in[c].number;
			in[c].size = c % 4 ? sizes[in[c].size % 7] : in[c].size;
			in[c].written = words[in[c].written % (sizeof words / sizeof *words)];
			in[c].flags &= next() % 2 ? POINTS | LISTS : 0xff;
			/* Names that come again, and classes that matter. */
			for (int k = 0; k < 12; k++)
				w[k] = next() % 3 ? words[next() % (sizeof words / sizeof *words)] : w[k];
			for (int k = 0; k < 34; k++)
				if (next() % 2)
					memcpy(in[c].parameters + 4 * k,
					       &words[next() % (sizeof words / sizeof *words)], 4);
			if (next() % 3)
				make_memory(&in[c]);
		}
		LLVMFuzzerTestOneInput((const uint8_t *)in, sizeof in);
	}
	printf("%u calls, %lu reached the driver, memory was charged behind %lu\n", rounds * CALLS, reached, charged);
	return !reached || !charged;
}
#endif
