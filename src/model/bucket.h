/*
 * bucket.h: the time that a limit leaves a tenant: tokens of nanoseconds, refilled at the limit's rate, spent by what
 * was measured. It may be overdrawn, because work is measured after it was done; debt is never forgiven.
 */
#pragma once

#include <stdint.h>

struct bucket {
	double rate; /* ns per ns; 1: no limit */
	double tokens_ns;
};

/* Time has passed. Tokens above cap_ns are lost, those that were there before are not. */
void bucket_refill(struct bucket *b, uint64_t ns, double cap_ns);
void bucket_spend(struct bucket *b, int64_t ns);
/* How long to wait until there are so many. */
uint64_t bucket_wait_ns(const struct bucket *b, double tokens_ns);
/* How long work without a pause may go on now: tokens come in meanwhile. UINT64_MAX: for ever. */
uint64_t bucket_lasts_ns(const struct bucket *b);
