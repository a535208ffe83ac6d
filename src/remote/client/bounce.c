/* bounce.c: see bounce.h. Only rows that belong to the copy are touched; a piece lives as long as its host function. */
#include "remote/client/bounce.h"

#include "remote/client/hosts.h"

#include <stdlib.h>
#include <string.h>

struct bounce {
	struct session *session;
	uint64_t offset;
	uint8_t *host; /* where the copy's host side begins */
	bool write;
	size_t first, pitch, slice; /* of rows, from there */
	size_t width, height, depth;
};

static void CUDA_CB run(void *data)
{
	const struct bounce *b = data;
	uint8_t *arena = b->session->link.wall.arena + b->offset;

	for (size_t z = 0; z < b->depth; z++)
		for (size_t y = 0; y < b->height; y++) {
			size_t at = b->first + z * b->slice + y * b->pitch;

			if (b->write)
				memcpy(b->host + at, arena + at, b->width);
			else
				memcpy(arena + at, b->host + at, b->width);
		}
}

static void ended(void *data)
{
	struct bounce *b = data;

	arena_heap_give(&b->session->arena, b->offset);
	free(b);
}

uint64_t bounce_new(struct session *session, void *host, uint64_t bytes, bool write, const CUDA_MEMCPY3D *c,
		    uint64_t *ret_offset)
{
	size_t pitch = write ? c->dstPitch : c->srcPitch, height = write ? c->dstHeight : c->srcHeight;
	size_t x = write ? c->dstXInBytes : c->srcXInBytes, y = write ? c->dstY : c->srcY;
	size_t z = write ? c->dstZ : c->srcZ;
	struct bounce *b = calloc(1, sizeof(*b));
	uint64_t token;

	if (!b)
		return 0;
	pitch = pitch ? pitch : c->WidthInBytes + x;
	height = height ? height : c->Height + y;
	*b = (struct bounce){ .session = session,
			      .host = host,
			      .write = write,
			      .first = z * height * pitch + y * pitch + x,
			      .pitch = pitch,
			      .slice = height * pitch,
			      .width = c->WidthInBytes,
			      .height = c->Height,
			      .depth = c->Depth };
	if (arena_heap_take(&session->arena, bytes, &b->offset)) {
		free(b);
		return 0;
	}
	token = hosts_add_own(session, &(struct host_own){ .fn = run,
							   .data = b,
							   .ended = ended,
							   .offset = b->offset,
							   .bytes = write ? 0 : bytes });
	if (token)
		*ret_offset = b->offset;
	else
		ended(b);
	return token;
}

uint64_t bounce_pinned(struct session *session, uint64_t offset, uint64_t bytes, bool write)
{
	return hosts_add_own(session, &(struct host_own){ .offset = offset, .bytes = write ? 0 : bytes });
}
