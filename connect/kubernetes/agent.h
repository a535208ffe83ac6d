/*
 * agent.h: mete-agent: what this node's kubelet is told of the named shares, and the grants that it asks for.
 *
 * One loop in one thread. meted's ledger is the only truth: the agent keeps nothing of its own, neither in a file nor
 * in memory, that it could not read from meted, shares.json and the folder of kubelet's sockets. A grant is named
 * k8s-SHARE-NUMBER, and that name is the device's id at kubelet; so whoever restarts (agent, meted, kubelet) finds what
 * there was.
 */
#pragma once

#include "client/control.h"
#include "connect/cdi/edits.h"
#include "connect/cdi/shares.h"
#include "connect/kubernetes/dra.h"
#include "connect/kubernetes/grpc.h"
#include "connect/kubernetes/identity.h"
#include "connect/kubernetes/loop.h"
#include "connect/kubernetes/news.h"
#include "connect/kubernetes/program.h"
#include "connect/kubernetes/publish.h"
#include "connect/kubernetes/room.h"

#include <limits.h>

#define AGENT_PREFIX "k8s-"
#define AGENT_RESOURCES "mete.io/"
#define AGENT_IDS_MOST 256u
#define AGENT_NAME_BYTES 64

struct agent_options {
	const char *kubelet_dir, *pods_socket, *shares, *cdi_dir;
	bool cdi_field; /* the answer's field cdi_devices, instead of an annotation */
	bool soft;
	bool spread; /* shares of any device: to the emptiest one, instead of the fullest that has room */
	long expires_s; /* -1: as meted has it */
	struct dra_options dra;
	bool publish;
	bool check; /* say what there is, and end */
};

/* What a line in the log is about: a trouble is said when it begins, and once more when it is over. */
enum agent_subject { AGENT_METED, AGENT_SHARES, AGENT_KUBELET, AGENT_RUNTIME, AGENT_SUBJECTS };

struct agent {
	struct agent_options options;
	struct loop loop;
	struct edits edits; /* who makes CDI files; its connection is the agent's, its machine meted's last answer */
	json_t *grants;	    /* meted's last answer, by name; NULL: it does not answer */
	uint64_t away_ns;   /* since when it does not answer; 0: it does */
	json_t *shares;	    /* name to words */
	json_t *counts;	    /* name to the most that is offered; NULL: of none */
	uint64_t shares_file; /* identity of the file that they were read from; 0: there was none */
	struct plugin *plugins;
	struct watch inotify;
	struct identity identity;
	struct news news;
	struct owed *owed; /* the first first */
	uint64_t refresh_ns; /* when meted is to be asked next */
	uint64_t look_ns;    /* how long the last look at meted took, with the lists that followed */
	bool listing;	     /* not all of them are computed yet */
	uint64_t folder_ns;  /* when kubelet's folder is to be looked at next */
	uint64_t shares_ns;  /* when shares.json is to be looked at next */
	struct dra *dra; /* NULL: without --dra */
	struct publish *publish; /* NULL: without --publish */
	uint64_t kubelet_socket; /* its identity; 0: it is not there */
	char said[AGENT_SUBJECTS][1024]; /* the last line on each subject, so that it is not said again */
};

/* `line` NULL: the trouble is over, `over` is said if there was one. */
void agent_trouble(struct agent *a, enum agent_subject subject, const char *line, const char *over);

/* Connects to meted where there is no connection: then it is known in which folder it serves. Value: as agent_ask(). */
int agent_connect(struct agent *a, struct fault *f);
/*
 * One question to meted; takes the request. Connects where there is no connection. As control_ask(). `code`: NULL, or
 * its place.
 */
int agent_ask(struct agent *a, json_t *request, json_t **ret, char code[64], struct fault *f);

/* Asks meted what there is; agent_list() then tells kubelet where that differs from what it was told. */
void agent_refresh(struct agent *a);
/* Goes on with the lists for a moment. Value: true where some are not computed yet. */
bool agent_list(struct agent *a);
/* meted does not answer for longer than it restarts. */
bool agent_is_away(const struct agent *a);
/* Something has changed: soon, once for all that changes within a moment, and not before who asked has his answer. */
void agent_refresh_soon(struct agent *a);
/* Reads shares.json, and begins and ends the plugins that it wants. */
void agent_read_shares(struct agent *a);
/* Registers what is not registered, where kubelet is there. */
void agent_tend(struct agent *a);

/* The grants behind the ids. grant.c */
struct plugin;
/* The row of meted's last answer; borrowed. NULL: there is none. */
json_t *grant_row(struct agent *a, const char *name);
/* What meted has now; NULL: none. *ret: owned. Value: 0, or as agent_ask(). */
int grant_look(struct agent *a, const char *name, json_t **ret, struct fault *f);
/* Made by an agent: of this user, for a container. Anybody may give a grant of his own such a name. */
bool grant_is_ours(json_t *row);
/* No container has taken it. */
bool grant_waits(json_t *row);
/*
 * Makes the grant and its CDI file, or takes the one that waits for its container already. Value: 0, or a fault and an
 * enum control_outcome or a negative errno; -EBUSY: another container has it; -ENOSPC: there is no room for it now;
 * -EEXIST: it is somebody else's.
 */
int grant_take(struct agent *a, const char *share, const char *name, struct fault *f);
/* The same, but one that waits for its container is left as it is. *ret_made: it was made. */
int grant_take_again(struct agent *a, const char *share, const char *name, bool *ret_made, struct fault *f);
/* What was refused so can be given later, when another container has ended. */
bool grant_comes(int r);
/*
 * There is no room for the share: whether a grant that somebody made outside Kubernetes in the last seconds has it.
 * Then the fault names it.
 */
bool grant_taken_outside(struct agent *a, const char *share, struct fault *f);
/*
 * Asks meted for the grant of grant_create's `take_request`, which has a `container`; `path`: of its CDI file, which
 * meted then removes with the grant, where it may. Value: as agent_ask(), and -ENOSPC.
 */
int grant_create(struct agent *a, json_t *take_request, const char *path, struct fault *f);
/* The CDI files of others, anew: a driver's update changes them. Value: as spec_list_read_vendors(). */
int grant_read_vendors(struct agent *a, struct fault *f);
/* Ends a grant that no container has taken. */
void grant_give_back(struct agent *a, const char *name);
/*
 * The share, judged by meted's last answer, on the device (NULL: as its words have it); free with edits_share_free() in
 * every case. Value: 0 or a negative errno.
 */
int grant_share(struct agent *a, const char *share, const char *device, struct edits_share *ret, struct fault *f);
/* What it takes of a device; `rows` are owned by the caller. */
struct room_share grant_share_room(const struct edits_share *share);
/* Its words name no device: it may be on any one of the driver's. */
bool grant_share_is_any(const struct edits_share *share);
