/* top_view.c: see top_view.h. */
#include "cli/top_view.h"
#include "client/requests.h"

#include "base/clean_text.h"
#include "verb/choose.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct top_head top_heads[TOP_COLUMNS] = {
	[TOP_NAME] = { "NAME", "the grant; below it, when expanded, its processes by their pids", false, 0 },
	[TOP_DEVICE] = { "DEV", "the device's number", false, 0 },
	[TOP_POLICY] = { "POLICY", "how the device's time is shared (mete policy)", false, 7 },
	[TOP_CLASS] = { "CLASS", "high, normal or low; or \"frozen\"; or where its memory is: leaving, away, returning",
			false, 2 },
	[TOP_REQUESTED] = { "REQUESTED", "requested share in percent: guarantee, or guarantee-limit; wN: weight", true,
			    0 },
	[TOP_1S] = { "1S", "measured share of the last second, in percent of the device's time", true, 6 },
	[TOP_10S] = { "10S", "measured share of the last 10 seconds", true, 0 },
	[TOP_60S] = { "60S", "measured share of the last 60 seconds", true, 4 },
	[TOP_HISTORY] = { "HISTORY", "measured share over the last minute, the newest to the right", false, 5 },
	[TOP_MEMORY] = { "MEMORY", "device memory: held/quota", true, 0 },
	[TOP_WAIT] = { "WAIT", "percent of the last 10 seconds in which it waited at the gate", true, 8 },
	[TOP_TIER] = { "TIER", "how shares are enforced: T2 bounded work, T3 hardware time slices", false, 1 },
	[TOP_PROCESSES] = { "N", "processes", true, 3 },
	[TOP_COMMAND] = { "COMMAND", "what runs", false, 0 },
};

double top_figure(json_t *object, const char *key)
{
	json_t *value = json_object_get(object, key);

	return json_is_number(value) ? json_number_value(value) : NAN;
}

static void percent_text(double pct, char *text, size_t size)
{
	if (isnan(pct))
		snprintf(text, size, "-");
	else
		snprintf(text, size, "%.1f", pct);
}

/* "1.5G": at most four letters and a unit. */
static void bytes_text(double bytes, char text[16])
{
	const char *unit = "BKMGTP";

	if (isnan(bytes)) {
		snprintf(text, 16, "-");
		return;
	}
	while (bytes >= 1024 && unit[1]) {
		bytes /= 1024;
		unit++;
	}
	snprintf(text, 16, bytes < 10 && bytes - floor(bytes) >= 0.05 ? "%.1f%c" : "%.0f%c", bytes, *unit);
}

static void memory_text(double held, double of, char *text, size_t size)
{
	char left[16], right[16];

	bytes_text(held, left);
	bytes_text(of, right);
	snprintf(text, size, "%s/%s", left, right);
}

static const char *word_or_dash(json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text && *text ? text : "-";
}

static void put_text(struct top_row *row, enum top_column column, const char *text)
{
	snprintf(row->text[column], TOP_TEXT, "%s", text);
	clean_text_line(row->text[column]);
}

static void put_percent(struct top_row *row, enum top_column column, double pct)
{
	row->value[column] = pct;
	percent_text(pct, row->text[column], TOP_TEXT);
}

static void put_requested(struct top_row *row, json_t *share)
{
	double cores = top_figure(share, "cores"), limit = top_figure(share, "cores_limit");
	double weight = top_figure(share, "weight");
	char *text = row->text[TOP_REQUESTED];

	row->value[TOP_REQUESTED] = cores;
	if (cores > 0 && limit > cores && limit < 100)
		snprintf(text, TOP_TEXT, "%.4g-%.4g", cores, limit);
	else if (cores > 0)
		snprintf(text, TOP_TEXT, "%.4g", cores);
	else if (limit > 0 && limit < 100)
		snprintf(text, TOP_TEXT, "0-%.4g", limit);
	else if (weight > 0)
		snprintf(text, TOP_TEXT, "w%.4g", weight);
	else
		snprintf(text, TOP_TEXT, "-");
}

static void clear(struct top_row *row)
{
	for (unsigned int c = 0; c < TOP_COLUMNS; c++)
		row->value[c] = NAN;
}

/* What keeps it from working comes first. */
static const char *class_text(json_t *share)
{
	const char *residence = device_text(share, "residence");

	if (json_is_true(json_object_get(share, "frozen")))
		return "frozen";
	return *residence && strcmp(residence, "resident") ? residence : word_or_dash(share, "class");
}

static void fill_tenant(struct top_row *row, json_t *grant, json_t *share)
{
	json_t *processes = json_object_get(grant, "processes");
	size_t count = json_array_size(processes);
	char text[TOP_TEXT];

	*row = (struct top_row){ .grant = grant, .share = share };
	clear(row);
	put_text(row, TOP_NAME, word_or_dash(grant, "name"));
	row->value[TOP_DEVICE] = -top_figure(share, "index"); /* numbers go down, devices up */
	snprintf(row->text[TOP_DEVICE], TOP_TEXT, "%lld", (long long)device_number(share, "index"));
	put_text(row, TOP_POLICY, word_or_dash(share, "policy"));
	put_text(row, TOP_CLASS, class_text(share));
	put_requested(row, share);
	put_percent(row, TOP_1S, top_figure(share, "share_1s"));
	put_percent(row, TOP_10S, top_figure(share, "share_10s"));
	put_percent(row, TOP_60S, top_figure(share, "share_60s"));
	row->value[TOP_MEMORY] = top_figure(share, "held_bytes");
	memory_text(row->value[TOP_MEMORY], top_figure(share, "quota_bytes"), row->text[TOP_MEMORY], TOP_TEXT);
	put_percent(row, TOP_WAIT, top_figure(share, "wait_10s"));
	put_text(row, TOP_TIER, word_or_dash(share, "tier"));
	row->value[TOP_PROCESSES] = (double)count;
	snprintf(row->text[TOP_PROCESSES], TOP_TEXT, "%zu", count);
	snprintf(text, sizeof(text), "%.40s%s", word_or_dash(json_array_get(processes, 0), "command"),
		 count > 1 ? ", ..." : "");
	put_text(row, TOP_COMMAND, text);
}

static json_t *find_index(json_t *devices, json_t *share)
{
	json_t *device;
	size_t i;

	json_array_foreach(devices, i,
			   device) if (device_number(device, "index") == device_number(share, "index")) return device;
	return NULL;
}

/* A process on the device of the tenant's row. What it does not have of its own stays blank. */
static void fill_process(struct top_row *row, json_t *grant, json_t *share, json_t *process)
{
	json_t *device = find_index(json_object_get(process, "devices"), share);
	double got = top_figure(device, "share_10s");

	*row = (struct top_row){ .grant = grant, .share = share, .process = process };
	clear(row);
	snprintf(row->text[TOP_NAME], TOP_TEXT, "  %lld", (long long)device_number(process, "pid"));
	put_percent(row, TOP_10S, isnan(got) ? top_figure(process, "share_10s") : got);
	row->value[TOP_MEMORY] = top_figure(device, "held_bytes");
	bytes_text(row->value[TOP_MEMORY], row->text[TOP_MEMORY]);
	put_text(row, TOP_COMMAND, word_or_dash(process, "command"));
	if (json_is_false(json_object_get(process, "attached")))
		put_text(row, TOP_TIER, "away");
}

/* What the history of a tenant on a device, or with "" of the device, is found by. */
static const char *series_key(const char *name, const char *uuid, char text[160])
{
	snprintf(text, 160, "%s/%s", name, uuid);
	return text;
}

/* The tenants' rows. */

static bool matches(const struct top_row *row, json_t *grant, const char *filter)
{
	static const enum top_column looked_at[] = { TOP_NAME, TOP_POLICY, TOP_CLASS, TOP_COMMAND };
	json_t *process;
	char pid[32];
	size_t i;

	for (i = 0; i < sizeof(looked_at) / sizeof(*looked_at); i++)
		if (strcasestr(row->text[looked_at[i]], filter))
			return true;
	json_array_foreach(json_object_get(grant, "processes"), i, process)
	{
		snprintf(pid, sizeof(pid), "%lld", (long long)device_number(process, "pid"));
		if (strstr(pid, filter) || strcasestr(device_text(process, "command"), filter))
			return true;
	}
	return false;
}

static struct top_row *add_row(struct top_view *view)
{
	struct top_row *more = realloc(view->row, (view->row_count + 1) * sizeof(*more));

	if (!more)
		return NULL;
	view->row = more;
	return &view->row[view->row_count++];
}

static int compare(const void *a, const void *b, void *choice_is)
{
	const struct top_row *x = a, *y = b;
	const struct top_choice *choice = choice_is;
	double left = x->value[choice->by], right = y->value[choice->by];
	int r = 0;

	if (isnan(left) != isnan(right))
		r = isnan(left) ? 1 : -1; /* unknown: last, whatever the direction */
	else if (!isnan(left) && left != right)
		r = (left < right ? 1 : -1) * (choice->reversed ? -1 : 1);
	else if (isnan(left))
		r = strcasecmp(x->text[choice->by], y->text[choice->by]) * (choice->reversed ? -1 : 1);
	if (!r)
		r = strcmp(x->text[TOP_NAME], y->text[TOP_NAME]);
	if (!r && x->value[TOP_DEVICE] != y->value[TOP_DEVICE])
		r = x->value[TOP_DEVICE] < y->value[TOP_DEVICE] ? 1 : -1;
	return r;
}

/* Puts the processes below the rows of their tenants. */
static void expand(struct top_view *view, const struct top_choice *choice)
{
	struct top_row *tenant = view->row, *row;
	size_t count = view->row_count, i;
	json_t *process;

	view->row = NULL;
	view->row_count = 0;
	for (size_t t = 0; t < count; t++) {
		row = add_row(view);
		if (!row)
			break;
		*row = tenant[t];
		if (!choice->all_processes && !json_object_get(choice->expanded, row->text[TOP_NAME]))
			continue;
		json_array_foreach(json_object_get(tenant[t].grant, "processes"), i, process)
		{
			row = add_row(view);
			if (row)
				fill_process(row, tenant[t].grant, tenant[t].share, process);
		}
	}
	free(tenant);
}

static void arrange_tenants(struct top_view *view, const struct top_choice *choice)
{
	json_t *grant, *share;
	struct top_row row;
	char key[160];
	size_t i, j;

	free(view->row);
	view->row = NULL;
	view->row_count = view->processes = 0;
	view->tenants = json_array_size(view->grants);
	json_array_foreach(view->grants, i, grant)
	{
		view->processes += json_array_size(json_object_get(grant, "processes"));
		json_array_foreach(json_object_get(grant, "devices"), j, share)
		{
			struct top_row *place;

			fill_tenant(&row, grant, share);
			row.history = top_history_find(&view->history, series_key(device_text(grant, "name"),
										  device_text(share, "uuid"), key));
			if (*choice->filter && !matches(&row, grant, choice->filter))
				continue;
			place = add_row(view);
			if (place)
				*place = row;
		}
	}
	if (view->row_count)
		qsort_r(view->row, view->row_count, sizeof(*view->row), compare, (void *)(uintptr_t)choice);
	expand(view, choice);
}

/* The devices' rows. */

/* Who uses a device: the tenants with processes on it, those that get most first; and what they have together. */
struct use {
	struct {
		const char *name;
		double got;
	} by[32];
	size_t count;
	double busy_pct, held_bytes, guaranteed_pct;
};

static void use_add(struct use *use, const char *name, double got)
{
	size_t at = use->count;

	if (use->count == sizeof(use->by) / sizeof(*use->by))
		return;
	use->count++;
	while (at && (isnan(use->by[at - 1].got) ? -1 : use->by[at - 1].got) < (isnan(got) ? -1 : got)) {
		use->by[at] = use->by[at - 1];
		at--;
	}
	use->by[at].name = name;
	use->by[at].got = got;
}

static void find_use(const struct top_view *view, const char *uuid, struct use *use)
{
	json_t *grant, *share;
	size_t i, j;

	*use = (struct use){ .busy_pct = NAN, .guaranteed_pct = NAN };
	json_array_foreach(view->grants, i, grant) json_array_foreach(json_object_get(grant, "devices"), j, share)
	{
		double got = top_figure(share, "share_1s"), held = top_figure(share, "held_bytes");
		double cores = top_figure(share, "cores");

		if (strcmp(device_text(share, "uuid"), uuid))
			continue;
		if (!isnan(got))
			use->busy_pct = (isnan(use->busy_pct) ? 0 : use->busy_pct) + got;
		if (!isnan(cores))
			use->guaranteed_pct = (isnan(use->guaranteed_pct) ? 0 : use->guaranteed_pct) + cores;
		use->held_bytes += isnan(held) ? 0 : held;
		if (json_array_size(json_object_get(grant, "processes")) || got > 0)
			use_add(use, device_text(grant, "name"), got);
	}
}

static void who_text(const struct use *use, char *text, size_t size)
{
	size_t used = 0;

	snprintf(text, size, "-");
	for (size_t i = 0; i < use->count && used < size; i++) {
		const char *comma = used ? ", " : "";

		if (isnan(use->by[i].got))
			used += (size_t)snprintf(text + used, size - used, "%s%s", comma, use->by[i].name);
		else
			used += (size_t)snprintf(text + used, size - used, "%s%s %.0f", comma, use->by[i].name,
						 use->by[i].got);
	}
	clean_text_line(text);
}

static void arrange_device(const struct top_view *view, json_t *json, struct top_device *device)
{
	double total = top_figure(json, "total_bytes"), guaranteed = top_figure(json, "promised_cores");
	char key[160];
	struct use use;

	find_use(view, device_text(json, "uuid"), &use);
	if (!isnan(use.guaranteed_pct)) /* newer than the answer about devices */
		guaranteed = use.guaranteed_pct;
	*device = (struct top_device){ .busy_pct = use.busy_pct,
				       .full_pct = total > 0 ? use.held_bytes * 100 / total : NAN,
				       .history = top_history_find(&view->history,
								   series_key("", device_text(json, "uuid"), key)) };
	snprintf(device->index, sizeof(device->index), "%lld", (long long)device_number(json, "index"));
	snprintf(device->name, sizeof(device->name), "%s", device_text(json, "name"));
	clean_text_line(device->name);
	memory_text(use.held_bytes, total, device->memory, sizeof(device->memory));
	percent_text(guaranteed, device->guaranteed, sizeof(device->guaranteed));
	percent_text(use.busy_pct, device->busy, sizeof(device->busy));
	who_text(&use, device->who, sizeof(device->who));
}

static void arrange_devices(struct top_view *view)
{
	json_t *device;
	size_t i;

	free(view->device);
	view->device_count = 0;
	view->device = calloc(json_array_size(view->devices) + 1, sizeof(*view->device));
	if (!view->device)
		return;
	json_array_foreach(view->devices, i, device) arrange_device(view, device, &view->device[view->device_count++]);
}

void top_arrange(struct top_view *view, const struct top_choice *choice)
{
	arrange_devices(view);
	arrange_tenants(view, choice);
}

void top_remember(struct top_view *view, uint64_t now_ns, uint64_t interval_ns)
{
	struct top_history *h = &view->history;
	json_t *grant, *share, *device;
	char key[160];
	struct use use;
	size_t i, j;

	top_history_begin(h);
	json_array_foreach(view->devices, i, device)
	{
		find_use(view, device_text(device, "uuid"), &use);
		top_history_add(h, series_key("", device_text(device, "uuid"), key), use.busy_pct, now_ns, interval_ns);
	}
	json_array_foreach(view->grants, i, grant) json_array_foreach(json_object_get(grant, "devices"), j, share)
	{
		series_key(device_text(grant, "name"), device_text(share, "uuid"), key);
		top_history_add(h, key, top_figure(share, "share_1s"), now_ns, interval_ns);
	}
	top_history_end(h);
}

void top_view_free(struct top_view *view)
{
	json_decref(view->devices);
	json_decref(view->grants);
	free(view->device);
	free(view->row);
	top_history_free(&view->history);
	*view = TOP_VIEW_NONE;
}

static int fetch(struct control *control, const char *op, const char *key, json_t **value, struct fault *f)
{
	json_t *answer, *list;
	int r;

	r = control_ask_again(control, CONTROL_START, request_plain(op), &answer, NULL, f);
	if (r)
		return r;
	list = json_object_get(answer, key);
	if (json_is_array(list)) {
		json_decref(*value);
		*value = json_incref(list);
	} else {
		r = fault_set(f, -EPROTO, "%s: meted's answer has no %s in it; restart it with this version",
			      control->dir, key);
	}
	json_decref(answer);
	return r;
}

int top_fetch(struct top_view *view, struct control *control, bool machine, struct fault *f)
{
	int r = machine ? fetch(control, "devices", "devices", &view->devices, f) : 0;

	return r ? r : fetch(control, "grants", "grants", &view->grants, f);
}
