/*
 * op.c: NCCL's calls that exchange: what they leave in the program's stream, and groups.
 *
 * In a group, calls are kept until its end. Sends and receives of a group are one operation of their communicator, and
 * go on together.
 */
#include "libs/nccl/nccl.h"

#include <stdlib.h>
#include <string.h>

struct kept {
	struct nccl_op op;
	struct nccl_part part;
};

static __thread struct {
	int depth;
	struct kept *kept;
	uint32_t count, room;
	struct ncclComm **made;
	uint32_t made_count;
	ncclResult_t failed; /* of a call in the group */
} group;

/* ---- into a stream ---- */

/* In the stream, when it comes to the call. */
static void CUDA_CB give(void *data)
{
	struct nccl_op *op = data;
	struct ncclComm *c = op->comm;

	pthread_mutex_lock(&c->mutex);
	op->next = NULL;
	*c->last = op;
	c->last = &op->next;
	if (op->captured)
		c->pending++;
	else
		c->on_way--;
	pthread_cond_broadcast(&c->cond);
	pthread_mutex_unlock(&c->mutex);
}

#define WORDS_CAPTURED (NCCL_WORDS_BYTES / 4 - 1) /* beside the first, which all others wait for */

/* A captured operation has a word of its own, which each launch of the graph sets back first. */
static CUdeviceptr word_captured(struct ncclComm *c)
{
	return c->captured_count < WORDS_CAPTURED ? c->words + 4 * (CUdeviceptr)(1 + c->captured_count++) : 0;
}

/* The stream leads to the operation now: give() has it some day, whatever fails behind this. */
static void given_to_stream(struct ncclComm *c, struct nccl_op *op)
{
	if (op->captured) {
		op->kept = c->kept;
		c->kept = op;
	} else {
		c->on_way++;
		c->pending++;
	}
}

/* Under c->mutex, with the communicator's context current. *ret_given: the stream owns the operation. */
static CUresult leave_locked(struct ncclComm *c, struct nccl_op *op, CUstreamCaptureStatus capture, bool *ret_given)
{
	CUresult e = CUDA_SUCCESS;

	op->captured = capture == CU_STREAM_CAPTURE_STATUS_ACTIVE;
	op->word = op->captured ? word_captured(c) : c->words;
	op->value = op->captured ? 1 : ++c->issued;
	if (!op->word)
		return CUDA_ERROR_NOT_SUPPORTED;
	e = op->captured ? c->driver->write_value(op->stream, op->word, 0, 0)
			 : c->driver->wait_event(op->stream, c->event, 0);
	for (uint32_t i = 0; !e && !op->captured && i < op->parts_count; i++)
		if (op->parts[i].stream != op->stream) {
			e = c->driver->event_record(c->event, op->parts[i].stream);
			if (!e)
				e = c->driver->wait_event(op->stream, c->event, 0);
		}
	if (!e && !op->captured)
		e = stage_fill_locked(c, op);
	if (!e)
		e = c->driver->host(op->stream, give, op);
	*ret_given = !e;
	if (*ret_given)
		given_to_stream(c, op);
	if (!e)
		e = c->driver->wait_value(op->stream, op->word, op->value, CU_STREAM_WAIT_VALUE_GEQ);
	if (!e && !op->captured)
		e = c->driver->event_record(c->event, op->stream);
	for (uint32_t i = 0; !e && !op->captured && i < op->parts_count; i++)
		if (op->parts[i].stream != op->stream)
			e = c->driver->wait_event(op->parts[i].stream, c->event, 0);
	return e;
}

void nccl_op_free(struct nccl_op *op)
{
	free(op->parts);
	free(op);
}

static ncclResult_t leave(const struct nccl_op *given, const struct nccl_part *parts, uint32_t count)
{
	struct ncclComm *c = given->comm;
	struct nccl_op *op = malloc(sizeof(*op));
	CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
	CUcontext popped;
	bool given_away = false;
	CUresult e;

	if (!op)
		return ncclSystemError;
	*op = *given;
	if (count) {
		op->parts = malloc(count * sizeof(*parts));
		if (!op->parts) {
			free(op);
			return ncclSystemError;
		}
		memcpy(op->parts, parts, count * sizeof(*parts));
		op->parts_count = count;
	}
	e = c->driver->push(c->context);
	if (!e) {
		e = c->driver->capturing(op->stream, &capture);
		pthread_mutex_lock(&c->mutex);
		if (!e)
			e = leave_locked(c, op, capture, &given_away);
		pthread_mutex_unlock(&c->mutex);
		c->driver->pop(&popped);
	}
	if (!e)
		return ncclSuccess;
	nccl_fail(c, ncclUnhandledCudaError, "a call cannot be put into its stream: error %d of the driver", (int)e);
	if (given_away)
		return ncclUnhandledCudaError;
	nccl_op_free(op);
	return ncclUnhandledCudaError;
}

/* ---- groups ---- */

static bool keep(const struct nccl_op *op, const struct nccl_part *part)
{
	struct kept *more;

	if (group.count == group.room) {
		more = realloc(group.kept, (group.room * 2 + 16) * sizeof(*more));
		if (!more)
			return false;
		group.kept = more;
		group.room = group.room * 2 + 16;
	}
	group.kept[group.count] = (struct kept){ .op = *op };
	if (part)
		group.kept[group.count].part = *part;
	group.count++;
	return true;
}

ncclResult_t nccl_submit(struct nccl_op op, const struct nccl_part *part)
{
	if (!group.depth)
		return leave(&op, part, part ? 1 : 0);
	return keep(&op, part) ? ncclSuccess : ncclSystemError;
}

/* The sends and receives of a communicator in this group, as one. */
static ncclResult_t leave_peers(uint32_t from)
{
	struct nccl_part *parts = malloc(group.count * sizeof(*parts));
	struct ncclComm *c = group.kept[from].op.comm;
	uint32_t count = 0;
	ncclResult_t r;

	if (!parts)
		return ncclSystemError;
	for (uint32_t i = from; i < group.count; i++)
		if (group.kept[i].op.comm == c && group.kept[i].op.kind == NCCL_PEERS) {
			parts[count++] = group.kept[i].part;
			if (i > from)
				group.kept[i].op.comm = NULL;
		}
	r = leave(&group.kept[from].op, parts, count);
	free(parts);
	return r;
}

static ncclResult_t leave_all(void)
{
	ncclResult_t r = ncclSuccess, one;

	for (uint32_t i = 0; i < group.count; i++) {
		if (!group.kept[i].op.comm)
			continue;
		one = group.kept[i].op.kind == NCCL_PEERS ? leave_peers(i) : leave(&group.kept[i].op, NULL, 0);
		r = r ? r : one;
	}
	return r;
}

/* Those that were made in the group are made together. */
static ncclResult_t made_wait(void)
{
	ncclResult_t r = ncclSuccess;

	for (uint32_t i = 0; i < group.made_count; i++) {
		struct ncclComm *c = group.made[i];

		if (!c->blocking) {
			r = r ? r : ncclInProgress;
			continue;
		}
		pthread_join(c->initialiser, NULL);
		c->has_initialiser = false;
		r = r && r != ncclInProgress ? r : c->state ? (ncclResult_t)c->state : r;
	}
	free(group.made);
	group.made = NULL;
	group.made_count = 0;
	return r;
}

ncclResult_t nccl_begin(struct ncclComm *c)
{
	struct ncclComm **more;

	if (group.depth) {
		more = realloc(group.made, (group.made_count + 1) * sizeof(*more));
		if (!more)
			return ncclSystemError;
		group.made = more;
		group.made[group.made_count++] = c;
		return ncclSuccess;
	}
	if (!c->blocking)
		return ncclInProgress;
	pthread_join(c->initialiser, NULL);
	c->has_initialiser = false;
	return (ncclResult_t)c->state;
}

ncclResult_t soft_ncclGroupStart(void)
{
	group.depth++;
	return ncclSuccess;
}

static ncclResult_t group_end(bool simulated)
{
	ncclResult_t r, made;

	if (!group.depth)
		return ncclInvalidUsage;
	if (--group.depth)
		return ncclSuccess;
	made = made_wait();
	r = group.failed || simulated ? group.failed : leave_all();
	free(group.kept);
	group.kept = NULL;
	group.count = group.room = 0;
	group.failed = ncclSuccess;
	return made ? made : r;
}

ncclResult_t soft_ncclGroupEnd(void)
{
	return group_end(false);
}

ncclResult_t soft_ncclGroupSimulateEnd(ncclSimInfo_t *simInfo)
{
	if (!simInfo)
		return ncclInvalidArgument;
	simInfo->estimatedTime = -1; /* unknown */
	return group_end(true);
}

/* ---- calls ---- */

static ncclResult_t refuse(ncclResult_t r)
{
	if (group.depth && !group.failed)
		group.failed = r;
	return r;
}

static bool reduces(enum nccl_kind kind)
{
	return kind == NCCL_ALL_REDUCE || kind == NCCL_REDUCE || kind == NCCL_REDUCE_SCATTER;
}

static ncclResult_t reduction_set(struct ncclComm *c, struct nccl_op *op)
{
	ncclResult_t r = ncclSuccess;

	if (op->reduction < ncclNumOps)
		return r;
	pthread_mutex_lock(&c->mutex);
	if (op->reduction - ncclNumOps >= c->scalars_count || !c->scalars[op->reduction - ncclNumOps].used ||
	    c->scalars[op->reduction - ncclNumOps].type != op->type) {
		r = ncclInvalidArgument;
	} else {
		const struct nccl_scalar *s = &c->scalars[op->reduction - ncclNumOps];

		op->scaled = true;
		op->scale = s->value;
		op->scale_whole = s->whole;
		op->scale_at = s->in_device ? s->at : 0;
		op->reduction = ncclSum;
	}
	pthread_mutex_unlock(&c->mutex);
	return r;
}

static bool buffers_good(const struct nccl_op *op, const struct ncclComm *c)
{
	bool rooted = op->kind == NCCL_BROADCAST || op->kind == NCCL_SCATTER;
	bool gathers = op->kind == NCCL_REDUCE || op->kind == NCCL_GATHER;

	return (op->from || (rooted && op->root != c->rank)) && (op->to || (gathers && op->root != c->rank));
}

static ncclResult_t call(enum nccl_kind kind, const void *from, void *to, size_t count, ncclDataType_t type,
			 uint32_t reduction, int root, ncclComm_t comm, cudaStream_t stream)
{
	struct ncclComm *c = nccl_comm_find(comm);
	struct nccl_op op = { .comm = c,
			      .kind = kind,
			      .type = type,
			      .reduction = reduction,
			      .root = root,
			      .count = count,
			      .from = (uintptr_t)from,
			      .to = (uintptr_t)to,
			      .stream = (CUstream)stream };
	uint64_t bytes;
	ncclResult_t r;

	if (!c)
		return refuse(ncclInvalidArgument);
	if (c->state)
		return refuse(c->state == ncclInProgress ? ncclInvalidUsage : (ncclResult_t)c->state);
	if (c->finalized)
		return refuse(ncclInvalidUsage);
	if (!nccl_bytes(type) || root < 0 || root >= c->ranks ||
	    __builtin_mul_overflow(count, (uint64_t)nccl_bytes(type) * (uint64_t)c->ranks, &bytes))
		return refuse(ncclInvalidArgument);
	if (!count)
		return ncclSuccess;
	r = reduces(kind) ? reduction_set(c, &op) : ncclSuccess;
	if (r || !buffers_good(&op, c))
		return refuse(ncclInvalidArgument);
	return nccl_submit(op, NULL);
}

#define STREAM ncclComm_t comm, cudaStream_t stream

ncclResult_t soft_ncclAllReduce(const void *sendbuff, void *recvbuff, size_t count, ncclDataType_t datatype,
				ncclRedOp_t op, STREAM)
{
	return call(NCCL_ALL_REDUCE, sendbuff, recvbuff, count, datatype, op, 0, comm, stream);
}

ncclResult_t soft_ncclReduce(const void *sendbuff, void *recvbuff, size_t count, ncclDataType_t datatype,
			     ncclRedOp_t op, int root, STREAM)
{
	return call(NCCL_REDUCE, sendbuff, recvbuff, count, datatype, op, root, comm, stream);
}

ncclResult_t soft_ncclReduceScatter(const void *sendbuff, void *recvbuff, size_t recvcount, ncclDataType_t datatype,
				    ncclRedOp_t op, STREAM)
{
	return call(NCCL_REDUCE_SCATTER, sendbuff, recvbuff, recvcount, datatype, op, 0, comm, stream);
}

ncclResult_t soft_ncclBroadcast(const void *sendbuff, void *recvbuff, size_t count, ncclDataType_t datatype, int root,
				STREAM)
{
	return call(NCCL_BROADCAST, sendbuff, recvbuff, count, datatype, 0, root, comm, stream);
}

ncclResult_t soft_ncclBcast(void *buff, size_t count, ncclDataType_t datatype, int root, STREAM)
{
	return soft_ncclBroadcast(buff, buff, count, datatype, root, comm, stream);
}

ncclResult_t soft_ncclAllGather(const void *sendbuff, void *recvbuff, size_t sendcount, ncclDataType_t datatype, STREAM)
{
	return call(NCCL_ALL_GATHER, sendbuff, recvbuff, sendcount, datatype, 0, 0, comm, stream);
}

ncclResult_t soft_ncclAlltoAll(const void *sendbuff, void *recvbuff, size_t count, ncclDataType_t datatype, STREAM)
{
	return call(NCCL_ALL_TO_ALL, sendbuff, recvbuff, count, datatype, 0, 0, comm, stream);
}

ncclResult_t soft_ncclGather(const void *sendbuff, void *recvbuff, size_t count, ncclDataType_t datatype, int root,
			     STREAM)
{
	return call(NCCL_GATHER, sendbuff, recvbuff, count, datatype, 0, root, comm, stream);
}

ncclResult_t soft_ncclScatter(const void *sendbuff, void *recvbuff, size_t count, ncclDataType_t datatype, int root,
			      STREAM)
{
	return call(NCCL_SCATTER, sendbuff, recvbuff, count, datatype, 0, root, comm, stream);
}

static ncclResult_t peer_call(bool out, const void *at, size_t count, ncclDataType_t type, int peer, STREAM)
{
	struct ncclComm *c = nccl_comm_find(comm);
	struct nccl_op op = { .comm = c, .kind = NCCL_PEERS, .type = type, .stream = (CUstream)stream };
	struct nccl_part part = {
		.out = out, .peer = peer, .at = (uintptr_t)at, .type = type, .stream = (CUstream)stream
	};

	if (!c)
		return refuse(ncclInvalidArgument);
	if (c->state)
		return refuse(c->state == ncclInProgress ? ncclInvalidUsage : (ncclResult_t)c->state);
	if (c->finalized)
		return refuse(ncclInvalidUsage);
	if (!nccl_bytes(type) || peer < 0 || peer >= c->ranks || (count && !at) ||
	    __builtin_mul_overflow(count, (uint64_t)nccl_bytes(type), &part.bytes))
		return refuse(ncclInvalidArgument);
	if (peer == c->rank && !group.depth)
		return ncclInvalidUsage;
	return count ? nccl_submit(op, &part) : ncclSuccess;
}

ncclResult_t soft_ncclSend(const void *sendbuff, size_t count, ncclDataType_t datatype, int peer, STREAM)
{
	return peer_call(true, sendbuff, count, datatype, peer, comm, stream);
}

ncclResult_t soft_ncclRecv(void *recvbuff, size_t count, ncclDataType_t datatype, int peer, STREAM)
{
	return peer_call(false, recvbuff, count, datatype, peer, comm, stream);
}

/* ---- of the host ---- */

static ncclResult_t wait_for(struct ncclComm *c, struct nccl_op op)
{
	bool done = false;
	ncclResult_t r;

	op.comm = c;
	op.done = &done;
	pthread_mutex_lock(&c->mutex);
	c->callers++;
	if (!c->abort && !c->ending) {
		*c->last = &op;
		c->last = &op.next;
		c->pending++;
		pthread_cond_broadcast(&c->cond);
		while (!done)
			pthread_cond_wait(&c->cond, &c->mutex);
	}
	/* Another thread may abort it: then nothing of it is looked at behind this. */
	r = c->abort || c->ending ? ncclInvalidUsage : (ncclResult_t)c->state;
	c->callers--;
	pthread_cond_broadcast(&c->cond);
	pthread_mutex_unlock(&c->mutex);
	return r;
}

ncclResult_t nccl_words(struct ncclComm *c, const void *words, void *ret, uint64_t bytes)
{
	return wait_for(c, (struct nccl_op){ .kind = NCCL_WORDS, .count = bytes, .words = words, .ret_words = ret });
}

ncclResult_t nccl_news(struct ncclComm *c, const bool *to_whom, int root, void *words, uint64_t bytes)
{
	return wait_for(
		c, (struct nccl_op){
			   .kind = NCCL_NEWS, .root = root, .count = bytes, .ret_words = words, .to_whom = to_whom });
}
