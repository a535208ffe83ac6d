/*
 * metrics_dcgm.c: names of NVIDIA's exporter, as its documentation has them. A device that is shared has a line for
 * each tenant with the tenant's own figures, and one without a tenant for what is nobody's: sums over a device are the
 * device's. What is not measured has no line, and so is never 0: a tenant of policy native has no part of the time. Its
 * power and temperature are no tenant's.
 */
#include "daemon/metrics_text.h"

#include "daemon/daemon.h"
#include "daemon/health/sensors.h"
#include "daemon/state.h"
#include "daemon/tenants/account.h"
#include "daemon/tenants/tenant.h"

#include <string.h>

#define MIB 1048576.0

/* A device and what its tenants have together. */
struct sums {
	const struct daemon *daemon;
	const struct device *device;
	double held, claims; /* bytes; those that quotas leave */
	double used, free;   /* of the device */
	double time;	     /* of the tenants that are measured, part of the device's */
	bool measured;	     /* they are all that have programs there */
};

/* Of a tenant's share of the device, or with NULL of what is nobody's. */
struct dcgm {
	const char *name, *help;
	/* False: not known. */
	bool (*value)(const struct sums *d, struct tenant *t, unsigned int share, double *ret);
};

static double held_bytes(struct tenant *t, unsigned int share)
{
	return (double)(account_tenant_held(t, share) * WIRE_UNIT_BYTES);
}

static double claimed_bytes(struct tenant *t, unsigned int share)
{
	double free = (double)(t->grant.share[share].ledger.quota_units * WIRE_UNIT_BYTES) - held_bytes(t, share);

	return free > 0 ? free : 0;
}

/* Below 0: it is not measured. */
static double share_of_time(struct tenant *t, unsigned int share)
{
	struct engine_reading r;

	return arbitrate_read(t, share, WIRE_COMPUTE, &r) ? r.share_10s : -1;
}

static bool dcgm_fb_used(const struct sums *d, struct tenant *t, unsigned int share, double *ret)
{
	*ret = (t ? held_bytes(t, share) : d->used - d->held) / MIB;
	return true;
}

/* Where more is promised than is there, each tenant's claim counts for its part of what is free. */
static bool dcgm_fb_free(const struct sums *d, struct tenant *t, unsigned int share, double *ret)
{
	double part = d->claims > d->free ? d->free / d->claims : 1;

	*ret = part * (t ? claimed_bytes(t, share) : 0) / MIB;
	if (!t)
		*ret = (d->free - part * d->claims) / MIB;
	return true;
}

static bool dcgm_active(const struct sums *d, struct tenant *t, unsigned int share, double *ret)
{
	unsigned int pct;

	*ret = t ? share_of_time(t, share) : 0;
	if (t)
		return *ret >= 0;
	if (d->measured || !sensors_get(d->daemon, d->device->uuid, SENSOR_UTILISATION_PCT, &pct))
		return false;
	*ret = pct / 100.0 > d->time ? pct / 100.0 - d->time : 0;
	return true;
}

static bool dcgm_util(const struct sums *d, struct tenant *t, unsigned int share, double *ret)
{
	bool known = dcgm_active(d, t, share, ret);

	*ret *= 100;
	return known;
}

static const struct dcgm dcgm[] = {
	{ "DCGM_FI_DEV_FB_USED", "Framebuffer memory that is held (in MiB).", dcgm_fb_used },
	{ "DCGM_FI_DEV_FB_FREE", "Framebuffer memory that may still be held (in MiB).", dcgm_fb_free },
	{ "DCGM_FI_DEV_GPU_UTIL",
	  "Utilisation over the last 10 s; in the line without a tenant, the rest of the driver's figure (in %).",
	  dcgm_util },
	{ "DCGM_FI_PROF_GR_ENGINE_ACTIVE", "The same as a ratio.", dcgm_active },
};

static void write_labels(FILE *out, const char *name, const struct device *d)
{
	char uuid[DEVICE_UUID_TEXT], model[METRICS_LABEL_BYTES];

	fprintf(out, "%s{gpu=\"%u\",UUID=\"%s\",device=\"%s%u\",modelName=\"%s\",Hostname=\"%s\"", name, d->index,
		device_uuid_format(d->uuid, uuid), device_kind_name(d->kind), d->index,
		metrics_label(d->name, model), state_node());
}

static void write_line(FILE *out, const struct dcgm *m, const struct sums *d, struct tenant *t, unsigned int share)
{
	double value;

	if (!m->value(d, t, share, &value))
		return;
	write_labels(out, m->name, d->device);
	if (t) {
		fprintf(out, ",tenant=\"%s\"", t->grant.name);
		metrics_write_labels(out, &t->grant);
	}
	fprintf(out, "} %.10g\n", value);
}

struct line {
	FILE *out;
	const struct dcgm *of;
};

typedef void (*share_fn)(struct sums *d, struct tenant *t, unsigned int share, void *owner);

static void each_share(struct sums *d, share_fn fn, void *owner)
{
	for (struct tenant *t = d->daemon->tenants; t; t = t->next)
		for (unsigned int n = 0; n < t->grant.share_count; n++)
			if (!memcmp(t->grant.share[n].device.uuid, d->device->uuid, DEVICE_UUID_BYTES))
				fn(d, t, n, owner);
}

static void add_share(struct sums *d, struct tenant *t, unsigned int share, void *owner)
{
	double time = share_of_time(t, share);

	(void)owner;
	d->held += held_bytes(t, share);
	d->claims += claimed_bytes(t, share);
	d->time += time > 0 ? time : 0;
	d->measured |= t->places.at[share][WIRE_COMPUTE] != NULL;
}

static void leave_out(struct sums *d, struct tenant *t, unsigned int share, void *owner)
{
	(void)owner;
	if (t->clients && !t->places.at[share][WIRE_COMPUTE])
		d->measured = false;
}

static void sum_up(struct sums *d, const struct daemon *daemon, const struct device *device)
{
	double total = (double)device->total_bytes, used = device->used_known ? (double)device->used_bytes : 0;

	*d = (struct sums){ .daemon = daemon, .device = device };
	each_share(d, add_share, NULL);
	each_share(d, leave_out, NULL);
	d->used = used > d->held ? used : d->held;
	d->free = total > d->used ? total - d->used : 0;
}

static void write_share(struct sums *d, struct tenant *t, unsigned int share, void *owner)
{
	const struct line *line = owner;

	write_line(line->out, line->of, d, t, share);
}

static void write_sensors(FILE *out, const struct daemon *daemon)
{
	static const struct {
		const char *name, *help;
		enum sensor sensor;
		double unit;
	} families[] = {
		{ "DCGM_FI_DEV_POWER_USAGE", "Power draw of the device (in W).", SENSOR_POWER_MW, 1e-3 },
		{ "DCGM_FI_DEV_GPU_TEMP", "Temperature of the device (in C).", SENSOR_TEMPERATURE_C, 1 },
	};

	for (size_t k = 0; k < sizeof(families) / sizeof(*families); k++) {
		metrics_head(out, families[k].name, families[k].help, false);
		for (unsigned int i = 0; i < daemon->machine.device_count; i++) {
			const struct device *d = &daemon->machine.device[i];
			unsigned int value;

			if (!sensors_get(daemon, d->uuid, families[k].sensor, &value))
				continue;
			write_labels(out, families[k].name, d);
			fprintf(out, "} %g\n", value * families[k].unit);
		}
	}
}

void metrics_write_dcgm(FILE *out, struct daemon *daemon)
{
	for (size_t k = 0; k < sizeof(dcgm) / sizeof(*dcgm); k++) {
		metrics_head(out, dcgm[k].name, dcgm[k].help, false);
		for (unsigned int i = 0; i < daemon->machine.device_count; i++) {
			struct sums d;

			sum_up(&d, daemon, &daemon->machine.device[i]);
			each_share(&d, write_share, &(struct line){ out, &dcgm[k] });
			write_line(out, &dcgm[k], &d, NULL, 0);
		}
	}
	write_sensors(out, daemon);
}
