/* leaving.c: movable memory leaves the device and returns: see movable.h. With the door shut, by the mover. */
#include "core/account.h"
#include "core/charge.h"
#include "core/gate.h"
#include "core/log.h"
#include "core/tick.h"
#include "cuda_shim.h"
#include "shim/movable.h"
#include "shim/pieces.h"
#include "shim/stash.h"
#include "shim/vmm.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#define STAGE_BYTES (8ull << 20)
#define COPY_LEAST_BYTES (1ull << 20)
#define COPY_MOST_BYTES (64ull << 20)
#define COPY_QUICK_NS 100000000u /* a copy that takes less is followed by one of twice the size */
#define COPY_SLOW_NS 1000000000u /* more: by one of half: meted sees that it comes on */

/* Nobody else is inside the door: the table stands still. */
static bool concerns(const struct piece *p, unsigned int device, bool resident)
{
	return p->bytes && p->device == device && p->resident == resident && !p->fixed;
}

static uint64_t bytes_in_all(unsigned int device, bool resident)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < piece_count; i++)
		if (concerns(&pieces[i], device, resident))
			bytes += pieces[i].bytes;
	return bytes;
}

struct way {
	uint64_t done, all;
	movable_fn go_on;
	void *stage;	   /* STAGE_BYTES of the driver's; NULL: none yet */
	char *window;	   /* two of STAGE_BYTES, through which memory goes to the disk; NULL: it does not */
	bool pinned;	   /* the window */
	unsigned int turn; /* of the two, the one that is next */
	uint64_t chunk;	   /* that is copied at a time without the disk */
};

static void pace_copies(struct way *w, uint64_t took_ns)
{
	if (took_ns < COPY_QUICK_NS && w->chunk < COPY_MOST_BYTES)
		w->chunk *= 2;
	else if (took_ns > COPY_SLOW_NS && w->chunk > COPY_LEAST_BYTES)
		w->chunk /= 2;
}

static bool on_the_way(struct way *w)
{
	/* Above 0: what meted sees before is a program whose work has not ended. */
	return w->go_on(w->all ? (unsigned int)(1 + w->done * 99 / w->all) : 100);
}

/* A driver behind a fence takes no memory but its own. */
static CUresult copy_staged(char *host, CUdeviceptr at, uint64_t bytes, bool out, struct way *w)
{
	CUresult r = CUDA_SUCCESS;

	if (!w->stage)
		r = shim_real.cuMemHostAlloc(&w->stage, STAGE_BYTES, 0);
	for (uint64_t n, i = 0; r == CUDA_SUCCESS && i < bytes; i += n) {
		n = bytes - i < STAGE_BYTES ? bytes - i : STAGE_BYTES;
		if (!out)
			memcpy(w->stage, host + i, n);
		r = out ? shim_real.cuMemcpyDtoH_v2(w->stage, at + i, n)
			: shim_real.cuMemcpyHtoD_v2(at + i, w->stage, n);
		if (out && r == CUDA_SUCCESS)
			memcpy(host + i, w->stage, n);
	}
	return r;
}

static CUresult copy_part(char *host, CUdeviceptr at, uint64_t bytes, bool out, struct way *w)
{
	CUresult r = CUDA_ERROR_INVALID_VALUE;

	if (!w->stage)
		r = out ? shim_real.cuMemcpyDtoH_v2(host, at, bytes) : shim_real.cuMemcpyHtoD_v2(at, host, bytes);
	return r == CUDA_ERROR_INVALID_VALUE ? copy_staged(host, at, bytes, out, w) : r;
}

static enum movable_result copy_all(struct piece *p, bool out, struct way *w)
{
	for (uint64_t at = 0, n; at < p->bytes; at += n) {
		uint64_t began = tick_now();
		CUresult r;

		n = p->bytes - at < w->chunk ? p->bytes - at : w->chunk;
		r = copy_part((char *)p->host + at, p->at + at, n, out, w);
		if (r != CUDA_SUCCESS) {
			log_line("memory does not move: the driver answers %d to a copy of %llu bytes", (int)r,
				 (unsigned long long)n);
			return MOVABLE_FAULT;
		}
		pace_copies(w, tick_now() - began);
		w->done += n;
		if (!on_the_way(w))
			return MOVABLE_FAULT;
	}
	return MOVABLE_DONE;
}

/* Where it cannot be pinned, the driver goes through memory of its own. */
static enum movable_result copy(struct piece *p, bool out, struct way *w)
{
	bool pinned = !w->stage && shim_real.cuMemHostRegister_v2(p->host, p->bytes, 0) == CUDA_SUCCESS;
	enum movable_result r = copy_all(p, out, w);

	if (pinned)
		shim_real.cuMemHostUnregister(p->host);
	return r;
}

/* Memory goes by way of the disk. False: there is none for the window. */
static bool way_by_disk(struct way *w)
{
	int saved = errno;

	w->window = mmap(NULL, 2 * STAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	errno = saved;
	if (w->window == MAP_FAILED) {
		w->window = NULL;
		return false;
	}
	madvise(w->window, 2 * STAGE_BYTES, MADV_DONTFORK);
	w->pinned = shim_real.cuMemHostRegister_v2(w->window, 2 * STAGE_BYTES, 0) == CUDA_SUCCESS;
	return true;
}

static char *next_window(struct way *w)
{
	return w->window + (w->turn++ % 2) * STAGE_BYTES;
}

static uint64_t part_at(const struct piece *p, uint64_t at)
{
	return p->bytes - at < STAGE_BYTES ? p->bytes - at : STAGE_BYTES;
}

static bool has_come(struct way *w, uint64_t bytes)
{
	w->done += bytes;
	return on_the_way(w);
}

/* While one window is written the other one is filled. The last is still being written in the end. */
static enum movable_result copy_to_disk(struct piece *p, struct way *w)
{
	for (uint64_t at = 0, n; at < p->bytes; at += n) {
		char *window = next_window(w);

		n = part_at(p, at);
		if (copy_part(window, p->at + at, n, true, w) != CUDA_SUCCESS)
			return MOVABLE_FAULT;
		if (!stash_wait())
			return MOVABLE_DISK;
		stash_begin_write(&p->part, at, window, n);
		if (!has_come(w, n))
			return MOVABLE_FAULT;
	}
	return MOVABLE_DONE;
}

/* While one window is emptied the other one is read. */
static enum movable_result copy_from_disk(struct piece *p, struct way *w)
{
	char *window = next_window(w);

	stash_begin_read(&p->part, 0, window, part_at(p, 0));
	for (uint64_t at = 0, n; at < p->bytes; at += n) {
		char *here = window;

		n = part_at(p, at);
		if (!stash_wait())
			return MOVABLE_DISK;
		if (at + n < p->bytes) {
			window = next_window(w);
			stash_begin_read(&p->part, at + n, window, part_at(p, at + n));
		}
		if (copy_part(here, p->at + at, n, false, w) != CUDA_SUCCESS || !has_come(w, n))
			return MOVABLE_FAULT;
	}
	return stash_is_whole(&p->part) ? MOVABLE_DONE : MOVABLE_DISK;
}

static void way_end(struct way *w)
{
	int saved = errno;

	stash_wait();
	if (w->pinned)
		shim_real.cuMemHostUnregister(w->window);
	if (w->window)
		munmap(w->window, 2 * STAGE_BYTES);
	errno = saved;
	if (w->stage)
		shim_real.cuMemFreeHost(w->stage);
}

static void free_hosts(unsigned int device, bool resident)
{
	for (uint32_t i = 0; i < piece_count; i++)
		if (concerns(&pieces[i], device, resident))
			piece_host_free(&pieces[i]);
}

/* The account follows each piece: what is away is counted before it is refunded. */
static void let_go(struct piece *p)
{
	gate_enter();
	piece_unback(p);
	p->resident = false;
	pieces_away(p->device, piece_units(p));
	account_give(p->device, piece_units(p));
	gate_leave();
}

/* meted says where to, and by that way it goes. */
static enum movable_result way_out(unsigned int device, struct way *w)
{
	enum stash_place place = stash_begin(device, w->all);

	return place == STASH_NOWHERE || (place == STASH_DISK && !way_by_disk(w)) ? MOVABLE_HOST : MOVABLE_DONE;
}

/* What the program maps itself is copied by addresses of ours: its own may be none, or not to be read. */
static enum movable_result copy_out(struct piece *p, struct way *w)
{
	enum movable_result r;

	if (p->own && piece_show(p) != CUDA_SUCCESS)
		return MOVABLE_FAULT;
	if (w->window)
		r = copy_to_disk(p, w);
	else
		r = piece_host_new(p) ? copy(p, true, w) : MOVABLE_HOST;
	return r;
}

static void hide_all(unsigned int device)
{
	for (uint32_t i = 0; i < piece_count; i++)
		if (concerns(&pieces[i], device, true) && pieces[i].own)
			piece_hide(&pieces[i]);
}

/* Of what the program maps itself its own addresses first. */
static void let_go_all(unsigned int device)
{
	vmm_let_go(device);
	for (uint32_t i = 0; i < piece_count; i++)
		if (concerns(&pieces[i], device, true))
			let_go(&pieces[i]);
}

enum movable_result movable_leave(unsigned int device, movable_fn go_on)
{
	struct way w = { .go_on = go_on, .chunk = STAGE_BYTES };
	enum movable_result r;

	pieces_drop_tails();
	w.all = bytes_in_all(device, true);
	r = on_the_way(&w) ? MOVABLE_DONE : MOVABLE_FAULT;
	if (r == MOVABLE_DONE)
		r = way_out(device, &w);
	for (uint32_t i = 0; r == MOVABLE_DONE && i < piece_count; i++) {
		struct piece *p = &pieces[i];

		if (concerns(p, device, true) && !piece_is_empty(p))
			r = copy_out(p, &w);
	}
	if (!stash_wait() && r == MOVABLE_DONE)
		r = MOVABLE_DISK;
	way_end(&w);
	if (r != MOVABLE_DONE) {
		hide_all(device);
		free_hosts(device, true);
		stash_end();
		return r;
	}
	movable_trim(true);
	let_go_all(device);
	pieces_publish(device);
	return MOVABLE_DONE;
}

static enum movable_result bring_back(struct piece *p, struct way *w)
{
	struct charge c = { 0 };

	if (charge_begin_moving(&c, p->device, piece_units(p)) != CHARGE_HELD)
		return MOVABLE_DEVICE;
	if (piece_back(p) != CUDA_SUCCESS) {
		charge_cancel(&c);
		return MOVABLE_DEVICE;
	}
	p->resident = true;
	pieces_publish(p->device); /* before it is there: it can leave again, and others may be waiting for its room */
	pieces_away(p->device, -piece_units(p));
	gate_leave();
	return w->window ? copy_from_disk(p, w) : copy(p, false, w);
}

enum movable_result movable_return(unsigned int device, movable_fn go_on)
{
	struct way w = { .all = bytes_in_all(device, false), .go_on = go_on, .chunk = STAGE_BYTES };
	enum movable_result r = MOVABLE_DONE;
	uint32_t i;

	if (stash_open() && !way_by_disk(&w))
		return MOVABLE_HOST;
	for (i = 0; r == MOVABLE_DONE && i < piece_count; i++)
		if (concerns(&pieces[i], device, false))
			r = bring_back(&pieces[i], &w);
	way_end(&w);
	if (r == MOVABLE_DONE && !vmm_take_back(device))
		r = MOVABLE_FAULT;
	if (r == MOVABLE_DONE) {
		hide_all(device);
		free_hosts(device, true);
		stash_end();
	} else {
		/* Nothing has run meanwhile: what the host has still stands. */
		let_go_all(device);
	}
	pieces_publish(device);
	return r;
}
