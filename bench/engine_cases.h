/* engine_cases.h: the kernels that bench/engine runs: data, shapes, and the loop that each is compared with. */
#pragma once

#include "loops.h"

#include <stdbool.h>
#include <stddef.h>

/* Data of one case. Buffers are device memory; `expect` is what the loop writes. */
struct setup {
	void *in[5], *out, *expect;
	size_t out_bytes;
	int n, m;
	uint32_t grid[3], block[3];
	struct {
		_Alignas(8) uint8_t bytes[64];
		uint32_t used;
	} params;
};

enum comparison {
	SAME,	   /* bit for bit */
	CLOSE_F32, /* relative, of each number */
	CLOSE_F64,
	SUM_F32,    /* relative, of the sum of all */
	MOSTLY_S32, /* the share of numbers that may differ: roundings decide where a loop ends */
};

struct bench_case {
	const char *kernel, *what;
	double goal; /* time of the loop over time of the kernel, at least; 0: none */
	bool twice;  /* the kernel adds to what is there: only its first run is compared */
	void (*prepare)(struct setup *s);
	void (*loop)(const struct loops *l, struct setup *s);
	enum comparison comparison;
	double tolerance;
};

extern const struct bench_case bench_cases[], varied_cases[], tensor_cases[], irregular_cases[], unseen_cases[],
	held_cases[], fresh_cases[];
extern const unsigned bench_case_count, varied_case_count, tensor_case_count, irregular_case_count, unseen_case_count,
	held_case_count, fresh_case_count;

/* engine.c: memory that kernels may touch; ends the program when there is none. */
void *device_take(size_t bytes);

/* engine_cases.c: what cases are made of. Buffers of random numbers, floats in [0, 1). */
uint32_t random_next(void);
void *words_take(size_t count);
void *floats_take(size_t count);
void out_take(struct setup *s, size_t bytes); /* out and expect, zero */
void shape(struct setup *s, uint32_t gx, uint32_t gy, uint32_t bx, uint32_t by);
void param(struct setup *s, const void *value, uint32_t bytes);
void param_pointer(struct setup *s, const void *p);
void param_int(struct setup *s, int v);
