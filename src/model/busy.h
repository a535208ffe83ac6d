/*
 * busy.h: which tenant occupied an engine when, and what each is charged.
 *
 * The module sweeps over begins and ends. While the work of n processes is in flight, each one's tenant is charged 1/n
 * of the time, for an engine divides its time among processes.
 * While none is in flight, the holder of the turn is charged for idling if others wait, and no tenant otherwise.
 * Charged time, idled time and idle time therefore add up to wall time.
 *
 * Edges are reported after their measurement: late, and out of order between processes. The last BUSY_EDGES edges are
 * kept; after a late edge the charges since then are computed again. An edge that is older than all of them counts from
 * the oldest. That takes time in proportion to the edges behind it: in one round the late edges of a tenant may be
 * behind BUSY_LATE edges together; what is beyond counts from the last edge.
 */
#pragma once

#include "model/arbiter.h"

#include <stdbool.h>
#include <stdint.h>

#define BUSY_EDGES 4096u
#define BUSY_LATE 16384u

struct busy;

/* Returns NULL without memory. Time begins at now_ns. */
struct busy *busy_new(uint64_t now_ns);
void busy_free(struct busy *b);

/* A round begins: of every tenant late edges are taken again. */
void busy_round(struct busy *b);

/* One of the tenant's processes begins or ceases to be busy. An end without a begin is ignored. */
void busy_begin(struct busy *b, unsigned int tenant, uint64_t at_ns);
void busy_end(struct busy *b, unsigned int tenant, uint64_t at_ns);
/* From now on idle time is charged to the tenant; -1: to none. Calls must be in order of time. */
void busy_hold(struct busy *b, int tenant, uint64_t now_ns);
/*
 * The tenant has not reported for too long; its process may be stopped. Its work counts as ended at at_ns. Its next
 * edge gives the actual end, which is then charged.
 */
void busy_suspect(struct busy *b, unsigned int tenant, uint64_t at_ns);
/* Ends a suspicion: the tenant's work is in flight and has been meanwhile. */
void busy_trust(struct busy *b, unsigned int tenant);
bool busy_suspected(const struct busy *b, unsigned int tenant);
/* Sets the class of a tenant; the overlap of classes is measured by it. */
void busy_class(struct busy *b, unsigned int tenant, enum arbiter_class class);
/* The place has a new tenant: its account begins at 0, and late edges change nothing before now_ns. */
void busy_clear(struct busy *b, unsigned int tenant, uint64_t now_ns);

/* Returns the number of processes known to be busy. */
unsigned int busy_count(const struct busy *b, unsigned int tenant);
uint64_t busy_charged_ns(const struct busy *b, unsigned int tenant, uint64_t now_ns);
/* Returns the idle time in its turns while others waited. */
uint64_t busy_idled_ns(const struct busy *b, unsigned int tenant, uint64_t now_ns);

struct busy_totals {
	uint64_t busy_ns;    /* work of some tenant was in flight */
	uint64_t idled_ns;   /* charged to holders as idling */
	uint64_t idle_ns;    /* charged to no tenant */
	uint64_t high_ns;    /* high class was busy */
	uint64_t overlap_ns; /* high and low class were busy */
};

struct busy_totals busy_totals(const struct busy *b, uint64_t now_ns);
