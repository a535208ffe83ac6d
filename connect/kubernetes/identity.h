/*
 * identity.h: which pod's container has an id, as kubelet's pod-resources API says, and so the labels of its grant.
 *
 * Allocate does not say for whom it is. PreStartContainer does not either, but then kubelet's list has the pod
 * already. It is asked then, and again while a grant of ours has no pod, after a restart of the agent, say, or waits
 * for its container. One whose id kubelet does not list for a while waits in vain: the pod was deleted, or kubelet
 * killed, before the container began. It is given back. A container that was to begin and has not taken its grant
 * after a while is said: a runtime without CDI begins it without a device, and without a word.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct agent;
struct grpc_peer;

struct identity {
	struct agent *agent;
	struct grpc_peer *asking; /* NULL: no call is under way */
	uint64_t since_ns;	  /* of the call */
	uint64_t next_ns;	  /* not asked again before */
	bool wanted;		  /* at once */
	bool said;		  /* that it does not answer */
	json_t *missing;	  /* grants that wait and are not listed, by name: since when, in seconds */
	json_t *begun;		  /* grants whose container was to begin, by name: since when, in seconds */
};

/* A container begins: it is asked soon, once for all that begin at about the same time. */
void identity_want(struct identity *i);
/* The container of this id begins now. */
void identity_begins(struct identity *i, const char *id);
/* Asks, where that is to be done now. */
void identity_tend(struct identity *i);
void identity_end(struct identity *i);
