/*
 * unified_copy.c: see unified_copy.h.
 *
 * Of each place a third copy is kept: what the device had when the two were last made equal. What differs from it here
 * has been written by the program, what differs at the worker by the device. What one side has written does not undo
 * what the other has written beside it (merge.h). Signals and page faults are not used: this is a guest in somebody's
 * process.
 *
 * Memory of the program's own whose device is in this machine has its other copy in the arena, which the worker shares:
 * no request is made. Of other memory the bytes go through a stream of their own, which waits for no other. While no
 * work is under way the device has what it had, and whole lines go; nobody here waits for them: the streams that work
 * is submitted to do. While work is under way that may write beside them, single bytes of pinned memory go in requests;
 * of managed memory none can have been written (cuStreamAttachMemAsync). What comes back from several places is asked
 * for at once.
 */
#include "remote/client/unified_copy.h"

#include "cuda_remote.h"
#include "remote/client/call.h"
#include "remote/copy.h"
#include "remote/merge.h"

#include <stdlib.h>

#define PAGE UINT64_C(4096)
#define LINE UINT64_C(64)

struct copy unified_copy_of(const struct unified *u, uint64_t offset, void *here, uint64_t bytes, bool out)
{
	struct copy k = {
		.width = bytes, .height = 1, .depth = 1, .stream = u->stream, .async = true, .at = u->place.session
	};

	*(out ? &k.to : &k.from) =
		(struct copy_end){ .type = CU_MEMORYTYPE_DEVICE, .address = u->place.device + offset };
	*(out ? &k.from : &k.to) =
		(struct copy_end){ .type = CU_MEMORYTYPE_HOST, .address = (uint64_t)(uintptr_t)here };
	return k;
}

CUresult unified_move(const struct unified *u, uint64_t offset, void *here, uint64_t bytes, bool out)
{
	struct copy k = unified_copy_of(u, offset, here, bytes, out);

	return copy_plain(&k);
}

static uint64_t line_bytes(const struct unified *u, uint64_t offset)
{
	return u->place.bytes - offset < LINE ? u->place.bytes - offset : LINE;
}

/* Where the program's bytes begin to differ, from `offset` on; the end of the place when they do not. */
static uint64_t differ(const struct unified *u, uint64_t offset)
{
	while (offset < u->place.bytes) {
		uint64_t page = u->place.bytes - offset < PAGE ? u->place.bytes - offset : PAGE;

		if (!merge_same(u->known + offset, unified_at(u, offset), page)) {
			/* Another thread may write the old bytes again meanwhile: then none does. */
			for (uint64_t end = offset + page; offset < end; offset += line_bytes(u, offset))
				if (!merge_same(u->known + offset, unified_at(u, offset), line_bytes(u, offset)))
					return offset;
			continue;
		}
		offset += page;
	}
	return u->place.bytes;
}

/* No work is under way. Value: whether anything had to go out. */
static bool push_lines(struct unified *u)
{
	bool any = false;

	for (uint64_t at = differ(u, 0); at < u->place.bytes; at = differ(u, at)) {
		uint64_t end = at;

		while (end < u->place.bytes && end - at < UNIFIED_PIECE &&
		       !merge_same(u->known + end, unified_at(u, end), line_bytes(u, end)))
			end += line_bytes(u, end);
		merge_take(u->known + at, unified_at(u, at), end - at);
		if (unified_move(u, at, u->known + at, end - at, true) != CUDA_SUCCESS)
			return any;
		any = true;
		at = end;
	}
	return any;
}

static void send_merge(const struct unified *u, uint64_t at, uint64_t bytes, const uint64_t *masks,
		       const uint8_t *picture)
{
	const struct merge_request r = { u->place.copy + at, bytes };
	struct client_call c;

	client_request(&c, CALL_MERGE);
	c.session = u->place.session;
	if (client_begin(&c, false)) {
		remote_put(&c.out, &r, sizeof(r));
		remote_put(&c.out, masks, (bytes + MERGE_LINE - 1) / MERGE_LINE * sizeof(*masks));
		remote_put(&c.out, picture, bytes);
		client_send(&c);
	}
	client_end(&c);
}

/* Work is under way: exactly the bytes that the program has written, and behind those that are going out. */
static void push_bytes(struct unified *u)
{
	for (uint64_t at = differ(u, 0), next; at < u->place.bytes; at = differ(u, next)) {
		uint64_t masks[MERGE_BYTES / MERGE_LINE];
		uint8_t picture[MERGE_BYTES];

		if (u->going_out)
			client_plain_cuStreamSynchronize(u->stream);
		u->going_out = false;
		for (next = at; next < u->place.bytes && next - at < MERGE_BYTES; next += line_bytes(u, next))
			masks[(next - at) / MERGE_LINE] = merge_changes(u->known + next, unified_at(u, next),
									line_bytes(u, next), picture + (next - at));
		send_merge(u, at, next - at, masks, picture);
	}
}

bool unified_push(struct unified *u)
{
	if (u->place.start != UNIFIED_FROM_HOST || !u->place.session->unified_work)
		return push_lines(u);
	push_bytes(u);
	return false;
}

CUresult unified_pull(struct unified *u)
{
	uint64_t piece = u->place.bytes < UNIFIED_PIECE ? u->place.bytes : UNIFIED_PIECE;
	uint8_t *room = malloc(piece);
	CUresult r = room ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;

	for (uint64_t at = 0; r == CUDA_SUCCESS && at < u->place.bytes; at += piece) {
		uint64_t bytes = u->place.bytes - at < piece ? u->place.bytes - at : piece;

		r = unified_move(u, at, room, bytes, false);
		if (r == CUDA_SUCCESS)
			merge(u->known + at, room, unified_at(u, at), bytes);
	}
	free(room);
	return r;
}

void unified_push_shared(struct unified *u, uint8_t *there)
{
	if (there != unified_at(u, 0))
		merge(u->known, unified_at(u, 0), there, u->place.bytes);
}

void unified_pull_shared(struct unified *u, const uint8_t *there)
{
	if (there != unified_at(u, 0))
		merge(u->known, there, unified_at(u, 0), u->place.bytes);
}

CUresult unified_pull_together(struct unified_together *t)
{
	struct copy k[UNIFIED_TOGETHER];
	uint8_t *room = t->count > 1 ? malloc(t->bytes) : NULL;
	CUresult r = CUDA_SUCCESS, e;
	uint64_t at = 0;
	bool good;

	for (unsigned int i = 0; room && i < t->count; i++) {
		k[i] = unified_copy_of(t->place[i], 0, room + at, t->place[i]->place.bytes, false);
		at += t->place[i]->place.bytes;
	}
	good = room && copy_out_all(k, t->count) == CUDA_SUCCESS;
	at = 0;
	for (unsigned int i = 0; i < t->count; i++) {
		struct unified *u = t->place[i];

		if (good)
			merge(u->known, room + at, unified_at(u, 0), u->place.bytes);
		e = good ? CUDA_SUCCESS : unified_pull(u); /* each by itself: the others need not suffer */
		r = r == CUDA_SUCCESS ? e : r;
		at += u->place.bytes;
	}
	free(room);
	*t = (struct unified_together){ .count = 0 };
	return r;
}
