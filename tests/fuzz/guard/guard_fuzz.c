/*
 * guard_fuzz.c: fuzz target for the guard's reading of kernel calls.
 *
 * An input is a branch, a number, a size, the argument and what it points to. What must hold: a call that passes and
 * takes memory is charged at least the bytes that it asks for, whichever way it asks; nothing that is refused is
 * charged; a plan names only places within the argument; the same call gives the same plan whatever letter or rest it
 * has.
 */
#include "guard/classify.h"
#include "rm/interface.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define check(cond)                                                                                                    \
	do {                                                                                                           \
		if (!(cond)) {                                                                                         \
			fprintf(stderr, "guard_fuzz: number %#x size %u: %s is false\n", call.number, call.size,       \
				#cond);                                                                                \
			abort();                                                                                       \
		}                                                                                                      \
	} while (0)

struct input {
	uint16_t branch;
	uint8_t number, flags;
	uint32_t size;
	uint8_t bytes[GUARD_ARGUMENT_BYTES], nested[GUARD_NESTED_BYTES];
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length)
{
	struct input in = { 0 };
	struct guard_call call = { 0 };
	struct guard_terms terms;
	struct guard_plan p, again;
	uint8_t nested[GUARD_NESTED_BYTES] __attribute__((aligned(8)));
	uint64_t asked = 0, alignment = 0;

	memcpy(&in, data, length < sizeof in ? length : sizeof in);
	terms = (struct guard_terms){ .branch = in.branch, .flags = in.flags, .slice_most_us = 2000 };
	call.number = in.number;
	call.size = in.size;
	memcpy(call.bytes, in.bytes, in.size < sizeof in.bytes ? in.size : sizeof in.bytes);
	memcpy(nested, in.nested, sizeof nested);

	guard_classify(&call, &terms, &p);
	guard_classify(&call, &terms, &again);
	check(!memcmp(&p, &again, sizeof p));
	check(p.reason < GUARD_REASONS && guard_reason_text(p.reason));
	check(p.nested_bytes <= GUARD_NESTED_BYTES);
	check(p.status_at == GUARD_NO_PLACE || p.status_at + 4u <= call.size);
	check(p.object_at == GUARD_NO_PLACE || p.object_at + 4u <= call.size);
	if (p.nested == GUARD_NESTED_MEMORY) {
		memcpy(&asked, nested + 64, 8);
		memcpy(&alignment, nested + 72, 8);
	} else if (call.number == RM_ESC_HEAP) {
		memcpy(&asked, call.bytes + (((struct rm_heap *)call.bytes)->function == 14 ? 80 : 88), 8);
		memcpy(&alignment, call.bytes + (((struct rm_heap *)call.bytes)->function == 14 ? 88 : 96), 8);
	} else if (call.number == RM_ESC_ALLOC_MEMORY)
		asked = ((struct rm_alloc_memory *)call.bytes)->limit + 1;
	guard_classify_nested(&p, &terms, nested);
	if (p.reason)
		check(p.bytes == 0);
	else if (p.effect == GUARD_MEMORY)
		/* Less than the largest page and the alignment more. */
		check(p.bytes >= asked &&
		      (p.bytes - asked < (256ull << 30) || p.bytes - asked - (256ull << 30) < alignment));
	return 0;
}

#ifndef FUZZ_ENGINE
static uint64_t state = 88172645463325252u;

static uint64_t next(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	return state ^= state << 17;
}

int main(void)
{
	static const uint8_t numbers[] = { 0x27, 0x29, 0x2a, 0x2b, 0x34, 0x4a, 211, 217 };
	static const uint32_t sizes[] = { 16, 28, 32, 40, 48, 56, 184 };
	static const uint32_t words[] = { 0,	1,    2,      6,	  14,	      0x3e, 0x3f,    0x40,
					  0x41, 0x80, 0xa06c, 0xa06c0103, 0x20801303, ~0u,  1u << 20 };

	for (int i = 0; i < 400000; i++) {
		struct input in;
		uint32_t *w = (uint32_t *)in.bytes;

		for (size_t at = 0; at < sizeof in; at += 8) {
			uint64_t r = next();

			memcpy((char *)&in + at, &r, sizeof in - at < 8 ? sizeof in - at : 8);
		}
		in.branch = (uint16_t)(510 + in.branch % 100);
		in.number = i % 4 ? numbers[in.number % sizeof numbers] : in.number;
		in.size = i % 3 ? sizes[in.size % 7] : in.size % 300;
		for (int k = 0; k < 12; k++)
			if (next() % 2)
				w[next() % (sizeof in.bytes / 4)] = words[next() % (sizeof words / sizeof *words)];
		w[next() % 6] = words[next() % (sizeof words / sizeof *words)];
		LLVMFuzzerTestOneInput((const uint8_t *)&in, sizeof in);
	}
	printf("400000 calls\n");
	return 0;
}
#endif
