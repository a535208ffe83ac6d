/*
 * stage.c: what small calls send, in pinned memory of the communicator.
 *
 * A call copies it there in its stream, before the function that gives the operation to the thread: over the network
 * the bytes come with that function, and nobody asks for them. The memory is a ring, from which operations take their
 * pieces in the order of the calls, and give them back in the same order. A call that finds no room, and a captured
 * one, which any launch of its graph may repeat, has none: the thread reads what it sends.
 */
#include "libs/nccl/nccl.h"

#include <string.h>

#define STAGE_BYTES (UINT64_C(4) << 20)
#define STAGE_ALIGN 64u

CUresult stage_begin(struct ncclComm *c)
{
	void *at = NULL;
	CUresult e = c->driver->host_alloc(&at, STAGE_BYTES, 0);

	if (!e)
		c->stage = at;
	return e == CUDA_ERROR_OUT_OF_MEMORY ? CUDA_SUCCESS : e;
}

void stage_end(struct ncclComm *c)
{
	if (c->stage)
		c->driver->host_free(c->stage);
	c->stage = NULL;
}

/* What this rank sends from op->from on; the parts of a group apart. */
static uint64_t sent_bytes(const struct ncclComm *c, const struct nccl_op *op)
{
	uint64_t bytes = op->count * nccl_bytes(op->type);

	switch (op->kind) {
	case NCCL_REDUCE_SCATTER:
	case NCCL_ALL_TO_ALL:
		return bytes * (uint64_t)c->ranks;
	case NCCL_BROADCAST:
		return op->root == c->rank ? bytes : 0;
	case NCCL_SCATTER:
		return op->root == c->rank ? bytes * (uint64_t)c->ranks : 0;
	default:
		return bytes;
	}
}

/* A piece in one stretch; NULL: there is no room. */
static uint8_t *take_locked(struct ncclComm *c, uint64_t bytes)
{
	uint64_t begin = c->stage_taken, left = STAGE_BYTES - begin % STAGE_BYTES;

	if (!c->stage || !bytes || bytes > STAGE_BYTES)
		return NULL;
	bytes = (bytes + STAGE_ALIGN - 1) & ~(uint64_t)(STAGE_ALIGN - 1);
	if (bytes > left)
		begin += left;
	if (begin + bytes - c->stage_given > STAGE_BYTES)
		return NULL;
	c->stage_taken = begin + bytes;
	return c->stage + begin % STAGE_BYTES;
}

static CUresult parts_locked(struct ncclComm *c, struct nccl_op *op)
{
	uint64_t bytes = 0;
	uint8_t *at;
	CUresult e = CUDA_SUCCESS;

	for (uint32_t i = 0; i < op->parts_count; i++)
		if (op->parts[i].out && __builtin_add_overflow(bytes, op->parts[i].bytes, &bytes))
			return CUDA_SUCCESS;
	at = take_locked(c, bytes);
	for (uint32_t i = 0; at && !e && i < op->parts_count; i++)
		if (op->parts[i].out) {
			op->parts[i].staged = at;
			e = c->driver->read(at, op->parts[i].at, op->parts[i].bytes, op->stream);
			at += op->parts[i].bytes;
		}
	op->stage_taken = c->stage_taken;
	return e;
}

CUresult stage_fill_locked(struct ncclComm *c, struct nccl_op *op)
{
	uint8_t *at;

	if (op->kind == NCCL_PEERS)
		return parts_locked(c, op);
	at = take_locked(c, sent_bytes(c, op));
	op->stage_taken = c->stage_taken;
	if (!at)
		return CUDA_SUCCESS;
	op->staged = at;
	op->staged_bytes = sent_bytes(c, op);
	return c->driver->read(at, op->from, op->staged_bytes, op->stream);
}

void stage_give_locked(struct ncclComm *c, const struct nccl_op *op)
{
	if (op->stage_taken)
		c->stage_given = op->stage_taken;
}

bool stage_read(const struct nccl_op *op, void *to, CUdeviceptr from, uint64_t bytes)
{
	uint64_t offset = from - op->from;

	if (!op->staged || offset > op->staged_bytes || bytes > op->staged_bytes - offset)
		return false;
	memcpy(to, op->staged + offset, bytes);
	return true;
}
