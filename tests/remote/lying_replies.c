/*
 * lying_replies.c: a worker as a hostile server may be: some of what it answers is changed after it has been made, and
 * some messages answer nobody. Linked into a worker by --wrap, for the test of what a client stands.
 *
 * LIES_SEED is where the changes begin; LIES_EVERY is the mean number of messages between two (0: none). The first
 * LIES_AFTER messages are told as they are. LIES_NEXT is where the worker wants its client to go on, again and again.
 * LIES_SWEEP: once the client has asked for an event, each answer has one wrong word behind its head; of the same call
 * each next answer has the next value there, and then the next word. The number is how many are left out.
 * LIES_LONG: once the client has asked for an event, each managed variable but the first lies where the first one does,
 * and reaches a page into what lies behind the addresses that the client keeps for it. LIES_OLD: each change puts what
 * an earlier answer had in the place of this one's, mostly one of the same call: ids that were another object's, or of
 * one that is gone; or an earlier answer comes once more, or a later one first; or one is cut off.
 */
#include "cuda_table.h"
#include "remote/client/ranges.h"
#include "remote/code.h"
#include "ring/call.h"
#include "ring/ring.h"
#include "ring/wall.h"
#include "wire/worker.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LONGEST 256u
#define WISH_US 60000u

int __real_ring_begin(struct ring_end *end, size_t size, void **ret_at);
void __real_ring_commit(struct ring_end *end, size_t size);
int __wrap_ring_begin(struct ring_end *end, size_t size, void **ret_at);
void __wrap_ring_commit(struct ring_end *end, size_t size);
bool __real_traffic_is_kept(void);
uint32_t __real_traffic_wish(uint32_t seen);
void __real_traffic_where(char *where);
bool __wrap_traffic_is_kept(void);
uint32_t __wrap_traffic_wish(uint32_t seen);
void __wrap_traffic_where(char *where);

static uint64_t state;
static uint64_t every, after, sent;
static void *begun; /* the worker sends one message at a time */

static uint64_t number_of(const char *name)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 10) : 0;
}

static uint64_t any(void)
{
	if (!state) {
		state = number_of("LIES_SEED") * 2654435761u + 88172645463325252u;
		every = number_of("LIES_EVERY");
		after = number_of("LIES_AFTER");
	}
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static uint64_t below(uint64_t count)
{
	return (any() >> 11) % count;
}

/* A value that may matter where a number, a count, an address or an id stood. */
static uint64_t other(uint64_t was)
{
	static const uint64_t values[] = { 0,
					   1,
					   UINT64_MAX,
					   INT64_MAX,
					   UINT32_MAX,
					   INT32_MAX,
					   UINT64_C(1) << 63,
					   UINT64_C(1) << 32,
					   UINT64_C(1) << 47,
					   UINT64_C(0x0000000100000001),
					   UINT64_C(0x4141414141414141),
					   4096 };

	switch (below(5)) {
	case 0:
		return was + below(64) - 32;
	case 1:
		return was ^ UINT64_C(1) << below(64);
	case 2:
		return any();
	default:
		return values[below(sizeof(values) / sizeof(*values))];
	}
}

/* One word behind the size and the ticket, which a client looks at first, or seldom one of those. */
static void change(uint8_t *message, size_t size)
{
	size_t from = below(8) ? sizeof(struct call_reply) : 0, at;
	uint64_t word;

	if (from + 8 > size)
		from = 8;
	if (from + 8 > size)
		return;
	for (uint64_t times = 1 + below(2); times; times--) {
		at = from + below((size - from) / 8) * 8;
		memcpy(&word, message + at, 8);
		word = other(word);
		if (below(3))
			memcpy(message + at, &word, 8);
		else
			memcpy(message + at + 4 * below(2), &word, 4);
	}
}

/* A message that nobody has asked for: a notice, or an answer to what was not asked. */
static void invent(struct ring_end *end)
{
	struct call_reply head = { .size = (uint32_t)(sizeof(head) + 8 * below(8)),
				   .call = (uint16_t)(CALL_FIRST + below(6)),
				   .flags = below(4) ? 0 : CALL_PAYLOAD,
				   .ticket = below(16) ? 0 : (uint32_t)below(64) };
	uint8_t message[LONGEST];
	uint64_t word;
	void *at;

	if (__real_ring_begin(end, head.size, &at))
		return;
	memcpy(message, &head, sizeof(head));
	for (size_t i = sizeof(head); i + 8 <= head.size; i += 8) {
		word = below(2) ? below(4096) : other(0);
		memcpy(message + i, &word, 8);
	}
	memcpy(at, message, head.size);
	__real_ring_commit(end, head.size);
}

#define CALLS 65536u
#define WORDS 24u

/* Numbers, and counts whose products with the sizes of things are small. */
static const uint64_t swept[] = { 0,
				  1,
				  2,
				  17,
				  4096,
				  INT32_MAX,
				  UINT32_MAX,
				  UINT64_C(1) << 32,
				  INT64_MAX,
				  UINT64_MAX,
				  UINT64_C(1) << 63,
				  (UINT64_C(1) << 60) + 1,
				  (UINT64_C(1) << 61) + 1,
				  UINT64_C(0x5555555555555556),
				  UINT64_C(0x0000000100000001) };

static void sweep(uint8_t *message, size_t size)
{
	static uint32_t answers[CALLS];
	static bool begun_lying;
	const size_t values = sizeof(swept) / sizeof(*swept);
	struct call_reply head;
	size_t words, at;
	uint32_t n;

	memcpy(&head, message, sizeof(head));
	begun_lying |= head.call == CUDA_CALL_cuEventQuery;
	if (!begun_lying || !head.ticket || head.result || head.flags & CALL_PAYLOAD || size < sizeof(head) + 8)
		return;
	words = (size - sizeof(head)) / 8;
	words = words < WORDS ? words : WORDS;
	n = (uint32_t)number_of("LIES_SWEEP") + answers[head.call]++;
	at = sizeof(head) + n / values % words * 8;
	memcpy(message + at, &swept[n % values], 8);
}

static void lengthen(uint8_t *message, size_t size)
{
	static uint64_t first;
	static bool begun_lying;
	struct code_global found;
	struct call_reply head;

	memcpy(&head, message, sizeof(head));
	begun_lying |= head.call == CUDA_CALL_cuEventQuery;
	if (!begun_lying || head.call != CALL_CODE_GLOBAL || head.result || size < sizeof(head) + sizeof(found))
		return;
	memcpy(&found, message + sizeof(head), sizeof(found));
	if (!found.managed)
		return;
	if (first) {
		found.address = first;
		found.bytes = (first | (RANGES_PIECE - 1)) + 1 - first + 4096;
	}
	first = found.address;
	memcpy(message + sizeof(head), &found, sizeof(found));
}

/* Answers that were sent, the last ones. */
#define OLD 64u

static struct {
	uint32_t size;
	uint8_t message[LONGEST];
} old[OLD];
static uint64_t olds;

static void note(const uint8_t *message, size_t size)
{
	if (size < sizeof(struct call_reply) || size > LONGEST)
		return;
	old[olds % OLD].size = (uint32_t)size;
	memcpy(old[olds++ % OLD].message, message, size);
}

/* One of them, of this call if there is one; NULL: there is none. */
static const uint8_t *earlier(uint16_t call, size_t *ret_size)
{
	const uint64_t count = olds < OLD ? olds : OLD, from = count ? below(count) : 0;
	const bool same = below(4);

	for (uint64_t i = 0; i < count; i++) {
		const uint64_t n = (from + i) % count;
		struct call_reply head;

		memcpy(&head, old[n].message, sizeof(head));
		if (same && head.call != call)
			continue;
		*ret_size = old[n].size;
		return old[n].message;
	}
	return NULL;
}

/* Value: the size of the message. */
static size_t put_earlier(uint8_t *message, size_t size)
{
	struct call_reply head;
	const uint8_t *was;
	size_t bytes;

	if (size < sizeof(head))
		return size;
	memcpy(&head, message, sizeof(head));
	was = earlier(head.call, &bytes);
	switch (below(8)) {
	case 0: /* all of it, also its ticket */
		if (was && bytes <= size)
			memcpy(message, was, bytes);
		return was && bytes <= size ? bytes : size;
	case 1:
		return sizeof(head) + below((size - sizeof(head)) / 8 + 1) * 8;
	case 2:
		head.size = (uint32_t)(sizeof(head) + below((size - sizeof(head)) / 8 + 1) * 8);
		memcpy(message, &head, sizeof(head));
		return head.size;
	default:
		if (was)
			memcpy(message + sizeof(head), was + sizeof(head),
			       (bytes < size ? bytes : size) - sizeof(head));
		return size;
	}
}

/* An earlier answer, once more. */
static void repeat(struct ring_end *end)
{
	size_t size;
	const uint8_t *was = earlier((uint16_t)any(), &size);
	void *at;

	if (!was || __real_ring_begin(end, size, &at))
		return;
	memcpy(at, was, size);
	__real_ring_commit(end, size);
}

int __wrap_ring_begin(struct ring_end *end, size_t size, void **ret_at)
{
	int r = __real_ring_begin(end, size, ret_at);

	begun = r ? NULL : *ret_at;
	return r;
}

void __wrap_ring_commit(struct ring_end *end, size_t size)
{
	bool lies = any() && every && sent++ >= after && !below(every), of_old = getenv("LIES_OLD");

	if (size && begun && getenv("LIES_SWEEP"))
		sweep(begun, size);
	if (size && begun && getenv("LIES_LONG"))
		lengthen(begun, size);
	if (size && begun && of_old)
		note(begun, size);
	if (lies && size && begun && of_old)
		size = put_earlier(begun, size);
	else if (lies && size && begun)
		change(begun, size);
	__real_ring_commit(end, size);
	if (lies && !below(6) && of_old)
		repeat(end);
	else if (lies && !below(6))
		invent(end);
}

/* ---- wishes: meted's part ---- */

bool __wrap_traffic_is_kept(void)
{
	return getenv("LIES_NEXT") || __real_traffic_is_kept();
}

uint32_t __wrap_traffic_wish(uint32_t seen)
{
	static uint32_t serial;

	if (!getenv("LIES_NEXT"))
		return __real_traffic_wish(seen);
	usleep(WISH_US * (serial + 1));
	serial++;
	return WALL_WISH(serial, 1 + serial % 3);
}

void __wrap_traffic_where(char *where)
{
	const char *next = getenv("LIES_NEXT");

	if (!next) {
		__real_traffic_where(where);
		return;
	}
	memset(where, 0, WORKER_WHERE_BYTES);
	strncpy(where, next, WORKER_WHERE_BYTES - 1);
}
