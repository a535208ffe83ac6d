/*
 * bucket.h: the time that a limit leaves a tenant: tokens of nanoseconds, refilled at the limit's rate and spent by
 * measured time. The bucket may be overdrawn, because work is measured after it was done; a debt is never forgiven.
 *
 * In a window that begins with many tokens and ends with few, a tenant gets more than the limit's part of the window:
 * by the amount by which the tokens fell. The refill is therefore slower than the limit by the range of the tokens in
 * each BUCKET_WINDOW_NS, so that windows of that length and longer do not exceed the limit. The difference is at most
 * BUCKET_KEPT_NS in each window and BUCKET_KEPT_PART of the limit. Where the range is above BUCKET_RANGE_NS there is no
 * difference: kernels of that length exceed the limit in single windows in any case, and their tenants keep their mean.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define BUCKET_WINDOW_NS UINT64_C(5000000000)
#define BUCKET_KEPT_NS 6e6
#define BUCKET_RANGE_NS 12e6
#define BUCKET_KEPT_PART 0.05

struct bucket {
	double rate; /* the limit, ns per ns; 1: no limit */
	double tokens_ns;
	double most_ns[2], least_ns[2]; /* range of the tokens in the present window, and in the one before */
	uint64_t window_ns;		/* how much of the present window has passed */
	bool lone; /* nothing but the limit holds the tenant back; false: others do, and the refill is the limit */
};

/* Includes a level of the tokens in their range: the level after subtraction of work that is not measured yet. */
void bucket_note(struct bucket *b, double tokens_ns);
/* Time has passed. Tokens above cap_ns are lost, those that were there before are not. */
void bucket_refill(struct bucket *b, uint64_t ns, double cap_ns);
void bucket_spend(struct bucket *b, int64_t ns);
/* Returns the time until the bucket holds so many tokens. */
uint64_t bucket_wait_ns(const struct bucket *b, double tokens_ns);
/* Returns how long work without a pause may continue now; tokens arrive meanwhile. UINT64_MAX: without end. */
uint64_t bucket_lasts_ns(const struct bucket *b);
