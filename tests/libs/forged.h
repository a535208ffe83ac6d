/*
 * forged.h: parameters that anybody can launch a library's kernels with: whatever they say, no memory is touched but
 * what the device allows, and the thread's own. Both are whole pages here, between pages that nobody may touch.
 *
 * forged_run() is a launch of one block. It tells how the function ended; a touch of forbidden memory is
 * FORGED_ESCAPED. What takes longer than it may of the processor's time is FORGED_LONG.
 *
 * forged_any() is one that is stopped soon, as a device's is whose client has gone: a function that never asks whether
 * to go on, or does not end then, is counted in forged_endless.
 */
#pragma once

#include "base/tap.h"
#include "libs/common/device.h"
#include "libs/common/scratch.h"

#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>

#define FORGED_ALLOWED (UINT64_C(64) << 10)
#define FORGED_AROUND (UINT64_C(1) << 32)
#define FORGED_PAGE UINT64_C(4096)
#ifndef FORGED_SLACK
#define FORGED_SLACK 0 /* bytes behind the thread's own memory that may be touched */
#endif
#ifndef FORGED_BEHIND
#define FORGED_BEHIND 0 /* bytes behind the device's that may be read */
#endif

enum forged_end { FORGED_DONE, FORGED_REFUSED, FORGED_LONG, FORGED_ESCAPED };

static char *forged_memory; /* what the device allows */
static bool forged_refused;
static sigjmp_buf forged_out;
static struct {
	char *begin;
	size_t bytes;
} forged_scratch;

static char *forged_pages(uint64_t bytes)
{
	char *all =
		mmap(NULL, bytes + 2 * FORGED_AROUND, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (all == MAP_FAILED || mprotect(all + FORGED_AROUND, bytes, PROT_READ | PROT_WRITE))
		return NULL;
	return all + FORGED_AROUND;
}

/* In the place of libs/common/scratch.c: what lies behind the last byte is nobody's. */
void *scratch_get(size_t bytes)
{
	size_t wanted = (bytes + 63) & ~(size_t)63,
	       pages = (wanted + FORGED_SLACK + FORGED_PAGE - 1) & ~(FORGED_PAGE - 1);

	if (bytes > SIZE_MAX / 2 || pages > FORGED_AROUND)
		return NULL;
	if (forged_scratch.begin)
		munmap(forged_scratch.begin - FORGED_AROUND, forged_scratch.bytes + 2 * FORGED_AROUND);
	forged_scratch.begin = forged_pages(pages);
	forged_scratch.bytes = pages;
	return forged_scratch.begin ? forged_scratch.begin + (pages - FORGED_SLACK - wanted) : NULL;
}

static bool forged_reach(struct soft_native *n, uint64_t address, uint64_t bytes, bool write)
{
	uint64_t begin = (uint64_t)(uintptr_t)forged_memory, at = address - begin;
	bool good = !bytes || (at <= FORGED_ALLOWED && bytes <= FORGED_ALLOWED - at);

	forged_refused |= !good;
	return good;
}

static int64_t forged_goes_on = INT64_MAX; /* so often; then the launch has been stopped */
static uint64_t forged_told;		   /* the most instructions that the device was told of at once */

static bool forged_go_on(struct soft_native *n, uint64_t instructions)
{
	forged_told = instructions > forged_told ? instructions : forged_told;
	return forged_goes_on-- > 0;
}

static void forged_refuse(struct soft_native *n)
{
	forged_refused = true;
}

static void forged_caught(int signal)
{
	siglongjmp(forged_out, signal == SIGPROF ? FORGED_LONG : FORGED_ESCAPED);
}

static void forged_begin(void)
{
	struct sigaction a = { .sa_handler = forged_caught, .sa_flags = SA_NODEFER };
	static const int signals[] = { SIGSEGV, SIGBUS, SIGFPE, SIGPROF };

	forged_memory = forged_pages(FORGED_ALLOWED);
	if (forged_memory && FORGED_BEHIND != 0)
		mprotect(forged_memory + FORGED_ALLOWED, FORGED_BEHIND, PROT_READ);
	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		sigaction(signals[i], &a, NULL);
}

/* `params`: DEVICE_PARAM_BYTES. What takes longer than `most_ms` is left where it is. */
static enum forged_end forged_run(soft_native_function f, const void *params, uint32_t blocks, int most_ms)
{
	struct soft_native n = { .params = params,
				 .bytes = DEVICE_PARAM_BYTES,
				 .blocks = blocks,
				 .reach = forged_reach,
				 .go_on = forged_go_on,
				 .refuse = forged_refuse };
	struct itimerval most = { .it_value = { most_ms / 1000, most_ms % 1000 * 1000 } }, never = { 0 };
	int end;

	forged_refused = false;
	forged_told = 0;
	end = sigsetjmp(forged_out, 1);
	if (!end) {
		setitimer(ITIMER_PROF, &most, NULL); /* other processes do not count */
		f(&n);
		end = forged_refused ? FORGED_REFUSED : FORGED_DONE;
	}
	setitimer(ITIMER_PROF, &never, NULL);
	return (enum forged_end)end;
}

static int forged_endless;

static inline enum forged_end forged_any(soft_native_function f, const void *params)
{
	enum forged_end end;

	forged_goes_on = 8;
	end = forged_run(f, params, 1, 1500);
	forged_goes_on = INT64_MAX;
	forged_endless += end == FORGED_LONG;
	return end;
}

/* ---- numbers that somebody might try ---- */

static uint64_t forged_state = 88172645463325252;

static uint64_t forged_random(void)
{
	forged_state ^= forged_state << 13;
	forged_state ^= forged_state >> 7;
	forged_state ^= forged_state << 17;
	return forged_state;
}

static uint64_t forged_below(uint64_t count)
{
	return forged_random() % count;
}

static int64_t forged_number(void)
{
	switch (forged_below(8)) {
	case 0:
		return (int64_t)(UINT64_C(1) << forged_below(64));
	case 1:
		return (int64_t)(UINT64_C(1) << forged_below(41)) + (int64_t)forged_below(3) - 1;
	case 2:
		return -(int64_t)forged_below(70);
	case 3:
		return (int64_t)forged_random();
	case 4:
		return (int64_t)forged_below(3000);
	default:
		return (int64_t)forged_below(20);
	}
}

/* An address, most often one that may be used. */
static uint64_t forged_address(void)
{
	uint64_t begin = (uint64_t)(uintptr_t)forged_memory;

	switch (forged_below(8)) {
	case 0:
		return 0;
	case 1:
		return begin + FORGED_ALLOWED - 8 * forged_below(4);
	case 2:
		return begin + 64 * forged_below(FORGED_ALLOWED / 64);
	default:
		return begin + 64 * forged_below(64);
	}
}
