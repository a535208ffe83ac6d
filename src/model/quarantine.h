/*
 * quarantine.h: when a tenant is quarantined because its programs fault repeatedly, and for how long.
 *
 * `count` faults within `window_ns` begin a quarantine of `time_ns`. Another quarantine that begins before the last one
 * is forgotten lasts twice as long, up to `most_ns`. A quarantine is forgotten when, after its end, as much time as it
 * lasted has passed without another one.
 *
 * Pure: the caller supplies the time, from a clock that does not jump.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define QUARANTINE_FAULTS 32u

struct quarantine_rule {
	uint64_t count; /* 1 to QUARANTINE_FAULTS; 0: no quarantines */
	uint64_t window_ns;
	uint64_t time_ns;
	uint64_t most_ns;
	bool software; /* faults on software devices count as well: they endanger nobody else */
};

/* 3 faults in 10 minutes: 5 minutes, up to a day. */
/* clang-format off */
#define QUARANTINE_DEFAULT { 3, UINT64_C(600000000000), UINT64_C(300000000000), UINT64_C(86400000000000) }
/* clang-format on */

struct quarantine {
	uint64_t fault_ns[QUARANTINE_FAULTS]; /* the last ones */
	unsigned int faults;		      /* number of times stored */
	unsigned int level;		      /* quarantines in a row */
	uint64_t until_ns;		      /* 0: there was none */
	uint64_t length_ns;		      /* length of the last one */
};

/* Adds a fault. True: a quarantine begins. */
bool quarantine_fault(struct quarantine *q, const struct quarantine_rule *rule, uint64_t now_ns);
/* Returns the time left of the quarantine; 0: there is none. */
uint64_t quarantine_left_ns(const struct quarantine *q, uint64_t now_ns);
/* Ends the quarantine for the operator, and forgets all faults. */
void quarantine_release(struct quarantine *q);
