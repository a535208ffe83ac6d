/* publish_none.c: see publish.h: an agent that was built without libcurl annotates no node, and tells no events. */
#include "connect/kubernetes/publish.h"

#include "connect/kubernetes/node_events.h"

#include <errno.h>

int publish_open(struct publish **ret, struct agent *a, const char *node, const char *kubeconfig, struct fault *f)
{
	*ret = NULL;
	return fault_set(f, -ENOTSUP, "--publish: this mete-agent was built without libcurl");
}

void publish_close(struct publish *p)
{
}

struct node_events *publish_events(struct publish *p)
{
	return NULL;
}

void node_events_devices(struct node_events *e, json_t *devices)
{
}

void node_events_trouble(struct node_events *e, const char *reason, const char *line)
{
}

void publish_refresh(struct publish *p)
{
}

void publish_tend(struct publish *p)
{
}
