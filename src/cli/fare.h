/*
 * fare.h: predicts how a program will work, from its components: on a GPU under `mete run`, on the software device,
 * behind a wall and on another machine's GPU. Pure: facts in, reasons out.
 */
#pragma once

#include "cli/anatomy.h"

#define FARE_REASONS 64u
#define FARE_REASON_BYTES 400u

enum fare_way { FARE_LOCAL, FARE_SOFT, FARE_WALL, FARE_REMOTE, FARE_WAYS };

/* The worst grade of its reasons. */
enum fare_grade {
	FARE_WORKS,
	FARE_PARTLY, /* works except for what the reasons name */
	FARE_FAILS,
};

struct fare {
	enum fare_grade grade;
	size_t count;
	struct fare_reason {
		enum fare_grade grade; /* FARE_WORKS: for information */
		char text[FARE_REASON_BYTES];
	} reason[FARE_REASONS];
};

/* `soft_arch`: the software device's compute capability, 90; 0: it is not installed. */
void fare_judge(const struct anatomy *a, enum fare_way way, uint32_t soft_arch, struct fare *ret);
/* True if any file uses CUDA. */
bool fare_uses_cuda(const struct anatomy *a);
bool fare_file_uses_cuda(const struct anatomy_file *f);
/* True if NVIDIA's runtime in this file makes its calls fail with a driver that is not NVIDIA's. */
bool fare_static_counts(const struct anatomy_file *f);
/* "PTX compute_90; machine code sm_80, sm_90a". Value: text. */
const char *fare_archs(const struct anatomy_file *f, char *text, size_t size);
const char *fare_way_name(enum fare_way way);
const char *fare_grade_name(enum fare_grade grade);
