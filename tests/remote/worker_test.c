/*
 * worker_test.c: the worker as a process of its own, driven by hand-made messages over the real handshake and rings.
 *
 *   worker_test WORKER DRIVER [--trusting]	the worker believes what it is told: the driver is to refuse
 */
#include "base/tap.h"
#include "cuda_remote.h"
#include "remote/copy.h"
#include "remote/graph.h"
#include "remote/host.h"
#include "remote/move.h"
#include "remote/worker/worker.h"
#include "ring/wall.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char *worker_path, *driver_path;
static char socket_path[64];
static uint32_t tickets;

struct message {
	_Alignas(8) uint8_t bytes[65536];
	size_t size;
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static pid_t start_worker(void)
{
	int ends[2];
	char fd[12], byte;
	pid_t pid;

	if (pipe(ends))
		exit(1);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(ends[0]);
		snprintf(fd, sizeof(fd), "%d", ends[1]);
		execl(worker_path, worker_path, "--listen", socket_path, "--driver", driver_path, "--ready-fd", fd,
		      NULL);
		_exit(127);
	}
	close(ends[1]);
	if (read(ends[0], &byte, 1) != 1)
		printf("# the worker did not start\n");
	close(ends[0]);
	return pid;
}

/* Value: the exit status, 256 + signal, or -1: it did not end in `seconds`. */
static int wait_end(pid_t pid, double seconds)
{
	double end = now() + seconds;
	int status;

	while (now() < end) {
		if (waitpid(pid, &status, WNOHANG) == pid)
			return WIFEXITED(status) ? WEXITSTATUS(status) : 256 + WTERMSIG(status);
		usleep(2000);
	}
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	return -1;
}

static int connect_wall(struct wall *wall)
{
	struct wall_hello hello = { .magic = WALL_MAGIC,
				    .version = WALL_VERSION,
				    .fingerprint = CUDA_REMOTE_FINGERPRINT,
				    .pid = getpid(),
				    .command = "worker_test" };

	return wall_connect(wall, socket_path, &hello, 5000);
}

static void send_bytes(struct wall *wall, const void *bytes, size_t size)
{
	void *at;

	if (ring_begin(&wall->requests, size, &at))
		return;
	memcpy(at, bytes, size);
	ring_commit(&wall->requests, size);
}

/* Sends a request and waits for its reply. Value: the result; -1: none came. */
static int ask(struct wall *wall, uint16_t call, uint64_t context, const void *body, size_t bytes,
	       struct message *reply)
{
	struct call_request head = { .size = (uint32_t)(sizeof(head) + bytes),
				     .call = call,
				     .flags = CALL_WAITS,
				     .ticket = ++tickets,
				     .thread = 1,
				     .context = context };
	struct message m;
	const void *at;

	memcpy(m.bytes, &head, sizeof(head));
	if (bytes)
		memcpy(m.bytes + sizeof(head), body, bytes);
	send_bytes(wall, m.bytes, head.size);
	if (ring_next(&wall->replies, &at, &reply->size, UINT64_C(5000000000)) != 1)
		return -1;
	memcpy(reply->bytes, at, reply->size);
	ring_release(&wall->replies);
	return ((struct call_reply *)(void *)reply->bytes)->ticket == tickets
		       ? ((struct call_reply *)(void *)reply->bytes)->result
		       : -1;
}

static void test_ping(void)
{
	pid_t pid = start_worker();
	struct message reply;
	struct wall wall;

	is(connect_wall(&wall), 0);
	is(ask(&wall, CALL_OPEN, 0, NULL, 0, &reply), CUDA_SUCCESS);
	is(ask(&wall, CALL_PING, 0, NULL, 0, &reply), CUDA_SUCCESS);
	is(reply.size, sizeof(struct call_reply));
	is(ask(&wall, CUDA_CALL_cuCtxSynchronize, 12345, NULL, 0, &reply), CUDA_ERROR_INVALID_CONTEXT);
	is(ask(&wall, CALL_FIRST - 1, 0, NULL, 0, &reply), CUDA_ERROR_NOT_SUPPORTED);
	wall_close(&wall);
	is(wait_end(pid, 2), 0);
}

/* Messages that make no sense end the session, and the worker with it, at once. */
static void test_malformed(void)
{
	static const struct call_request bad[] = {
		{ .size = 40,
		  .call = CALL_PING,
		  .flags = CALL_WAITS,
		  .ticket = 1,
		  .thread = 1 }, /* longer than it is */
		{ .size = 24, .call = CALL_PING, .flags = 0x8000, .thread = 1 },
		{ .size = 24, .call = CALL_PING, .flags = CALL_WAITS, .ticket = 1 }, /* no thread */
		{ .size = 24, .call = CALL_PING, .ticket = 1, .thread = 1 }, /* a ticket that nobody waits with */
		{ .size = 24, .call = CALL_PING, .flags = CALL_PAYLOAD, .thread = 1 }, /* no payload behind it */
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		pid_t pid = start_worker();
		struct wall wall;
		const void *at;
		size_t size;

		is(connect_wall(&wall), 0);
		send_bytes(&wall, &bad[i], sizeof(bad[i]));
		is(ring_next(&wall.replies, &at, &size, UINT64_C(3000000000)), -EPIPE);
		is(wait_end(pid, 2), 1);
		wall_close(&wall);
	}
}

/* A client that is killed takes its worker along, and the other way round. */
static void test_deaths(void)
{
	pid_t worker = start_worker(), client = fork();
	struct wall wall;
	const void *at;
	double began;
	size_t size;

	if (!client) {
		if (!connect_wall(&wall))
			raise(SIGKILL);
		_exit(1);
	}
	waitpid(client, NULL, 0);
	is(wait_end(worker, 1), 0);
	worker = start_worker();
	is(connect_wall(&wall), 0);
	began = now();
	kill(worker, SIGKILL);
	is(ring_next(&wall.replies, &at, &size, UINT64_C(3000000000)), -EPIPE);
	ok(now() - began < 1);
	wall_close(&wall);
	wait_end(worker, 1);
}

static void test_versions(void)
{
	struct wall_hello hello = { .magic = WALL_MAGIC, .version = WALL_VERSION, .fingerprint = 1 };
	pid_t pid = start_worker();
	struct wall wall;

	is(wall_connect(&wall, socket_path, &hello, 5000), WALL_WRONG_VERSION);
	ok(strlen(wall.welcome.text) > 10);
	wall_close(&wall);
	is(wait_end(pid, 2), 1);
}

/* ---- a client that lies about what it copies ---- */

#define ALLOCATED 65536u
#define FAR (UINT64_C(1) << 63)

struct liar {
	struct wall wall;
	uint64_t context, device, array;
	pid_t pid;
};

static uint64_t given(const struct message *reply)
{
	uint64_t value;

	memcpy(&value, reply->bytes + sizeof(struct call_reply), sizeof(value));
	return value;
}

static void liar_begin(struct liar *l)
{
	CUDA_ARRAY3D_DESCRIPTOR shape = {
		.Width = 64, .Height = 4, .Depth = 4, .Format = CU_AD_FORMAT_UNSIGNED_INT8, .NumChannels = 1
	};
	uint64_t device = 0, bytes = ALLOCATED, made[3 + sizeof(shape) / 8] = { 1, CALL_ID(KIND_ARRAY, 1, 1), 1 };
	struct message reply;

	l->pid = start_worker();
	is(connect_wall(&l->wall), 0);
	is(ask(&l->wall, CALL_OPEN, 0, NULL, 0, &reply), CUDA_SUCCESS);
	is(ask(&l->wall, CUDA_CALL_cuDevicePrimaryCtxRetain, 0, &device, sizeof(device), &reply), CUDA_SUCCESS);
	l->context = given(&reply);
	is(ask(&l->wall, CUDA_CALL_cuMemAlloc_v2, l->context, &bytes, sizeof(bytes), &reply), CUDA_SUCCESS);
	l->device = given(&reply);
	memcpy(made + 3, &shape, sizeof(shape));
	is(ask(&l->wall, CUDA_CALL_cuArray3DCreate_v2, l->context, made, sizeof(made), &reply), CUDA_SUCCESS);
	l->array = made[1];
}

/* The worker is there and has nothing against this client. */
static void liar_end(struct liar *l)
{
	struct message reply;

	is(ask(&l->wall, CALL_PING, 0, NULL, 0, &reply), CUDA_SUCCESS);
	wall_close(&l->wall);
	is(wait_end(l->pid, 2), 0);
}

static struct copy_side honest(const struct liar *l, uint32_t kind)
{
	struct copy_side s = { .kind = kind, .pitch = 64, .height = 4 };

	s.at = kind == COPY_DEVICE  ? l->device
	       : kind == COPY_ARENA ? l->wall.welcome.heap_offset
	       : kind == COPY_ARRAY ? l->array
				    : 0;
	return s;
}

static int copy(struct liar *l, const struct copy_side *from, const struct copy_side *to, const uint64_t box[3])
{
	struct copy_request r = {
		.flags = COPY_DONE, .width = box[0], .height = box[1], .depth = box[2], .source = *from, .target = *to
	};
	struct message reply;

	return ask(&l->wall, CALL_COPY, l->context, &r, sizeof(r), &reply);
}

/* What is told of one side: 0 stands for what an honest client says. */
static const struct lie {
	const char *name;
	uint64_t box[3];
	struct copy_side said;
	bool no_height, no_pitch;
} lies[] = {
	{ "slices without rows, all in one place", { 64, 4, 4 }, { .pitch = 64 }, .no_height = true },
	{ "slices of one row without rows", { 64, 1, 4 }, { .pitch = 64 }, .no_height = true },
	{ "slices without rows, far apart", { 8, 1, 2 }, { .pitch = FAR }, .no_height = true },
	{ "rows that lie nowhere", { 64, 4, 1 }, { 0 }, .no_pitch = true },
	{ "fewer rows than are copied", { 64, 4, 4 }, { .height = 3 } },
	{ "a pitch below the width", { 64, 4, 1 }, { .pitch = 63 } },
	{ "an x that wraps", { 64, 1, 1 }, { .x = UINT64_MAX - 15 } },
	{ "a y that wraps", { 64, 2, 1 }, { .y = UINT64_MAX } },
	{ "a z that wraps", { 64, 4, 2 }, { .z = UINT64_MAX } },
	{ "a y whose rows wrap", { 64, 1, 1 }, { .y = UINT64_C(1) << 58, .pitch = 64 } },
	{ "a z whose slices wrap", { 64, 4, 1 }, { .z = UINT64_C(1) << 56 } },
	{ "a pitch that wraps", { 64, 3, 1 }, { .pitch = FAR } },
	{ "a level", { 64, 4, 1 }, { .lod = 1 } },
};

static struct copy_side told(const struct liar *l, const struct lie *lie, uint32_t kind)
{
	struct copy_side s = honest(l, kind);

	s.x = lie->said.x;
	s.y = lie->said.y;
	s.z = lie->said.z;
	s.lod = lie->said.lod;
	s.pitch = lie->no_pitch ? 0 : lie->said.pitch ? lie->said.pitch : s.pitch;
	s.height = lie->no_height ? 0 : lie->said.height ? lie->said.height : s.height;
	return s;
}

static void test_lying_copies(void)
{
	static const uint32_t kinds[] = { COPY_DEVICE, COPY_ARENA };
	static const uint64_t whole[3] = { 64, 4, 4 };
	struct copy_side from, to;
	struct liar l;

	liar_begin(&l);
	for (unsigned int k = 0; k < 2; k++) {
		from = honest(&l, kinds[k]);
		to = honest(&l, kinds[!k]);
		is(copy(&l, &from, &to, whole), CUDA_SUCCESS);
		to = honest(&l, COPY_ARRAY);
		is(copy(&l, &from, &to, whole), CUDA_SUCCESS);
	}
	for (size_t i = 0; i < sizeof(lies) / sizeof(*lies); i++)
		for (unsigned int k = 0; k < 2; k++) {
			to = honest(&l, kinds[!k]);
			from = told(&l, &lies[i], kinds[k]);
			tap_ok(copy(&l, &from, &to, lies[i].box) == CUDA_ERROR_INVALID_VALUE, "from a %s: %s",
			       k ? "host" : "device", lies[i].name);
			from = honest(&l, kinds[!k]);
			to = told(&l, &lies[i], kinds[k]);
			tap_ok(copy(&l, &from, &to, lies[i].box) == CUDA_ERROR_INVALID_VALUE, "to a %s: %s",
			       k ? "host" : "device", lies[i].name);
		}
	liar_end(&l);
}

/* Calls whose bytes lie in the message: a driver would be told where, and a graph would remember it. */
static void test_bytes_in_messages(void)
{
	uint64_t to_device[] = { 0, 8, 0, 1, 42 }, to_host[] = { 0, 8, 0, 1 };
	struct message reply;
	struct liar l;

	liar_begin(&l);
	to_device[0] = to_host[0] = l.device;
	is(ask(&l.wall, CUDA_CALL_cuMemcpyHtoDAsync_v2, l.context, to_device, sizeof(to_device), &reply),
	   CUDA_ERROR_NOT_SUPPORTED);
	is(ask(&l.wall, CUDA_CALL_cuMemcpyDtoHAsync_v2, l.context, to_host, sizeof(to_host), &reply),
	   CUDA_ERROR_NOT_SUPPORTED);
	liar_end(&l);
}

/* ---- the same as nodes of a graph ---- */

struct node_request {
	struct graph_add add;
	struct graph_params params;
	struct graph_copy copy;
};

static int add_node(struct liar *l, uint64_t graph, const struct graph_copy *copy)
{
	static uint32_t slot = 2; /* those before are an array and a graph */
	struct node_request r = { .add = { .id = CALL_ID(KIND_GRAPH_NODE, 1, ++slot), .graph = graph },
				  .params = { .type = CU_GRAPH_NODE_TYPE_MEMCPY, .context = l->context },
				  .copy = *copy };
	struct message reply;

	return ask(&l->wall, CALL_GRAPH_ADD, l->context, &r, sizeof(r), &reply);
}

/* From pinned memory to the device, or the other way round; `s`: what is told of the host's side. */
static struct graph_copy node_of(const struct liar *l, const struct copy_side *s, const uint64_t box[3], bool back)
{
	struct graph_copy g = { .copy = { .WidthInBytes = box[0], .Height = box[1], .Depth = box[2] } };
	CUDA_MEMCPY3D *c = &g.copy;

	c->srcMemoryType = back ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
	c->dstMemoryType = back ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
	if (back) {
		c->srcDevice = l->device;
		c->dstXInBytes = s->x, c->dstY = s->y, c->dstZ = s->z;
		c->dstLOD = s->lod, c->dstPitch = s->pitch, c->dstHeight = s->height;
		c->srcPitch = 64, c->srcHeight = 4;
		g.to = GRAPH_PLACE_ARENA, g.to_offset = l->wall.welcome.heap_offset, g.to_bytes = 4096;
	} else {
		c->dstDevice = l->device;
		c->srcXInBytes = s->x, c->srcY = s->y, c->srcZ = s->z;
		c->srcLOD = s->lod, c->srcPitch = s->pitch, c->srcHeight = s->height;
		c->dstPitch = 64, c->dstHeight = 4;
		g.from = GRAPH_PLACE_ARENA, g.from_offset = l->wall.welcome.heap_offset, g.from_bytes = 4096;
	}
	return g;
}

static void test_lying_nodes(void)
{
	static const uint64_t whole[3] = { 64, 4, 4 };
	uint64_t made[] = { 0, 1, CALL_ID(KIND_GRAPH, 1, 2) };
	struct graph_copy g;
	struct message reply;
	struct copy_side s;
	struct liar l;

	liar_begin(&l);
	is(ask(&l.wall, CUDA_CALL_cuGraphCreate, l.context, made, sizeof(made), &reply), CUDA_SUCCESS);
	for (unsigned int back = 0; back < 2; back++) {
		s = honest(&l, COPY_ARENA);
		g = node_of(&l, &s, whole, back);
		is(add_node(&l, made[2], &g), CUDA_SUCCESS);
		/* A pitch and a height of 0 are what a driver fills in. */
		s.pitch = s.height = 0;
		g = node_of(&l, &s, whole, back);
		is(add_node(&l, made[2], &g), CUDA_SUCCESS);
		g.to_bytes = g.from_bytes = 1023;
		is(add_node(&l, made[2], &g), CUDA_ERROR_INVALID_VALUE);
		for (size_t i = 0; i < sizeof(lies) / sizeof(*lies); i++) {
			if (lies[i].no_height || lies[i].no_pitch)
				continue;
			s = told(&l, &lies[i], COPY_ARENA);
			g = node_of(&l, &s, lies[i].box, back);
			tap_ok(add_node(&l, made[2], &g) == CUDA_ERROR_INVALID_VALUE, "a node %s the host: %s",
			       back ? "to" : "from", lies[i].name);
		}
		g = node_of(&l, &s, whole, back);
		g.copy.dstMemoryType = (CUmemorytype)77;
		is(add_node(&l, made[2], &g), CUDA_ERROR_INVALID_VALUE);
	}
	liar_end(&l);
}

/* ---- user objects ---- */

#define OBJECT CALL_ID(KIND_USER_OBJECT, 1, 40)
#define GRAPH(n) CALL_ID(KIND_GRAPH, 1, 41 + (n))

/* As ask(), beside notices. *ret_gone: those that say that a function of this token is not needed any more. */
static int ask_beside(struct liar *l, uint16_t call, const void *body, size_t bytes, uint64_t token, int *ret_gone)
{
	struct call_request head = { .size = (uint32_t)(sizeof(head) + bytes),
				     .call = call,
				     .flags = CALL_WAITS,
				     .ticket = ++tickets,
				     .thread = 1,
				     .context = l->context };
	struct call_reply reply;
	struct host_run run;
	struct message m;
	const void *at;
	size_t size;

	memcpy(m.bytes, &head, sizeof(head));
	if (bytes)
		memcpy(m.bytes + sizeof(head), body, bytes);
	send_bytes(&l->wall, m.bytes, head.size);
	while (ring_next(&l->wall.replies, &at, &size, UINT64_C(5000000000)) == 1) {
		memcpy(&reply, at, sizeof(reply));
		if (reply.call == CALL_NOTICE_HOST && size >= sizeof(reply) + sizeof(run)) {
			memcpy(&run, (const uint8_t *)at + sizeof(reply), sizeof(run));
			*ret_gone += run.kind == HOST_GONE && run.token == token;
		}
		ring_release(&l->wall.replies);
		if (reply.ticket == tickets)
			return reply.result;
	}
	return -1;
}

static int make_graph(struct liar *l, uint64_t id)
{
	uint64_t made[] = { 0, 1, id };
	int gone = 0;

	return ask_beside(l, CUDA_CALL_cuGraphCreate, made, sizeof(made), 0, &gone);
}

/*
 * References that are not the client's to give away: the driver would free the object beside a graph that goes on
 * holding it, and count down another one in its place: that of a function of the worker's own, which a graph still has.
 */
static void test_objects(void)
{
	struct host_object made = { .id = OBJECT, .token = 7, .references = 1, .flags = 1 };
	struct host_release release = { .id = OBJECT, .count = 2 };
	const uint64_t token = 99, first = GRAPH(0), keep[] = { GRAPH(0), OBJECT, 1, 0 };
	uint64_t move[] = { GRAPH(1), OBJECT, 1, CU_GRAPH_USER_OBJECT_MOVE }, retain[] = { OBJECT, UINT32_MAX };
	struct {
		struct graph_add add;
		struct graph_params params;
		struct graph_host host;
	} node = { .add = { .id = CALL_ID(KIND_GRAPH_NODE, 1, 60), .graph = GRAPH(2) },
		   .params = { .type = CU_GRAPH_NODE_TYPE_HOST },
		   .host = { .token = token } };
	struct liar l;
	int gone = 0;

	liar_begin(&l);
	for (unsigned int i = 0; i < 3; i++)
		is(make_graph(&l, GRAPH(i)), CUDA_SUCCESS);
	is(ask_beside(&l, CUDA_CALL_cuUserObjectCreate, &made, sizeof(made), token, &gone), CUDA_SUCCESS);
	is(ask_beside(&l, CUDA_CALL_cuGraphRetainUserObject, keep, sizeof(keep), token, &gone), CUDA_SUCCESS);
	is(ask_beside(&l, CUDA_CALL_cuUserObjectRetain, retain, sizeof(retain), token, &gone),
	   CUDA_ERROR_INVALID_VALUE);
	/* One is the client's, the other the graph's. */
	is(ask_beside(&l, CUDA_CALL_cuUserObjectRelease, &release, sizeof(release), token, &gone),
	   CUDA_ERROR_INVALID_VALUE);
	is(ask_beside(&l, CUDA_CALL_cuGraphRetainUserObject, move, sizeof(move), token, &gone), CUDA_SUCCESS);
	is(ask_beside(&l, CUDA_CALL_cuGraphRetainUserObject, move, sizeof(move), token, &gone),
	   CUDA_ERROR_INVALID_VALUE);
	usleep(50000); /* the driver ends objects on a thread of its own */
	is(ask_beside(&l, CALL_GRAPH_ADD, &node, sizeof(node), token, &gone), CUDA_SUCCESS);
	is(ask_beside(&l, CUDA_CALL_cuGraphDestroy, &first, sizeof(first), token, &gone), CUDA_SUCCESS);
	is(ask_beside(&l, CUDA_CALL_cuGraphDestroy, &move[0], sizeof(move[0]), token, &gone), CUDA_SUCCESS);
	usleep(50000);
	is(ask_beside(&l, CALL_PING, NULL, 0, token, &gone), CUDA_SUCCESS);
	is(gone, 0);
	/* Its graph ends: now it is. */
	is(ask_beside(&l, CUDA_CALL_cuGraphDestroy, &node.add.graph, sizeof(uint64_t), token, &gone), CUDA_SUCCESS);
	for (unsigned int i = 0; i < 100 && !gone; i++) {
		usleep(10000);
		is(ask_beside(&l, CALL_PING, NULL, 0, token, &gone), CUDA_SUCCESS);
	}
	is(gone, 1);
	liar_end(&l);
}

/* ---- places ---- */

#define PLACE UINT64_C(0x1f0000000000) /* below all places that ring/wall_make.c takes for an arena */
#define BLOCK (MOVE_GRANULE / 2)

static int make_place(struct liar *l, uint64_t context, uint64_t begin)
{
	struct {
		struct move_place place;
		struct move_block block[2];
	} m = { { begin, MOVE_GRANULE, 2 }, { { begin, BLOCK, 1 }, { begin + BLOCK, BLOCK, 1 } } };
	struct message reply;

	return ask(&l->wall, CALL_MOVE_PLACE, context, &m, sizeof(m), &reply);
}

/*
 * A block of a place is freed once, where it begins; and a place whose last free stands in a stream that is held up is
 * there until the stream has come to it, whatever ends meanwhile.
 */
__attribute__((unused)) static void test_places(void)
{
	const uint64_t held = CALL_ID(KIND_CONTEXT, 1, 70), makes = CALL_ID(KIND_CONTEXT, 1, 71);
	const uint64_t stream = CALL_ID(KIND_STREAM, 1, 72), made[] = { CU_STREAM_NON_BLOCKING, 1, stream };
	struct {
		struct call_request head;
		uint64_t context;
	} end = { { sizeof(end), CUDA_CALL_cuCtxDestroy_v2, CALL_WAITS, 0, 2, 0 }, makes };
	uint64_t create[] = { 0, held }, frees[] = { PLACE, stream }, at = PLACE;
	struct message reply;
	struct liar l;
	int unused = 0;

	liar_begin(&l);
	is(ask(&l.wall, CUDA_CALL_cuCtxCreate_v2, 0, create, sizeof(create), &reply), CUDA_SUCCESS);
	create[1] = makes;
	is(ask(&l.wall, CUDA_CALL_cuCtxCreate_v2, 0, create, sizeof(create), &reply), CUDA_SUCCESS);
	is(ask(&l.wall, CUDA_CALL_cuStreamCreate, held, made, sizeof(made), &reply), CUDA_SUCCESS);
	is(make_place(&l, l.context, PLACE), CUDA_SUCCESS);
	is(make_place(&l, makes, PLACE + MOVE_GRANULE), CUDA_SUCCESS);
	is(ask(&l.wall, CUDA_CALL_cuStreamWaitValue32_v2, held, (uint64_t[]){ stream, l.device, 1, 0 }, 32, &reply),
	   CUDA_SUCCESS);
	is(ask(&l.wall, CUDA_CALL_cuMemFreeAsync, held, frees, sizeof(frees), &reply), CUDA_SUCCESS);
	/* Again, and in the middle: it is no block, or none any more. */
	is(ask(&l.wall, CUDA_CALL_cuMemFreeAsync, held, frees, sizeof(frees), &reply), CUDA_ERROR_INVALID_VALUE);
	is(ask(&l.wall, CUDA_CALL_cuMemFree_v2, l.context, &at, sizeof(at), &reply), CUDA_ERROR_INVALID_VALUE);
	at = PLACE + 4096;
	is(ask(&l.wall, CUDA_CALL_cuMemFree_v2, l.context, &at, sizeof(at), &reply), CUDA_ERROR_INVALID_VALUE);
	at = PLACE + BLOCK;
	is(ask(&l.wall, CUDA_CALL_cuMemFree_v2, l.context, &at, sizeof(at), &reply), CUDA_SUCCESS);
	/* The other place's context ends while a free of it stands in the stream. */
	frees[0] = PLACE + MOVE_GRANULE;
	is(ask(&l.wall, CUDA_CALL_cuMemFreeAsync, held, frees, sizeof(frees), &reply), CUDA_SUCCESS);
	end.head.ticket = ++tickets;
	send_bytes(&l.wall, &end, sizeof(end)); /* a driver may wait there for the stream */
	is(ask_beside(&l, CUDA_CALL_cuStreamWriteValue32_v2, (uint64_t[]){ 0, l.device, 1, 0 }, 32, 0, &unused),
	   CUDA_SUCCESS);
	is(ask_beside(&l, CUDA_CALL_cuStreamSynchronize, &stream, sizeof(stream), 0, &unused), CUDA_SUCCESS);
	is(ask_beside(&l, CUDA_CALL_cuCtxSynchronize, NULL, 0, 0, &unused), CUDA_SUCCESS);
	usleep(50000);
	is(ask_beside(&l, CALL_PING, NULL, 0, 0, &unused), CUDA_SUCCESS);
	liar_end(&l);
}

/* ---- the driver behind a worker that believes everything ---- */

/* A box of `width` bytes in each of `slices` slices from an offset of the arena on, or to there. */
static int reach(struct liar *l, uint64_t offset, const struct copy_side *how, const uint64_t box[3], bool back)
{
	struct copy_side host = *how, device = honest(l, COPY_DEVICE);

	host.kind = COPY_ARENA;
	host.at = offset;
	device.pitch = box[0];
	device.height = box[1];
	return back ? copy(l, &device, &host, box) : copy(l, &host, &device, box);
}

static void test_second_line(void)
{
	static const uint64_t pages[3] = { 4096, 1, 16 }, rows[3] = { 4096, 16, 1 }, line[3] = { ALLOCATED, 1, 1 };
	uint64_t last;
	struct liar l;

	liar_begin(&l);
	last = l.wall.welcome.arena_bytes - 4096;
	for (unsigned int back = 0; back < 2; back++) {
		is(reach(&l, last, &(struct copy_side){ .pitch = 4096, .height = 1 }, (uint64_t[]){ 4096, 1, 1 }, back),
		   CUDA_SUCCESS);
		is(reach(&l, last - ALLOCATED, &(struct copy_side){ .pitch = 4096, .height = 1 }, pages, back),
		   CUDA_SUCCESS);
		/* beyond the end: by slices that the driver gives rows, by slices and rows as told, in one piece */
		is(reach(&l, last, &(struct copy_side){ .pitch = 4096 }, pages, back), CUDA_ERROR_INVALID_VALUE);
		is(reach(&l, last, &(struct copy_side){ .pitch = 4096, .height = 1 }, pages, back),
		   CUDA_ERROR_INVALID_VALUE);
		is(reach(&l, last, &(struct copy_side){ .pitch = 4096, .height = 16 }, rows, back),
		   CUDA_ERROR_INVALID_VALUE);
		is(reach(&l, last, &(struct copy_side){ .pitch = ALLOCATED, .height = 1 }, line, back),
		   CUDA_ERROR_INVALID_VALUE);
		/* far away */
		is(reach(&l, last, &(struct copy_side){ .pitch = UINT64_C(1) << 40, .height = 1 }, pages, back),
		   CUDA_ERROR_INVALID_VALUE);
	}
	liar_end(&l);
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	worker_path = argv[1];
	driver_path = argv[2];
	snprintf(socket_path, sizeof(socket_path), "/tmp/worker-test-%d.sock", (int)getpid());
	tap_begin();
	if (argc > 3) {
		test_second_line();
		return tap_end();
	}
	test_ping();
	test_malformed();
	test_deaths();
	test_versions();
	test_lying_copies();
	test_bytes_in_messages();
	test_lying_nodes();
	test_objects();
#if !defined(__SANITIZE_THREAD__) /* which keeps these addresses for itself */
	test_places();
#endif
	return tap_end();
}
