/* rate.h: how often each of many sources may ask; those that asked last are remembered. */
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
		uint64_t at_ns;	   /* when it asked last; 0: free */
		uint64_t spent_ns; /* what its asking has cost, at 1 / each_second a time, less the time since */
	} place[RATE_SOURCES];
};

/* One more of this source at this time: may it be? */
bool rate_admits(struct rate *rate, const struct rate_rule *rule, const struct unproven_source *source,
		 uint64_t now_ns);
