/*
 * sim.h: tenants that share an engine, in virtual time.
 *
 * What is real: whoever decides about turns, which is src/model/arbiter.c itself, through its public interface alone.
 * What is modelled: an engine that runs one process's work at a time, in order, and changes between processes by time
 * slices and at a cost; the client's side of src/wire/turn.h (work in flight bounded by prediction, needs, the turn's
 * end, edges that are known only once they have been observed); wake-ups that take tens of microseconds; programs.
 * Nothing is measured on a machine here: figures say what the rules do, not what a host or a device adds.
 */
#pragma once

#include "model/arbiter.h"

#include <stdbool.h>
#include <stdint.h>

#define SIM_TENANTS 256u
#define SIM_PROCESSES 256u
#define SIM_US UINT64_C(1000)
#define SIM_MS UINT64_C(1000000)
#define SIM_S UINT64_C(1000000000)

/* Who holds the tenants to their shares. */
enum sim_way {
	SIM_TURNS,    /* src/model/arbiter.c */
	SIM_NOTHING,  /* nobody: the engine's time slices alone */
	SIM_FEEDBACK, /* tokens of blocks launched, corrected by a utilisation percentage (peers.c) */
	SIM_QUOTA,    /* a quota of time per window of 10 s (peers.c) */
	SIM_WAYS,
};

/* What a program does, in ms and us of its own and of the device's time. */
struct sim_load {
	double kernel_ms[4];  /* lengths, taken at random; 0: no more of them */
	double spread;	      /* each is off by up to this fraction */
	unsigned int batch;   /* submits so many, waits for them, pauses; 0: submits as fast as it may, for ever */
	double gap_us[2];     /* the pause, between these */
	double on_ms, off_ms; /* works and rests by turns, on average; 0: never rests */
	double misjudged;     /* predictions are off by up to this fraction */
	double sudden_ms;     /* each launch of that number takes so long, as nobody foresees; 0: none */
	unsigned int sudden_each;
	unsigned int blocks;	/* of each kernel, for SIM_FEEDBACK; 0: as many as fill the device */
	unsigned int processes; /* 0: 1 */
	double start_s, end_s;	/* comes and dies; end 0: stays */
	double stop_s, cont_s;	/* is stopped (SIGSTOP) and continued; 0: is not */
	unsigned int launches;	/* ends after so many; 0: after none */
	unsigned int user;	/* whose it is */
	int follows;		/* 1 + the tenant after whose end it comes; 0: at start_s */
};

struct sim_params {
	enum sim_way way;
	uint64_t seed;
	double seconds;
	double slice_ms, switch_us; /* of the engine; 0: 2 ms, 75 us; switch below 0: none */
	bool starts_show;	    /* work seems to begin when it is submitted, before the change of process */
	double wake_us[2];	    /* a wake-up takes at least, and up to (rarely); 0: 20 to 200 */
	const struct arbiter_params *arbiter;
};

struct sim;

struct sim *sim_new(const struct sim_params *params);
void sim_free(struct sim *s);
/* Value: the tenant's number. */
int sim_add(struct sim *s, const struct arbiter_terms *terms, const struct sim_load *load);
/* Its terms change at that time. */
void sim_change(struct sim *s, int tenant, const struct arbiter_terms *terms, double at_s);
void sim_run(struct sim *s);

/* The truth: the engine's time that it has had, ns; in a window; over all. */
double sim_served(const struct sim *s, int tenant, double from_s, double to_s);
double sim_idle(const struct sim *s, double from_s, double to_s); /* nobody's work was running */

/* Where the engine's time goes that nobody has. An idle gap lies between one tenant's work and the next tenant's. */
enum sim_lost {
	SIM_LOST_SWITCH, /* the engine changes from one process to another */
	SIM_LOST_INSIDE, /* in one turn: between two launches of its holder */
	SIM_LOST_END,	 /* at the end of a turn: its gate is still open, and nothing of its holder follows */
	SIM_LOST_CLOSED, /* no gate is open */
	SIM_LOST_FIRST,	 /* at the beginning of a turn: its gate is open, and its first launch has not come */
	SIM_LOST_KINDS,
};

/* In percent of the time from 1 s on. */
double sim_lost(const struct sim *s, enum sim_lost kind);

struct sim_error {
	double mean, max; /* of |got - target|, in points, over all windows */
	double above;	  /* the most by which a window exceeds the target, in points; below 0: none does */
	double bias;	  /* got - target over the whole time, in points */
};

/* Over all windows of `window_s` from `from_s` on, a step of 10 ms apart. */
struct sim_error sim_error(const struct sim *s, int tenant, double target_pct, double window_s, double from_s,
			   double to_s);
/* Latencies of its batches, ms, from the first submission: the percentile. 0 when there were none. */
double sim_latency(const struct sim *s, int tenant, double percentile);
unsigned long sim_batches(const struct sim *s, int tenant);
/* The longest time without any of the engine's time while it had work waiting. */
double sim_starved_ms(const struct sim *s, int tenant);
/* What the arbiter believes (SIM_TURNS). */
struct arbiter_reading sim_reading(const struct sim *s, int tenant);
unsigned long sim_steps(const struct sim *s); /* of the arbiter */
/* Invariants that are checked as it runs: a text for the first that was broken, or NULL. */
const char *sim_broken(const struct sim *s);
