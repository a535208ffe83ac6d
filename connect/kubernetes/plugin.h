/* plugin.h: a named share as a resource of kubelet's: its socket, its list of ids, its registration. */
#pragma once

#include "connect/kubernetes/agent.h"

struct plugin {
	struct plugin *next;
	struct agent *agent;
	char share[SHARE_NAME_MOST + 1];
	struct grpc_server server;
	uint16_t *ids; /* what kubelet was told: numbers of ids, with a mark for those that are unhealthy */
	size_t ids_count;
	bool stale;  /* the agent has looked at meted since plugin_refresh() */
	bool listed; /* meted has answered once: kubelet may be told what there is */
	struct grpc_peer *registering; /* NULL: no call is under way */
	bool registered;
	uint64_t since_ns; /* of the call, or of the registration */
	uint64_t next_ns;  /* when registration is tried again */
	uint64_t pause_ns; /* until then, the next time */
	char said[512];	   /* the last line about this plugin */
};

struct plugin *plugin_new(struct agent *a, const char *share);
/* Takes its socket's file away. */
void plugin_free(struct plugin *p);

/* Listens where it does not, or where its socket's file is gone. Value: true when it listens. */
bool plugin_listen(struct plugin *p);
/* Registers, where that is to be done now. */
void plugin_register(struct plugin *p);
/* When plugin_register() has something to do by the clock alone. */
uint64_t plugin_next_ns(const struct plugin *p);
/* Kubelet is another than it was: it knows nothing of this plugin. */
void plugin_forget(struct plugin *p);
/* Computes the list from what the agent knows, and sends it where it differs. */
void plugin_refresh(struct plugin *p);
/* How many shares fit besides those that are taken, and how many are taken. Value: 0 or a fault. */
int plugin_count(struct plugin *p, unsigned int *ret_fit, unsigned int *ret_taken, struct fault *f);
