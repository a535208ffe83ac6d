/* plugin.h: a named share as a resource of kubelet: its socket, its list of ids, its registration. */
#pragma once

#include "connect/kubernetes/agent.h"

struct plugin {
	struct plugin *next;
	struct agent *agent;
	char share[SHARE_NAME_MOST + 1];
	struct grpc_server server;
	uint16_t *ids; /* the list sent to kubelet: numbers of ids, with a mark for unhealthy ones */
	size_t ids_count;
	bool stale;  /* meted was queried since plugin_refresh() */
	bool listed; /* meted has answered once: the list may be sent to kubelet */
	struct grpc_peer *registering; /* NULL: no call is under way */
	bool registered;
	uint64_t since_ns; /* of the call, or of the registration */
	uint64_t next_ns;  /* time of the next registration attempt */
	uint64_t pause_ns; /* the wait before the attempt after that */
	char said[512];	   /* the last line about this plugin */
};

struct plugin *plugin_new(struct agent *a, const char *share);
/* Also removes its socket's file. */
void plugin_free(struct plugin *p);

/* Listens if it does not, or if its socket's file is gone. Value: true if it listens. */
bool plugin_listen(struct plugin *p);
/* Registers if it is due. */
void plugin_register(struct plugin *p);
/* The time at which plugin_register() has something to do even without an event. */
uint64_t plugin_next_ns(const struct plugin *p);
/* Kubelet was restarted: it does not know this plugin. */
void plugin_forget(struct plugin *p);
/* Computes the list from what the agent knows, and sends it if it has changed. */
void plugin_refresh(struct plugin *p);
/* The number of shares that fit besides those taken, and the number taken. Value: 0 or a fault. */
int plugin_count(struct plugin *p, unsigned int *ret_fit, unsigned int *ret_taken, struct fault *f);
