/* call_fare.h: which calls of the driver and of the runtime library work without NVIDIA's driver. */
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
