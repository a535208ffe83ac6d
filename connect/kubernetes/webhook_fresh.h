/*
 * webhook_fresh.h: how many templates of claims are new within an hour, of each namespace and of all. Pure: no locks,
 * no clock.
 *
 * Any pod that the network lets through may ask for reviews, and each of a new size makes a template in the cluster's
 * store. So a namespace has a bound, and so have all together; an hour begins with the first new one.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define WEBHOOK_FRESH_NS UINT64_C(3600000000000)
#define WEBHOOK_FRESH_OF_NAMESPACE 64u
#define WEBHOOK_FRESH_OF_ALL 2048u

struct webhook_fresh {
	json_t *count; /* by namespace */
	unsigned int all;
	uint64_t since_ns;
};

void webhook_fresh_init(struct webhook_fresh *fresh);
void webhook_fresh_deinit(struct webhook_fresh *fresh);
/* One more of this namespace: true, and it is counted; false: there were too many. */
bool webhook_fresh_take(struct webhook_fresh *fresh, const char *name_space, uint64_t now_ns);
/* One that was taken was not new after all. */
void webhook_fresh_give(struct webhook_fresh *fresh, const char *name_space);
