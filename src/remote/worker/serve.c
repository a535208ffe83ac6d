/* serve.c: see serve.h. */
#include "remote/worker/serve.h"

#include "cuda_remote.h"
#include "remote/worker/fence.h"
#include "remote/worker/guard.h"
#include "remote/worker/move.h"
#include "remote/worker/output.h"
#include "remote/worker/session.h"
#include "remote/worker/traffic.h"
#include "ring/wall_peek.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define HELLO_MS 1000 /* meted hands over who has said it already; by hand it follows on the connection at once */

static bool relayed; /* the client is a relay: bytes that its program is to see have to be sent */
static bool brings;  /* its session goes on here: its arena comes after the welcome, and lies at `base` */
static bool based;   /* the same by a relay: the arena that was made is to lie at `base` */
static bool passes;  /* the relay passes wishes on */
static uint64_t base;

int serve_prepare(struct wall *wall)
{
	struct wall_shape shape = { 0 };

	return wall_make(wall, &shape);
}

/* As lists of processes show it: the client's own name. */
static void take_name(const struct wall_hello *hello)
{
	char name[sizeof(hello->command)];

	memcpy(name, hello->command, sizeof(name));
	name[sizeof(name) - 1] = 0;
	for (char *p = name; *p; p++)
		if (*p < ' ' || *p > '~')
			*p = '?';
	if (*name)
		prctl(PR_SET_NAME, name, 0, 0, 0);
}

bool serve_hear(int client)
{
	struct wall_hello hello;
	int r = wall_receive_hello(client, CUDA_REMOTE_FINGERPRINT, &hello, HELLO_MS);

	if (r > 0) {
		wall_refuse(client, (enum wall_status)r,
			    r == WALL_WRONG_VERSION ? "the client and this worker are of different versions: install "
						      "both from one release"
						    : "this is no client of mete");
		return false;
	}
	if (r)
		return false;
	take_name(&hello);
	relayed = hello.flags & WALL_RELAYED;
	brings = hello.flags & WALL_BRINGS;
	based = relayed && hello.flags & WALL_BASED;
	passes = hello.flags & WALL_PASSES;
	base = hello.brings.base;
	traffic_relayed(relayed);
	return true;
}

/* Another worker could have the arena at the same address. */
static bool is_placed(const struct wall *wall)
{
	return wall_base_good((uint64_t)(uintptr_t)wall->arena);
}

static int let_in(struct wall *wall, int client, const char *grant)
{
	struct wall_welcome more = { .flags = relayed ? 0 : WALL_COHERENT, .fingerprint = CUDA_REMOTE_FINGERPRINT };

	int arena, r;

	/* Before the welcome: the client asks for another worker then, whose own memory lies elsewhere. */
	if (based && wall_rebase(wall, base)) {
		wall_refuse(client, WALL_AWAY, "the addresses of this session are taken in the server's worker");
		worker_log("the addresses of a session that comes here are taken in this process; it gets another "
			   "worker");
		return -EPIPE;
	}
	if ((!relayed || passes) && traffic_is_kept() && is_placed(wall))
		more.flags |= WALL_MOVES;
	if (brings || based)
		more.base = base;
	gethostname(more.server, sizeof(more.server) - 1);
	snprintf(more.grant, sizeof(more.grant), "%s", grant);
	r = wall_welcome(wall, client, &more);
	if (r || !brings)
		return r;
	r = wall_receive_arena(client, &arena, HELLO_MS);
	return r ? r : wall_bring(wall, arena, base);
}

/* What copies for this client may touch of the process's memory: what both share, and the bytes of its messages. */
static void fence_session(const struct worker *worker)
{
	const struct rooms *rooms = &worker->rooms;

	fence_allow(worker->driver, wall_arena(worker->wall, 0, worker->wall->welcome.arena_bytes),
		    worker->wall->welcome.arena_bytes);
	fence_allow(worker->driver, rooms->begin, rooms->most * rooms->room_bytes);
}

int serve(struct wall *wall, const struct cuda_table *driver, int client, const char *grant, int control,
	  void (*on_control)(void *))
{
	static struct worker worker;
	static struct guard guard;
	int r = let_in(wall, client, grant);

	if (!r)
		r = session_init(&worker, driver, wall);
	if (!r)
		fence_session(&worker);
	guard = (struct guard){
		.client = client, .process = wall->bell.pidfd, .control = control, .on_control = on_control
	};
	if (!r)
		r = guard_start(&guard);
	wall->bell.watched = !r;
	if (!r)
		r = output_start(&worker);
	if (!r && wall->welcome.flags & WALL_MOVES)
		r = move_watch(wall);
	if (!r)
		traffic_begun(!is_placed(wall));
	if (!r)
		r = session_run(&worker);
	if (r && r != -EPIPE && r != -ECONNRESET)
		worker_log("the session ends: %s", r == -EPROTO ? "the client sent what makes no sense" : strerror(-r));
	/* Threads that read, wait or execute still use the memory: it goes with the process, which ends now. */
	wall_hang_up(wall);
	return r && r != -EPIPE;
}
