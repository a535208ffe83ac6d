/*
 * checkpoint.h: suspends tenants by the driver's own checkpoint (cuCheckpointProcess*), which takes contexts, arrays
 * and pools off the device. It is used where memory cannot leave in another way: for local programs of a grant without
 * --spill.
 *
 * meted opens no vendor's library. A child per program and step, `meted --checkpoint LIBCUDA save|restore PID
 * MILLISECONDS` (checkpointer.c), calls the driver. Both steps can be repeated, whatever was killed during them. The
 * grant is `suspended` until all of its programs have returned; the store records this. The next meted then takes the
 * programs off the device again, so that no program remains locked and forgotten.
 *
 * A program that is away is not charged to its device. It is charged again before it returns; where others occupy the
 * room, they are asked to leave (residence.h). Its quota remains promised.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct client;
struct daemon;
struct tenant;

/* Of a tenant; zero at first. What is said of it stands in its suspension. */
struct checkpointing {
	bool active;	   /* suspended, or on the way there or back */
	bool returns;	   /* it is on the way back: resumed, or refused */
	bool asks;	   /* a child is at it */
	uint32_t drain_s;  /* for work to end */
	uint64_t again_ns; /* what failed is not tried again before */
};

/* The tenant can be suspended so: a program of it holds memory that leaves in no other way. */
bool checkpoint_takes(const struct tenant *tenant);
/* A tenant is served from now on. */
void checkpoint_begin(struct tenant *tenant);
/* As suspension_begin() and suspension_end(). */
int checkpoint_suspend(struct tenant *tenant, uint32_t drain_s, char *error, size_t size);
int checkpoint_resume(struct tenant *tenant, bool now, char *error, size_t size);
/* A client was found by this meted: what the one before was about is not known. */
void checkpoint_found(struct client *client);
/* Takes the next step. False: there is nothing to look for. */
bool checkpoint_follow(struct tenant *tenant);
/* meted leaves: what children are at they end without it. */
void checkpoint_stop(struct daemon *daemon);
/* What is away of it, in units. */
uint64_t checkpoint_away(const struct tenant *tenant, unsigned int device);
/* Adds what there is to say of a share, and of a client. False: it is not suspended so. */
bool checkpoint_share_json(const struct tenant *tenant, unsigned int device, json_t *share);
void checkpoint_client_json(const struct client *client, unsigned int device, json_t *process);

/* How the child ends. */
enum checkpointer_exit {
	CHECKPOINTER_DONE = 0,
	CHECKPOINTER_FAILED = 1, /* a line on standard output says why; the program is as it was */
	CHECKPOINTER_DOUBT = 2,	 /* save: so does one, and the program is locked, perhaps by another child */
	CHECKPOINTER_FULL = 3,	 /* restore: the device has no room */
	CHECKPOINTER_NONE = 4, /* the process has ended; restore: or the driver knows none, so nothing of it is away */
};

/* The child has a pidfd of the process here: the driver knows it by its number alone, which may be another's. */
#define CHECKPOINTER_PIDFD 3

int checkpointer_main(const char *libcuda, const char *verb, const char *pid, const char *drain_ms);
