/*
 * agent.h: mete-agent: offers the named shares to this node's kubelet, and makes the grants that kubelet requests.
 *
 * One loop in one thread. meted's ledger is the only source of truth: the agent keeps no state, neither in a file nor
 * in memory, that it could not read from meted, shares.json and the folder of kubelet's sockets. A grant is named
 * k8s-SHARE-NUMBER, and that name is the device's id in kubelet, so that after a restart of the agent, meted or kubelet
 * everything is found again.
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
	bool cdi_field; /* answers with the field cdi_devices instead of an annotation */
	bool soft;
	bool spread; /* shares of any device: placed on the emptiest one, instead of the fullest with room */
	long expires_s; /* -1: meted's default */
	struct dra_options dra;
	bool publish;
	bool check; /* report the state, and exit */
};

/* The subject of a line in the log: a trouble is logged when it begins, and again when it is over. */
enum agent_subject { AGENT_METED, AGENT_SHARES, AGENT_KUBELET, AGENT_RUNTIME, AGENT_SUBJECTS };

struct agent {
	struct agent_options options;
	struct loop loop;
	struct edits edits; /* makes CDI files; its connection is the agent's, and its machine is meted's last answer */
	json_t *grants;	    /* meted's last answer, by name; NULL: meted does not answer */
	uint64_t away_ns;   /* since when meted does not answer; 0: it does */
	json_t *shares;	    /* name to words */
	json_t *counts;	    /* name to the maximum that is offered; NULL: no share has one */
	uint64_t shares_file; /* identity of the file that was read; 0: there was none */
	struct plugin *plugins;
	struct watch inotify;
	struct identity identity;
	struct news news;
	struct owed *owed; /* in order of arrival */
	uint64_t refresh_ns; /* when meted must be queried next */
	uint64_t look_ns;    /* the duration of the last query of meted, including the lists that followed */
	bool listing;	     /* some lists are not computed yet */
	uint64_t folder_ns;  /* when kubelet's folder must be checked next */
	uint64_t shares_ns;  /* when shares.json must be checked next */
	struct dra *dra; /* NULL: without --dra */
	struct publish *publish; /* NULL: without --publish */
	uint64_t kubelet_socket; /* its identity; 0: there is no socket */
	char said[AGENT_SUBJECTS][1024]; /* the last line on each subject, which is not repeated */
};

/* Logs a trouble once. `line` NULL: the trouble is over; `over` is logged if there was one. */
void agent_trouble(struct agent *a, enum agent_subject subject, const char *line, const char *over);

/* Connects to meted if necessary, and thereby learns its folder. Value: as agent_ask(). */
int agent_connect(struct agent *a, struct fault *f);
/* Sends one request to meted, which it takes; connects if necessary. Value: as control_ask(). `code`: may be NULL. */
int agent_ask(struct agent *a, json_t *request, json_t **ret, char code[64], struct fault *f);

/* Queries meted; agent_list() then reports the differences to kubelet. */
void agent_refresh(struct agent *a);
/* Continues to compute the lists for a moment. Value: true if some are not computed yet. */
bool agent_list(struct agent *a);
/* True if meted has not answered for longer than a restart takes. */
bool agent_is_away(const struct agent *a);
/*
 * Notes a change: a query follows soon, once for all changes of a moment, and not before a waiting request is answered.
 */
void agent_refresh_soon(struct agent *a);
/* Reads shares.json, and starts and ends plugins accordingly. */
void agent_read_shares(struct agent *a);
/* Registers what is not registered, if kubelet is there. */
void agent_tend(struct agent *a);

/* grant.c: the grants behind the ids. */
struct plugin;
/* The row of a grant in meted's last answer; borrowed. NULL: there is none. */
json_t *grant_row(struct agent *a, const char *name);
/* The grant's current row from meted; NULL: none. *ret: owned. Value: 0, or as agent_ask(). */
int grant_look(struct agent *a, const char *name, json_t **ret, struct fault *f);
/*
 * True if an agent has made it: it belongs to this user and is for a container. Any user may give a grant of their own
 * such a name.
 */
bool grant_is_ours(json_t *row);
/* True if no container has taken it. */
bool grant_waits(json_t *row);
/*
 * Makes the grant and its CDI file, or uses one that waits for its container already. Value: 0, or a fault and an enum
 * control_outcome or a negative errno; -EBUSY: another container has it; -ENOSPC: there is no room for it now; -EEXIST:
 * it belongs to another user.
 */
int grant_take(struct agent *a, const char *share, const char *name, struct fault *f);
/* The same, but a grant that waits for its container is not changed. *ret_made: it was created. */
int grant_take_again(struct agent *a, const char *share, const char *name, bool *ret_made, struct fault *f);
/* True if a refusal with this value can be reversed later, when another container has ended. */
bool grant_comes(int r);
/*
 * If there is no room for the share: true if a grant that was created outside Kubernetes in the last seconds has that
 * room. The fault then names it.
 */
bool grant_taken_outside(struct agent *a, const char *share, struct fault *f);
/*
 * Sends meted the `take_request`, a grant_create with a `container`; `path`: of its CDI file, which meted removes with
 * the grant if it can. Value: as agent_ask(), and -ENOSPC.
 */
int grant_create(struct agent *a, json_t *take_request, const char *path, struct fault *f);
/* Reads the CDI files of others again, because a driver's update changes them. Value: as spec_list_read_vendors(). */
int grant_read_vendors(struct agent *a, struct fault *f);
/* Ends a grant that no container has taken. */
void grant_give_back(struct agent *a, const char *name);
/*
 * The share, checked against meted's last answer, on the device (NULL: as in its words); edits_share_free() must follow
 * in every case. Value: 0 or a negative errno.
 */
int grant_share(struct agent *a, const char *share, const char *device, struct edits_share *ret, struct fault *f);
/* What it takes of a device; the caller owns `rows`. */
struct room_share grant_share_room(const struct edits_share *share);
/* True if its words name no device: it may be on any one of the driver's. */
bool grant_share_is_any(const struct edits_share *share);
