/*
 * served_test.c: calls of a forwarded library at the worker (src/remote/libs/serve.c) while another of the same client
 * waits in the library: what that one works with is not ended under it, nor is its workspace moved, nor does its scalar
 * stand elsewhere. The worker is a stand-in whose other thread comes exactly when one yields.
 */
#include "remote/libs/serve.h"
#include "remote/worker/fence.h"
#include "remote/worker/memory.h"
#include "base/tap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { CALL_MAKE, CALL_END, CALL_WORK, CALL_MODE, CALL_LOOK, CALLS };

static struct {
	void *data;
	void (*gone)(void *);
} kept[4];
static void (*beside)(void); /* the other thread's, when one yields */
static void *functions[CALLS];
static int ended, modes;
static uint8_t *scratch;

const struct forward_served blas_served, cudnn_served, curand_served, cufft_served, cusparse_served;
extern const struct forward_served cusolver_served;

/* ---- the worker ---- */

void *worker_kept(struct work *work, enum remote_kind kind, uint64_t id)
{
	return id < 4 ? kept[id].data : NULL;
}

int worker_add(struct work *work, enum remote_kind kind, uint64_t id, void *handle, uint64_t owner)
{
	return 0;
}

void worker_keep(struct work *work, uint64_t id, void *data, void (*gone)(void *data))
{
	kept[id].data = data;
	kept[id].gone = gone;
}

void worker_remove(struct work *work, uint64_t id)
{
	kept[id].gone(kept[id].data);
	kept[id].data = NULL;
}

void worker_yield(struct work *work)
{
	void (*run)(void) = beside;

	beside = NULL;
	if (run)
		run();
}

void *worker_find(struct work *work, enum remote_kind kind, uint64_t id, bool *ret_known)
{
	*ret_known = true;
	return work;
}

CUstream worker_find_stream(struct work *work, uint64_t id, bool *ret_known)
{
	*ret_known = true;
	return NULL;
}

uint64_t worker_at(uint64_t at)
{
	return at;
}

bool memory_good(struct work *work, CUdeviceptr at, uint64_t bytes)
{
	return true;
}

void worker_log(const char *fmt, ...)
{
}

void fence_lift(bool lifted)
{
}

/* ---- the library ---- */

static int end(void *handle)
{
	ended++;
	return 0;
}

static int mode_set(void *handle, int mode)
{
	modes++;
	return 0;
}

static int work(void *handle)
{
	return 0;
}

static int run_make(struct forward_work *w)
{
	return forward_made(w, 1, 1, &functions, CALL_END);
}

static int run_end(struct forward_work *w)
{
	w->ends = true;
	if (!forward_ready(w))
		return forward_refuse(w);
	w->status = end(w->handle);
	forward_gone(w);
	return 0;
}

/* With a scalar, and a second object. */
static int run_work(struct forward_work *w)
{
	struct forward_scalar s;
	uint64_t bytes = 0;
	uint8_t *mine;

	forward_get_object(w, 1);
	forward_get(w, &bytes, sizeof(bytes));
	forward_get_scalar(w, &s, 8, FORWARD_OUT);
	if (!forward_ready(w))
		return forward_refuse(w);
	mine = forward_scratch(w, bytes);
	memset(mine, 1, bytes);
	scratch = mine;
	return 0;
}

static int run_look(struct forward_work *w)
{
	forward_get_object(w, 1);
	return forward_ready(w) ? 0 : forward_refuse(w);
}

static const char *const names[CALLS] = { "make", "end", "work", "mode", "look" };
static const unsigned char about[CALLS] = { 0, 1, 1, 1, 1 };
static const forward_run handlers[CALLS] = { run_make, run_end, run_work, NULL, run_look };

const struct forward_served cusolver_served = {
	.title = "a library",
	.names = names,
	.count = CALLS,
	.functions = functions,
	.handlers = handlers,
	.about = about,
	.pointer_mode = CALL_MODE,
	.status = { 1, 2, 3, 4, 5, 6 },
};

/* ---- the client ---- */

static int32_t request(uint64_t call, bool waits, uint64_t id, uint64_t other, uint64_t bytes, uint64_t place)
{
	uint64_t words[] = { call, id, other, bytes, place, 64 };
	uint8_t room[64] __attribute__((aligned(16)));
	struct work w = { .out = { .data = room, .capacity = sizeof(room) } };
	size_t count = call == CALL_WORK ? (place == FORWARD_IN_DEVICE ? 6 : 5) : call == CALL_LOOK ? 3 : 2;

	w.head.call = FORWARD_NUMBER_CUSOLVER;
	w.head.flags = waits ? CALL_WAITS : 0;
	w.in = (struct remote_reader){ .data = (const uint8_t *)words, .size = count * 8 };
	return worker_other_library(&w) ? -1 : w.result;
}

static int32_t other;

static void end_it(void)
{
	other = request(CALL_END, true, 1, 0, 0, 0);
}

static void work_more(void)
{
	other = request(CALL_WORK, false, 1, 1, 1 << 20, FORWARD_IN_HOST);
}

static void work_there(void)
{
	other = request(CALL_WORK, false, 1, 1, 16, FORWARD_IN_DEVICE);
}

int main(void)
{
	uint8_t *first;

	tap_begin();
	functions[CALL_MAKE] = functions[CALL_WORK] = functions[CALL_LOOK] = (void *)work;
	functions[CALL_END] = (void *)end;
	functions[CALL_MODE] = (void *)mode_set;
	tap_ok(!request(CALL_MAKE, true, 0, 0, 0, 0) && kept[1].data, "an object");
	tap_ok(!request(CALL_WORK, true, 1, 1, 64, FORWARD_IN_HOST) && scratch, "a call with it");
	first = scratch;

	beside = end_it;
	tap_ok(!request(CALL_WORK, true, 1, 1, 64, FORWARD_IN_HOST), "a call that waits");
	tap_ok(!ended && other == FORWARD_STATUS + 3, "its object is not ended beside it: %d", (int)other);
	tap_ok(scratch == first, "its workspace is the object's");

	beside = end_it;
	tap_ok(!request(CALL_LOOK, true, 1, 1, 0, 0) && !ended, "nor is one that it is given");

	beside = work_more;
	tap_ok(!request(CALL_WORK, true, 1, 1, 64, FORWARD_IN_HOST) && !other,
	       "another call with the object beside it");
	tap_ok(scratch == first, "its workspace has not moved");

	modes = 0;
	beside = work_there;
	tap_ok(!request(CALL_WORK, true, 1, 1, 64, FORWARD_IN_HOST), "a call with a scalar of the host's");
	tap_ok(other && !modes, "beside which none has one of the device's");
	tap_ok(!request(CALL_WORK, true, 1, 1, 64, FORWARD_IN_DEVICE) && modes == 1, "but behind it");

	tap_ok(!request(CALL_END, true, 1, 0, 0, 0) && ended == 1 && !kept[1].data, "and then it is ended");
	tap_ok(request(CALL_END, true, 1, 0, 0, 0) == CUDA_ERROR_INVALID_HANDLE, "once");
	return tap_end();
}
