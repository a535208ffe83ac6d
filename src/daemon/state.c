/* state.c: see state.h. */
#include "daemon/state.h"

#include "daemon/tenants/client.h"
#include "daemon/daemon.h"
#include "daemon/health/faults.h"
#include "daemon/health/health.h"
#include "daemon/tenants/tenant.h"

#include <stdbool.h>
#include <sys/utsname.h>

const char *state_node(void)
{
	static struct utsname name;

	if (!*name.nodename && uname(&name))
		return "?";
	return name.nodename;
}

static bool frozen(const struct tenant *t)
{
	for (unsigned int i = 0; i < t->grant.share_count; i++)
		if (t->grant.share[i].compute.terms.frozen)
			return true;
	return false;
}

const char *state_tenant(const struct tenant *t)
{
	uint32_t wait_s;

	if (!faults_let_begin(t, &wait_s))
		return "quarantined";
	if (frozen(t))
		return "frozen";
	return t->clients ? "running" : "idle";
}

unsigned int state_clients(const struct tenant *t)
{
	unsigned int n = 0;

	for (const struct client *c = t->clients; c; c = c->next)
		n++;
	return n;
}

uint64_t state_tenant_faults(const struct tenant *t)
{
	return t->faults;
}

const char *state_device(struct daemon *daemon, const uint8_t *uuid)
{
	return device_state_name(health_state(daemon, uuid));
}

const char *state_device_reason(struct daemon *daemon, const uint8_t *uuid)
{
	const char *reason = health_reason(daemon, uuid);

	return *reason ? reason : NULL;
}

uint64_t state_device_faults(struct daemon *daemon, const uint8_t *uuid)
{
	return health_faults(daemon, uuid);
}
