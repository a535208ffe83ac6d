/*
 * residence.h: whose memory is on a device, where tenants may hold more together than the device has.
 *
 * Quotas stay promised; what competes is residence. What a client holds on the device is charged; what is away is not.
 * A client leaves as a whole, because nobody knows which of its memory the next kernel reads. The caller keeps the
 * invariant: nobody is given more than residence_free() says, a client that returns is charged before its memory comes,
 * and refunded after the driver has let go of it. So the sum of what is charged never exceeds the device.
 *
 * Who leaves: nobody of a higher class than he for whom it is; of the lowest class first; who does nothing before who
 * works; the smallest one that is enough, else who has done nothing for longest; and never one more than are needed.
 * Who works, and is of the same class, leaves only when its turn is over.
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
	uint64_t held_units;	/* charged: on the device */
	uint64_t movable_units; /* of these: what can leave */
	uint64_t away_units;
	uint64_t want_units;	 /* more that it has asked for, and waits for */
	uint64_t keeps_units;	 /* as long as its tenant holds no more, it need not leave */
	uint64_t barred_units;	 /* free, and promised to others: not to be lent to this one */
	unsigned int class;	 /* larger: less important */
	bool called;		 /* a thread of the program waits for its memory, or the user has asked for it */
	bool suspended;		 /* the user has sent it away */
	bool stays;		 /* it could not leave a moment ago, or does not answer: nobody counts on it */
	uint64_t since_ns;	 /* it is at its place */
	uint64_t idle_since_ns;	 /* 0: it works */
	uint64_t waits_since_ns; /* `called` or want_units; else 0 */
	bool wish_away;		 /* the decision; what is on its way goes on as it was */
	bool decided;		 /* residence_decide()'s own */
};

struct residence_device {
	uint64_t total_units;
	uint64_t other_units; /* charged to clients whose memory does not move */
	uint64_t turn_ns;     /* how long who works may stay, where others of its class wait */
};

#define RESIDENCE_IDLE_NS 200000000ull
#define RESIDENCE_TURN_MOST_NS 30000000000ull
#define RESIDENCE_SWAP_PART 5 /* a turn is at least so many times as long as a swap */

/*
 * What nobody has, nor is promised to one that returns. `but`: of this one what is promised is not taken off, and what
 * it is barred from is.
 */
uint64_t residence_free(const struct residence_device *device, const struct residence_client *client,
			unsigned int count, const struct residence_client *but);

/* Decides all wishes. */
void residence_decide(const struct residence_device *device, struct residence_client *client, unsigned int count,
		      uint64_t now_ns);

/* It could come true if all that may leave for it did: waiting makes sense. */
bool residence_can_hold(const struct residence_device *device, const struct residence_client *client,
			unsigned int count, const struct residence_client *who, uint64_t units);

/* The turn, where to leave and to return have taken `swap_ns` together: so that no more than a fifth is lost. */
uint64_t residence_turn(uint64_t turn_ns, uint64_t swap_ns);
