/*
 * metrics_dcgm.c: names of NVIDIA's exporter, as its documentation has them. A device that is shared has a line for
 * each tenant with the tenant's own figures, so that sums over a device are the device's; one without tenants has a
 * line of its own, and so has each for what is no tenant's, its power and temperature.
 */
#include "daemon/metrics_text.h"

#include "daemon/daemon.h"
#include "daemon/health/sensors.h"
#include "daemon/state.h"
#include "daemon/tenants/account.h"
#include "daemon/tenants/tenant.h"

#include <string.h>

#define MIB 1048576.0

struct dcgm {
	const char *name, *help;
	double (*value)(const struct device *d, struct tenant *t, unsigned int share);
};

static double dcgm_share(struct tenant *t, unsigned int share)
{
	struct engine_reading r;

	return t && arbitrate_read(t, share, WIRE_COMPUTE, &r) && r.share_10s > 0 ? r.share_10s : 0;
}

static double dcgm_fb_used(const struct device *d, struct tenant *t, unsigned int share)
{
	(void)d;
	return t ? (double)(account_tenant_held(t, share) * WIRE_UNIT_BYTES) / MIB : 0;
}

static double dcgm_fb_free(const struct device *d, struct tenant *t, unsigned int share)
{
	double quota = t ? (double)(t->grant.share[share].ledger.quota_units * WIRE_UNIT_BYTES) / MIB
			 : (double)d->total_bytes / MIB;

	return quota - dcgm_fb_used(d, t, share);
}

static double dcgm_util(const struct device *d, struct tenant *t, unsigned int share)
{
	(void)d;
	return dcgm_share(t, share) * 100;
}

static double dcgm_active(const struct device *d, struct tenant *t, unsigned int share)
{
	(void)d;
	return dcgm_share(t, share);
}

static const struct dcgm dcgm[] = {
	{ "DCGM_FI_DEV_FB_USED", "Framebuffer memory that is held (in MiB).", dcgm_fb_used },
	{ "DCGM_FI_DEV_FB_FREE", "Framebuffer memory that may still be held (in MiB).", dcgm_fb_free },
	{ "DCGM_FI_DEV_GPU_UTIL", "The part of the device's time over the last 10 s (in %).", dcgm_util },
	{ "DCGM_FI_PROF_GR_ENGINE_ACTIVE", "The same as a ratio.", dcgm_active },
};

static void write_labels(FILE *out, const char *name, const struct device *d)
{
	char uuid[DEVICE_UUID_TEXT], model[METRICS_LABEL_BYTES];

	fprintf(out, "%s{gpu=\"%u\",UUID=\"%s\",device=\"%s%u\",modelName=\"%s\",Hostname=\"%s\"", name, d->index,
		device_uuid_format(d->uuid, uuid), d->kind == DEVICE_NVIDIA ? "nvidia" : "soft", d->index,
		metrics_label(d->name, model), state_node());
}

static void write_line(FILE *out, const struct dcgm *m, const struct device *d, struct tenant *t, unsigned int share)
{
	write_labels(out, m->name, d);
	if (t)
		fprintf(out, ",tenant=\"%s\"", t->grant.name);
	fprintf(out, "} %g\n", m->value(d, t, share));
}

static void write_sensors(FILE *out, const struct daemon *daemon)
{
	static const struct {
		const char *name, *help;
		enum sensor sensor;
		double unit;
	} families[] = {
		{ "DCGM_FI_DEV_POWER_USAGE", "What the device draws (in W).", SENSOR_POWER_MW, 1e-3 },
		{ "DCGM_FI_DEV_GPU_TEMP", "The temperature of the device (in C).", SENSOR_TEMPERATURE_C, 1 },
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
			const struct device *d = &daemon->machine.device[i];
			unsigned int lines = 0;

			for (struct tenant *t = daemon->tenants; t; t = t->next)
				for (unsigned int n = 0; n < t->grant.share_count; n++)
					if (!memcmp(t->grant.share[n].device.uuid, d->uuid, DEVICE_UUID_BYTES)) {
						write_line(out, &dcgm[k], d, t, n);
						lines++;
					}
			if (!lines)
				write_line(out, &dcgm[k], d, NULL, 0);
		}
	}
	write_sensors(out, daemon);
}
