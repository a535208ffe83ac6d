/*
 * judge.h: a driver that copies nothing. Of every call it works out, by its own means and in numbers that cannot wrap,
 * which bytes a driver would touch, and ends the process when one of them is not the client's.
 */
#pragma once

#include "cuda_table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Addresses of device memory, none of which anybody reads: two that adjoin, one apart, one that the driver alone knows.
 */
#define JUDGE_DEVICE UINT64_C(0x700000000000)
#define JUDGE_NEXT (JUDGE_DEVICE + 0x10000)
#define JUDGE_APART (JUDGE_DEVICE + 0x100000)
#define JUDGE_KNOWN (JUDGE_DEVICE + 0x200000)
#define JUDGE_BYTES UINT64_C(0x10000)

/* Handles, by kind. */
#define JUDGE_CONTEXT ((void *)0x100)
#define JUDGE_STREAM ((void *)0x200)
#define JUDGE_ARRAY ((void *)0x300)
#define JUDGE_GRAPH ((void *)0x400)
#define JUDGE_EXEC ((void *)0x500)
#define JUDGE_NODE ((void *)0x600)

struct judge {
	const uint8_t *arena; /* shared with the client */
	uint64_t arena_bytes, heap_offset;
	const uint8_t *inside; /* bytes that are in messages */
	uint64_t inside_bytes;
	bool capturing;
	unsigned long judged; /* calls that were good */
};

extern struct judge judge;

void judge_table(struct cuda_table *ret);
