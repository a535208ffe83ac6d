/* driver.h: what the test driver shares between processes, for the tests to look at. */
#pragma once

#include <stdint.h>

struct driver_shared {
	uint64_t used[4]; /* bytes that all processes hold; a dead one's stay until the test subtracts them */
	uint64_t peak[4]; /* the most that was ever held */
	uint64_t loads;	  /* modules that the driver was asked to load */
	uint64_t records; /* events that it was asked to record */
	uint64_t apart;	  /* what is recorded happens at once: its stream has nothing to do with the kernels */
	uint64_t asks;	  /* questions about events, and waits for them */
	/* Kernels take so long each, one after the other, by CLOCK_MONOTONIC; 0: no time. */
	uint64_t kernel_ns;
	uint64_t kernels;	 /* that have been launched */
	uint64_t done_by_ns;	 /* the last of them ends then */
	uint64_t launch_late_ns; /* a launch returns so long after it has been submitted */
	uint64_t wait_late_ns;	 /* a wait returns so long after the end */
	/* Of one process: called once in the middle of the next call that has such a place, where another thread acts.
	 */
	void (*during)(void);
	void (*during_record)(void); /* the same, before an event is recorded */
	uint64_t hold;		     /* streams do not get on: what is freed in their order waits */
	uint64_t leaves;	     /* bytes of a module that the driver keeps, once, when it is unloaded */
	uint64_t opened;	     /* pieces of other processes' memory of which it cannot say how large they are */
	uint64_t refuse;	     /* that call fails then */
	uint64_t works;		     /* launches that were no nodes */
};
