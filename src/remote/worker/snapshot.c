/*
 * snapshot.c: the queries of the snapshot, see snapshot.h. Each is a request as a client would send it: the order of
 * its values is that of the generated bodies. A query that fails is left out, and so is what does not fit into the
 * reply.
 */
#include "remote/snapshot.h"

#include "remote/code.h"
#include "remote/worker/worker.h"

#include <errno.h>
#include <stdlib.h>

#define QUERY_BYTES 64u
#define ANSWER_BYTES 4096u

struct query {
	struct work *work;
	_Alignas(8) uint8_t request[QUERY_BYTES], reply[ANSWER_BYTES];
	struct remote_writer out;
};

static void query_begin(struct query *q, enum cuda_call call)
{
	struct call_request head = { .call = (uint16_t)call, .flags = CALL_WAITS, .ticket = 1, .thread = 1 };

	q->out = (struct remote_writer){ .data = q->request, .capacity = QUERY_BYTES };
	remote_put(&q->out, &head, sizeof(head));
}

static void query_put(struct query *q, int64_t value)
{
	remote_put(&q->out, &value, sizeof(value));
}

/* Value: the answer was added; *ret_value: its first int. */
static bool query_end(struct query *q, int32_t *ret_value)
{
	struct call_request *head = (struct call_request *)q->request;
	struct remote_writer *out = &q->work->out;
	struct call_reply reply;
	struct snapshot_entry entry = { .call = head->call };
	size_t size, bytes;

	head->size = (uint32_t)q->out.used;
	size = worker_ask(q->work, q->request, q->out.used, q->reply, ANSWER_BYTES);
	if (size < sizeof(reply))
		return false;
	memcpy(&reply, q->reply, sizeof(reply));
	if (reply.result != CUDA_SUCCESS)
		return false;
	entry.request_bytes = (uint32_t)(q->out.used - sizeof(*head));
	entry.reply_bytes = (uint32_t)(size - sizeof(reply));
	bytes = sizeof(entry) + remote_padded(entry.request_bytes) + remote_padded(entry.reply_bytes);
	if (out->bad || bytes > out->capacity - out->used)
		return false;
	remote_put(out, &entry, sizeof(entry));
	remote_put(out, q->request + sizeof(*head), entry.request_bytes);
	remote_put(out, q->reply + sizeof(reply), entry.reply_bytes);
	if (ret_value && entry.reply_bytes >= sizeof(*ret_value))
		memcpy(ret_value, q->reply + sizeof(reply), sizeof(*ret_value));
	return true;
}

/* Calls (int *result : out one). */
static bool query_plain(struct query *q, enum cuda_call call, int32_t *ret)
{
	query_begin(q, call);
	query_put(q, 1);
	return query_end(q, ret);
}

/* Calls (X *result : out one, CUdevice). */
static void query_device(struct query *q, enum cuda_call call, int32_t device)
{
	query_begin(q, call);
	query_put(q, device);
	query_put(q, 1);
	query_end(q, NULL);
}

static void device_queries(struct query *q, int32_t device)
{
	static const enum cuda_call facts[] = { CUDA_CALL_cuDeviceTotalMem_v2, CUDA_CALL_cuDeviceGetUuid_v2,
						CUDA_CALL_cuDeviceGetUuid };

	for (size_t i = 0; i < sizeof(facts) / sizeof(*facts); i++)
		query_device(q, facts[i], device);
	query_begin(q, CUDA_CALL_cuDeviceGetName);
	query_put(q, SNAPSHOT_NAME_BYTES);
	query_put(q, device);
	query_put(q, 1);
	query_end(q, NULL);
	query_begin(q, CUDA_CALL_cuDeviceGetPCIBusId);
	query_put(q, SNAPSHOT_NAME_BYTES);
	query_put(q, device);
	query_put(q, 1);
	query_end(q, NULL);
	for (int attribute = 1; attribute < CU_DEVICE_ATTRIBUTE_MAX; attribute++) {
		query_begin(q, CUDA_CALL_cuDeviceGetAttribute);
		query_put(q, attribute);
		query_put(q, device);
		query_put(q, 1);
		query_end(q, NULL);
	}
}

int worker_other_open(struct work *work)
{
	struct query *q;
	int32_t count = 0;

	if (work->in.used != work->in.size)
		return -EPROTO;
	q = calloc(1, sizeof(*q));
	if (!q) {
		work->result = CUDA_ERROR_OUT_OF_MEMORY;
		return 0;
	}
	q->work = work;
	query_plain(q, CUDA_CALL_cuDriverGetVersion, NULL);
	query_plain(q, CUDA_CALL_cuDeviceGetCount, &count);
	query_begin(q, (enum cuda_call)CALL_CODE_HELD);
	query_end(q, NULL);
	for (int32_t i = 0; i < count; i++)
		device_queries(q, i);
	free(q);
	work->result = CUDA_SUCCESS;
	return 0;
}
