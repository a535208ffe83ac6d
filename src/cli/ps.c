/*
 * ps.c: `mete ps`: who holds how much: one row per process and device, and one for a grant that has no process.
 *
 * Columns that the output has no room for are left out; --wide prints all, --json everything.
 */
#include "base/size.h"
#include "cli/choose.h"
#include "cli/grants.h"
#include "cli/table.h"
#include "cli/tenant_of.h"
#include "cli/terms.h"
#include "cli/verb.h"

#include <stdio.h>

/* The process is a worker that executes the calls of the named program; or the grant is for such, and has none. */
static bool walled(json_t *grant, json_t *process)
{
	return process ? json_is_true(json_object_get(process, "worker")) : *device_text(grant, "wall");
}

static void add_row(struct table *t, json_t *grant, json_t *process, json_t *device, json_t *share)
{
	char held[SIZE_TEXT_BYTES], quota[SIZE_TEXT_BYTES], peak[SIZE_TEXT_BYTES], requested[48], measured[16];
	char user[TENANT_OF_BYTES], container[TENANT_OF_BYTES], wait[16];
	bool frozen = json_is_true(json_object_get(share, "frozen"));
	json_t *holder = device ? device : share;

	table_cell(t, "%s", device_text(grant, "name"));
	table_cell(t, "%s", tenant_of_user(grant, user));
	if (process)
		table_cell(t, "%lld", (long long)device_number(process, "pid"));
	else
		table_cell(t, "-");
	table_cell(t, "%lld", (long long)device_number(share, "index"));
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
	table_cell(t, "%s%s", process ? device_text(process, "command") : "-", walled(grant, process) ? " (wall)" : "");
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

static int print_names(json_t *grants)
{
	json_t *grant;
	size_t i;

	json_array_foreach(grants, i, grant) puts(device_text(grant, "name"));
	json_decref(grants);
	return EXIT_DONE;
}

static const char *const heads[] = { "NAME",  "USER",	    ">PID",	 ">DEV",  ">HELD", ">QUOTA",
				     ">PEAK", ">REQUESTED", ">MEASURED", ">WAIT", "CLASS", "POLICY",
				     "TIER",  "CONTAINER",  "COMMAND",	 NULL };
/* What is left out first where the output is narrow (table_fit). */
static const unsigned char ranks[] = { 0, 7, 0, 0, 0, 0, 4, 0, 8, 5, 3, 6, 1, 2, 0 };

VERB(ps)
{
	struct control control = CONTROL_CLOSED;
	struct table t;
	struct fault f;
	json_t *grants, *grant;
	size_t i;

	if (grants_get(&control, NULL, &grants, &f)) {
		say_error("%s", f.text);
		control_close(&control);
		return EXIT_FAILED;
	}
	control_close(&control);
	if (option_given(line, "json"))
		return print_json("grants", grants);
	if (option_given(line, "quiet"))
		return print_names(grants);
	table_begin(&t, heads);
	if (!option_given(line, "wide"))
		table_fit(&t, ranks);
	json_array_foreach(grants, i, grant) add_grant(&t, grant);
	table_end(&t);
	json_decref(grants);
	return EXIT_DONE;
}
