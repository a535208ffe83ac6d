/*
 * remote_malformed_test.c: the generated dispatcher against messages that no client of ours sends, over the tiny API.
 *
 * Sound requests are made by the generated client, which hands them over instead of sending; then they are damaged. A
 * malformed one must be refused with nothing executed; one that is damaged in its values only may run, within its
 * buffers.
 */
#include "base/tap.h"
#include "tiny_call.h"
#include "tiny_remote.h"
#include "tiny_worker.h"

static const struct tiny_table backend;

#define END_CALL enum tiny_call
#define END_COUNT TINY_CALL_COUNT
#define END_RESULT tyresult
#define END_OK TY_OK
#define END_LOST TY_LOST
#define END_NOT_SUPPORTED TY_NOT_SUPPORTED
#define END_INVALID_HANDLE TY_INVALID
#define END_TRAITS tiny_remote_traits
#define END_DRIVER backend
#include "remote_ends.h"

#define HEAD 24		/* bytes of a request's head */
#define WORD (HEAD / 8) /* the first word behind it */

static uint64_t request[512], scratch[512], reply[64];
static size_t request_size;
static int executed;
static int matrix_rows, matrix_columns;

/* Sets `request` to what the client makes of a call. */
#define KEEP(call)                                                                                                     \
	do {                                                                                                           \
		end_keep = true;                                                                                       \
		call;                                                                                                  \
		end_keep = false;                                                                                      \
		memcpy(request, end_request, end_request_size);                                                        \
		request_size = end_request_size;                                                                       \
	} while (0)

uint64_t client_use_stream(struct client_call *c, tyqueue queue)
{
	return (uintptr_t)queue <= ID_STREAM_PER_THREAD ? (queue ? (uintptr_t)queue : 1)
							: client_use(c, KIND_STREAM, queue);
}

int32_t client_use_device(struct client_call *c, tydevice device)
{
	return device + END_DEVICES;
}

tyqueue worker_find_stream(struct work *work, uint64_t id, bool *known)
{
	*known = true;
	return id <= ID_STREAM_PER_THREAD ? NULL : worker_find(work, KIND_STREAM, id, known);
}

#define DEVICE_BASE 4096u
#define DEVICE_BYTES 4096u

uint64_t worker_at(uint64_t at)
{
	return at;
}

bool worker_reaches(struct work *work, tyaddress at, size_t bytes)
{
	return at >= DEVICE_BASE && at - DEVICE_BASE <= DEVICE_BYTES && bytes <= DEVICE_BYTES - (at - DEVICE_BASE);
}

/* A backend that reads and writes everything that it was told of, so that the sanitizers see where. */

static char place[4096];
static int places_made, ended;
static volatile unsigned int sink;

static void touch(const void *data, size_t size)
{
	for (size_t i = 0; data && i < size; i++)
		sink += ((const uint8_t *)data)[i];
}

static tyresult back_write(tyaddress to, const void *from, size_t size)
{
	executed++;
	touch(from, size);
	return TY_OK;
}

static tyresult back_read(void *to, tyaddress from, size_t size)
{
	executed++;
	if (to)
		memset(to, 0x5a, size);
	return TY_OK;
}

static tyresult back_create(tyqueue *queue, const char *label)
{
	executed++;
	if (label)
		touch(label, strlen(label));
	if (queue)
		*queue = (tyqueue)&place[places_made++ % (int)sizeof(place)];
	return TY_OK;
}

static tyresult back_list(tyqueue *queues, size_t *count)
{
	executed++;
	for (size_t i = 0; queues && count && i < *count; i++)
		queues[i] = NULL;
	return TY_OK;
}

static tyresult back_name(char *label, int length, tyqueue queue)
{
	executed++;
	if (label && length > 0)
		memset(label, 'x', (size_t)length);
	return TY_OK;
}

static tyresult back_matrix(const typoint *points, int rows, int columns, typoint corner, float *sums)
{
	executed++;
	matrix_rows = rows;
	matrix_columns = columns;
	if (points && rows > 0 && columns > 1)
		touch(points, (size_t)rows * (size_t)(columns - 1) * sizeof(*points));
	for (int i = 0; sums && i < rows; i++)
		sums[i] = corner.x == 1.5 ? 2.5f : 0;
	return TY_OK;
}

static tyresult back_fill(tyaddress to, unsigned char value, size_t size, tyqueue queue)
{
	executed++;
	return to ? TY_OK : TY_INVALID;
}

static int item_value = 40;

static bool place_is(const void *handle)
{
	return (const char *)handle >= place && (const char *)handle < place + sizeof(place);
}

static tyresult back_make(tyitem *item, tyqueue queue, tyaddress at, size_t width, size_t rows, size_t pitch)
{
	executed++;
	*item = (tyitem)&place[places_made++ % (int)sizeof(place)];
	return place_is(queue) ? TY_OK : TY_INVALID;
}

static tyresult back_end(tyitem item)
{
	ended++;
	return place_is(item) ? TY_OK : TY_INVALID;
}

static tyresult back_get(tyitem item, int *value)
{
	executed++;
	*value = item_value;
	return TY_OK;
}

static tyresult back_set(tyitem item, int value)
{
	item_value = value;
	return TY_OK;
}

static tyresult back_items(const tyitem *items, unsigned int n, tydevice device, void *where, void *more)
{
	executed++;
	for (unsigned int i = 0; i < n; i++)
		if (!place_is(items[i]))
			return TY_INVALID;
	return device == 3 + END_DEVICES && (!where || where == (void *)(uintptr_t)DEVICE_BASE) && !more ? TY_OK
													 : TY_INVALID;
}

static tyresult back_places(const typlace *places, size_t n, tytoken *token)
{
	executed++;
	for (size_t i = 0; places && i < n; i++) {
		const typlace *p = &places[i];

		if (p->kind == 1 && p->what.item && !place_is(p->what.item))
			return TY_INVALID;
		touch(p->points, p->points ? p->count * sizeof(*p->points) : 0);
		for (unsigned int k = 0; p->items && k < p->count; k++)
			if (p->items[k] && !place_is(p->items[k]))
				return TY_INVALID;
		if (p->reserved || (p->queue && !place_is(p->queue)))
			return TY_INVALID;
		if (token)
			*token = p->token + 1;
	}
	return TY_OK;
}

static tyresult back_slot(tyslot *slot)
{
	executed++;
	if (!place_is(slot->item) || slot->made)
		return TY_NO_MEMORY;
	slot->made = (tyitem)((char *)slot->item + 1);
	return slot->device == 3 + END_DEVICES ? TY_OK : TY_INVALID;
}

static tyresult back_wide(tywide *out, const tywide *in, tywide *both)
{
	executed++;
	if (((uintptr_t)out | (uintptr_t)in | (uintptr_t)both) % 64)
		return TY_INVALID;
	*out = *in;
	out->bytes[63] = 9;
	both->bytes[0]++;
	return TY_OK;
}

static const struct tiny_table backend = {
	.tyItemMake = back_make,
	.tyItemEnd = back_end,
	.tyItemGet = back_get,
	.tyItemSet = back_set,
	.tyItems = back_items,
	.tyPlaces = back_places,
	.tySlot = back_slot,
	.tyWide = back_wide,
	.tyWrite = back_write,
	.tyRead = back_read,
	.tyQueueCreate = back_create,
	.tyQueueList = back_list,
	.tyQueueName = back_name,
	.tyMatrix = back_matrix,
	.tyFill = back_fill,
};

/* Delivers a message and leaves the worker's objects as they were, so that the next one meets the same. */
static int dispatch(const void *message, size_t size)
{
	static struct end_named objects[END_OBJECTS];
	int r;

	memcpy(objects, end_worker, sizeof(objects));
	r = end_dispatch(message, size, reply, sizeof(reply));
	memcpy(end_worker, objects, sizeof(objects));
	return r > 0 ? 1 : r;
}

static const struct call_reply *answer(void)
{
	return (const struct call_reply *)reply;
}

/* Every shorter message of a sound one is refused, and every longer one, whatever its head says. */
static void truncate_everywhere(const char *name)
{
	int before = executed, bad = 0;

	for (size_t size = 0; size < request_size; size++) {
		uint32_t said = (uint32_t)size;

		bad += dispatch(request, size) != -EPROTO;
		memcpy(scratch, request, request_size);
		memcpy(scratch, &said, sizeof(said));
		bad += dispatch(scratch, size) != -EPROTO;
	}
	for (size_t more = 1; more <= 24; more++) {
		uint32_t said = (uint32_t)(request_size + more);

		memset(scratch, 0, sizeof(scratch));
		memcpy(scratch, request, request_size);
		bad += dispatch(scratch, request_size + more) != -EPROTO;
		memcpy(scratch, &said, sizeof(said));
		bad += dispatch(scratch, request_size + more) != -EPROTO;
	}
	tap_ok(!bad && executed == before, "%s: no other length passes (%d did)", name, bad);
	ok(dispatch(request, request_size) >= 0);
	is(executed, before + 1);
}

/* Random damage to a sound message; what still runs must stay within its buffers. */
static void damage(const char *name, unsigned int rounds)
{
	unsigned int seed = 7, ran = 0, refused = 0;

	for (unsigned int i = 0; i < rounds; i++) {
		int r;

		memcpy(scratch, request, request_size);
		for (int k = rand_r(&seed) % 3; k >= 0; k--) {
			size_t at = HEAD + (size_t)rand_r(&seed) % (request_size - HEAD);

			((uint8_t *)scratch)[at] ^= (uint8_t)(1 << rand_r(&seed) % 8);
		}
		r = dispatch(scratch, request_size);
		if (r < 0)
			refused++;
		else
			ran++;
		if (r < 0 && r != -EPROTO)
			ok(!"another error");
	}
	tap_ok(ran && refused, "%s: of %u damaged ones %u ran, %u were refused", name, rounds, ran, refused);
}

/* Puts one 64-bit word into the request. */
static int with_word(size_t at, uint64_t value)
{
	memcpy(scratch, request, request_size);
	scratch[at] = value;
	return dispatch(scratch, request_size);
}

static void test_head(const struct tiny_table *tiny)
{
	struct call_request head;
	uint64_t more;
	int before = executed;

	KEEP(tiny->tyWrite(1, "data", 4));
	is(dispatch(request, request_size), 1);
	memcpy(&head, request, sizeof(head));
	more = (uint64_t)head.flags << 48;
	is(head.size, request_size);
	is(head.call, TINY_CALL_tyWrite);
	is(with_word(0, head.size | (uint64_t)TINY_CALL_COUNT << 32 | more), -EPROTO);
	is(with_word(0, head.size | UINT64_C(0xffff) << 32 | more), -EPROTO);
	is(with_word(0, head.size | (uint64_t)TINY_CALL_tySubmit << 32 | more), -EPROTO); /* not for the wire */
	is(with_word(0, head.size | (uint64_t)TINY_CALL_tyUnknown << 32 | more), -EPROTO);
	is(with_word(0, head.size | (uint64_t)TINY_CALL_tyZero << 32 | more), -EPROTO);	     /* goes as another */
	is(with_word(0, head.size | (uint64_t)TINY_CALL_tyFill_ptsz << 32 | more), -EPROTO); /* so do twins */
	is(with_word(0, (head.size - 8) | (uint64_t)head.call << 32 | more), -EPROTO);
	is(executed, before + 1);
}

/* Words behind the head of tyWrite: to, size, present, data. */
static void test_bytes(const struct tiny_table *tiny)
{
	int before = executed;

	KEEP(tiny->tyWrite(1, "twelve bytes", 12));
	is(request_size, HEAD + 8 + 8 + 8 + 16);
	is(with_word(4, 12), 1);
	is(with_word(4, 17), -EPROTO);
	is(with_word(4, 8), -EPROTO);
	is(with_word(4, UINT64_MAX), -EPROTO);
	is(with_word(4, UINT64_MAX - 6), -EPROTO);
	is(with_word(4, INT64_MAX), -EPROTO);
	is(with_word(5, 0), -EPROTO);
	is(with_word(5, 2), -EPROTO);
	is(executed, before + 1);
	truncate_everywhere("tyWrite");
	damage("tyWrite", 20000);
}

/* Words: whether the queue is there, its id, whether the label is there, its size, label. */
static void test_string(const struct tiny_table *tiny)
{
	tyqueue queue;
	int before = executed;

	KEEP(tiny->tyQueueCreate(&queue, "label12"));
	is(request_size, HEAD + 5 * 8);
	is(with_word(WORD + 3, 7), -EPROTO);
	is(with_word(WORD + 3, 0), -EPROTO);
	is(with_word(WORD + 3, 9), -EPROTO);
	is(with_word(WORD + 3, UINT64_MAX), -EPROTO);
	is(with_word(WORD + 4, UINT64_C(0x4141414141414141)), -EPROTO);
	is(with_word(WORD + 4, UINT64_C(0x0041414100414141)), -EPROTO);
	is(executed, before);
	truncate_everywhere("tyQueueCreate");
	damage("tyQueueCreate", 20000);
	KEEP(tiny->tyQueueCreate(&queue, NULL));
	is(dispatch(request, request_size), 1);
}

static void test_products(const struct tiny_table *tiny)
{
	typoint points[6] = { { .x = 1 } }, corner = { .x = 1.5 };
	float sums[2];
	int before = executed;

	KEEP(tiny->tyMatrix(points, 2, 4, corner, sums));
	is(request_size, HEAD + 8 + 8 + 24 + 8 + 6 * 24 + 8);
	is(dispatch(request, request_size), 1);
	is(matrix_rows, 2);
	is(matrix_columns, 4);
	is(answer()->size, HEAD + 8);
	ok(((const float *)(reply + 3))[1] == 2.5f);
	is(executed, before + 1);
	is(with_word(3, 3), -EPROTO);
	is(with_word(3, UINT32_MAX), -EPROTO);
	is(with_word(4, 0), -EPROTO);
	is(with_word(4, INT32_MAX), -EPROTO);
	is(executed, before + 1);
	truncate_everywhere("tyMatrix");
	damage("tyMatrix", 20000);
}

/* Room for results: what does not fit the reply is answered and not executed. */
static void test_results(const struct tiny_table *tiny)
{
	tyqueue queues[3];
	size_t count = 3;
	char label[16];
	int before = executed;

	KEEP(tiny->tyQueueList(queues, &count));
	is(request_size, HEAD + 8 + 8 + 8);
	is(dispatch(request, request_size), 1);
	is(answer()->size, HEAD + 8 + 3 * 8);
	is(executed, before + 1);
	is(with_word(4, 1000), 1);
	is(answer()->result, TY_NOT_SUPPORTED);
	is(answer()->size, HEAD);
	is(with_word(4, UINT64_C(1) << 61), -EPROTO);
	is(with_word(4, UINT64_MAX), -EPROTO);
	is(executed, before + 1);
	truncate_everywhere("tyQueueList");
	damage("tyQueueList", 20000);
	before = executed;
	KEEP(tiny->tyQueueName(label, sizeof(label), NULL));
	is(dispatch(request, request_size), 1);
	is(with_word(3, UINT32_MAX), -EPROTO); /* -1 */
	is(with_word(3, INT32_MAX), 1);
	is(answer()->result, TY_NOT_SUPPORTED);
	is(executed, before + 1);
	truncate_everywhere("tyQueueName");
	KEEP(tiny->tyRead(label, 1, sizeof(label)));
	truncate_everywhere("tyRead");
	damage("tyRead", 20000);
}

static void test_deferred(const struct tiny_table *tiny)
{
	tyqueue queue;
	char byte;

	is(tiny->tyFill(0, 1, 1, NULL), TY_OK);
	is(tiny->tyQueueCreate(&queue, NULL), TY_OK); /* nobody would know of the queue */
	is(tiny->tyRead(&byte, 1, 1), TY_INVALID);
	is(tiny->tyRead(&byte, 1, 1), TY_OK);
}

/* Objects: what the client minted and the worker named, what belongs to what, what is asked once. */
static void test_objects(const struct tiny_table *tiny)
{
	tyqueue queue = NULL;
	tyitem item = NULL, other = NULL, both[2];
	tyslot slot = { 0 };
	int value = 0, before;

	is(tiny->tyQueueCreate(&queue, "q"), TY_OK);
	is(tiny->tyItemMake(&item, queue, DEVICE_BASE, 4, 2, 8), TY_OK);
	is(tiny->tyItemMake(&other, queue, DEVICE_BASE, 4, 2, 8), TY_OK);
	is(tiny->tyItemMake(NULL, queue, DEVICE_BASE, 4, 2, 8), TY_INVALID);
	before = executed;
	for (int i = 0; i < 3; i++)
		is(tiny->tyItemGet(item, &value), TY_OK);
	is(value, 40);
	is(executed, before + 1);
	is(tiny->tyItemSet(item, 41), TY_OK);
	is(tiny->tyItemGet(item, &value), TY_OK);
	is(value, 41);
	both[0] = item;
	both[1] = other;
	is(tiny->tyItems(both, 2, 3, (void *)(uintptr_t)DEVICE_BASE, &value), TY_OK);
	slot.item = item;
	slot.made = (tyitem)&slot; /* the driver does not read it */
	slot.device = 3;
	is(tiny->tySlot(&slot), TY_OK);
	ok(slot.item == item && slot.made == other && slot.device == 3);
	slot.device = 4; /* fails, and fills what it fills always */
	slot.made = NULL;
	is(tiny->tySlot(&slot), TY_INVALID);
	ok(slot.item == item && slot.made == other && slot.device == 4);
	before = executed;
	is(tiny->tyItemMake(&other, queue, DEVICE_BASE, DEVICE_BYTES, 2, 8),
	   TY_OK); /* too wide: told by the next that waits */
	is(tiny->tyItemMake(&other, queue, DEVICE_BASE, 4, SIZE_MAX, SIZE_MAX), TY_OK);
	is(executed, before);
	is(tiny->tyItems(both, 1, 3, NULL, NULL), TY_INVALID);
	is(tiny->tyItemEnd(item), TY_OK);
	is(tiny->tyItemEnd(item), TY_INVALID);
	is(tiny->tyItems(both, 2, 3, NULL, NULL), TY_INVALID);
	is(tiny->tyZero_ptds(DEVICE_BASE, 1, 1), TY_OK);
}

static void test_records(const struct tiny_table *tiny)
{
	typoint points[2] = { { .x = 1 }, { .x = 2 } };
	tyqueue queue = NULL;
	tyitem item = NULL;
	typlace places[2] = { { 0 } };
	tywide in = { .bytes = { 1 } }, out = { { 0 } }, both = { .bytes = { 2 } };
	tytoken token = 0;
	int before;

	is(tiny->tyQueueCreate(&queue, "r"), TY_OK);
	is(tiny->tyItemMake(&item, queue, DEVICE_BASE, 4, 2, 8), TY_OK);
	places[0] =
		(typlace){ .kind = 1, .what.item = item, .queue = queue, .points = points, .items = &item, .count = 1 };
	places[1] = (typlace){
		.kind = 2, .what.at = DEVICE_BASE + 8, .points = points, .count = 2, .reserved = &in, .token = 77
	};
	before = executed;
	is(tiny->tyPlaces(places, 2, &token), TY_OK);
	is(token, 78); /* a raw handle is the driver's own */
	places[1].kind = 3;
	places[1].what.at = DEVICE_BASE + DEVICE_BYTES - 7;
	is(tiny->tyPlaces(places, 2, &token), TY_INVALID);
	places[1].kind = 1;
	is(tiny->tyPlaces(places, 2, &token), TY_INVALID);
	is(executed, before + 1);
	places[1].kind = 5; /* nothing counts */
	is(tiny->tyPlaces(places, 2, &token), TY_OK);
	is(tiny->tyWide(&out, &in, &both), TY_OK);
	ok(out.bytes[0] == 1 && both.bytes[0] == 3 && out.bytes[63] == 9);
	KEEP(tiny->tyPlaces(places, 2, &token));
	truncate_everywhere("tyPlaces");
	damage("tyPlaces", 20000);
	KEEP(tiny->tyWide(&out, &in, &both));
	truncate_everywhere("tyWide");
	/* An id that another object has, or that is of another kind, ends the session. */
	KEEP(tiny->tyItemMake(&item, queue, DEVICE_BASE, 4, 2, 8));
	is(end_dispatch(request, request_size, reply, sizeof(reply)), 0);
	is(dispatch(request, request_size), -EPROTO);
	is(with_word(request_size / 8 - 1, CALL_ID(KIND_STREAM, 9, 900)), -EPROTO);
	is(with_word(request_size / 8 - 1, CALL_ID(KIND_ITEM, 9, 900 | CALL_ID_WORKER)), -EPROTO);
	is(with_word(request_size / 8 - 1, CALL_ID(KIND_ITEM, 9, 900)), 0);
}

int main(void)
{
	struct tiny_table tiny = tiny_remote_table;

	tap_begin();
	test_head(&tiny);
	test_bytes(&tiny);
	test_string(&tiny);
	test_products(&tiny);
	test_results(&tiny);
	test_deferred(&tiny);
	test_objects(&tiny);
	test_records(&tiny);
	is(tiny.tySubmit(NULL, NULL, NULL, NULL), TY_NOT_SUPPORTED);
	is_str(tiny.tyName(TY_OK), "not supported");
	is(end_refusals, 2);
	return tap_end();
}
