/* requests.c: see requests.h. */
#include "client/requests.h"

json_t *request_plain(const char *op)
{
	return json_pack("{s:s}", "op", op);
}

json_t *request_grant(const char *op, const char *name)
{
	return json_pack("{s:s, s:s}", "op", op, "name", name);
}

json_t *request_device(const char *op, const char *uuid)
{
	return json_pack("{s:s, s:s}", "op", op, "device", uuid);
}

json_t *request_devices_known(void)
{
	return json_pack("{s:s, s:b}", "op", "devices", "known", 1);
}

json_t *request_devices_of(const char *driver)
{
	return json_pack("{s:s, s:s*}", "op", "devices", "driver", driver);
}

json_t *request_create(const struct request_create *r)
{
	json_t *request =
		json_pack("{s:s, s:s*, s:s, s:s*, s:o, s:o*, s:o*, s:b, s:b}", "op", "grant_create", "name", r->name,
			  "driver", r->driver, "placement", r->placement, "devices", r->devices, "labels", r->labels,
			  "container", r->container, "overcommit", r->overcommit, "wall", r->wall);

	if (request && r->known)
		json_object_set_new(request, "known", json_true());
	if (request && r->runner_pid)
		json_object_set_new(request, "runner_pid", json_integer(r->runner_pid));
	return request;
}
