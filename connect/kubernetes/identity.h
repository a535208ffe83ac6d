/*
 * identity.h: finds the pod and container of each id from kubelet's pod-resources API, for the labels of its grant.
 *
 * Allocate does not say for whom it is. PreStartContainer does not either, but at that time kubelet's list contains the
 * pod. The API is queried then, and again while a grant has no pod (after a restart of the agent, for example) or waits
 * for its container. A grant whose id kubelet does not list for a while waits in vain: the pod was deleted, or kubelet
 * killed, before the container started. It is returned. A container that was to start and has not taken its grant after
 * a while is logged: a runtime without CDI starts it without a device, and without an error.
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
	uint64_t next_ns;	  /* no query before this time */
	bool wanted;		  /* query at once */
	bool said;		  /* it was logged that kubelet does not answer */
	json_t *missing;	  /* waiting grants that are not listed, by name: since when, in seconds */
	json_t *begun;		  /* grants whose container was to start, by name: since when, in seconds */
};

/* A container starts: a query follows soon, once for all that start at about the same time. */
void identity_want(struct identity *i);
/* The container with this id starts now. */
void identity_begins(struct identity *i, const char *id);
/* Queries if it is due. */
void identity_tend(struct identity *i);
void identity_end(struct identity *i);
