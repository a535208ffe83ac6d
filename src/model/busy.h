/*
 * busy.h: who occupied an engine when, and what each has to pay for it.
 *
 * A sweep over begins and ends. An instant in which the work of n tenants was in flight costs each 1/n of it; an
 * instant in which there was none costs whoever held the turn, if others stood waiting (its idling), and nobody
 * otherwise. So what is charged, what was idled away and what was idle add up to the time that has passed.
 *
 * Edges are measured, and reported when the measurement is done: late, and out of order between processes. The last
 * BUSY_EDGES are kept, so that what was charged after a late edge can be taken back and charged again. An edge that is
 * older than all of these counts from the oldest.
 */
#pragma once

#include "model/arbiter.h"

#include <stdbool.h>
#include <stdint.h>

#define BUSY_EDGES 4096u

struct busy;

/* NULL: no memory. Time begins at now_ns. */
struct busy *busy_new(uint64_t now_ns);
void busy_free(struct busy *b);

/* One of the tenant's processes begins or ceases to be busy. An end without a begin is ignored. */
void busy_begin(struct busy *b, unsigned int tenant, uint64_t at_ns);
void busy_end(struct busy *b, unsigned int tenant, uint64_t at_ns);
/* From now on idle time is the tenant's; -1: nobody's. Never late. */
void busy_hold(struct busy *b, int tenant, uint64_t now_ns);
/*
 * Nothing has been heard of the tenant's work for too long (its process was stopped): it counts as ended at at_ns,
 * until its next edge says when it did end, and that is then charged.
 */
void busy_suspect(struct busy *b, unsigned int tenant, uint64_t at_ns);
/* It lives after all: what it has in flight is in flight, and was meanwhile. */
void busy_trust(struct busy *b, unsigned int tenant);
bool busy_suspected(const struct busy *b, unsigned int tenant);
/* The tenant's class, which overlap is measured by. */
void busy_class(struct busy *b, unsigned int tenant, enum arbiter_class class);
/* The place has a new tenant: its account begins at 0, and late edges change nothing before now. */
void busy_clear(struct busy *b, unsigned int tenant, uint64_t now_ns);

/* Processes that are busy as far as is known. */
unsigned int busy_count(const struct busy *b, unsigned int tenant);
uint64_t busy_charged_ns(const struct busy *b, unsigned int tenant, uint64_t now_ns);
/* Idle time in its turn while others were waiting. */
uint64_t busy_idled_ns(const struct busy *b, unsigned int tenant, uint64_t now_ns);

struct busy_totals {
	uint64_t busy_ns;    /* somebody's work was in flight */
	uint64_t idled_ns;   /* charged to holders as idling */
	uint64_t idle_ns;    /* charged to nobody */
	uint64_t high_ns;    /* high class was busy */
	uint64_t overlap_ns; /* and low as well */
};

struct busy_totals busy_totals(const struct busy *b, uint64_t now_ns);
