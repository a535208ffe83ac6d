/*
 * moved_test.c: what a client may say of variables that have moved is bounded, and said again it takes the place of
 * what was said before.
 */
#include "base/tap.h"
#include "remote/move.h"
#include "remote/worker/move.h"
#include "remote/worker/moved.h"

#include <errno.h>

#define BASE UINT64_C(0x100000000000)
#define MOST (1u << 20)
#define ADDRESSES (UINT64_C(1) << 40)

static unsigned int reserved;

static CUresult reserve(CUdeviceptr *ret, size_t size, size_t alignment, CUdeviceptr at, unsigned long long flags)
{
	reserved++;
	*ret = at;
	return size == MOVE_GRANULE ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static const struct cuda_table driver = { .cuMemAddressReserve = reserve };

static int ask(uint64_t begin, uint64_t bytes)
{
	struct move_place place = { .begin = begin, .bytes = bytes };
	struct work work = { .driver = &driver,
			     .head = { .call = CALL_MOVE_RESERVE, .ticket = 1, .thread = 1 },
			     .in = { .data = (const uint8_t *)&place, .size = sizeof(place) } };
	int r = worker_other_move(&work);

	return r ? r : work.result;
}

static void test_reserved(void)
{
	is(ask(BASE, 3 * MOVE_GRANULE), 0);
	is(reserved, 3);
	is(ask(BASE + 1, MOVE_GRANULE), -EPROTO);
	/* Not more than that, in one piece or in many. */
	is(ask(BASE, ADDRESSES - 2 * MOVE_GRANULE), -EPROTO);
	is(reserved, 3);
	is(ask(2 * BASE, ADDRESSES - 4 * MOVE_GRANULE), 0);
	is(ask(4 * BASE, MOVE_GRANULE), 0);
	is(ask(5 * BASE, MOVE_GRANULE), -EPROTO);
}

static void test_moved(void)
{
	unsigned int wrong = 0;

	is(worker_at(BASE), BASE);
	is(moved_add(BASE, 8, 3 * BASE), 0);
	is(worker_at(BASE + 7), 3 * BASE + 7);
	is(worker_at(BASE + 8), BASE + 8);
	for (unsigned int i = 0; i < 2 * MOST; i++)
		wrong += moved_add(BASE, 16, 2 * BASE) != 0;
	is(wrong, 0);
	is(worker_at(BASE + 15), 2 * BASE + 15);
	for (uint64_t i = 1; i < MOST; i++)
		wrong += moved_add(BASE + 16 * i, 16, 2 * BASE + 16 * i) != 0;
	is(wrong, 0);
	is(moved_add(BASE + UINT64_C(16) * MOST, 16, BASE), -ENOMEM);
	is(moved_add(BASE, 16, 4 * BASE), 0);
	is(worker_at(BASE + 1), 4 * BASE + 1);
	is(worker_at(BASE + UINT64_C(16) * MOST), BASE + UINT64_C(16) * MOST);
}

int main(void)
{
	tap_begin();
	test_reserved();
	test_moved();
	return tap_end();
}
