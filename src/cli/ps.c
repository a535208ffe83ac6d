/*
 * ps.c: `mete ps`: who holds how much: one row per process and device, and one for a grant that has no process.
 *
 * Columns that the output has no room for are left out; --wide prints all, --json everything.
 */
#include "base/size.h"
#include "verb/choose.h"
#include "verb/duration.h"
#include "verb/expires.h"
#include "client/grants.h"
#include "verb/say.h"
#include "verb/table.h"
#include "cli/suspend.h"
#include "cli/tenant_of.h"
#include "verb/terms.h"
#include "verb/verb.h"

#include <stdio.h>
#include <string.h>

/* The process is a worker that executes the calls of the named program; or the grant is for such, and has none. */
static bool walled(json_t *grant, json_t *process)
{
	return process ? json_is_true(json_object_get(process, "worker")) : *device_text(grant, "wall");
}

/* The columns, with the kind of device and without, and which are left out first where the output is narrow. */
#define HEADS_FRONT "NAME", "USER", ">PID", ">DEV"
#define HEADS_BACK                                                                                                     \
	">HELD", ">QUOTA", ">PEAK", ">REQUESTED", ">MEASURED", ">WAIT", "CLASS", "POLICY", "TIER", "CONTAINER",        \
		"COMMAND", NULL
#define RANKS_FRONT 0, 7, 0, 0
#define RANKS_BACK 0, 0, 4, 0, 8, 5, 3, 6, 1, 2, 0

static const char *const heads[] = { HEADS_FRONT, HEADS_BACK };
static const char *const heads_driver[] = { HEADS_FRONT, "DRIVER", HEADS_BACK };
static const unsigned char ranks[] = { RANKS_FRONT, RANKS_BACK };
static const unsigned char ranks_driver[] = { RANKS_FRONT, 0, RANKS_BACK };

#define COLUMNS (sizeof(ranks_driver)) /* with the kind */
#define MOVED_BYTES 128u

/* What it has there that could not leave. */
static void add_staying(json_t *holder, char text[MOVED_BYTES])
{
	const int64_t stays = device_number(holder, "held_bytes") - device_number(holder, "movable_bytes");
	char size[SIZE_TEXT_BYTES];

	if (json_is_integer(json_object_get(holder, "movable_bytes")) && stays > 0)
		snprintf(text + strlen(text), MOVED_BYTES - strlen(text), "%s%s stay", *text ? ", " : "",
			 size_format((uint64_t)stays, size));
}

/* Where its memory is, unless it is all on the device; or what would keep it there. */
static const char *moved_text(json_t *grant, json_t *holder, char text[MOVED_BYTES])
{
	const char *residence = device_text(holder, "residence");
	char away[SIZE_TEXT_BYTES];

	snprintf(text, MOVED_BYTES, "%s%s", *device_text(holder, "stays") ? "stays: " : "",
		 device_text(holder, "stays"));
	if (!strcmp(residence, "leaving") || !strcmp(residence, "returning"))
		snprintf(text, MOVED_BYTES, "%s, %lld %%", residence, (long long)device_number(holder, "moved_pct"));
	else if (!strcmp(residence, "away"))
		snprintf(text, MOVED_BYTES, "%s%s away%s", suspend_holds(grant) ? "suspended, " : "",
			 size_format((uint64_t)device_number(holder, "away_bytes"), away),
			 device_number(holder, "disk_bytes") ? ", on disk" : "");
	if (!strcmp(residence, "resident") || !strcmp(residence, "away"))
		add_staying(holder, text);
	if (json_is_number(json_object_get(holder, "late_seconds")))
		snprintf(text + strlen(text), MOVED_BYTES - strlen(text), "%sleaves late: asked %.0f s ago",
			 *text ? ", " : "", json_number_value(json_object_get(holder, "late_seconds")));
	return text;
}

static void add_row(struct table *t, json_t *grant, json_t *process, json_t *device, json_t *share)
{
	char held[SIZE_TEXT_BYTES], quota[SIZE_TEXT_BYTES], peak[SIZE_TEXT_BYTES], requested[48], measured[16];
	char moved[MOVED_BYTES], left[32], user[TENANT_OF_BYTES], container[TENANT_OF_BYTES], wait[16];
	bool frozen = json_is_true(json_object_get(share, "frozen"));
	json_t *holder = device ? device : share;

	table_cell(t, "%s", device_text(grant, "name"));
	table_cell(t, "%s", tenant_of_user(grant, user));
	if (process)
		table_cell(t, "%lld", (long long)device_number(process, "pid"));
	else
		table_cell(t, "-");
	table_cell(t, "%lld", (long long)device_number(share, "index"));
	if (t->columns == COLUMNS)
		table_cell(t, "%s", device_text(json_object_get(grant, "driver"), "kind"));
	table_cell(t, "%s", size_format((uint64_t)device_number(holder, "held_bytes"), held));
	table_cell(t, "%s", size_format((uint64_t)device_number(share, "quota_bytes"), quota));
	table_cell(t, "%s", size_format((uint64_t)device_number(holder, "peak_bytes"), peak));
	table_cell(t, "%s", frozen ? "frozen" : terms_requested(share, requested));
	table_cell(t, "%s", terms_percent(share, "share_10s", measured));
	table_cell(t, "%s", terms_percent(share, "wait_10s", wait));
	table_cell(t, "%s", device_text(share, "class"));
	table_cell(t, "%s%s", device_text(share, "policy"),
		   json_is_true(json_object_get(share, "held_back")) ? " (held)" : "");
	table_cell(t, "%s", device_text(share, "tier"));
	table_cell(t, "%s", tenant_of_container(grant, container));
	if (*moved_text(grant, holder, moved))
		table_cell(t, "%s%s (%s)", process ? device_text(process, "command") : "-",
			   walled(grant, process) ? " (wall)" : "", moved);
	else if (!process && *expires_left(grant, left))
		table_cell(t, "- (ends in %s)", left);
	else
		table_cell(t, "%s%s", process ? device_text(process, "command") : "-",
			   walled(grant, process) ? " (wall)" : "");
}

static json_t *share_of(json_t *grant, json_t *device)
{
	json_t *share;
	size_t i;

	json_array_foreach(json_object_get(grant, "devices"), i,
			   share) if (device_number(share, "index") == device_number(device, "index")) return share;
	return device;
}

static void add_grant(struct table *t, json_t *grant)
{
	json_t *process, *device;
	size_t i, j, rows = 0;

	json_array_foreach(json_object_get(grant, "processes"), i, process)
		json_array_foreach(json_object_get(process, "devices"), j, device)
	{
		add_row(t, grant, process, device, share_of(grant, device));
		rows++;
	}
	if (rows)
		return;
	json_array_foreach(json_object_get(grant, "devices"), j, device) add_row(t, grant, NULL, NULL, device);
}

/* "0, 1" */
static const char *list_devices(json_t *request, char *text, size_t size)
{
	json_t *device;
	size_t i, n = 0;

	*text = 0;
	json_array_foreach(json_object_get(request, "devices"), i, device) if (n < size) n +=
		(size_t)snprintf(text + n, size - n, "%s%lld", i ? ", " : "", (long long)json_integer_value(device));
	return text;
}

/* Those who wait for room, the first first. */
static void print_waiting(json_t *waiting)
{
	char user[TENANT_OF_BYTES], devices[64], since[32];
	json_t *request;
	size_t i;

	json_array_foreach(waiting, i, request)
		printf("%swaiting: pid %lld (%s), place %lld, device %s, for %s\n", i ? "" : "\n",
		       (long long)device_number(request, "pid"), tenant_of_user(request, user),
		       (long long)device_number(request, "place"),
		       *list_devices(request, devices, sizeof(devices)) ? devices : "-",
		       duration_format((long)device_number(request, "waited_s"), since));
}

/* Programs that cannot begin, or go on, before the grant is resumed. */
static void print_suspended(json_t *grant)
{
	size_t waiting = suspend_waiting(grant);

	if (!waiting)
		return;
	printf("%s: suspended: ", device_text(grant, "name"));
	suspend_print_waiting(grant);
	printf(" wait%s for `mete set %s --resume`\n", waiting == 1 ? "s" : "", device_text(grant, "name"));
}

/* Memory that waits for room, or could not leave. */
static void print_moving(json_t *grants)
{
	json_t *grant;
	size_t i;

	json_array_foreach(grants, i, grant)
	{
		json_t *suspension = json_object_get(grant, "suspension");
		const char *why = json_string_value(json_object_get(suspension, "why"));
		const char *state = json_string_value(json_object_get(suspension, "state"));
		json_t *yield = json_object_get(grant, "yield");
		char bytes[SIZE_TEXT_BYTES];

		if (device_number(yield, "waiting_bytes"))
			printf("%s: waits since %.1f s for %s that it is promised and others were lent; they have %g "
			       "s\n",
			       device_text(grant, "name"), json_number_value(json_object_get(yield, "waiting_seconds")),
			       size_format((uint64_t)device_number(yield, "waiting_bytes"), bytes),
			       json_number_value(json_object_get(yield, "within_seconds")));
		if (why)
			printf("%s: %s%s\n", device_text(grant, "name"),
			       state && !strcmp(state, "refused") ? "stays on its device: " : "", why);
		print_suspended(grant);
	}
}

/* The two sides of the ledger: the kernel's, and the programs'. */
static void print_guarded(json_t *grants)
{
	json_t *grant;
	size_t i, lines = 0;

	json_array_foreach(grants, i, grant)
	{
		json_t *g = json_object_get(grant, "guard");
		char used[SIZE_TEXT_BYTES], quota[SIZE_TEXT_BYTES], said[SIZE_TEXT_BYTES], apart[SIZE_TEXT_BYTES];
		json_int_t difference = json_integer_value(json_object_get(g, "difference_bytes"));

		if (!json_is_object(g))
			continue;
		printf("%sguard (%s): %s: counts %s of %s, the programs say %s: %s %s; %lld calls refused, %lld "
		       "processes ended%s\n",
		       lines++ ? "" : "\n", device_text(g, "front"), device_text(grant, "name"),
		       size_format((uint64_t)device_number(g, "used_bytes"), used),
		       size_format((uint64_t)device_number(g, "quota_bytes"), quota),
		       size_format((uint64_t)device_number(g, "said_bytes"), said),
		       size_format((uint64_t)(difference < 0 ? -difference : difference), apart),
		       difference < 0 ? "less" : "more", (long long)device_number(g, "refused"),
		       (long long)device_number(g, "killed"),
		       json_is_true(json_object_get(g, "stale"))
			       ? " (nobody writes the count: is mete-guard.service up?)"
			       : "");
	}
}

static int print_names(json_t *grants)
{
	json_t *grant;
	size_t i;

	json_array_foreach(grants, i, grant) puts(device_text(grant, "name"));
	json_decref(grants);
	return EXIT_DONE;
}

/* The grants' devices are of several kinds: an index alone does not say which device it is. */
static bool has_kinds(json_t *grants)
{
	const char *first = NULL;
	json_t *grant;
	size_t i;

	json_array_foreach(grants, i, grant)
	{
		const char *kind = device_text(json_object_get(grant, "driver"), "kind");

		if (first && strcmp(first, kind))
			return true;
		first = kind;
	}
	return false;
}

VERB(ps)
{
	struct control control = CONTROL_CLOSED;
	struct table t;
	struct fault f;
	json_t *grants, *waiting = NULL, *grant;
	bool with_driver;
	size_t i;

	if (grants_get_all(&control, NULL, &grants, &waiting, &f)) {
		say_error("%s", f.text);
		control_close(&control);
		return EXIT_FAILED;
	}
	control_close(&control);
	if (option_given(line, "json") || option_given(line, "quiet")) {
		json_decref(waiting);
		return option_given(line, "json") ? print_json("grants", grants) : print_names(grants);
	}
	with_driver = has_kinds(grants);
	table_begin(&t, with_driver ? heads_driver : heads);
	if (!option_given(line, "wide"))
		table_fit(&t, with_driver ? ranks_driver : ranks);
	json_array_foreach(grants, i, grant) add_grant(&t, grant);
	table_end(&t);
	print_moving(grants);
	if (option_given(line, "verbose"))
		print_guarded(grants);
	print_waiting(waiting);
	json_decref(waiting);
	json_decref(grants);
	return EXIT_DONE;
}
