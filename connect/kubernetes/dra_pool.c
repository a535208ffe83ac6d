/* dra_pool.c: see dra_pool.h. */
#include "connect/kubernetes/dra_pool.h"

#include "connect/kubernetes/dra_claim.h"
#include "connect/kubernetes/quantity.h"

#include <math.h>
#include <string.h>

#define TEXT_MOST 64 /* of an attribute */

static const char *text_of(json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

static uint64_t bytes_of(json_t *object, const char *key)
{
	json_int_t n = json_integer_value(json_object_get(object, key));

	return n > 0 ? (uint64_t)n : 0;
}

bool dra_range_round(const struct dra_range *range, uint64_t asked, uint64_t *ret)
{
	uint64_t above = asked > range->min ? asked - range->min : 0;
	uint64_t steps = above / range->step + !!(above % range->step), up;

	if (__builtin_mul_overflow(steps, range->step, &up) || __builtin_add_overflow(up, range->min, ret))
		return false;
	return *ret <= range->value;
}

/* The share of a grant of DRA's on this device; NULL: it is none, or not there. */
static json_t *claimed(json_t *grant, const char *uuid, int64_t uid)
{
	json_t *share;
	size_t i;

	if (strncmp(text_of(grant, "name"), DRA_GRANT_PREFIX, strlen(DRA_GRANT_PREFIX)) ||
	    !json_is_object(json_object_get(grant, "container")) ||
	    json_integer_value(json_object_get(grant, "uid")) != uid)
		return NULL;
	json_array_foreach (json_object_get(grant, "devices"), i,
			   share) if (!strcmp(text_of(share, "uuid"), uuid)) return share;
	return NULL;
}

/* What the scheduler counted of this device for the grant; NULL: it is not known, or it counts none. */
static json_t *counted_row(json_t *counted, const char *name, const char *uuid)
{
	json_t *row;
	size_t i;

	json_array_foreach (json_object_get(counted, name), i, row)
		if (!strcmp(text_of(row, "device"), uuid))
			return row;
	return NULL;
}

/* The part of the grant's share that the scheduler subtracts itself. */
static uint64_t counted_bytes(json_t *share, json_t *row)
{
	uint64_t held = bytes_of(share, "quota_bytes"), counted = bytes_of(row, "mem_bytes");

	return counted && counted < held ? counted : held;
}

static double counted_cores(json_t *share, json_t *row)
{
	double held = json_number_value(json_object_get(share, "cores"));
	double counted = json_number_value(json_object_get(row, "cores"));

	return row && counted < held ? counted : held;
}

struct dra_capacity dra_capacity_of(json_t *device, json_t *grants, json_t *counted, int64_t uid)
{
	uint64_t total = bytes_of(device, "total_bytes"), outside = bytes_of(device, "promised_bytes"), left, mine;
	double cores = json_number_value(json_object_get(device, "promised_cores"));
	struct dra_capacity c = { .offered = !strcmp(text_of(device, "state"), "active") };
	json_t *grant, *share, *row;
	const char *name;

	json_object_foreach (grants, name, grant) {
		share = claimed(grant, text_of(device, "uuid"), uid);
		row = counted_row(counted, name, text_of(device, "uuid"));
		mine = counted_bytes(share, row);
		outside -= mine < outside ? mine : outside;
		cores -= counted_cores(share, row);
	}
	left = (total > outside ? total - outside : 0) / DRA_STEP_BYTES * DRA_STEP_BYTES;
	c.memory = (struct dra_range){ left, DRA_STEP_BYTES, DRA_STEP_BYTES, left };
	/* A hair below: sums of fractions are not exact. */
	left = cores < 100 ? (uint64_t)floor(100.0 - (cores > 1e-6 ? cores : 0) + 1e-6) : 0;
	c.cores = (struct dra_range){ left, 0, 1, 0 };
	c.timed = c.cores.value >= 1 && strcmp(text_of(device, "native"), "allow");
	/* The API server wants room for a step above the least. */
	c.offered = c.offered && c.memory.value >= 2 * DRA_STEP_BYTES;
	return c;
}

static json_t *text_attribute(const char *text)
{
	char part[TEXT_MOST + 1];

	snprintf(part, sizeof(part), "%s", text);
	return json_pack("{s:s}", "string", part);
}

static void add_text(json_t *attributes, const char *name, const char *text)
{
	if (*text)
		json_object_set_new(attributes, name, text_attribute(text));
}

static json_t *driver_of(json_t *machine, const char *kind)
{
	json_t *driver;
	size_t i;

	json_array_foreach (json_object_get(machine, "drivers"), i,
			   driver) if (!strcmp(text_of(driver, "kind"), kind)) return driver;
	return NULL;
}

static json_t *attributes_of(json_t *machine, json_t *device, const struct dra_capacity *c, json_t *pci)
{
	json_t *attributes = json_object(), *place = json_object_get(pci, text_of(device, "uuid"));

	add_text(attributes, "uuid", text_of(device, "uuid"));
	add_text(attributes, "model", text_of(device, "name"));
	add_text(attributes, "driver", text_of(device, "driver"));
	add_text(attributes, "driverVersion", text_of(driver_of(machine, text_of(device, "driver")), "version"));
	add_text(attributes, "policy", text_of(device, "policy"));
	add_text(attributes, "tier", "T2");
	json_object_set_new(attributes, "index", json_pack("{s:O}", "int", json_object_get(device, "index")));
	json_object_set_new(attributes, "memoryEnforced", json_pack("{s:b}", "bool", 1));
	json_object_set_new(attributes, "timeEnforced", json_pack("{s:b}", "bool", c->timed));
	add_text(attributes, "resource.kubernetes.io/pciBusID", text_of(place, "bus"));
	add_text(attributes, "resource.kubernetes.io/pcieRoot", text_of(place, "root"));
	if (json_object_get(place, "numa"))
		json_object_set_new(attributes, "numaNode", json_pack("{s:O}", "int", json_object_get(place, "numa")));
	return attributes;
}

static void print_bytes(uint64_t n, char text[QUANTITY_TEXT])
{
	quantity_print_bytes(n, text);
}

static void print_whole(uint64_t n, char text[QUANTITY_TEXT])
{
	snprintf(text, QUANTITY_TEXT, "%llu", (unsigned long long)n);
}

static json_t *capacity_json(const struct dra_range *r, void print(uint64_t n, char text[QUANTITY_TEXT]))
{
	char value[QUANTITY_TEXT], by_default[QUANTITY_TEXT], min[QUANTITY_TEXT], step[QUANTITY_TEXT];

	print(r->value, value);
	print(r->by_default, by_default);
	print(r->min, min);
	print(r->step, step);
	return json_pack("{s:s s:{s:s s:{s:s s:s}}}", "value", value, "requestPolicy", "default", by_default,
			 "validRange", "min", min, "step", step);
}

json_t *dra_pool_devices(json_t *machine, json_t *grants, json_t *counted, int64_t uid, json_t *pci)
{
	json_t *devices = json_array(), *device, *capacity;
	char name[64];
	size_t i;

	json_array_foreach (json_object_get(machine, "devices"), i, device) {
		struct dra_capacity c = dra_capacity_of(device, grants, counted, uid);

		if (!c.offered)
			continue;
		dra_device_name(device, name);
		capacity = json_pack("{s:o}", "memory", capacity_json(&c.memory, print_bytes));
		if (c.timed)
			json_object_set_new(capacity, "cores", capacity_json(&c.cores, print_whole));
		json_array_append_new(devices, json_pack("{s:s s:o s:o s:b}", "name", name, "attributes",
							 attributes_of(machine, device, &c, pci), "capacity", capacity,
							 "allowMultipleAllocations", 1));
	}
	return devices;
}

json_t *dra_device_as(const char *version, json_t *take_device)
{
	json_t *device, *name;

	if (strcmp(version, "v1beta1"))
		return take_device;
	name = json_incref(json_object_get(take_device, "name"));
	json_object_del(take_device, "name");
	device = json_pack("{s:o s:o}", "name", name, "basic", take_device);
	return device;
}
