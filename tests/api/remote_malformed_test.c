/*
 * remote_malformed_test.c: the generated dispatcher against messages that no client of ours sends, over the tiny API.
 *
 * Sound requests are made by the generated client, which hands them over instead of sending; then they are damaged. A
 * malformed one must be refused with nothing executed; one that is damaged in its values only may run, within its
 * buffers.
 */
#include "base/tap.h"
#include "tiny_remote.h"

#include <errno.h>

static uint64_t request[512], scratch[512], reply[64];
static size_t request_size;
static int executed;
static int matrix_rows, matrix_columns;

/* A link that keeps the request and is then lost. */

static void *keep_begin(struct remote_link *link, size_t *capacity)
{
	*capacity = sizeof(request);
	return request;
}

static int keep_send(struct remote_link *link, size_t size)
{
	request_size = size;
	return -EPIPE;
}

static int keep_receive(struct remote_link *link, const void **data, size_t *size)
{
	return -EPIPE;
}

static void keep_end(struct remote_link *link)
{
}

struct remote_link *tiny_remote_link(void)
{
	static struct remote_link link = {keep_begin, keep_send, keep_receive, keep_end};

	return &link;
}

/* A backend that reads and writes everything that it was told of, so that the sanitizers see where. */

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
		*queue = NULL;
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

static const struct tiny_table backend = {
	.tyWrite = back_write,
	.tyRead = back_read,
	.tyQueueCreate = back_create,
	.tyQueueList = back_list,
	.tyQueueName = back_name,
	.tyMatrix = back_matrix,
	.tyFill = back_fill,
};

static struct tiny_remote_session session = {.table = &backend};

/* Dispatches a copy whose end is the end of its memory, so that the sanitizers see a step beyond. */
static int dispatch(const void *message, size_t size)
{
	void *copy = malloc(size ? size : 1);
	int r;

	memcpy(copy, message, size);
	r = tiny_remote_dispatch(&session, copy, size, reply, sizeof(reply));
	free(copy);
	return r;
}

static const struct remote_head *answer(void)
{
	return (const struct remote_head *)reply;
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
	is(dispatch(request, request_size), TINY_REMOTE_REPLY);
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
			size_t at = 16 + (size_t)rand_r(&seed) % (request_size - 16);

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
	struct remote_head head;
	int before = executed;

	tiny->tyWrite(1, "data", 4);
	is(answer() ? dispatch(request, request_size) : 0, TINY_REMOTE_REPLY);
	memcpy(&head, request, sizeof(head));
	is(head.size, request_size);
	is(head.call, TINY_CALL_tyWrite);
	is(with_word(0, head.size | (uint64_t)TINY_CALL_COUNT << 32), -EPROTO);
	is(with_word(0, head.size | UINT64_C(0xffffffff) << 32), -EPROTO);
	is(with_word(0, head.size | (uint64_t)TINY_CALL_tySubmit << 32), -EPROTO); /* not for the wire */
	is(with_word(0, head.size | (uint64_t)TINY_CALL_tyUnknown << 32), -EPROTO);
	is(with_word(0, head.size | (uint64_t)TINY_CALL_tyWrite_ptds << 32), -EPROTO); /* the backend lacks it */
	is(with_word(0, (head.size - 1) | (uint64_t)head.call << 32), -EPROTO);
	is(with_word(1, 1), -EPROTO);
	is(executed, before + 1);
	is(tiny_remote_dispatch(&session, request, request_size, reply, 8), -EMSGSIZE);
	is(executed, before + 1);
}

/* Words behind the head of tyWrite: to, size, present, data. */
static void test_bytes(const struct tiny_table *tiny)
{
	int before = executed;

	tiny->tyWrite(1, "twelve bytes", 12);
	is(request_size, 16 + 8 + 8 + 8 + 16);
	is(with_word(3, 12), TINY_REMOTE_REPLY);
	is(with_word(3, 17), -EPROTO);
	is(with_word(3, 8), -EPROTO);
	is(with_word(3, UINT64_MAX), -EPROTO);
	is(with_word(3, UINT64_MAX - 6), -EPROTO);
	is(with_word(3, INT64_MAX), -EPROTO);
	is(with_word(4, 0), -EPROTO);
	is(with_word(4, 2), -EPROTO);
	is(executed, before + 1);
	truncate_everywhere("tyWrite");
	damage("tyWrite", 20000);
}

/* Words: size of the label, label. */
static void test_string(const struct tiny_table *tiny)
{
	tyqueue queue;
	int before = executed;

	tiny->tyQueueCreate(&queue, "label12");
	is(request_size, 16 + 8 + 8 + 8 + 8);
	is(with_word(4, 7), -EPROTO);
	is(with_word(4, 0), -EPROTO);
	is(with_word(4, 9), -EPROTO);
	is(with_word(4, UINT64_MAX), -EPROTO);
	is(with_word(5, UINT64_C(0x4141414141414141)), -EPROTO);
	is(with_word(5, UINT64_C(0x0041414100414141)), -EPROTO);
	is(executed, before);
	truncate_everywhere("tyQueueCreate");
	damage("tyQueueCreate", 20000);
	tiny->tyQueueCreate(&queue, NULL);
	is(dispatch(request, request_size), TINY_REMOTE_REPLY);
}

static void test_products(const struct tiny_table *tiny)
{
	typoint points[6] = {{.x = 1}}, corner = {.x = 1.5};
	float sums[2];
	int before = executed;

	tiny->tyMatrix(points, 2, 4, corner, sums);
	is(request_size, 16 + 8 + 8 + 24 + 8 + 6 * 24 + 8);
	is(dispatch(request, request_size), TINY_REMOTE_REPLY);
	is(matrix_rows, 2);
	is(matrix_columns, 4);
	is(answer()->size, 16 + 8);
	ok(((const float *)(reply + 2))[1] == 2.5f);
	is(executed, before + 1);
	is(with_word(2, 3), -EPROTO);
	is(with_word(2, UINT32_MAX), -EPROTO);
	is(with_word(3, 0), -EPROTO);
	is(with_word(3, INT32_MAX), -EPROTO);
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

	tiny->tyQueueList(queues, &count);
	is(request_size, 16 + 8 + 8 + 8);
	is(dispatch(request, request_size), TINY_REMOTE_REPLY);
	is(answer()->size, 16 + 8 + 3 * 8);
	is(executed, before + 1);
	is(with_word(3, 1000), TINY_REMOTE_REPLY);
	is(answer()->result, TY_NOT_SUPPORTED);
	is(answer()->size, 16);
	is(with_word(3, UINT64_C(1) << 61), -EPROTO);
	is(with_word(3, UINT64_MAX), -EPROTO);
	is(executed, before + 1);
	truncate_everywhere("tyQueueList");
	damage("tyQueueList", 20000);
	before = executed;
	tiny->tyQueueName(label, sizeof(label), NULL);
	is(dispatch(request, request_size), TINY_REMOTE_REPLY);
	is(with_word(2, UINT32_MAX), -EPROTO); /* -1 */
	is(with_word(2, INT32_MAX), TINY_REMOTE_REPLY);
	is(answer()->result, TY_NOT_SUPPORTED);
	is(executed, before + 1);
	truncate_everywhere("tyQueueName");
	tiny->tyRead(label, 1, sizeof(label));
	truncate_everywhere("tyRead");
	damage("tyRead", 20000);
}

static void test_deferred(const struct tiny_table *tiny)
{
	char byte;

	tiny->tyFill(0, 1, 1, NULL);
	is(dispatch(request, request_size), TINY_REMOTE_SILENT);
	tiny->tyQueueCreate(NULL, NULL);
	is(dispatch(request, request_size), TINY_REMOTE_REPLY);
	is(answer()->deferred, TY_OK);
	tiny->tyRead(&byte, 1, 1);
	is(dispatch(request, request_size), TINY_REMOTE_REPLY);
	is(answer()->result, TY_OK);
	is(answer()->deferred, TY_INVALID);
	is(dispatch(request, request_size), TINY_REMOTE_REPLY);
	is(answer()->deferred, TY_OK);
}

int main(void)
{
	struct tiny_table tiny = {0};

	tap_begin();
	tiny_remote_fill(&tiny);
	ok(!tiny.tySubmit && !tiny.tyMix && tiny.tyWrite_ptds);
	test_head(&tiny);
	test_bytes(&tiny);
	test_string(&tiny);
	test_products(&tiny);
	test_results(&tiny);
	test_deferred(&tiny);
	return tap_end();
}
