/*
 * quarantine.h: when a tenant whose programs fault again and again is shut out for a while, and for how long.
 *
 * `count` faults within `window_ns` begin a quarantine of `time_ns`; another one that begins while the last is not
 * forgotten lasts twice as long, up to `most_ns`. A quarantine is forgotten when as long as it lasted has passed after
 * its end without another.
 *
 * Pure: the caller says what time it is, on a clock that does not jump.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define QUARANTINE_FAULTS 32u

struct quarantine_rule {
	uint64_t count; /* 1 to QUARANTINE_FAULTS; 0: nobody is shut out */
	uint64_t window_ns;
	uint64_t time_ns;
	uint64_t most_ns;
};

/* 3 faults in 10 minutes: 5 minutes, up to a day. */
/* clang-format off */
#define QUARANTINE_DEFAULT { 3, UINT64_C(600000000000), UINT64_C(300000000000), UINT64_C(86400000000000) }
/* clang-format on */

struct quarantine {
	uint64_t fault_ns[QUARANTINE_FAULTS]; /* the last ones */
	unsigned int faults;		      /* of these that are remembered */
	unsigned int level;		      /* quarantines in a row */
	uint64_t until_ns;		      /* 0: there was none */
	uint64_t length_ns;		      /* of the last one */
};

/* A fault. Value: a quarantine begins. */
bool quarantine_fault(struct quarantine *q, const struct quarantine_rule *rule, uint64_t now_ns);
/* What is left of it; 0: none. */
uint64_t quarantine_left_ns(const struct quarantine *q, uint64_t now_ns);
/* The operator ends it, and all is forgotten. */
void quarantine_release(struct quarantine *q);
