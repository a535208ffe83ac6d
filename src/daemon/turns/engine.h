/*
 * engine.h: one engine of one device: its arbiter, the tenants that share it, and the turns on their clients' pages.
 *
 * A place is a tenant's share of the engine, a seat the turn of one of its clients. engine_run() takes what clients
 * have noted on their pages, calls the arbiter, and writes its decisions. meted trusts a page only where a lie harms
 * its writer alone: edges must alternate between begin and end, never go back in time and never lie in the future.
 *
 * Everything here is called with the lock of arbitrate.h held.
 */
#pragma once

#include "model/arbiter.h"
#include "model/device.h"
#include "model/gang.h"
#include "model/window.h"
#include "wire/turn.h"

#include <stdbool.h>
#include <stdint.h>

struct engine;
struct place;
struct seat;

/* What a share has used; rates are parts of the time, below 0: not known. */
struct engine_reading {
	struct arbiter_reading total;
	double share_1s, share_10s, share_60s;
	double wanted_10s, waited_10s;
	uint64_t longest_ns, bypassed;
	bool is_long;		    /* a launch exceeded the bound */
	unsigned int sliced, seats; /* clients with tier T3, and all clients */
};

struct engine *engine_new(const uint8_t uuid[DEVICE_UUID_BYTES], enum wire_engine kind);
void engine_free(struct engine *e);
bool engine_is(const struct engine *e, const uint8_t uuid[DEVICE_UUID_BYTES], enum wire_engine kind);
/* True if no tenant has a place. */
bool engine_empty(const struct engine *e);

/* NULL: no memory, or the engine has ARBITER_TENANTS tenants. */
struct place *engine_join(struct engine *e, const struct arbiter_terms *terms, uint64_t now_ns);
/* Whose the tenant is: see arbiter_user(). */
void engine_user(struct place *p, uint32_t user);
void engine_change(struct place *p, const struct arbiter_terms *terms, uint64_t now_ns);
/* Removes a place without seats. */
void engine_leave(struct place *p, uint64_t now_ns);
struct engine *engine_of(const struct place *p);
/* The place as a member of a gang, whose turns are given together. */
struct gang_member place_member(const struct place *p);

/*
 * Gives a client a seat. `found`: its page is from before and stays valid: an open turn remains open until its end, and
 * the tenant's account continues. NULL: no memory.
 */
struct seat *engine_sit(struct place *p, struct wire_turn *turn, bool found, uint64_t now_ns);
/*
 * Removes the seat; what it had in flight counts as ended. `lives`: the client exists, and `turn` passes everything
 * from then on.
 */
void engine_rise(struct seat *s, uint64_t now_ns, bool lives);
/*
 * Resets the seat: the client's process has executed another program, and the old program's state on the page is void.
 */
void engine_renew(struct seat *s, uint64_t now_ns);
/* Marks clients that have no doorbell of this meted: a timer polls them. */
void engine_deaf(struct seat *s, bool deaf);

/* Lets everything pass, for clients whose tenant has no share of the engine. */
void engine_pass(struct wire_turn *turn);

/* Value: the time of the next call at the latest. */
uint64_t engine_run(struct engine *e, uint64_t now_ns);

/* Adds the tenant's new use since the last count, without the excess of estimates. */
void place_count(struct place *p, uint64_t now_ns, uint64_t since_ns[WINDOW_TOTALS]);
/* The total up to which it has been counted. */
uint64_t place_counted(const struct place *p, enum window_total total);
/* Sets these totals to the values that the previous meted had counted; NULL: to the current ones. */
void place_count_from(struct place *p, const uint64_t at_ns[WINDOW_TOTALS], uint64_t now_ns);

struct arbiter_reading engine_totals(const struct place *p, uint64_t now_ns);
void engine_read(const struct place *p, uint64_t now_ns, struct engine_reading *ret);
/* The client's part of the last ten seconds; below 0: not known. */
double engine_seat_share(const struct seat *s, uint64_t now_ns);
