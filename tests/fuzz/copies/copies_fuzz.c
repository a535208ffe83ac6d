/*
 * copies_fuzz.c: fuzz target for the worker's copies: well-formed requests, and some in which a number or two is not,
 * to the real handlers over a driver that judges what it is told to touch (judge.h).
 *
 * An input is a list of requests, each a byte that says which (enum what) and what that needs; every number is drawn as
 * an honest client would say it, and then, now and then, made another one (lie()). So most of what arrives gets far,
 * and whatever one number can do, it does. What must hold: no call reaches the driver that touches what is not the
 * client's.
 */
#include "../ptx/fuzz.h"
#include "judge.h"

#include "cuda_remote.h"
#include "remote/copy.h"
#include "remote/merge.h"
#include "remote/graph.h"
#include "remote/worker/box.h"
#include "remote/worker/execute.h"
#include "remote/worker/payload.h"
#include "remote/worker/session.h"

#include <errno.h>

#define REQUESTS_MOST 24u
#define STAGED 4096u /* of a payload */

enum what { COPY, COPY_AGAIN, FILL, NODE, NODE_SET, NODE_FILL, LINE, PIN, KINDS };

enum id {
	ID_CONTEXT = 1,
	ID_STREAM,
	ID_ARRAY,
	ID_GRAPH,
	ID_EXEC,
	ID_NODE /* and those behind it: nodes that were added */
};

struct input {
	const uint8_t *at;
	size_t left;
};

static struct cuda_table driver;
static struct worker worker;
static struct wall wall, client;
static struct execute_room room;
static uint32_t ticket, node;

static uint8_t take(struct input *in)
{
	if (!in->left)
		return 0;
	in->left--;
	return *in->at++;
}

static uint64_t take_raw(struct input *in)
{
	uint64_t v = 0;

	for (unsigned int i = 0; i < 64; i += 8)
		v |= (uint64_t)take(in) << i;
	return v;
}

/* What an honest client would say; one time in eight something else. */
static uint64_t lie(struct input *in, uint64_t honest)
{
	uint8_t how = take(in);

	if (how < 224)
		return honest;
	switch (how % 16) {
	case 0:
		return 0;
	case 1:
		return 1;
	case 2:
		return UINT64_MAX;
	case 3:
		return honest + 1;
	case 4:
		return honest - 1;
	case 5:
		return -honest;
	case 6:
		return UINT64_C(1) << take(in) % 64;
	case 7:
		return (UINT64_C(1) << take(in) % 64) - 1;
	case 8:
		return honest * 2;
	case 9:
		return honest + (UINT64_C(1) << take(in) % 64);
	case 10:
		return UINT64_MAX - take(in);
	case 11:
		return wall.welcome.arena_bytes - take(in) * UINT64_C(64);
	case 12:
		return UINT64_MAX / (honest ? honest : 1) + take(in) % 2;
	case 13:
		return (uint64_t)(uintptr_t)wall.arena + honest;
	case 14:
		return take(in);
	default:
		return take_raw(in);
	}
}

static uint64_t id_of(enum remote_kind kind, uint32_t slot)
{
	return CALL_ID(kind, 1, slot);
}

/* ---- sides ---- */

static void take_box(struct input *in, uint64_t ret[3])
{
	ret[0] = lie(in, 1 + take(in) % 64 * UINT64_C(8));
	ret[1] = lie(in, 1 + take(in) % 6);
	ret[2] = lie(in, 1 + take(in) % 5);
}

/* How a box lies in linear memory, with gaps perhaps. */
static struct box_place take_place(struct input *in, const uint64_t box[3])
{
	uint8_t gaps = take(in);

	return (struct box_place){ .x = lie(in, gaps & 1 ? take(in) % 16 : 0),
				   .y = lie(in, gaps & 2 ? take(in) % 3 : 0),
				   .z = lie(in, gaps & 4 ? take(in) % 3 : 0),
				   .pitch = lie(in, box[0] + (gaps & 8 ? take(in) : 0) + 16),
				   .height = lie(in, box[1] + (gaps & 16 ? take(in) % 5 : 0) + 2) };
}

/* An address of device memory, sometimes so that the end is near. */
static uint64_t take_device(struct input *in)
{
	static const uint64_t begin[] = { JUDGE_DEVICE, JUDGE_NEXT, JUDGE_APART, JUDGE_KNOWN };
	uint8_t which = take(in);
	uint64_t at = begin[which % 4];

	if (which & 16)
		at += JUDGE_BYTES - take(in) * UINT64_C(64);
	if (which & 32)
		at = (uint64_t)(uintptr_t)wall.arena + wall.welcome.heap_offset + take(in) * UINT64_C(64);
	return lie(in, at);
}

static uint64_t take_offset(struct input *in)
{
	uint8_t which = take(in);
	uint64_t at = which & 1	  ? wall.welcome.in_offset
		      : which & 2 ? wall.welcome.out_offset
				  : wall.welcome.heap_offset;

	if (which & 16)
		at = wall.welcome.arena_bytes - take(in) * UINT64_C(64);
	return lie(in, at + (which & 4 ? take(in) * UINT64_C(64) : 0));
}

static struct copy_side take_side(struct input *in, const uint64_t box[3])
{
	struct box_place p = take_place(in, box);
	struct copy_side s = {
		.kind = take(in) % 9, .x = p.x, .y = p.y, .z = p.z, .pitch = p.pitch, .height = p.height
	};

	s.kind = s.kind > COPY_INLINE ? s.kind % 3 : s.kind;
	s.lod = (uint32_t)lie(in, 0);
	s.at = s.kind == COPY_DEVICE  ? take_device(in)
	       : s.kind == COPY_ARRAY ? lie(in, id_of(KIND_ARRAY, ID_ARRAY))
	       : s.kind == COPY_ARENA ? take_offset(in)
				      : 0;
	s.kind = (uint32_t)lie(in, s.kind);
	return s;
}

/* ---- requests ---- */

/* The head, with a payload perhaps. Value: where the body begins. */
static size_t begin(struct input *in, uint16_t call)
{
	uint8_t flags = take(in);
	struct call_request head = { .call = call,
				     .thread = 1 + flags % 2,
				     .context = id_of(KIND_CONTEXT, ID_CONTEXT) };
	struct call_payload p = { .offset = wall.welcome.in_offset, .bytes = STAGED, .serial = ticket + 1 };

	head.flags = (flags & 3) == 3 ? 0 : CALL_WAITS;
	head.ticket = head.flags ? ++ticket : 0;
	head.flags |= flags & 4 ? CALL_PAYLOAD : 0;
	memcpy(room.request, &head, sizeof(head));
	if (flags & 4)
		memcpy(room.request + sizeof(head), &p, sizeof(p));
	return sizeof(head) + (flags & 4 ? sizeof(p) : 0);
}

static size_t put(size_t at, const void *value, size_t bytes)
{
	memset(room.request + at, 0, remote_padded(bytes));
	memcpy(room.request + at, value, bytes);
	return at + remote_padded(bytes);
}

static size_t put_word(size_t at, uint64_t word)
{
	return put(at, &word, sizeof(word));
}

static size_t take_copy(struct input *in)
{
	struct copy_request r = { .stream = lie(in, take(in) % 2 ? id_of(KIND_STREAM, ID_STREAM) : 0) };
	size_t at = begin(in, CALL_COPY);
	uint64_t bytes;
	uint64_t box[3];

	take_box(in, box);
	r.width = box[0], r.height = box[1], r.depth = box[2];
	r.flags = take(in) % 8;
	r.source = take_side(in, box);
	r.target = take_side(in, box);
	at = put(at, &r, sizeof(r));
	if (r.source.kind == COPY_INLINE && !__builtin_mul_overflow(box[0] * box[1], box[2], &bytes) &&
	    bytes <= room.bytes - at - CALL_ALIGN) {
		memset(room.request + at, 1, remote_padded(bytes));
		at += remote_padded(bytes);
	}
	return at;
}

static size_t take_fill(struct input *in)
{
	struct fill_request r = { .stream = take(in) % 2 ? id_of(KIND_STREAM, ID_STREAM) : 0,
				  .element = 1u << take(in) % 3 };
	size_t at = begin(in, CALL_FILL);
	uint64_t box[3];

	take_box(in, box);
	r.at = take_device(in);
	r.width = box[0], r.height = box[1];
	r.pitch = lie(in, box[0] * r.element + take(in) % 32);
	r.element = (uint32_t)lie(in, r.element);
	return put(at, &r, sizeof(r));
}

/* A pointer of the client's own in a field that is not for it. */
static void *stray(struct input *in)
{
	return (void *)(uintptr_t)lie(in, 0);
}

static struct graph_copy take_node_copy(struct input *in)
{
	static const CUmemorytype types[] = { CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_ARRAY,
					      CU_MEMORYTYPE_UNIFIED };
	struct graph_copy g = { 0 };
	CUDA_MEMCPY3D *c = &g.copy;
	struct box_place p;
	uint64_t box[3];

	take_box(in, box);
	c->WidthInBytes = box[0], c->Height = box[1], c->Depth = box[2];
	p = take_place(in, box);
	c->srcMemoryType = (CUmemorytype)lie(in, types[take(in) % 4]);
	c->srcXInBytes = p.x, c->srcY = p.y, c->srcZ = p.z, c->srcPitch = p.pitch, c->srcHeight = p.height;
	c->srcLOD = lie(in, 0);
	c->srcDevice = take_device(in);
	c->srcArray = (CUarray)(uintptr_t)lie(in, id_of(KIND_ARRAY, ID_ARRAY));
	c->srcHost = stray(in);
	g.from = (uint32_t)lie(in, GRAPH_PLACE_ARENA);
	g.from_offset = take_offset(in);
	g.from_bytes = lie(in, 65536);
	p = take_place(in, box);
	c->dstMemoryType = (CUmemorytype)lie(in, types[take(in) % 4]);
	c->dstXInBytes = p.x, c->dstY = p.y, c->dstZ = p.z, c->dstPitch = p.pitch, c->dstHeight = p.height;
	c->dstLOD = lie(in, 0);
	c->dstDevice = take_device(in);
	c->dstArray = (CUarray)(uintptr_t)lie(in, id_of(KIND_ARRAY, ID_ARRAY));
	c->dstHost = stray(in);
	c->reserved0 = stray(in);
	c->reserved1 = stray(in);
	g.to = (uint32_t)lie(in, GRAPH_PLACE_ARENA);
	g.to_offset = take_offset(in);
	g.to_bytes = lie(in, 65536);
	return g;
}

static size_t put_node_copy(struct input *in, size_t at)
{
	struct graph_params params = { .type = CU_GRAPH_NODE_TYPE_MEMCPY, .context = id_of(KIND_CONTEXT, ID_CONTEXT) };
	struct graph_copy copy = take_node_copy(in);

	return put(put(at, &params, sizeof(params)), &copy, sizeof(copy));
}

static size_t take_node(struct input *in)
{
	struct graph_add add = { .id = id_of(KIND_GRAPH_NODE, ID_NODE + node++), .graph = id_of(KIND_GRAPH, ID_GRAPH) };
	size_t at = begin(in, CALL_GRAPH_ADD);

	add.flags = take(in) % 2 ? GRAPH_GENERIC : 0;
	return put_node_copy(in, put(at, &add, sizeof(add)));
}

static size_t take_node_set(struct input *in)
{
	struct graph_set set = { .node = id_of(KIND_GRAPH_NODE, ID_NODE), .type = CU_GRAPH_NODE_TYPE_MEMCPY };
	size_t at = begin(in, CALL_GRAPH_SET);

	set.exec = take(in) % 2 ? id_of(KIND_GRAPH_EXEC, ID_EXEC) : 0;
	set.flags = take(in) % 2 ? GRAPH_GENERIC : 0;
	return put_node_copy(in, put(at, &set, sizeof(set)));
}

/* By the generic call, and by the one that is generated. */
static size_t take_node_fill(struct input *in)
{
	struct graph_params params = { .type = CU_GRAPH_NODE_TYPE_MEMSET, .context = id_of(KIND_CONTEXT, ID_CONTEXT) };
	struct graph_add add = { .id = id_of(KIND_GRAPH_NODE, ID_NODE + node++),
				 .graph = id_of(KIND_GRAPH, ID_GRAPH),
				 .flags = GRAPH_GENERIC };
	bool generic = take(in) % 2;
	size_t at = begin(in, generic ? CALL_GRAPH_ADD : CUDA_CALL_cuGraphAddMemsetNode);
	CUDA_MEMSET_NODE_PARAMS_v2 m = { .dst = take_device(in), .elementSize = 1u << take(in) % 3 };
	uint64_t box[3];

	take_box(in, box);
	m.width = box[0], m.height = box[1];
	m.pitch = lie(in, box[0] * m.elementSize);
	m.elementSize = (unsigned int)lie(in, m.elementSize);
	if (generic)
		return put(put(put(at, &add, sizeof(add)), &params, sizeof(params)), &m, sizeof(m));
	at = put_word(put_word(put_word(at, add.graph), 0), params.context);
	at = put_word(put_word(put_word(at, 1), add.id), 1);
	return put_word(put(at, &m, sizeof(CUDA_MEMSET_NODE_PARAMS)), 0);
}

/* The calls that the client makes copies of: by hand they would reach the worker as they are. */
static size_t take_line(struct input *in)
{
	static const uint16_t calls[] = { CUDA_CALL_cuMemcpyHtoD_v2,  CUDA_CALL_cuMemcpyDtoH_v2,
					  CUDA_CALL_cuMemcpyDtoD_v2,  CUDA_CALL_cuMemcpyAtoD_v2,
					  CUDA_CALL_cuMemcpyDtoA_v2,  CUDA_CALL_cuMemcpyAtoH_v2,
					  CUDA_CALL_cuMemsetD8Async,  CUDA_CALL_cuMemsetD32Async,
					  CUDA_CALL_cuMemsetD2D8Async };
	uint16_t call = calls[take(in) % (sizeof(calls) / sizeof(*calls))];
	uint64_t bytes = lie(in, take(in) * UINT64_C(8));
	size_t at = begin(in, call);

	switch (call) {
	case CUDA_CALL_cuMemcpyHtoD_v2:
		at = put_word(put_word(put_word(at, take_device(in)), bytes), lie(in, 1));
		bytes = lie(in, bytes) % 4096;
		memset(room.request + at, 1, remote_padded(bytes));
		return at + remote_padded(bytes);
	case CUDA_CALL_cuMemcpyDtoH_v2:
		return put_word(put_word(put_word(at, take_device(in)), bytes), lie(in, 1));
	case CUDA_CALL_cuMemcpyDtoD_v2:
		at = put_word(at, take_device(in));
		return put_word(put_word(at, take_device(in)), bytes);
	case CUDA_CALL_cuMemcpyAtoD_v2:
		at = put_word(put_word(at, take_device(in)), id_of(KIND_ARRAY, ID_ARRAY));
		return put_word(put_word(at, lie(in, 0)), bytes);
	case CUDA_CALL_cuMemcpyDtoA_v2:
		at = put_word(put_word(at, id_of(KIND_ARRAY, ID_ARRAY)), lie(in, 0));
		return put_word(put_word(at, take_device(in)), bytes);
	case CUDA_CALL_cuMemcpyAtoH_v2:
		at = put_word(put_word(at, id_of(KIND_ARRAY, ID_ARRAY)), lie(in, 0));
		return put_word(put_word(at, bytes), lie(in, 1));
	case CUDA_CALL_cuMemsetD2D8Async:
		at = put_word(put_word(put_word(at, take_device(in)), lie(in, bytes)), 0);
		return put_word(put_word(put_word(at, bytes), lie(in, 2)), 0);
	default:
		return put_word(put_word(put_word(put_word(at, take_device(in)), 0), bytes), 0);
	}
}

/* Masks and bytes as long as is said, or not. */
static size_t take_merge(struct input *in)
{
	static const uint8_t nothing[MERGE_BYTES + MERGE_BYTES / MERGE_LINE * sizeof(uint64_t)];
	size_t at = begin(in, CALL_MERGE);
	const uint64_t bytes = 1 + take(in) * 8 % MERGE_BYTES, lines = (bytes + MERGE_LINE - 1) / MERGE_LINE;
	struct merge_request r = { .offset = take_offset(in) & ~UINT64_C(63), .bytes = lie(in, bytes) };

	at = put(at, &r, sizeof(r));
	at = put(at, nothing, lines * sizeof(uint64_t));
	return put(at, nothing, bytes);
}

static size_t take_pin(struct input *in)
{
	const unsigned int which = take(in) % 3;
	size_t at = which < 2 ? begin(in, which ? CALL_PIN : CALL_UNPIN) : 0;
	struct pin_request r;

	if (which == 2)
		return take_merge(in);
	r = (struct pin_request){ .offset = take_offset(in) & ~UINT64_C(4095), .bytes = lie(in, 4096) };
	return put(at, &r, sizeof(r));
}

static size_t take_request(struct input *in)
{
	switch (take(in) % KINDS) {
	case FILL:
		return take_fill(in);
	case NODE:
		return take_node(in);
	case NODE_SET:
		return take_node_set(in);
	case NODE_FILL:
		return take_node_fill(in);
	case LINE:
		return take_line(in);
	case PIN:
		return take_pin(in);
	default:
		return take_copy(in);
	}
}

/* ---- sessions ---- */

/* Both ends in one process; replies are read so that there is room for more. */
static void make_ends(void)
{
	struct wall_shape shape = { .heap_bytes = 1 << 20 };

	check(!wall_make(&wall, &shape));
	client = wall;
	wall_bell_init(&client.bell, 0);
	ring_attach(&client.replies, wall.replies.shared, wall.welcome.ring_bytes, &client.bell.bell);
	judge_table(&driver);
	judge.arena = wall.arena;
	judge.arena_bytes = wall.welcome.arena_bytes;
	judge.heap_offset = wall.welcome.heap_offset;
}

static void read_replies(void)
{
	const void *at;
	size_t size;

	while (ring_next(&client.replies, &at, &size, 0) == 1)
		ring_release(&client.replies);
}

static void know(enum remote_kind kind, uint32_t slot, void *handle)
{
	check(!ids_add(&worker.ids, kind, id_of(kind, slot), handle, 0));
}

static void begin_session(bool coherent)
{
	wall.welcome.flags = coherent ? WALL_COHERENT : 0;
	check(!session_init(&worker, &driver, &wall));
	check(!execute_room_init(&room, &worker.rooms, ring_longest(wall.welcome.ring_bytes)));
	judge.inside = room.inside;
	judge.inside_bytes = COPY_INLINE_BYTES;
	know(KIND_CONTEXT, ID_CONTEXT, JUDGE_CONTEXT);
	know(KIND_STREAM, ID_STREAM, JUDGE_STREAM);
	know(KIND_ARRAY, ID_ARRAY, JUDGE_ARRAY);
	know(KIND_GRAPH, ID_GRAPH, JUDGE_GRAPH);
	know(KIND_GRAPH_EXEC, ID_EXEC, JUDGE_EXEC);
	know(KIND_GRAPH_NODE, ID_NODE, JUDGE_NODE);
	node = 1;
	check(!ranges_add(&worker.ranges, JUDGE_DEVICE, JUDGE_BYTES, 0));
	check(!ranges_add(&worker.ranges, JUDGE_NEXT, JUDGE_BYTES, 0));
	check(!ranges_add(&worker.ranges, JUDGE_APART, JUDGE_BYTES, 0));
}

static void end_session(void)
{
	payload_end();
	read_replies();
	execute_room_deinit(&room);
	session_deinit(&worker);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length)
{
	struct input in = { data, length };
	uint8_t flags = take(&in);
	int r = 0;

	if (!wall.arena)
		make_ends();
	begin_session(flags & 1);
	judge.capturing = (flags & 6) == 6;
	for (unsigned int i = 0; i < REQUESTS_MOST && in.left && r != -EPIPE; i++) {
		size_t size = take_request(&in);
		bool yielded;

		((struct call_request *)(void *)room.request)->size = (uint32_t)size;
		r = execute(&worker, &room, size, &yielded);
		check(r <= 0);
		read_replies();
	}
	end_session();
	return 0;
}

#ifndef FUZZ_ENGINE
int main(int argc, char **argv)
{
	int r = fuzz_main(argc, argv,
			  "\1\2\3\4\5\6\7\10\20\40\77\100\177\200\337\340\341\342\343\344\345\346\352\353\354\355\377");

	printf("%lu spans were judged\n", judge.judged);
	return r || !judge.judged;
}
#endif
