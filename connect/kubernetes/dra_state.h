/* dra_state.h: what the parts of the DRA driver share. */
#pragma once

#include "connect/kubernetes/agent.h"
#include "connect/kubernetes/api.h"
#include "connect/kubernetes/dra.h"
#include "connect/kubernetes/dra_claim.h"
#include "connect/kubernetes/dra_pool.h"

#define DRA_GROUP "/apis/resource.k8s.io"

struct dra {
	struct agent *agent;
	struct api *api;
	char node[254];
	char registry_path[PATH_MAX], plugin_dir[PATH_MAX], plugin_path[PATH_MAX];
	struct grpc_server registry, plugin;
	char version[16]; /* the version of resource.k8s.io on the API server; "": not known yet */
	char said[512];	  /* the last line about the API server */
	char refused[512]; /* kubelet's error while it refuses the driver */
	bool registered;
	bool fresh; /* meted was queried, or the slices changed, since the publisher last compared */
	json_t *counted; /* a map from a claim's grant to what the scheduler counted; read from claims, never stored */
	json_t *pci;
	uint64_t pci_ns; /* when it was read */
	/* Discovery. */
	struct api_call *discovering;
	unsigned int discover_failed;
	uint64_t discover_ns; /* time of the next attempt */
	/* Health. */
	json_t *health; /* what kubelet was told, without times */
	uint64_t health_ns;
	struct publisher *publisher;
	struct sweeper *sweeper;
	struct preparation *preparations;
};

/* Logs a line about the API server once; NULL: it answers. */
void dra_say(struct dra *d, const char *line);

/* dra_publish.c */
struct publisher *publisher_new(struct dra *d);
void publisher_free(struct publisher *p);
/* Starts to watch, and writes differences. */
void publisher_tend(struct publisher *p);

/* dra_prepare.c: handlers of grpc_method; owner is the dra. */
int dra_prepare(void *owner, json_t *request, json_t **ret, struct fault *f);
int dra_unprepare(void *owner, json_t *request, json_t **ret, struct fault *f);
/* Continues requests that waited for discovery. */
void dra_prepare_waiting(struct dra *d);
/* Ends requests that wait for the API server. */
void dra_prepare_close(struct dra *d);

/* dra_sweep.c: grants of claims that are gone. */
struct sweeper *sweeper_new(struct dra *d);
void sweeper_free(struct sweeper *s);
void sweeper_tend(struct sweeper *s);

/* dra_grant.c */
/* The grant's name: "dra-" and the claim's UID. */
void dra_grant_name(const char *uid, char name[AGENT_NAME_BYTES]);
/*
 * Makes the grant and its CDI file, or finds existing ones. `labels`: namespace and pod; borrowed. Value: 0, or a fault
 * and an enum control_outcome or a negative errno.
 */
int dra_grant_take(struct dra *d, const char *uid, const struct dra_claim *claim, json_t *labels, struct fault *f);
/* Ends it. Value: 0: it is gone; -EBUSY: its programs are being ended, ask again; otherwise a fault. */
int dra_grant_end(struct dra *d, const char *uid, bool programs_too, struct fault *f);
/* Records what the scheduler counted for the claim. */
void dra_grant_counted(struct dra *d, const char *uid, const struct dra_claim *claim);
/* The devices of an existing grant, in kubelet's form, and its CDI file; NULL: there is no such grant. */
json_t *dra_grant_devices(struct dra *d, const char *uid);
/* The ids of the CDI devices for the claim's container. */
json_t *dra_cdi_ids(const char *uid, const struct dra_claim *claim);
