/* frame.c: see frame.h. */
#include "remote/relay/frame.h"

#include "base/clean_text.h"

#include <stdio.h>
#include <string.h>

#define PAGE 4096u
#define BOARD_BYTES 4096u
#define ARENA_MOST (UINT64_C(1) << 46)

_Static_assert(sizeof(struct frame_preface) == 32, "as on the wire");
_Static_assert(sizeof(struct frame_head) == 16, "as on the wire");
_Static_assert(sizeof(struct frame_piece) == 32, "as on the wire");
_Static_assert(sizeof(struct frame_lane) == 40, "as on the wire");
_Static_assert(sizeof(((struct wall_hello *)0)->brings) == FRAME_BROUGHT_BYTES, "as on the wire");
_Static_assert(sizeof(struct frame_hello) == 24 + sizeof(struct wall_hello), "no padding");

static int wrong_version(unsigned int theirs, char *text)
{
	snprintf(text, RELAY_TEXT_BYTES,
		 "the client's relay speaks version %u and the server's %u; install the same mete on both", theirs,
		 FRAME_VERSION);
	return WALL_WRONG_VERSION;
}

static int not_ours(char *text)
{
	snprintf(text, RELAY_TEXT_BYTES, "this is a mete relay, and that was not its protocol");
	return WALL_BAD;
}

int frame_check_preface(const struct frame_preface *p, char ret_text[RELAY_TEXT_BYTES])
{
	if (p->magic != FRAME_MAGIC)
		return not_ours(ret_text);
	if (p->version != FRAME_VERSION)
		return wrong_version(p->version, ret_text);
	if (p->purpose < FRAME_SESSION || p->purpose > FRAME_LANE || p->trust > RELAY_CERT || p->zero)
		return not_ours(ret_text);
	return 0;
}

int frame_check_hello(struct frame_hello *h, char ret_text[RELAY_TEXT_BYTES])
{
	h->wall.command[sizeof(h->wall.command) - 1] = 0;
	h->wall.name[sizeof(h->wall.name) - 1] = 0;
	if (h->magic != FRAME_MAGIC)
		return not_ours(ret_text);
	if (h->version != FRAME_VERSION)
		return wrong_version(h->version, ret_text);
	if (h->size != sizeof(*h) || h->wall.magic != WALL_MAGIC)
		return not_ours(ret_text);
	if (h->wall.version != WALL_VERSION) {
		snprintf(ret_text, RELAY_TEXT_BYTES,
			 "the program's library speaks version %u and the server %u; install the same mete on both",
			 h->wall.version, WALL_VERSION);
		return WALL_WRONG_VERSION;
	}
	if (h->lanes < 1 || h->lanes > RELAY_LANES_MOST)
		h->lanes = h->lanes < 1 ? 1 : RELAY_LANES_MOST;
	return 0;
}

void frame_take_brings(struct wall_hello *hello, uint8_t ret[FRAME_BROUGHT_BYTES])
{
	const size_t rest = sizeof(hello->name) - FRAME_BROUGHT_BYTES;

	memcpy(ret, hello->name, FRAME_BROUGHT_BYTES);
	memmove(hello->name, hello->name + FRAME_BROUGHT_BYTES, rest);
	memset(hello->name + rest, 0, FRAME_BROUGHT_BYTES);
}

void frame_put_brings(struct wall_hello *hello, const uint8_t brings[FRAME_BROUGHT_BYTES])
{
	memmove(hello->name + FRAME_BROUGHT_BYTES, hello->name, sizeof(hello->name) - FRAME_BROUGHT_BYTES);
	memcpy(hello->name, brings, FRAME_BROUGHT_BYTES);
	hello->name[sizeof(hello->name) - 1] = 0;
}

bool frame_check_where(const char *where)
{
	static const char good[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_:[]/@%";

	return *where != '/' && strlen(where) < WALL_WHERE_BYTES && !where[strspn(where, good)];
}

bool frame_check_welcome(struct frame_welcome *w)
{
	w->wall.grant[sizeof(w->wall.grant) - 1] = 0;
	w->wall.server[sizeof(w->wall.server) - 1] = 0;
	w->wall.text[sizeof(w->wall.text) - 1] = 0;
	/* One line, whatever the server has put there. */
	clean_text_line(w->wall.grant);
	clean_text_line(w->wall.server);
	clean_text_line(w->wall.text);
	return w->magic == FRAME_MAGIC && w->status <= WALL_STATUS_MOST &&
	       (w->status || (w->version == FRAME_VERSION && w->size == sizeof(*w) && w->lanes >= 1 &&
			      w->lanes <= RELAY_LANES_MOST));
}

static bool whole_pages(uint64_t a)
{
	return !(a % PAGE);
}

bool frame_check_wall(const struct wall_welcome *w)
{
	return w->magic == WALL_MAGIC && w->version == WALL_VERSION && w->ring_bytes >= RING_LEAST_BYTES &&
	       w->ring_bytes <= (64u << 20) && !(w->ring_bytes & (w->ring_bytes - 1)) && whole_pages(w->in_bytes) &&
	       whole_pages(w->out_bytes) && whole_pages(w->arena_bytes) && w->arena_bytes <= ARENA_MOST &&
	       w->in_bytes <= w->arena_bytes && w->out_bytes <= w->arena_bytes && w->in_offset == BOARD_BYTES &&
	       w->out_offset == w->in_offset + w->in_bytes && w->heap_offset == w->out_offset + w->out_bytes &&
	       w->heap_offset <= w->arena_bytes;
}

static bool in_arena(uint64_t offset, uint64_t bytes, uint64_t arena_bytes)
{
	uint64_t end;

	return offset >= BOARD_BYTES && !__builtin_add_overflow(offset, bytes, &end) && end <= arena_bytes;
}

bool frame_check_piece(const struct frame_piece *p, uint32_t bytes, uint64_t arena_bytes)
{
	if (!p->number || !p->serial || bytes > FRAME_PIECE_BYTES || bytes > p->total)
		return false;
	return bytes ? in_arena(p->offset, bytes, arena_bytes) : !p->total;
}

static bool read_payload(const void *at, size_t head, uint64_t arena_bytes, struct frame_message *m)
{
	if (m->size < head + sizeof(m->payload))
		return false;
	memcpy(&m->payload, (const uint8_t *)at + head, sizeof(m->payload));
	m->has_payload = true;
	return m->payload.serial && (!m->payload.bytes || in_arena(m->payload.offset, m->payload.bytes, arena_bytes));
}

static bool size_good(uint32_t size, size_t head, size_t bytes, size_t longest)
{
	return size >= head && size <= bytes && size <= longest && !(size % CALL_ALIGN);
}

bool frame_read_request(const void *at, size_t bytes, size_t longest, uint64_t arena_bytes, struct frame_message *ret)
{
	struct call_request head;

	*ret = (struct frame_message){ 0 };
	if (bytes < sizeof(head))
		return false;
	memcpy(&head, at, sizeof(head));
	ret->size = head.size;
	return size_good(head.size, sizeof(head), bytes, longest) &&
	       (!(head.flags & CALL_PAYLOAD) || read_payload(at, sizeof(head), arena_bytes, ret));
}

bool frame_read_reply(const void *at, size_t bytes, size_t longest, uint64_t arena_bytes, struct frame_message *ret)
{
	struct call_reply head;

	*ret = (struct frame_message){ 0 };
	if (bytes < sizeof(head))
		return false;
	memcpy(&head, at, sizeof(head));
	ret->size = head.size;
	ret->fence = head.fence;
	return size_good(head.size, sizeof(head), bytes, longest) &&
	       (!(head.flags & CALL_PAYLOAD) || read_payload(at, sizeof(head), arena_bytes, ret));
}
