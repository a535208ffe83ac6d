/* call_fare.h: how a call of the driver or of the runtime library fares where there is no driver of NVIDIA's. */
#pragma once

#include <stdbool.h>

struct call_fare {
	const char *name; /* the exported symbol */
	bool soft;	  /* the software device has it */
	bool remote;	  /* it works behind a wall and on another machine */
};

/* Generated from the specs (api/fares.py), sorted by name. */
extern const struct call_fare call_fares[];
extern const unsigned int call_fare_count;
