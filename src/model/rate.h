/* rate.h: limits how often each of many sources may ask. It remembers the sources that asked last. */
#pragma once

#include "model/unproven.h"

#define RATE_SOURCES 256u

struct rate_rule {
	unsigned int each_second;
	unsigned int at_once;
};

struct rate {
	struct {
		struct unproven_source source;
		uint64_t at_ns;	   /* time of its last request; 0: free */
		uint64_t spent_ns; /* the cost of its requests, 1 / each_second each, less the time since */
	} place[RATE_SOURCES];
};

/* Admits or refuses one more request of this source at this time. */
bool rate_admits(struct rate *rate, const struct rate_rule *rule, const struct unproven_source *source,
		 uint64_t now_ns);
