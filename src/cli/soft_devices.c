/*
 * soft_devices.c: `mete soft devices`: the software devices as a program would find them now: those in use, or those
 * that the configuration would make.
 */
#include "base/size.h"
#include "verb/choose.h"
#include "client/grants.h"
#include "verb/say.h"
#include "cli/soft_driver.h"
#include "verb/table.h"
#include "verb/verb.h"
#include "wire/soft_usage.h"

#include <string.h>

static int attribute(const struct soft_driver *d, CUdevice_attribute a, int device)
{
	int value = 0;

	d->attribute(&value, a, device);
	return value;
}

#define PROCESSES 256u

/* What the device tells of its time. */
static json_t *device_time(const struct soft_driver *d, int device)
{
	static const char id[16] = SOFT_USAGE_ID;
	static struct soft_usage_process process[PROCESSES];
	const struct soft_usage_table *table = NULL;
	json_t *list = json_array();
	struct soft_usage u;

	if (d->table((const void **)&table, (const CUuuid *)id) || table->usage(device, &u, process, PROCESSES)) {
		json_decref(list);
		return json_null();
	}
	for (uint32_t i = 0; i < u.process_count && i < PROCESSES; i++)
		json_array_append_new(list, json_pack("{s:i, s:s%, s:I}", "pid", process[i].pid, "command",
						      process[i].command, strlen(process[i].command), "served_ns",
						      (json_int_t)process[i].served_ns));
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:s, s:I, s:I, s:o}", "at_ns", (json_int_t)u.at_ns, "wall_ns",
			 (json_int_t)u.wall_ns, "served_ns", (json_int_t)u.served_ns, "switch_ns",
			 (json_int_t)u.switch_ns, "idle_ns", (json_int_t)u.idle_ns, "sharing", u.sharing, "slice_ns",
			 (json_int_t)u.slice_ns, "switch_cost_ns", (json_int_t)u.switch_cost_ns, "processes", list);
}

static json_t *device_row(const struct soft_driver *d, int device)
{
	char name[256] = "", uuid[64];
	size_t total = 0;
	CUuuid u = { 0 };
	const unsigned char *b = (const unsigned char *)u.bytes;

	d->name(name, sizeof(name), device);
	d->total(&total, device);
	d->uuid(&u, device);
	snprintf(uuid, sizeof(uuid), "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0],
		 b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15]);
	return json_pack(
		"{s:i, s:s, s:s, s:I, s:i, s:i, s:i, s:o}", "index", device, "uuid", uuid, "name", name, "total_bytes",
		(json_int_t)total, "cc_major", attribute(d, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device),
		"cc_minor", attribute(d, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device), "sms",
		attribute(d, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device), "time", device_time(d, device));
}

/* The part of its time in which it served kernels; "-" before the first one. */
static void busy_cell(struct table *t, json_t *row)
{
	json_t *time = json_object_get(row, "time");
	double wall = (double)json_integer_value(json_object_get(time, "wall_ns"));

	if (wall > 0)
		table_cell(t, "%.0f%%", 100 * (double)json_integer_value(json_object_get(time, "served_ns")) / wall);
	else
		table_cell(t, "-");
}

static void print_table(json_t *list, bool wide)
{
	static const char *const heads[] = { ">DEVICE", ">TOTAL", ">BUSY", ">SMS", ">CC", "UUID", "NAME", NULL };
	static const unsigned char ranks[] = { 0, 0, 0, 0, 0, 1, 0 };
	char total[SIZE_TEXT_BYTES];
	struct table t;
	json_t *row;
	size_t i;

	table_begin(&t, heads);
	if (!wide)
		table_fit(&t, ranks);
	json_array_foreach(list, i, row)
	{
		table_cell(&t, "%lld", (long long)device_number(row, "index"));
		table_cell(&t, "%s", size_format((uint64_t)device_number(row, "total_bytes"), total));
		busy_cell(&t, row);
		table_cell(&t, "%lld", (long long)device_number(row, "sms"));
		table_cell(&t, "%lld.%lld", (long long)device_number(row, "cc_major"),
			   (long long)device_number(row, "cc_minor"));
		table_cell(&t, "%s", device_text(row, "uuid"));
		table_cell(&t, "%s", device_text(row, "name"));
	}
	table_end(&t);
}

VERB(soft_devices)
{
	json_t *list = json_array();
	struct soft_driver d;
	struct fault f;
	int count = 0, r;

	if (soft_driver_open(&d, &r, &f)) {
		if (*f.text)
			say_error("%s", f.text);
		return EXIT_FAILED;
	}
	if (!r)
		d.count(&count);
	for (int i = 0; i < count; i++)
		json_array_append_new(list, device_row(&d, i));
	if (option_given(line, "json"))
		return print_json("devices", list);
	print_table(list, option_given(line, "wide"));
	json_decref(list);
	return EXIT_DONE;
}
