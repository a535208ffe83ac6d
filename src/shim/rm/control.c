/* control.c: see control.h. */
#include "shim/rm/control.h"
#include "rm/interface.h"
#include "shim/rm/watch.h"

#include <errno.h>
#include <string.h>

static int ask(const struct object *o, uint32_t command, void *parameters, uint32_t size)
{
	struct rm_control c = {
		.client = o->client,
		.object = o->handle,
		.command = command,
		.parameters = (uintptr_t)parameters,
		.parameters_size = size,
	};
	int r;

	/* The program may have closed it and opened something else in its place. */
	if (!watch_is_control(o->fd))
		return -ENODEV;
	r = watch_call(o->fd, RM_REQUEST(RM_ESC_CONTROL, sizeof c), &c);
	return r < 0 ? r : (int)c.status;
}

int control_get_slice(const struct object *group, uint64_t *ret_us)
{
	struct rm_slice s = { 0 };
	int r = ask(group, RM_GROUP_GET_SLICE, &s, sizeof s);

	if (!r)
		*ret_us = s.us;
	return r;
}

int control_set_slice(const struct object *group, uint64_t us)
{
	struct rm_slice s = { .us = us };

	return ask(group, RM_GROUP_SET_SLICE, &s, sizeof s);
}

/* One after the other: for a list that was refused because one in it is gone. What is gone needs no switching on. */
static int switch_singly(const struct object *subdevice, struct object *group, bool off)
{
	int first = 0;

	for (struct object *c = NULL; (c = table_channel(group, c));) {
		struct rm_disable d = { .disable = off, .count = 1 };
		int r;

		d.client[0] = c->client;
		d.channel[0] = c->handle;
		r = ask(subdevice, RM_SUBDEVICE_DISABLE, &d, sizeof d);
		if (!r)
			c->off = off;
		else if (!first)
			first = r;
	}
	return first;
}

int control_switch(struct object *group, bool off)
{
	struct object *subdevice = table_subdevice(group), *c = NULL;

	if (!subdevice)
		return -ENOENT;
	do {
		struct rm_disable d = { .disable = off };
		struct object *from = c;
		int r;

		while (d.count < RM_DISABLE_MOST && (c = table_channel(group, c))) {
			if (c->off == off)
				continue;
			d.client[d.count] = c->client;
			d.channel[d.count++] = c->handle;
		}
		if (!d.count)
			return 0;
		r = ask(subdevice, RM_SUBDEVICE_DISABLE, &d, sizeof d);
		if (r)
			return off ? r : switch_singly(subdevice, group, off);
		while ((from = table_channel(group, from)) && from != c)
			from->off = off;
		if (c)
			c->off = off;
	} while (c);
	return 0;
}

int control_switch_group(struct object *group, bool off)
{
	struct rm_schedule s = { .enable = !off };
	struct rm_preempt p = { .wait = 1 };
	uint32_t size = table_schedule_bytes();
	struct object *c = NULL;
	int r;

	while ((c = table_channel(group, c)) && c->off == off)
		;
	if (!c)
		return 0;
	if (size < 2 || size > 3)
		return -ENOENT;
	r = ask(group, RM_GROUP_SCHEDULE, &s, size);
	if (!r && off)
		r = ask(group, RM_GROUP_PREEMPT, &p, sizeof p);
	for (c = NULL; !r && (c = table_channel(group, c));)
		c->off = off;
	return r;
}

int control_uuid(const struct object *subdevice, uint8_t *ret_uuid)
{
	struct rm_gid g = { .flags = RM_GID_BINARY, .length = 16 };
	int r = ask(subdevice, RM_SUBDEVICE_GID, &g, sizeof g);

	if (!r)
		memcpy(ret_uuid, g.data, 16);
	return r;
}
