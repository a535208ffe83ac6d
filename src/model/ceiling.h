/*
 * ceiling.h: a limit over each window of CEILING_WINDOW_NS, whenever it begins: what `mete ps` and metrics show of a
 * share is such a window.
 *
 * A bucket (bucket.h) holds the mean. Beside turns of others that are longer than a quantum, the turns of a limited
 * tenant are as long, and a window that begins and ends with one of them holds more than the limit by most of a turn.
 * Here a turn ends where such a window would be above the limit, and the next one begins when enough of what the tenant
 * had has left the window: it is paid for later, so the share reads a little below the limit in the mean.
 *
 * The totals are kept every CEILING_STEP_US; between two of them a total is taken to grow evenly.
 */
#pragma once

#include <stdint.h>

#define CEILING_WINDOW_NS UINT64_C(10000000000)
#define CEILING_POINTS 512u
#define CEILING_STEP_US 40000u /* two of them are points, at most */

/* All zeros: the tenant has just come, and had nothing before. Times and totals are counted modulo 2^32. */
struct ceiling {
	struct ceiling_point {
		uint32_t at_us, had_us;
	} points[CEILING_POINTS];
	unsigned int next, count;
};

/* It is now_ns, and the tenant has had had_ns in all. The functions below take this for the present time. */
void ceiling_note(struct ceiling *c, uint64_t now_ns, uint64_t had_ns);
/* Returns what the tenant may have at once, with most_ns in a window; below 0: it has had more than that. */
double ceiling_left_ns(const struct ceiling *c, double most_ns);
/* Returns for how long work without a pause may continue, which begins after_ns from now when less_ns of what it may
 * have are taken. */
uint64_t ceiling_lasts_ns(const struct ceiling *c, double most_ns, uint64_t after_ns, double less_ns);
/* Returns the time until the tenant may have room_ns at once, if it has nothing until then. */
uint64_t ceiling_wait_ns(const struct ceiling *c, double most_ns, double room_ns);
