/* dra_none.c: see dra.h: an agent that was built without libcurl has no DRA. */
#include "connect/kubernetes/dra.h"

#include <errno.h>
#include <stddef.h>

int dra_open(struct dra **ret, struct agent *a, const struct dra_options *o, struct fault *f)
{
	*ret = NULL;
	return fault_set(f, -ENOTSUP, "--dra: this mete-agent was built without libcurl, so it has no DRA");
}

void dra_close(struct dra *d)
{
}

void dra_tend(struct dra *d)
{
}

void dra_refresh(struct dra *d)
{
}

bool dra_check(struct dra *d)
{
	return false;
}
