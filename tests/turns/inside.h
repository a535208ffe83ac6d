/* inside.h: the simulator's own state. */
#pragma once

#include "sim.h"

#define FLIGHT 1024u /* a power of two: launches of a process that the driver takes */
#define CELL_NS (10 * SIM_MS)

enum what {
	AT_ENGINE,  /* something ends on the engine */
	AT_PROGRAM, /* a program goes on */
	AT_SEEN,    /* a process sees that a launch has ended */
	AT_WOKEN,   /* a process is woken at its gate */
	AT_RETRY,   /* a process that waits for its own work looks again */
	AT_DAEMON,  /* the one that decides wakes up, by a ring */
	AT_TIMER,   /* or by its timer */
	AT_LIFE,    /* a process starts, is stopped, goes on, dies */
	AT_PAUSE,   /* a process has had nothing in flight for a while */
	AT_CHANGE,  /* a tenant's terms change */
};

struct event {
	uint64_t at_ns;
	uint64_t order; /* of those at the same time: the order they were made in */
	uint32_t version;
	uint16_t who;
	uint16_t what;
};

struct launch {
	uint64_t left_ns; /* of its length */
	uint64_t predicted_ns;
	uint64_t submitted_ns;
	uint64_t started_ns, ended_ns; /* on the engine */
};

struct process {
	int tenant;
	bool alive, stopped, was_stopped;
	/* the program */
	unsigned int in_batch; /* still to be submitted */
	uint64_t batch_from_ns;
	bool resting;
	uint64_t phase_until_ns;
	bool ready; /* has a launch to submit now */
	uint64_t next_ns, next_predicted_ns;
	unsigned int launches;
	/* the client */
	bool waiting;
	uint32_t retry;
	uint64_t waiting_since_ns;
	uint64_t waiting_serial; /* of the gate when it looked last */
	bool waiting_closed;
	bool in_turn;			   /* has submitted something since the gate was opened */
	uint64_t serial;		   /* of the gate as seen at the last submission */
	uint64_t done_by_ns, predicted_ns; /* all in flight */
	uint64_t began_ns;		   /* something has been since */
	bool begin_told;
	uint64_t ended_ns; /* the last launch that has been seen to end */
	uint64_t last_seen_ns;
	/* launches: [seen, ended) have ended unseen, [ended, head) are on the engine */
	struct launch launch[FLIGHT];
	uint32_t head, ended, seen;
	double tokens; /* of a peer's controller */
};

struct edge {
	uint64_t at_ns;
	bool begins;
	int tenant;
};

struct gate {
	bool open;
	uint64_t until_ns, bound_ns, serial;
	uint64_t opened_ns, closed_ns;
	uint32_t listen;
};

struct change {
	int tenant;
	struct arbiter_terms terms;
};

struct account {
	struct arbiter_terms terms;
	struct sim_load load;
	int place;	      /* in the arbiter; -1: not there */
	int first, processes; /* in sim.process */
	struct gate gate;
	float *served; /* per cell, ns */
	double *latency;
	unsigned long latencies, room;
	uint64_t hungry_from_ns, hungriest_ns;
	double utilisation, tokens_rate, used_ns; /* of a peer's controller */
};

struct sim {
	struct sim_params params;
	uint64_t now_ns, end_ns, random;
	struct event *heap;
	unsigned int events, room;
	uint64_t order;
	struct account tenant[SIM_TENANTS];
	int tenants;
	struct process *process[SIM_PROCESSES];
	int processes;
	/* the engine */
	int running, last; /* process; -1: none */
	int loaded;	   /* processes with work */
	uint64_t run_from_ns, slice_end_ns;
	uint32_t engine_version;
	float *idle;
	uint64_t idle_from_ns;
	double lost_ns[SIM_LOST_KINDS];
	unsigned int cells;
	/* who decides */
	struct arbiter *arbiter;
	struct edge edge[4096];
	unsigned int edges;
	bool ringing;
	uint32_t timer_version;
	unsigned long steps;
	struct change change[64];
	int changes;
	char broken[200];
};

/* sim.c */
void at(struct sim *s, uint64_t at_ns, enum what what, int who, uint32_t version);
double random_unit(struct sim *s);
uint64_t wake_delay(struct sim *s);
uint64_t seen_delay(struct sim *s, int tenant);
void broke(struct sim *s, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* engine.c */
void engine_submit(struct sim *s, int p);
void engine_event(struct sim *s, uint32_t version);
void engine_kill(struct sim *s, int p);
void engine_finish(struct sim *s);

/* client.c */
void client_try(struct sim *s, int p);
void client_seen(struct sim *s, int p);
void client_ring(struct sim *s);
void client_pause(struct sim *s, int p, uint32_t head);
unsigned int client_in_flight(const struct process *p);

/* program.c */
void program_start(struct sim *s, int p);
void program_go(struct sim *s, int p);
bool program_next(struct sim *s, int p);
void program_all_seen(struct sim *s, int p);

/* decide.c */
void decide_ring(struct sim *s);
void decide_now(struct sim *s, bool rung);
void decide_join(struct sim *s, int tenant);
void decide_died(struct sim *s, int p);
void decide_change(struct sim *s, int n);

/* peers.c */
bool peers_admit(struct sim *s, int p);
void peers_tick(struct sim *s);
#define PEERS_TICK_NS (10 * SIM_MS)
