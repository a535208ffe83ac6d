/*
 * run.c: a communicator's thread: operations in their order, each an exchange of pieces of a limited size.
 *
 * What is reduced is divided: rank r reduces the part r of all, in the order of the ranks, so that every rank has the
 * same bits. Pieces have a head that says what they are for: ranks that call different things find it out.
 */
#include "libs/nccl/nccl.h"

#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PIECE (8u << 20) /* bytes on their way at a time */
#define GOODBYE UINT32_MAX
#define LOOK_NS 10000000 /* how often the other ranks are looked after while nothing comes */

struct frame {
	uint32_t kind, type, reduction, root;
	uint64_t count; /* as the call has it; the parts of what is reduced may have the same size all the same */
	uint64_t bytes;
};

struct transfer {
	int peer;
	bool out;
	uint8_t *at;
	uint64_t bytes, done;
	struct frame frame;
	uint32_t frame_done;
	bool shrinks; /* the other rank is in ncclCommShrink(), and sends no more of this */
};

struct exchange {
	struct ncclComm *c;
	struct transfer *t;
	uint32_t count, room, doomed;
	bool short_of;
};

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* ---- exchanges ---- */

static struct frame frame_of(const struct nccl_op *op, uint64_t bytes)
{
	bool reduces = op->kind == NCCL_ALL_REDUCE || op->kind == NCCL_REDUCE || op->kind == NCCL_REDUCE_SCATTER;

	return (struct frame){ .kind = op->kind,
			       .type = op->type,
			       .reduction = reduces ? op->reduction + (op->scaled ? 100 : 0) : 0,
			       .root = (uint32_t)op->root,
			       .count = op->count,
			       .bytes = bytes };
}

static void add(struct exchange *x, const struct nccl_op *op, int peer, bool out, void *at, uint64_t bytes)
{
	struct transfer *more;

	if (peer == x->c->rank || !bytes)
		return;
	if (x->count == x->room) {
		more = realloc(x->t, (x->room * 2 + 16) * sizeof(*more));
		if (!more) {
			x->short_of = true;
			return;
		}
		x->t = more;
		x->room = x->room * 2 + 16;
	}
	x->t[x->count++] =
		(struct transfer){ .peer = peer, .out = out, .at = at, .bytes = bytes, .frame = frame_of(op, bytes) };
}

/* A rank that ends its operations for ncclCommShrink() asks at once (shrink.c); this rank is to call it as well. */
static bool is_asked(const struct frame *came)
{
	return !memcmp(came, NCCL_ASKS, sizeof(NCCL_ASKS) - 1);
}

static bool differs(struct ncclComm *c, const struct transfer *t, const struct frame *came)
{
	if (came->kind == GOODBYE)
		nccl_fail(c, ncclRemoteError, "rank %d has destroyed the communicator, and rank %d waits for it",
			  t->peer, c->rank);
	else if (memcmp(came, &t->frame, sizeof(*came)))
		nccl_fail(c, ncclInvalidUsage,
			  "rank %d and rank %d call different things: kind %u, type %u, reduction %u, root %u, %llu "
			  "elements, %llu bytes, and here %u, %u, %u, %u, %llu, %llu",
			  t->peer, c->rank, came->kind, came->type, came->reduction, came->root,
			  (unsigned long long)came->count, (unsigned long long)came->bytes, t->frame.kind,
			  t->frame.type, t->frame.reduction, t->frame.root, (unsigned long long)t->frame.count,
			  (unsigned long long)t->frame.bytes);
	else
		return false;
	return true;
}

#define STEP_LOST (-2) /* the other rank is gone */

/* One step of it. -1: the communicator has an error. 1: something went on. */
static int step(struct ncclComm *c, struct transfer *t, struct frame *came)
{
	struct line *l = c->lines[t->peer];
	struct frame *head = t->out ? &t->frame : came;
	long n;

	if (t->shrinks)
		return 0;
	if (t->frame_done < sizeof(*head)) {
		uint8_t *at = (uint8_t *)head + t->frame_done;

		n = t->out ? line_write(l, at, sizeof(*head) - t->frame_done)
			   : line_read(l, at, sizeof(*head) - t->frame_done);
		t->frame_done += n > 0 ? (uint32_t)n : 0;
		t->shrinks = t->frame_done == sizeof(*head) && !t->out && is_asked(came);
		if (t->frame_done == sizeof(*head) && !t->out && !t->shrinks && differs(c, t, came))
			return -1;
	} else {
		n = t->out ? line_write(l, t->at + t->done, t->bytes - t->done)
			   : line_read(l, t->at + t->done, t->bytes - t->done);
		t->done += n > 0 ? (uint64_t)n : 0;
	}
	return n < 0 ? STEP_LOST : n > 0;
}

static bool is_over(const struct transfer *t)
{
	return t->done == t->bytes;
}

/* A rank of which something is waited for and that is gone. What it sent before may still come: it is looked at twice.
 */
static bool others_lost(struct exchange *x)
{
	for (uint32_t i = 0; i < x->count; i++) {
		struct line *l = x->c->lines[x->t[i].peer];

		if (is_over(&x->t[i]) || (!line_lost(l) && !line_over(l)))
			continue;
		if (!x->doomed++)
			return false;
		nccl_fail(x->c, ncclRemoteError, "rank %d has ended, and rank %d waits for it", x->t[i].peer,
			  x->c->rank);
		return true;
	}
	return false;
}

/*
 * A rank is gone that something was to be sent to. If it left because the two call different things, the head that it
 * has sent says so.
 */
static void peer_lost(struct exchange *x, struct frame *came, int peer)
{
	for (uint32_t i = 0; i < x->count && x->c->state == ncclSuccess; i++) {
		struct transfer *t = &x->t[i];

		if (t->peer != peer || t->out || is_over(t) || t->shrinks || t->frame_done == sizeof(*came))
			continue;
		while (t->frame_done < sizeof(*came) && step(x->c, t, came) > 0)
			;
		break;
	}
	if (x->c->state == ncclSuccess)
		nccl_fail(x->c, ncclRemoteError, "rank %d has ended, and rank %d waits for it", peer, x->c->rank);
}

/* This rank leaves, because another calls different things: the heads of what it called tell the others. */
static void heads_send(struct exchange *x, uint8_t *told)
{
	memset(told, 0, (size_t)x->c->ranks);
	for (uint32_t i = 0; i < x->count; i++) {
		struct transfer *t = &x->t[i];

		if (!t->out || is_over(t) || told[t->peer])
			continue;
		told[t->peer] = 1;
		if (t->frame_done < sizeof(t->frame))
			line_write(x->c->lines[t->peer], (const uint8_t *)&t->frame + t->frame_done,
				   sizeof(t->frame) - t->frame_done);
	}
}

/* Nothing goes on: other threads first, then longer and longer. */
static void pause_for(struct exchange *x, uint32_t idle)
{
	struct pollfd fds[64];
	struct timespec t = { 0, idle < 200 ? 20000 : 100000 };
	nfds_t count = 0;

	if (idle < 20) {
		sched_yield();
		return;
	}
	for (uint32_t i = 0; i < x->count && count < 64; i++)
		if (!is_over(&x->t[i]) && line_fd(x->c->lines[x->t[i].peer]) >= 0)
			fds[count++] = (struct pollfd){ line_fd(x->c->lines[x->t[i].peer]),
							x->t[i].out ? POLLOUT : POLLIN, 0 };
	ppoll(fds, count, &t, NULL);
}

/* False: the communicator has an error. Between two ranks transfers go one after the other, in each direction. */
static bool exchange(struct exchange *x)
{
	struct ncclComm *c = x->c;
	struct frame *came = calloc((size_t)c->ranks, sizeof(*came));
	uint8_t *busy = calloc((size_t)c->ranks, 1);
	int64_t looked = now_ns();
	uint32_t idle = 0;
	bool good = came && busy && !x->short_of, left = true;

	if (!good)
		nccl_fail(c, ncclSystemError, "no memory for an exchange");
	while (good && left) {
		bool moved = false;

		left = false;
		memset(busy, 0, (size_t)c->ranks);
		for (uint32_t i = 0; good && i < x->count; i++) {
			struct transfer *t = &x->t[i];
			uint8_t way = t->out ? 1 : 2;
			int n;

			if (is_over(t) || busy[t->peer] & way)
				continue;
			busy[t->peer] |= way;
			n = step(c, t, &came[t->peer]);
			good = n >= 0;
			if (n == STEP_LOST)
				peer_lost(x, &came[t->peer], t->peer);
			moved = moved || n > 0;
			left = left || !is_over(t);
			if (is_over(t))
				left = true; /* the next one between the two */
		}
		idle = moved ? 0 : idle + 1;
		x->doomed = moved ? 0 : x->doomed;
		if (good && !moved && left) {
			good = !c->abort;
			if (x->doomed || now_ns() - looked > LOOK_NS) {
				good = good && !others_lost(x);
				looked = now_ns();
			}
			pause_for(x, idle);
		}
	}
	if (!good && busy && c->state == ncclInvalidUsage)
		heads_send(x, busy);
	free(came);
	free(busy);
	x->count = 0;
	return good;
}

/* ---- memory ---- */

static uint8_t *room(struct ncclComm *c, uint64_t bytes)
{
	uint8_t *more;

	if (bytes <= c->room_bytes)
		return c->room;
	more = realloc(c->room, bytes);
	if (!more) {
		nccl_fail(c, ncclSystemError, "no memory for %llu bytes", (unsigned long long)bytes);
		return NULL;
	}
	c->room = more;
	c->room_bytes = bytes;
	return more;
}

static bool cuda(struct ncclComm *c, CUresult e, const char *what)
{
	if (e)
		nccl_fail(c, ncclUnhandledCudaError, "%s on device %d: error %d of the driver", what, c->device,
			  (int)e);
	return !e;
}

/*
 * Into memory that is not pinned, and from it: a copy from the device has ended when the call returns, and of one to
 * the device the bytes have been taken (CUDA Driver API, "API synchronization behavior"), unless the device reads the
 * process's memory itself. So the room can be used again, and over the network nobody asks for the end.
 */
static bool fetch(struct ncclComm *c, void *to, CUdeviceptr from, uint64_t bytes)
{
	return !bytes || (cuda(c, c->driver->read(to, from, bytes, c->stream), "what is sent cannot be read") &&
			  (!c->reads_late || cuda(c, c->driver->wait(c->stream), "what is sent cannot be read")));
}

/* What the operation sends: it may have come with the call. */
static bool fetch_sent(struct ncclComm *c, const struct nccl_op *op, void *to, CUdeviceptr from, uint64_t bytes)
{
	return stage_read(op, to, from, bytes) || fetch(c, to, from, bytes);
}

static bool store(struct ncclComm *c, CUdeviceptr to, const void *from, uint64_t bytes)
{
	return !bytes || (cuda(c, c->driver->write(to, from, bytes, c->stream), "what has come cannot be written") &&
			  (!c->reads_late || cuda(c, c->driver->wait(c->stream), "what has come cannot be written")));
}

/* ---- operations ---- */

/* Elements [part_begin(r), part_begin(r + 1)) of a piece are rank r's. */
static uint64_t part_begin(uint64_t count, int ranks, int r)
{
	return (uint64_t)((unsigned __int128)count * (unsigned int)r / (unsigned int)ranks);
}

/*
 * Part r of each rank's `count` elements, from places `apart` elements apart in `in`, comes to rank r, which reduces it
 * into `out` at the place of its part. `others`: room for the parts of the others.
 */
static bool reduce_parts(struct ncclComm *c, const struct nccl_op *op, uint8_t *const *in, const uint64_t *counts,
			 uint8_t *others, uint8_t *out)
{
	uint64_t each = nccl_bytes(op->type), mine = counts[c->rank] * each;
	struct exchange x = { .c = c };
	const void **from = calloc((size_t)c->ranks, sizeof(*from));
	bool good = from;

	if (!good)
		nccl_fail(c, ncclSystemError, "no memory for an exchange");
	for (int r = 0; good && r < c->ranks; r++) {
		from[r] = r == c->rank ? in[r] : others + (uint64_t)r * mine;
		add(&x, op, r, true, in[r], counts[r] * each);
		add(&x, op, r, false, others + (uint64_t)r * mine, mine);
	}
	good = good && exchange(&x);
	if (good)
		nccl_reduce(op, c->ranks, out, from, counts[c->rank]);
	free(from);
	free(x.t);
	return good;
}

/* All or one of the ranks get the reduction of all. */
static bool all_reduce(struct ncclComm *c, const struct nccl_op *op)
{
	uint64_t each = nccl_bytes(op->type), most = PIECE / each, bytes = (op->count < most ? op->count : most) * each;
	uint8_t *in = room(c, 3 * bytes + (uint64_t)c->ranks * each), *out = in + bytes, *others = out + bytes;
	uint8_t **parts = calloc((size_t)c->ranks, sizeof(*parts));
	uint64_t *counts = calloc((size_t)c->ranks, sizeof(*counts));
	struct exchange x = { .c = c };
	bool all = op->kind == NCCL_ALL_REDUCE, gets = all || op->root == c->rank, good = in && parts && counts;

	for (uint64_t at = 0; good && at < op->count; at += most) {
		uint64_t count = op->count - at < most ? op->count - at : most;

		good = fetch_sent(c, op, in, op->from + at * each, count * each);
		for (int r = 0; r < c->ranks; r++) {
			parts[r] = in + part_begin(count, c->ranks, r) * each;
			counts[r] = part_begin(count, c->ranks, r + 1) - part_begin(count, c->ranks, r);
		}
		good = good && reduce_parts(c, op, parts, counts, others, out + (parts[c->rank] - in));
		for (int r = 0; good && r < c->ranks; r++) {
			if (all || op->root == r)
				add(&x, op, r, true, out + (parts[c->rank] - in), counts[c->rank] * each);
			if (gets)
				add(&x, op, r, false, out + (parts[r] - in), counts[r] * each);
		}
		good = good && exchange(&x) && (!gets || store(c, op->to + at * each, out, count * each));
	}
	free(parts);
	free(counts);
	free(x.t);
	return good;
}

static bool reduce_scatter(struct ncclComm *c, const struct nccl_op *op)
{
	uint64_t each = nccl_bytes(op->type), ranks = (uint64_t)c->ranks, most = PIECE / each / ranks + 1;
	uint64_t bytes = (op->count < most ? op->count : most) * each;
	uint8_t *in = room(c, (2 * ranks + 1) * bytes), *others = in + ranks * bytes, *out = others + ranks * bytes;
	uint8_t **parts = calloc(ranks, sizeof(*parts));
	uint64_t *counts = calloc(ranks, sizeof(*counts));
	bool good = in && parts && counts;

	for (uint64_t at = 0; good && at < op->count; at += most) {
		uint64_t count = op->count - at < most ? op->count - at : most;

		for (uint64_t r = 0; good && r < ranks; r++) {
			parts[r] = in + r * bytes;
			counts[r] = count;
			good = fetch_sent(c, op, parts[r], op->from + (r * op->count + at) * each, count * each);
		}
		good = good && reduce_parts(c, op, parts, counts, others, out) &&
		       store(c, op->to + at * each, out, count * each);
	}
	free(parts);
	free(counts);
	return good;
}

/* Who sends which part of the buffers to whom; the rest are moves of `count` elements between places. */
static bool sends(const struct nccl_op *op, int from, int to)
{
	switch (op->kind) {
	case NCCL_BROADCAST:
	case NCCL_SCATTER:
		return from == op->root;
	case NCCL_GATHER:
		return to == op->root;
	default:
		return true;
	}
}

static bool by_rank_out(const struct nccl_op *op)
{
	return op->kind == NCCL_ALL_TO_ALL || op->kind == NCCL_SCATTER;
}

static bool by_rank_in(const struct nccl_op *op)
{
	return op->kind == NCCL_ALL_TO_ALL || op->kind == NCCL_ALL_GATHER || op->kind == NCCL_GATHER;
}

/* Everything that is not reduced: pieces of each rank's elements. */
static bool moves(struct ncclComm *c, const struct nccl_op *op)
{
	uint64_t each = nccl_bytes(op->type), ranks = (uint64_t)c->ranks, most = PIECE / each / ranks + 1;
	uint64_t bytes = (op->count < most ? op->count : most) * each;
	uint8_t *out = room(c, 2 * ranks * bytes), *in = out + ranks * bytes;
	struct exchange x = { .c = c };
	bool good = out, sent = false;

	for (uint64_t at = 0; good && at < op->count; at += most) {
		uint64_t size = (op->count - at < most ? op->count - at : most) * each, offset = at * each;

		sent = false;
		for (int r = 0; good && r < c->ranks; r++) {
			uint64_t place = by_rank_out(op) ? (uint64_t)r : 0;

			if (!sends(op, c->rank, r) || (sent && !by_rank_out(op)))
				continue;
			good = fetch_sent(c, op, out + place * bytes, op->from + place * op->count * each + offset,
					  size);
			sent = true;
		}
		for (int r = 0; good && r < c->ranks; r++) {
			if (sends(op, c->rank, r))
				add(&x, op, r, true, out + (by_rank_out(op) ? (uint64_t)r : 0) * bytes, size);
			if (sends(op, r, c->rank))
				add(&x, op, r, false, in + (uint64_t)r * bytes, size);
		}
		good = good && exchange(&x);
		for (int r = 0; good && r < c->ranks; r++) {
			uint64_t mine = by_rank_out(op) ? (uint64_t)c->rank : 0;
			uint8_t *from = r == c->rank ? out + mine * bytes : in + (uint64_t)r * bytes;

			if (sends(op, r, c->rank))
				good = store(c, op->to + (by_rank_in(op) ? (uint64_t)r : 0) * op->count * each + offset,
					     from, size);
		}
	}
	free(x.t);
	return good;
}

/* Sends and receives of a group; a rank's to itself are pairs in their order. */
static bool peers(struct ncclComm *c, const struct nccl_op *op)
{
	uint64_t bytes = 0, at = 0;
	struct exchange x = { .c = c };
	uint8_t *memory;
	bool good;

	for (uint32_t i = 0; i < op->parts_count; i++)
		bytes += op->parts[i].bytes;
	memory = room(c, bytes ? bytes : 1);
	good = memory;
	for (uint32_t i = 0; good && i < op->parts_count; at += op->parts[i++].bytes)
		if (op->parts[i].staged)
			memcpy(memory + at, op->parts[i].staged, op->parts[i].bytes);
		else if (op->parts[i].out)
			good = fetch(c, memory + at, op->parts[i].at, op->parts[i].bytes);
	at = 0;
	for (uint32_t i = 0; good && i < op->parts_count; at += op->parts[i++].bytes) {
		struct nccl_op as = *op;

		as.type = op->parts[i].type;
		add(&x, &as, op->parts[i].peer, op->parts[i].out, memory + at, op->parts[i].bytes);
	}
	good = good && exchange(&x);
	at = 0;
	for (uint32_t i = 0, own = 0; good && i < op->parts_count; at += op->parts[i++].bytes) {
		uint64_t from = 0;
		uint8_t *source = memory + at;

		if (op->parts[i].out)
			continue;
		if (op->parts[i].peer == c->rank) {
			for (; own < op->parts_count && !(op->parts[own].out && op->parts[own].peer == c->rank); own++)
				;
			for (uint32_t k = 0; k < own; k++)
				from += op->parts[k].bytes;
			if (own == op->parts_count || op->parts[own].bytes != op->parts[i].bytes) {
				nccl_fail(c, ncclInvalidUsage, "rank %d receives from itself what it does not send",
					  c->rank);
				good = false;
				break;
			}
			source = memory + from;
			own++;
		}
		good = store(c, op->parts[i].at, source, op->parts[i].bytes);
	}
	free(x.t);
	return good;
}

static bool words(struct ncclComm *c, const struct nccl_op *op)
{
	struct exchange x = { .c = c };
	uint8_t *to = op->ret_words;
	bool good;

	for (int r = 0; r < c->ranks; r++) {
		add(&x, op, r, true, (void *)(uintptr_t)op->words, op->count);
		add(&x, op, r, false, to + (uint64_t)r * op->count, op->count);
	}
	memcpy(to + (uint64_t)c->rank * op->count, op->words, op->count);
	good = exchange(&x);
	free(x.t);
	return good;
}

static bool news(struct ncclComm *c, const struct nccl_op *op)
{
	struct exchange x = { .c = c };
	bool good;

	for (int r = 0; r < c->ranks; r++)
		if (op->to_whom[r] && c->rank == op->root)
			add(&x, op, r, true, op->ret_words, op->count);
	if (c->rank != op->root)
		add(&x, op, op->root, false, op->ret_words, op->count);
	good = exchange(&x);
	free(x.t);
	return good;
}

static bool scale_fetch(struct ncclComm *c, struct nccl_op *op)
{
	uint8_t value[8];

	if (!op->scaled || !op->scale_at)
		return true;
	if (!fetch(c, value, op->scale_at, nccl_bytes(op->type)))
		return false;
	nccl_scalar_read(op->type, value, &op->scale, &op->scale_whole);
	return true;
}

static void run(struct ncclComm *c, struct nccl_op *given)
{
	struct nccl_op op = *given;

	if (c->state != ncclSuccess || c->abort || !scale_fetch(c, &op))
		return;
	switch (op.kind) {
	case NCCL_ALL_REDUCE:
	case NCCL_REDUCE:
		all_reduce(c, &op);
		break;
	case NCCL_REDUCE_SCATTER:
		reduce_scatter(c, &op);
		break;
	case NCCL_PEERS:
		peers(c, &op);
		break;
	case NCCL_WORDS:
		words(c, &op);
		break;
	case NCCL_NEWS:
		news(c, &op);
		break;
	default:
		moves(c, &op);
		break;
	}
}

/* The stream that waits goes on, with an error as well: nothing hangs. */
static void release(struct ncclComm *c, struct nccl_op *op)
{
	bool stays = op->captured || op->done; /* one of the host is gone once it is done */

	if (op->word)
		c->driver->write_value(c->stream, op->word, op->value, 0);
	pthread_mutex_lock(&c->mutex);
	c->pending--;
	stage_give_locked(c, op);
	if (op->done)
		*op->done = true;
	pthread_cond_broadcast(&c->cond);
	pthread_mutex_unlock(&c->mutex);
	if (stays)
		return;
	nccl_op_free(op);
}

/* While there is nothing to do: has a rank ended without a word? */
static void look(struct ncclComm *c)
{
	for (int r = 0; r < c->ranks && c->state == ncclSuccess; r++)
		if (c->lines[r] && line_lost(c->lines[r]) && !line_over(c->lines[r]))
			nccl_fail(c, ncclRemoteError, "rank %d has ended (seen by rank %d)", r, c->rank);
}

static struct nccl_op *next_op(struct ncclComm *c)
{
	struct nccl_op *op;
	struct timespec t;

	pthread_mutex_lock(&c->mutex);
	while (!c->first && !c->ending && !c->abort) {
		clock_gettime(CLOCK_REALTIME, &t);
		t.tv_nsec += 50000000;
		t.tv_sec += t.tv_nsec / 1000000000;
		t.tv_nsec %= 1000000000;
		if (pthread_cond_timedwait(&c->cond, &c->mutex, &t)) {
			pthread_mutex_unlock(&c->mutex);
			look(c);
			pthread_mutex_lock(&c->mutex);
		}
	}
	op = c->first;
	if (op) {
		c->first = op->next;
		if (!c->first)
			c->last = &c->first;
	}
	pthread_mutex_unlock(&c->mutex);
	return op;
}

/* On lines that are sockets alone, for those who read them. */
static void say_goodbye(struct ncclComm *c)
{
	static const struct frame goodbye = { .kind = GOODBYE };

	for (int r = 0; r < c->ranks; r++)
		if (c->lines[r] && line_fd(c->lines[r]) >= 0)
			line_write(c->lines[r], &goodbye, sizeof(goodbye));
}

void *nccl_thread(void *comm)
{
	struct ncclComm *c = comm;
	struct nccl_op *op;

	c->driver->set_current(c->context);
	while ((op = next_op(c))) {
		run(c, op);
		release(c, op);
	}
	if (c->state == ncclSuccess && !c->abort)
		say_goodbye(c);
	return NULL;
}
