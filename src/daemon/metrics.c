/*
 * metrics.c: one table of families; a family is a name, what it means, over what it goes, and a function for its value.
 */
#include "daemon/metrics.h"
#include "daemon/metrics_text.h"

#include "daemon/tenants/account.h"
#include "daemon/ask.h"
#include "daemon/daemon.h"
#include "daemon/health/sensors.h"
#include "daemon/journal.h"
#include "daemon/state.h"
#include "daemon/tenants/tenant.h"
#include "daemon/upgrade/version.h"
#include "daemon/workers/images.h"
#include "daemon/workers/worker.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum unit { UNIT_COUNT, UNIT_SECONDS, UNIT_RATIO }; /* seconds: six digits */

/* What a value is of; what does not apply is NULL. */
struct subject {
	struct daemon *daemon;
	const struct device *device;
	struct device_meter *device_meter;
	uint64_t held_bytes; /* of the device */
	struct tenant *tenant;
	struct grant_share *share;
	struct meter *meter; /* of the share */
};

struct family {
	const char *name, *help;
	bool counter;
	enum unit unit;
	/* Value: false: there is none. */
	bool (*value)(const struct subject *s, double *ret);
};

#define VALUE(name, expression)                                                                                        \
	static bool name(const struct subject *s, double *ret)                                                         \
	{                                                                                                              \
		*ret = (double)(expression);                                                                           \
		return true;                                                                                           \
	}
#define VALUE_IF(name, condition, expression)                                                                          \
	static bool name(const struct subject *s, double *ret)                                                         \
	{                                                                                                              \
		if (!(condition))                                                                                      \
			return false;                                                                                  \
		*ret = (double)(expression);                                                                           \
		return true;                                                                                           \
	}

/* The node. */

static double resident_bytes(void)
{
	FILE *f = fopen("/proc/self/statm", "re");
	long pages = 0;

	if (f && fscanf(f, "%*d %ld", &pages) != 1)
		pages = 0;
	if (f)
		fclose(f);
	return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

static double cpu_seconds(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static unsigned int tenants(const struct daemon *daemon)
{
	unsigned int n = 0;

	for (const struct tenant *t = daemon->tenants; t; t = t->next)
		n++;
	return n;
}

static uint64_t disk_most(const struct daemon *daemon)
{
	uint64_t most;

	residence_disk_bytes(daemon, &most);
	return most;
}

VALUE(node_started, s->daemon->meter.started)
VALUE(node_devices, s->daemon->machine.device_count)
VALUE(node_tenants, tenants(s->daemon))
VALUE(node_resident, resident_bytes())
VALUE(node_cpu, cpu_seconds())
VALUE(node_disk, residence_disk_bytes(s->daemon, &(uint64_t){ 0 }))
VALUE(node_disk_most, disk_most(s->daemon))
VALUE(node_images, images_kept_bytes(s->daemon))
VALUE(node_image_hits, images_hits(s->daemon))
VALUE(node_image_saved, images_saved_bytes(s->daemon))

static const struct family of_node[] = {
	{ "mete_start_time_seconds", "Time at which meted was started, in seconds since 1970.", false, UNIT_COUNT,
	  node_started },
	{ "mete_devices", "Devices of this node.", false, UNIT_COUNT, node_devices },
	{ "mete_tenants", "Grants that meted serves.", false, UNIT_COUNT, node_tenants },
	{ "mete_process_resident_memory_bytes", "Memory of meted.", false, UNIT_COUNT, node_resident },
	{ "mete_process_cpu_seconds_total", "Processor time that meted has used.", true, UNIT_SECONDS, node_cpu },
	{ "mete_disk_bytes", "Memory of devices that is on the disk of memory.disk.", false, UNIT_COUNT, node_disk },
	{ "mete_disk_most_bytes", "Limit of this memory; 0: there is no such disk.", false, UNIT_COUNT,
	  node_disk_most },
	{ "mete_images_kept_bytes", "Images of kernels that are kept for remote and walled programs.", false,
	  UNIT_COUNT, node_images },
	{ "mete_images_hits_total", "Requests for an image that was kept.", true, UNIT_COUNT, node_image_hits },
	{ "mete_images_saved_bytes_total", "Bytes of images that programs did not have to send.", true, UNIT_COUNT,
	  node_image_saved },
};

/* Devices. */

VALUE(device_memory, s->device->total_bytes)
VALUE(device_promised, daemon_promised_bytes(s->daemon, s->device->uuid, NULL))
VALUE(device_held, s->held_bytes)
VALUE_IF(device_used, s->device->used_known, s->device->used_bytes)
VALUE(device_cores, daemon_promised_ppm(s->daemon, s->device->uuid, NULL) / 1e6)
VALUE_IF(device_time_used, s->device_meter, s->device_meter->meter.time_ns[METER_USED] / 1e9)
VALUE_IF(device_time_asked, s->device_meter, s->device_meter->meter.time_ns[METER_ASKED] / 1e9)
VALUE_IF(device_time_waited, s->device_meter, s->device_meter->meter.time_ns[METER_WAITED] / 1e9)
static bool sensor(const struct subject *s, enum sensor which, double unit, double *ret)
{
	unsigned int value;
	bool known = sensors_get(s->daemon, s->device->uuid, which, &value);

	*ret = known ? value * unit : 0;
	return known;
}

#define SENSOR(name, which, unit)                                                                                      \
	static bool name(const struct subject *s, double *ret)                                                         \
	{                                                                                                              \
		return sensor(s, which, unit, ret);                                                                    \
	}

SENSOR(device_power, SENSOR_POWER_MW, 1e-3)
SENSOR(device_temperature, SENSOR_TEMPERATURE_C, 1)
SENSOR(device_utilisation, SENSOR_UTILISATION_PCT, 1e-2)
VALUE_IF(device_refusals, s->device_meter, s->device_meter->refused)
VALUE(device_faults, state_device_faults(s->daemon, s->device->uuid))

static const struct family of_device[] = {
	{ "mete_device_memory_bytes", "Memory of the device.", false, UNIT_COUNT, device_memory },
	{ "mete_device_memory_promised_bytes", "The sum of the tenants' quotas.", false, UNIT_COUNT, device_promised },
	{ "mete_device_memory_held_bytes", "Memory that all tenants together hold.", false, UNIT_COUNT, device_held },
	{ "mete_device_memory_used_bytes", "Used memory according to the driver, at the last probe.", false, UNIT_COUNT,
	  device_used },
	{ "mete_device_compute_promised_ratio", "The sum of the tenants' guarantees on the device's time.", false,
	  UNIT_RATIO, device_cores },
	{ "mete_device_compute_used_seconds_total", "The device's time that tenants have used.", true, UNIT_SECONDS,
	  device_time_used },
	{ "mete_device_compute_asked_seconds_total",
	  "The sum over tenants of the time in which they had work waiting or running.", true, UNIT_SECONDS,
	  device_time_asked },
	{ "mete_device_compute_waited_seconds_total",
	  "The sum over tenants of the time in which they had work waiting and no turn.", true, UNIT_SECONDS,
	  device_time_waited },
	{ "mete_device_power_watts", "Power draw of the device; absent if the device does not report it.", false,
	  UNIT_SECONDS, device_power },
	{ "mete_device_temperature_celsius", "Temperature of the device; absent if the device does not report it.",
	  false, UNIT_COUNT, device_temperature },
	{ "mete_device_utilisation_ratio",
	  "Fraction of the recent time in which the device worked, according to its driver.", false, UNIT_RATIO,
	  device_utilisation },
	{ "mete_device_memory_refusals_total", "Refused requests for its memory, of all present and past tenants.",
	  true, UNIT_COUNT, device_refusals },
	{ "mete_device_faults_total", "Errors that the device has reported.", true, UNIT_COUNT, device_faults },
};

/* Tenants. */

VALUE(tenant_clients, state_clients(s->tenant))
VALUE(tenant_workers, worker_count(s->daemon, s->tenant->grant.id))
VALUE(tenant_faults, state_tenant_faults(s->tenant))
VALUE_IF(tenant_last_active, s->tenant->telemetry && s->tenant->telemetry->last_active,
	 s->tenant->telemetry->last_active)
VALUE_IF(tenant_moves, s->tenant->grant.spill, s->tenant->suspension.moves)
VALUE_IF(tenant_moves_refused, s->tenant->grant.spill, s->tenant->suspension.refused)
VALUE_IF(tenant_moved_out, s->tenant->grant.spill, s->tenant->suspension.out_bytes)
VALUE_IF(tenant_moved_in, s->tenant->grant.spill, s->tenant->suspension.in_bytes)
VALUE_IF(tenant_guard_quota, s->tenant->guarded.known, s->tenant->guarded.quota_bytes)
VALUE_IF(tenant_guard_used, s->tenant->guarded.known, s->tenant->guarded.used_bytes)
VALUE_IF(tenant_guard_difference, s->tenant->guarded.known, guarded_difference(&s->tenant->guarded))
VALUE_IF(tenant_guard_stale, s->tenant->guarded.known, s->tenant->guarded.stale)
VALUE_IF(tenant_guard_refused, s->tenant->guarded.known, s->tenant->guarded.refused)
VALUE_IF(tenant_guard_killed, s->tenant->guarded.known, s->tenant->guarded.killed)
VALUE_IF(tenant_yield, s->tenant->yielding.waits, s->tenant->yielding.longest_ns / 1e9)
VALUE_IF(tenant_late, s->tenant->grant.spill, s->tenant->suspension.late)
VALUE_IF(tenant_moving, s->tenant->grant.spill, s->tenant->suspension.moving_ns / 1e9)

static const struct family of_tenant[] = {
	{ "mete_tenant_clients", "Processes that are attached under the grant.", false, UNIT_COUNT, tenant_clients },
	{ "mete_tenant_workers", "Workers that execute calls of the tenant.", false, UNIT_COUNT, tenant_workers },
	{ "mete_tenant_faults_total", "Device errors that the tenant has caused.", true, UNIT_COUNT, tenant_faults },
	{ "mete_tenant_last_active_seconds", "Time of its last process, in seconds since 1970.", false, UNIT_COUNT,
	  tenant_last_active },
	{ "mete_tenant_memory_moves_total", "Moves of its memory away from a device.", true, UNIT_COUNT, tenant_moves },
	{ "mete_tenant_memory_moves_refused_total", "Moves of its memory that were requested and not possible.", true,
	  UNIT_COUNT, tenant_moves_refused },
	{ "mete_tenant_memory_moved_out_bytes_total", "Bytes that have left a device.", true, UNIT_COUNT,
	  tenant_moved_out },
	{ "mete_tenant_memory_moved_in_bytes_total", "Bytes that have returned to a device.", true, UNIT_COUNT,
	  tenant_moved_in },
	{ "mete_tenant_memory_moving_seconds_total", "Time in which its programs waited while their memory moved.",
	  true, UNIT_SECONDS, tenant_moving },
	{ "mete_tenant_memory_late_total",
	  "Programs of the tenant that had not left a device within memory.yield_within.", true, UNIT_COUNT,
	  tenant_late },
	{ "mete_tenant_memory_yield_longest_seconds",
	  "The longest time for which the tenant has waited for memory that is promised to it and lent to others.",
	  false, UNIT_SECONDS, tenant_yield },
	{ "mete_tenant_guard_quota_bytes", "Quota of the guard: the tenant's, and a reserve for contexts.", false,
	  UNIT_COUNT, tenant_guard_quota },
	{ "mete_tenant_guard_used_bytes", "Memory that the guard counts for the tenant.", false, UNIT_COUNT,
	  tenant_guard_used },
	{ "mete_tenant_guard_difference_bytes",
	  "The guard's count minus what the tenant's programs report: contexts, or programs that call the driver "
	  "themselves.",
	  false, UNIT_COUNT, tenant_guard_difference },
	{ "mete_tenant_guard_stale", "1 while the guard's count is not updated.", false, UNIT_COUNT,
	  tenant_guard_stale },
	{ "mete_tenant_guard_refused_total", "Calls of the driver that the guard refused.", true, UNIT_COUNT,
	  tenant_guard_refused },
	{ "mete_tenant_guard_killed_total", "Processes that the guard ended.", true, UNIT_COUNT, tenant_guard_killed },
};

/* Shares. */

#define TIMED (s->meter && s->tenant->places.at[s->share - s->tenant->grant.share][WIRE_COMPUTE])

VALUE(share_quota, s->share->ledger.quota_units *WIRE_UNIT_BYTES)
VALUE(share_held, account_tenant_held(s->tenant, (unsigned int)(s->share - s->tenant->grant.share)) * WIRE_UNIT_BYTES)
VALUE(share_peak, s->share->ledger.peak_units *WIRE_UNIT_BYTES)
VALUE_IF(share_away, s->tenant->grant.spill, residence_away(s->tenant, 0, NULL) * WIRE_UNIT_BYTES)
VALUE_IF(share_disk, s->tenant->grant.spill || s->tenant->stores, residence_disk(s->tenant) * WIRE_UNIT_BYTES)
VALUE(share_guarantee, s->share->compute.terms.guarantee_ppm / 1e6)
VALUE(share_limit, s->share->compute.terms.limit_ppm / 1e6)
VALUE_IF(share_used, TIMED, s->meter->time_ns[METER_USED] / 1e9)
VALUE_IF(share_asked, TIMED, s->meter->time_ns[METER_ASKED] / 1e9)
VALUE_IF(share_waited, TIMED, s->meter->time_ns[METER_WAITED] / 1e9)

static const struct family of_share[] = {
	{ "mete_tenant_memory_quota_bytes", "Quota of the tenant.", false, UNIT_COUNT, share_quota },
	{ "mete_tenant_memory_held_bytes", "Memory that the tenant holds.", false, UNIT_COUNT, share_held },
	{ "mete_tenant_memory_peak_bytes", "Most memory that the tenant has held.", false, UNIT_COUNT, share_peak },
	{ "mete_tenant_memory_away_bytes", "Memory of the tenant that is away from the device, if it may leave.", false,
	  UNIT_COUNT, share_away },
	{ "mete_tenant_memory_disk_bytes", "The part of this that is on the disk of memory.disk.", false, UNIT_COUNT,
	  share_disk },
	{ "mete_tenant_compute_guaranteed_ratio", "Guarantee of the tenant on the device's time.", false, UNIT_RATIO,
	  share_guarantee },
	{ "mete_tenant_compute_limit_ratio", "Limit of the tenant on the device's time.", false, UNIT_RATIO,
	  share_limit },
	{ "mete_tenant_compute_used_seconds_total", "Device time that the tenant has used.", true, UNIT_SECONDS,
	  share_used },
	{ "mete_tenant_compute_asked_seconds_total", "Time in which the tenant had work waiting or running.", true,
	  UNIT_SECONDS, share_asked },
	{ "mete_tenant_compute_waited_seconds_total", "Time in which the tenant had work waiting and no turn.", true,
	  UNIT_SECONDS, share_waited },
};

#define COUNT(table) (sizeof(table) / sizeof(*(table)))

/* Writing. */

void metrics_head(FILE *out, const char *name, const char *help, bool counter)
{
	fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, counter ? "counter" : "gauge");
}

const char *metrics_label(const char *text, char out[METRICS_LABEL_BYTES])
{
	char *to = out;

	for (; *text && to < out + METRICS_LABEL_BYTES - 3; text++) {
		if (*text == '"' || *text == '\\')
			*to++ = '\\';
		*to++ = *text < ' ' || *text > '~' ? '?' : *text;
	}
	*to = 0;
	return out;
}

static void number(FILE *out, enum unit unit, double value)
{
	static const char *const form[] = {
		[UNIT_COUNT] = " %.0f\n", [UNIT_SECONDS] = " %.6f\n", [UNIT_RATIO] = " %g\n"
	};

	fprintf(out, form[unit], value);
}

static void write_node(FILE *out, struct daemon *daemon)
{
	struct subject s = { .daemon = daemon };
	double value;

	metrics_head(out, "mete_build_info", "The version of meted; always 1.", false);
	fprintf(out, "mete_build_info{version=\"%s\"} 1\n", daemon_version());
	for (size_t i = 0; i < COUNT(of_node); i++) {
		of_node[i].value(&s, &value);
		metrics_head(out, of_node[i].name, of_node[i].help, of_node[i].counter);
		fputs(of_node[i].name, out);
		number(out, of_node[i].unit, value);
	}
	metrics_head(out, "mete_events_total", "Events by kind; repeated events count each time.", true);
	for (int i = 0; i < JOURNAL_KINDS; i++)
		fprintf(out, "mete_events_total{kind=\"%s\"} %llu\n", journal_kind_name((enum journal_kind)i),
			(unsigned long long)journal_count(daemon->journal, (enum journal_kind)i));
	metrics_head(out, "mete_requests_refused_total", "Refused requests on the control socket, by reason.", true);
	for (unsigned int i = 0; i < daemon->meter.code_count; i++)
		fprintf(out, "mete_requests_refused_total{reason=\"%s\"} %llu\n", daemon->meter.refused[i].code,
			(unsigned long long)daemon->meter.refused[i].count);
}

static void write_device_words(FILE *out, struct daemon *daemon)
{
	char uuid[DEVICE_UUID_TEXT], name[METRICS_LABEL_BYTES];

	metrics_head(out, "mete_device_info", "Identity of the device; always 1.", false);
	for (unsigned int i = 0; i < daemon->machine.device_count; i++) {
		const struct device *d = &daemon->machine.device[i];

		fprintf(out, "mete_device_info{device=\"%u\",uuid=\"%s\",name=\"%s\",driver=\"%s\"} 1\n", d->index,
			device_uuid_format(d->uuid, uuid), metrics_label(d->name, name), device_kind_name(d->kind));
	}
	metrics_head(out, "mete_device_state", "State of the device: active, cordoned, draining or lost; always 1.",
		     false);
	for (unsigned int i = 0; i < daemon->machine.device_count; i++) {
		const struct device *d = &daemon->machine.device[i];

		fprintf(out, "mete_device_state{device=\"%u\",uuid=\"%s\",state=\"%s\"} 1\n", d->index,
			device_uuid_format(d->uuid, uuid), state_device(daemon, d->uuid));
	}
}

static void write_devices(FILE *out, struct daemon *daemon)
{
	struct subject s[MACHINE_MAX_DEVICES];
	char uuid[DEVICE_UUID_TEXT];
	double value;

	write_device_words(out, daemon);
	for (unsigned int i = 0; i < daemon->machine.device_count; i++) {
		const struct device *d = &daemon->machine.device[i];

		s[i] = (struct subject){ .daemon = daemon,
					 .device = d,
					 .device_meter = telemetry_device(daemon, d->uuid),
					 .held_bytes = daemon_held_bytes(daemon, d->uuid) };
	}
	for (size_t k = 0; k < COUNT(of_device); k++) {
		metrics_head(out, of_device[k].name, of_device[k].help, of_device[k].counter);
		for (unsigned int i = 0; i < daemon->machine.device_count; i++) {
			if (!of_device[k].value(&s[i], &value))
				continue;
			fprintf(out, "%s{device=\"%u\",uuid=\"%s\"}", of_device[k].name, s[i].device->index,
				device_uuid_format(s[i].device->uuid, uuid));
			number(out, of_device[k].unit, value);
		}
	}
}

void metrics_write_labels(FILE *out, const struct grant *g)
{
	for (unsigned int i = 0; i < GRANT_LABELS; i++) /* one without is one with "", as Prometheus has it */
		if (*g->label[i])
			fprintf(out, ",%s=\"%s\"", grant_label_name((enum grant_label)i), g->label[i]);
}

static void write_tenant_words(FILE *out, struct daemon *daemon)
{
	char user[GRANT_NAME_BYTES], text[METRICS_LABEL_BYTES];

	metrics_head(out, "mete_tenant_info", "User and labels of the grant, and how it is served; always 1.", false);
	for (struct tenant *t = daemon->tenants; t; t = t->next) {
		fprintf(out,
			"mete_tenant_info{tenant=\"%s\",user=\"%s\",driver=\"%s\",class=\"%s\","
			"walled=\"%s\"",
			t->grant.name, metrics_label(telemetry_user(t->grant.uid, user), text),
			device_kind_name(t->grant.kind), policy_class_name(t->grant.share[0].compute.terms.class),
			t->grant.wall ? "true" : "false");
		metrics_write_labels(out, &t->grant);
		fputs("} 1\n", out);
	}
	metrics_head(out, "mete_tenant_state",
		     "The state of the tenant: running, idle, frozen or quarantined; always 1.", false);
	for (struct tenant *t = daemon->tenants; t; t = t->next)
		fprintf(out, "mete_tenant_state{tenant=\"%s\",state=\"%s\"} 1\n", t->grant.name, state_tenant(t));
	metrics_head(out, "mete_tenant_refusals_total", "Refusals of the tenant by reason: memory, attach or protocol.",
		     true);
	for (struct tenant *t = daemon->tenants; t; t = t->next)
		for (unsigned int i = 0; t->telemetry && i < REFUSALS; i++)
			fprintf(out, "mete_tenant_refusals_total{tenant=\"%s\",reason=\"%s\"} %llu\n", t->grant.name,
				refusal_name((enum refusal)i), (unsigned long long)t->telemetry->refused[i]);
	metrics_head(out, "mete_tenant_unknown_calls_total",
		     "Names of calls that its programs requested and this release does not know, once per process.",
		     true);
	for (struct tenant *t = daemon->tenants; t; t = t->next)
		if (t->telemetry)
			fprintf(out, "mete_tenant_unknown_calls_total{tenant=\"%s\"} %llu\n", t->grant.name,
				(unsigned long long)t->telemetry->unknown_calls);
}

/* A line for each way that the tenant's programs have come; none for those that never did. */
static void write_remote(FILE *out, struct daemon *daemon)
{
	static const struct {
		const char *name, *help;
		int count; /* -1: the sessions that there are */
	} families[] = {
		{ "mete_tenant_remote_sessions", "Programs that are connected through a worker.", -1 },
		{ "mete_tenant_remote_calls_total", "Requests that its workers have received.", WORKER_RECEIVED_CALLS },
		{ "mete_tenant_remote_received_bytes_total",
		  "Bytes that its workers have received, including data of calls.", WORKER_RECEIVED_BYTES },
		{ "mete_tenant_remote_sent_bytes_total", "Bytes that its workers have sent, including data of calls.",
		  WORKER_SENT_BYTES },
	};

	for (size_t k = 0; k < COUNT(families); k++) {
		metrics_head(out, families[k].name, families[k].help, families[k].count >= 0);
		for (struct tenant *t = daemon->tenants; t; t = t->next)
			for (unsigned int way = 0; t->telemetry && way < TRAFFIC_WAYS; way++) {
				const uint64_t *count = t->telemetry->remote[way];
				unsigned int n = traffic_sessions(daemon, t->grant.id, (enum traffic_way)way);

				if (n || count[WORKER_RECEIVED_CALLS])
					fprintf(out, "%s{tenant=\"%s\",way=\"%s\"} %llu\n", families[k].name,
						t->grant.name, traffic_way_name((enum traffic_way)way),
						families[k].count < 0 ? n
								      : (unsigned long long)count[families[k].count]);
			}
	}
}

static void write_tenants(FILE *out, struct daemon *daemon)
{
	double value;

	write_tenant_words(out, daemon);
	write_remote(out, daemon);
	for (size_t k = 0; k < COUNT(of_tenant); k++) {
		metrics_head(out, of_tenant[k].name, of_tenant[k].help, of_tenant[k].counter);
		for (struct tenant *t = daemon->tenants; t; t = t->next) {
			struct subject s = { .daemon = daemon, .tenant = t };

			if (!of_tenant[k].value(&s, &value))
				continue;
			fprintf(out, "%s{tenant=\"%s\"}", of_tenant[k].name, t->grant.name);
			number(out, of_tenant[k].unit, value);
		}
	}
	for (size_t k = 0; k < COUNT(of_share); k++) {
		metrics_head(out, of_share[k].name, of_share[k].help, of_share[k].counter);
		for (struct tenant *t = daemon->tenants; t; t = t->next)
			for (unsigned int i = 0; i < t->grant.share_count; i++) {
				struct subject s = { .daemon = daemon,
						     .tenant = t,
						     .share = &t->grant.share[i],
						     .meter = t->telemetry ? &t->telemetry->share[i] : NULL };

				if (!of_share[k].value(&s, &value))
					continue;
				fprintf(out, "%s{tenant=\"%s\",device=\"%u\"}", of_share[k].name, t->grant.name,
					s.share->device.index);
				number(out, of_share[k].unit, value);
			}
	}
}

char *metrics_text(struct daemon *daemon, enum metrics_names names, size_t *ret_bytes)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, ret_bytes);

	if (!out)
		return NULL;
	machine_keep_fresh(daemon);
	telemetry_read(daemon);
	if (names == METRICS_DCGM) {
		metrics_write_dcgm(out, daemon);
	} else {
		write_node(out, daemon);
		write_devices(out, daemon);
		write_tenants(out, daemon);
	}
	if (!fclose(out))
		return text;
	free(text);
	return NULL;
}

/* Value: -1: it is neither left out nor "dcgm". */
static int names_of(const char *compat)
{
	if (!compat || !*compat)
		return METRICS_METE;
	return strcmp(compat, "dcgm") ? -1 : METRICS_DCGM;
}

enum verbs_result metrics_ask(struct ask *ask)
{
	const char *compat = json_string_value(json_object_get(ask->request, "compat"));
	int names = names_of(compat);
	enum verbs_result r;
	size_t bytes = 0;
	char *text;

	if (names < 0 || (!compat && json_object_get(ask->request, "compat")))
		return refuse(ask, CODE_MALFORMED, "\"compat\" %.32s: there is dcgm", compat ? compat : "");
	text = metrics_text(ask->daemon, (enum metrics_names)names, &bytes);
	r = answer(ask, text ? json_pack("{s:s}", "text", text) : NULL);
	free(text);
	return r;
}
