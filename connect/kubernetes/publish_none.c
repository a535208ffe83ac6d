/* publish_none.c: see publish.h: an agent that was built without libcurl annotates no node. */
#include "connect/kubernetes/publish.h"

#include <errno.h>

int publish_open(struct publish **ret, struct agent *a, const char *node, const char *kubeconfig, struct fault *f)
{
	*ret = NULL;
	return fault_set(f, -ENOTSUP, "--publish: this mete-agent was built without libcurl");
}

void publish_close(struct publish *p)
{
}

void publish_refresh(struct publish *p)
{
}

void publish_tend(struct publish *p)
{
}
