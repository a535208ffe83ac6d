/*
 * checkpoint.h: suspends tenants by the driver's own checkpoint (cuCheckpointProcess*), which takes contexts, arrays
 * and pools off the device. It is used where memory cannot leave in another way: for local programs of a grant without
 * --spill; and for the workers of a walled grant whose driver does not give the next worker the addresses of the one
 * before it (moving.h). The worker stays, locked, and its client waits in its call. All workers of a grant leave, or
 * none.
 *
 * meted opens no vendor's library. A child per program and step, `meted --checkpoint LIBCUDA save|restore PID
 * MILLISECONDS DEVICES` (checkpointer.c), calls the driver. Both steps can be repeated, whatever was killed during
 * them. The grant is `suspended` until all of its programs have returned; the store records this. The next meted then
 * takes the programs off the device again, so that no program remains locked and forgotten.
 *
 * A program that is away is not charged to its device. It is charged again before it returns; where others occupy the
 * room, they are asked to leave (residence.h). Its quota remains promised.
 */
#pragma once

#include "model/device.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct client;
struct daemon;
struct tenant;

/* State of a tenant; all zero at first. Its suspension has what is reported to users. */
struct checkpointing {
	bool active;	   /* suspended, leaving or returning */
	bool returns;	   /* returning: resumed or refused */
	bool asks;	   /* a child is working */
	uint32_t drain_s;  /* time limit for work to complete */
	uint64_t again_ns; /* no new attempt before this time, after a failure */
	bool goes;	   /* once all of it is away, it goes to the device `to` */
	bool tries;	   /* it has gone over from `from`, and goes back if the driver cannot bring it back there */
	bool stuck;	   /* the driver could not, once: it is not sent to another device any more */
	struct device to, from;
};

/*
 * True if the tenant can be suspended in this way: a program of it holds memory that leaves in no other way, or it is
 * walled and its workers cannot be replaced.
 */
bool checkpoint_takes(const struct tenant *tenant);
/* As moving_holds(). */
bool checkpoint_holds(const struct tenant *tenant);
/* True if it is walled and all of it is off the device, to which it need not return. */
bool checkpoint_is_away(const struct tenant *tenant);
/* Resumes an interrupted suspension when a tenant is first served. */
void checkpoint_begin(struct tenant *tenant);
/* As suspension_begin() and suspension_end(). */
int checkpoint_suspend(struct tenant *tenant, uint32_t drain_s, char *error, size_t size);
int checkpoint_resume(struct tenant *tenant, bool now, char *error, size_t size);
/*
 * As suspension_move(): the driver brings it back on another device (pairs of UUIDs, CUDA 13.0 and newer). Where it
 * cannot, all of it goes back.
 */
int checkpoint_move(struct tenant *tenant, const struct device *to, uint32_t drain_s, char *error, size_t size);
/* False: its driver has refused to do that. */
bool checkpoint_goes(const struct tenant *tenant);
/* Notes a client that this meted has found: the state in which the previous meted left it is not known. */
void checkpoint_found(struct client *client);
/* Takes the next step. False: nothing remains to be done. */
bool checkpoint_follow(struct tenant *tenant);
/* meted exits: running children complete their step without it. */
void checkpoint_stop(struct daemon *daemon);
/* The units that are off the device. */
uint64_t checkpoint_away(const struct tenant *tenant, unsigned int device);
/* Add the state of a share, and of a client, to a description. False: the tenant is not suspended in this way. */
bool checkpoint_share_json(const struct tenant *tenant, unsigned int device, json_t *share);
void checkpoint_client_json(const struct client *client, unsigned int device, json_t *process);

/* Exit status of the child. */
enum checkpointer_exit {
	CHECKPOINTER_DONE = 0,
	CHECKPOINTER_FAILED = 1, /* a line on standard output gives the reason; the program is unchanged */
	CHECKPOINTER_DOUBT = 2,	 /* save: the same, and the program is locked, perhaps by another child */
	CHECKPOINTER_FULL = 3,	 /* restore: the device has no room */
	CHECKPOINTER_NONE = 4,	 /* the process has ended; restore: or the driver does not know it, so nothing of it is
				  * off the device */
	CHECKPOINTER_LATE = 5,	 /* save: as FAILED, for its work did not end in time */
};

/*
 * The child's descriptor of the process (a pidfd): the driver knows the process only by its number, which may be
 * reused.
 */
#define CHECKPOINTER_PIDFD 3

/*
 * `devices`: "", or UUIDs with commas between them. save: not "": it is to return on another device. restore: on the
 * first of them, whichever of them it was taken from; "": on the one that it was taken from. CHECKPOINTER_MUST before
 * them: a driver that does not bring it back on another device fails; else it brings it back where it was.
 */
#define CHECKPOINTER_MUST "+"

int checkpointer_main(const char *libcuda, const char *verb, const char *pid, const char *drain_ms,
		      const char *devices);
