/*
 * residence.h: decides whose memory is on a device when tenants together hold more than the device has.
 *
 * Quotas are not affected; residence is what tenants compete for. Memory on the device is charged; memory that is away
 * is not. A client leaves as a whole, because it is unknown which of its memory the next kernel reads. The caller keeps
 * the invariant: no client is granted more than residence_free(), a client that returns is charged before its memory is
 * copied in, and a client that leaves is refunded after the driver has freed the memory. The sum of all charges
 * therefore never exceeds the device.
 *
 * The clients that leave are chosen in this order: none of a higher class than the client that needs the room; the
 * lowest class first; an idle client before a working one; the smallest one that is enough, else the one that has been
 * idle longest; and no more than are needed. A working client of the same class leaves only when its turn is over.
 *
 * A turn includes the way back. The work after it lasts at least as long as the client's own swap, up to the longest
 * turn, so a client whose return takes longer than that works as well.
 *
 * Pure: no I/O, no clock.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum residence_place { RESIDENCE_HERE, RESIDENCE_LEAVING, RESIDENCE_AWAY, RESIDENCE_RETURNING };

/* One client of a tenant whose memory may move. */
struct residence_client {
	enum residence_place place;
	uint64_t held_units;	/* charged, on the device */
	uint64_t movable_units; /* the part of these that can leave */
	uint64_t away_units;
	uint64_t want_units;	 /* more that it has requested and waits for */
	uint64_t keeps_units;	 /* while its tenant holds no more, it need not leave */
	uint64_t barred_units;	 /* free memory that is promised to others and not lent to this client */
	uint64_t swap_ns;	 /* what a leave and a return of it take; 0: unknown */
	unsigned int class;	 /* larger: less important */
	bool called;		 /* a thread of the program waits for its memory, or the user has resumed it */
	bool suspended;		 /* the user has suspended it */
	bool stays;		 /* it could not leave recently, or does not answer: it is not counted on */
	uint64_t since_ns;	 /* since when it is at its place; of one that is here: since it began to return */
	uint64_t arrived_ns;	 /* of one that is here: since when all of it is; 0: since since_ns */
	uint64_t idle_since_ns;	 /* since when it is idle; 0: it works */
	uint64_t waits_since_ns; /* `called` or want_units; else 0 */
	bool wish_away;		 /* the decision; a move under way continues */
	bool urgent;		 /* with wish_away: for one of class 0, which is promised the memory */
	unsigned int for_whom;	 /* with wish_away: 1 + the place in the list of the client that needs the room; 0: none
				    does */
	bool decided, served;	 /* internal to residence_decide() */
};

struct residence_device {
	uint64_t total_units;
	uint64_t other_units; /* charged to clients whose memory cannot move */
	uint64_t turn_ns;     /* how long a working client may stay while others of its class wait */
	uint64_t turn_most_ns; /* to which turns grow; 0: RESIDENCE_TURN_MOST_NS */
};

#define RESIDENCE_IDLE_NS 200000000ull
#define RESIDENCE_IDLE_PART 10 /* and no less than this part of a swap of its own */
#define RESIDENCE_TURN_MOST_NS 30000000000ull
#define RESIDENCE_SWAP_PART 5	  /* a turn lasts at least so many swaps, in the mean of all clients */
#define RESIDENCE_OWN_SWAP_PART 2 /* and so many of the client's own */

/*
 * Returns the units that are neither held nor promised to a returning client. `but`: for this client; what is promised
 * to it is not subtracted, what it is barred from is.
 */
uint64_t residence_free(const struct residence_device *device, const struct residence_client *client,
			unsigned int count, const struct residence_client *but);

/* Decides wish_away of all clients. */
void residence_decide(const struct residence_device *device, struct residence_client *client, unsigned int count,
		      uint64_t now_ns);

/* True if the request could be granted once all clients that may leave for it had left: waiting makes sense. */
bool residence_can_hold(const struct residence_device *device, const struct residence_client *client,
			unsigned int count, const struct residence_client *who, uint64_t units);

/*
 * Returns the units that the other clients need for memory that can leave, on the device or away, if they take turns:
 * as many as the largest of them has, and what those have that need not leave. Memory that cannot leave must fit beside
 * them, else one of them would wait until it is freed. Clients that are less important than `who` do not count, nor do
 * those that the user has suspended.
 */
uint64_t residence_turns_need(const struct residence_client *client, unsigned int count,
			      const struct residence_client *who);

/*
 * Returns the length of a turn, so that leaving and returning (`swap_ns` of the clients) take at most a fifth of the
 * time in the mean: `turn_ns` at least, and the longest turn of the device at most.
 */
uint64_t residence_turn(const struct residence_device *device, uint64_t turn_ns, const struct residence_client *client,
			unsigned int count);
/*
 * What a swap of a client takes, by its last two (0: there was none). The shorter of them: one swap that was held up by
 * something else changes no turn.
 */
uint64_t residence_swap(uint64_t last_ns, uint64_t before_ns);
