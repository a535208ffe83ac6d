/* devices.c: `mete devices`: the devices of this machine, what is promised of them and what is held. */
#include "base/size.h"
#include "verb/choose.h"
#include "client/grants.h"
#include "client/requests.h"
#include "verb/say.h"
#include "verb/table.h"
#include "verb/verb.h"

#include <stdio.h>
#include <string.h>

/* With what the device is a part of. */
static void add_name(struct table *t, json_t *device)
{
	json_t *part = json_object_get(device, "partition"), *number = json_object_get(part, "number");
	char nth[16] = "";

	if (json_is_integer(number))
		snprintf(nth, sizeof(nth), " %d", (int)json_integer_value(number));
	if (json_is_object(part))
		table_cell(t, "%s (%s%s of %s)", device_text(device, "name"), device_text(part, "mode"), nth,
			   device_text(part, "of"));
	else
		table_cell(t, "%s", device_text(device, "name"));
}

static void add_row(struct table *t, json_t *device)
{
	char total[SIZE_TEXT_BYTES], promised[SIZE_TEXT_BYTES], held[SIZE_TEXT_BYTES], used[SIZE_TEXT_BYTES] = "-";
	json_t *utilisation = json_object_get(device, "utilisation");

	if (json_is_integer(json_object_get(device, "used_bytes")))
		size_format((uint64_t)device_number(device, "used_bytes"), used);
	table_cell(t, "%lld", (long long)device_number(device, "index"));
	table_cell(t, "%s", device_text(device, "driver"));
	table_cell(t, "%s", size_format((uint64_t)device_number(device, "total_bytes"), total));
	table_cell(t, "%s", size_format((uint64_t)device_number(device, "promised_bytes"), promised));
	table_cell(t, "%s", size_format((uint64_t)device_number(device, "held_bytes"), held));
	table_cell(t, "%s", used);
	if (json_is_number(utilisation))
		table_cell(t, "%.0f%%", 100 * json_number_value(utilisation));
	else
		table_cell(t, "-");
	table_cell(t, "%s", device_text(device, "state"));
	table_cell(t, "%s", device_text(device, "uuid"));
	add_name(t, device);
}

/* Why a device is not in service. */
static void say_state(json_t *device)
{
	const char *reason = device_text(device, "reason"), *who = device_text(device, "who");

	if (*reason)
		printf("device %lld: %s%s: %s%s%s%s\n", (long long)device_number(device, "index"),
		       device_text(device, "state"),
		       json_is_true(json_object_get(device, "drained")) ? " and drained" : "", reason,
		       *who ? " (by " : "", who, *who ? ")" : "");
}

static void say_disk(json_t *disk)
{
	char taken[SIZE_TEXT_BYTES], most[SIZE_TEXT_BYTES];

	if (json_is_object(disk))
		printf("disk: %s of %s taken by memory that has left its device, in %s\n",
		       size_format((uint64_t)device_number(disk, "taken_bytes"), taken),
		       size_format((uint64_t)device_number(disk, "most_bytes"), most), device_text(disk, "folder"));
}

VERB(devices)
{
	static const char *const heads[] = { ">DEVICE", "DRIVER", ">TOTAL", ">PROMISED", ">HELD", ">USED",
					     ">UTIL",	"STATE",  "UUID",   "NAME",	 NULL };
	static const unsigned char ranks[] = { 0, 0, 0, 0, 0, 2, 3, 4, 1, 0 };
	bool per_user = false;
	struct control control = CONTROL_CLOSED;
	json_t *answer, *device;
	struct table t;
	struct fault f;
	size_t i;
	int r;

	r = control_ask_again(&control, CONTROL_START, request_plain("devices"), &answer, NULL, &f);
	control_close(&control);
	if (r) {
		say_error("%s", f.text);
		return EXIT_FAILED;
	}
	if (option_given(line, "json")) {
		r = print_json("devices", json_incref(json_object_get(answer, "devices")));
		json_decref(answer);
		return r;
	}
	table_begin(&t, heads);
	if (!option_given(line, "wide"))
		table_fit(&t, ranks);
	json_array_foreach(json_object_get(answer, "devices"), i, device) add_row(&t, device);
	table_end(&t);
	json_array_foreach(json_object_get(answer, "devices"), i, device)
	{
		say_state(device);
		per_user |= json_is_true(json_object_get(device, "per_user"));
	}
	say_disk(json_object_get(answer, "disk"));
	if (per_user)
		puts("Software devices are each user's own: what they do for users is not seen here, but for what "
		     "tenants hold.");
	if (!i)
		say_warning("no device, not even the software one; `mete doctor` says what is missing");
	json_decref(answer);
	return i ? EXIT_DONE : EXIT_FAILED;
}
