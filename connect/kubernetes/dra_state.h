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
	char version[16]; /* of resource.k8s.io that the API server has; "": not known yet */
	char said[512];	  /* the last line about the API server */
	char refused[512]; /* kubelet's line, while it does not take the driver */
	bool registered;
	bool fresh; /* meted was asked, or the slices are others, since the publisher looked */
	json_t *counted; /* name of a claim's grant to what the scheduler counted; read from claims, never kept */
	json_t *pci;
	uint64_t pci_ns; /* when it was read */
	/* Discovery. */
	struct api_call *discovering;
	unsigned int discover_failed;
	uint64_t discover_ns; /* when it is tried again */
	/* Health. */
	json_t *health; /* what kubelet was told, without times */
	uint64_t health_ns;
	struct publisher *publisher;
	struct sweeper *sweeper;
	struct preparation *preparations;
};

/* A line about the API server, once; NULL: it answers. */
void dra_say(struct dra *d, const char *line);

/* dra_publish.c */
struct publisher *publisher_new(struct dra *d);
void publisher_free(struct publisher *p);
/* Begins to watch, writes what differs. */
void publisher_tend(struct publisher *p);

/* dra_prepare.c: handlers of grpc_method; owner is the dra. */
int dra_prepare(void *owner, json_t *request, json_t **ret, struct fault *f);
int dra_unprepare(void *owner, json_t *request, json_t **ret, struct fault *f);
/* Goes on with what waited for discovery. */
void dra_prepare_waiting(struct dra *d);
/* Ends those that wait for the API server. */
void dra_prepare_close(struct dra *d);

/* dra_sweep.c: grants of claims that are gone. */
struct sweeper *sweeper_new(struct dra *d);
void sweeper_free(struct sweeper *s);
void sweeper_tend(struct sweeper *s);

/* dra_grant.c */
/* The grant's name: "dra-" and the claim's UID. */
void dra_grant_name(const char *uid, char name[AGENT_NAME_BYTES]);
/*
 * Makes the grant and its CDI file, or finds that they are there. `labels`: namespace and pod; borrowed. Value: 0, or a
 * fault and an enum control_outcome or a negative errno.
 */
int dra_grant_take(struct dra *d, const char *uid, const struct dra_claim *claim, json_t *labels, struct fault *f);
/* Ends it. Value: 0: it is gone; -EBUSY: its programs are being ended, ask again; else a fault. */
int dra_grant_end(struct dra *d, const char *uid, bool programs_too, struct fault *f);
/* Notes what the scheduler counted for the claim. */
void dra_grant_counted(struct dra *d, const char *uid, const struct dra_claim *claim);
/* The devices of a grant that is there, in kubelet's form, and its CDI file; NULL: there is none. */
json_t *dra_grant_devices(struct dra *d, const char *uid);
/* The ids of CDI devices that the claim's container gets. */
json_t *dra_cdi_ids(const char *uid, const struct dra_claim *claim);
