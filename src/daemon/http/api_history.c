/* api_history.c: /api/v1/history: what a device, a tenant or the node has held and used in the last day. */
#include "daemon/http/api.h"

#include "daemon/daemon.h"
#include "daemon/http/http.h"
#include "daemon/tenants/tenant.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SPAN_DEFAULT_S 600u
#define SPAN_MOST_S 86400u

/* The first ones are of devices and shares, the others (flow.h) of tenants and of the node. */
#define SERIES (FIGURES + FLOWS)

static const struct {
	const char *name;
	bool ppm;
} figures[SERIES] = {
	[FIGURE_HELD] = { "held", false },
	[FIGURE_PROMISED] = { "promised", false },
	[FIGURE_GOT] = { "got", true },
	[FIGURE_WANTED] = { "wanted", true },
	[FIGURE_WAITED] = { "waited", true },
	[FIGURES + FLOW_RECEIVED] = { "received", false },
	[FIGURES + FLOW_SENT] = { "sent", false },
};

/* The figures that a list with commas names; all `of` them without one. Value: a bit each; 0: one is unknown. */
static unsigned int read_series(const char *list, unsigned int of, struct http_reply *reply)
{
	unsigned int wanted = 0;

	if (!list || !*list)
		return (1u << of) - 1;
	while (*list) {
		size_t n = strcspn(list, ",");
		unsigned int i = 0;

		while (i < of && (strlen(figures[i].name) != n || strncmp(figures[i].name, list, n)))
			i++;
		if (i == of) {
			http_reply_error(reply, 400,
					 "series %.32s: there are held, promised, got, wanted and waited, "
					 "and of tenants and the node received and sent",
					 list);
			return 0;
		}
		wanted |= 1u << i;
		list += n + (list[n] == ',');
	}
	return wanted;
}

struct what {
	const struct history *of[TELEMETRY_DEVICES];
	unsigned int count;
	const struct history *flow;
	int64_t before_s; /* this meted began */
};

/*
 * The fine steps of a meted that was killed are lost: for those of before this one the next level's means are there.
 * The first step of that after nothing is left out: it is the mean of a part.
 */
static void coarsen(const struct history *h, unsigned int figure, unsigned int level, int64_t first, unsigned int count,
		    const struct what *what, uint64_t *value)
{
	int64_t step_s = history_step(level);

	for (unsigned int i = 0; i < count && level + 1 < HISTORY_LEVELS; i++) {
		int64_t at_s = (first + i) * step_s;
		uint64_t coarse[2];

		if (value[i] != HISTORY_NONE || at_s >= what->before_s)
			continue;
		history_read(h, figure, level + 1, at_s / history_step(level + 1) - 1, 2, coarse);
		if (coarse[0] != HISTORY_NONE)
			value[i] = coarse[1];
	}
}

/* Adds a history's steps to what is there: a tenant of several devices is shown as one. */
static void add(const struct history *h, unsigned int figure, unsigned int level, int64_t first, unsigned int count,
		const struct what *what, uint64_t *sum)
{
	uint64_t *value = h ? calloc(count, sizeof(*value)) : NULL;

	if (!value)
		return;
	history_read(h, figure, level, first, count, value);
	coarsen(h, figure, level, first, count, what, value);
	for (unsigned int i = 0; i < count; i++)
		if (value[i] != HISTORY_NONE)
			sum[i] = (sum[i] == HISTORY_NONE ? 0 : sum[i]) + value[i];
	free(value);
}

static json_t *values_json(const uint64_t *value, unsigned int count, bool ppm)
{
	json_t *list = json_array();

	for (unsigned int i = 0; i < count; i++)
		json_array_append_new(list, value[i] == HISTORY_NONE ? json_null()
					    : ppm		     ? json_real((double)value[i] / 1e6)
								     : json_integer((json_int_t)value[i]));
	return list;
}

_Static_assert(TELEMETRY_DEVICES >= WIRE_MAX_DEVICES && TELEMETRY_DEVICES >= MACHINE_MAX_DEVICES, "all have room");

/* All devices that are there. */
static void find_node(struct daemon *daemon, struct what *ret)
{
	for (unsigned int i = 0; i < daemon->machine.device_count; i++) {
		struct device_meter *d = telemetry_device(daemon, daemon->machine.device[i].uuid);

		if (d)
			ret->of[ret->count++] = d->meter.history;
	}
	ret->flow = daemon->meter.flow.history;
}

/* Value: false when it was refused. */
static bool find(const struct http_request *request, struct http_reply *reply, struct what *ret)
{
	const char *device = http_query(request, "device"), *name = http_query(request, "tenant");
	const char *node = http_query(request, "node");
	struct daemon *daemon = request->daemon;
	struct tenant *t = name ? tenant_find(daemon, name) : NULL;
	uint8_t uuid[DEVICE_UUID_BYTES];
	struct device_meter *d = NULL;
	int at;

	if (!!device + !!name + !!node != 1) {
		http_reply_error(reply, 400, "give device=UUID, tenant=NAME or node=1, one of the three");
		return false;
	}
	if (node) {
		find_node(daemon, ret);
		return true;
	}
	if (device) {
		at = device_find(daemon->machine.device, daemon->machine.device_count, device);
		if (at >= 0)
			d = telemetry_device(daemon, daemon->machine.device[at].uuid);
		else if (!device_uuid_parse(device, uuid))
			for (unsigned int i = 0; i < daemon->meter.device_count; i++)
				if (!memcmp(daemon->meter.device[i].uuid, uuid, DEVICE_UUID_BYTES))
					d = &daemon->meter.device[i];
	}
	if (!d && !t) {
		http_reply_error(reply, 404, device ? "there is no device %.64s: `mete devices` lists them"
						    : "there is no tenant %.64s: `mete ps` lists them",
				 device ? device : name);
		return false;
	}
	if (d)
		ret->of[ret->count++] = d->meter.history;
	for (unsigned int i = 0; t && t->telemetry && i < t->grant.share_count; i++)
		ret->of[ret->count++] = t->telemetry->share[i].history;
	if (t && t->telemetry)
		ret->flow = t->telemetry->flow.history;
	return true;
}

/* Value: 0 when it was refused. */
static unsigned int read_span(const struct http_request *request, struct http_reply *reply)
{
	const char *text = http_query(request, "span");
	unsigned long span = SPAN_DEFAULT_S;

	if (text && *text)
		span = strspn(text, "0123456789") == strlen(text) && strlen(text) < 9 ? strtoul(text, NULL, 10) : 0;
	if (!span || span > SPAN_MOST_S) {
		http_reply_error(reply, 400, "span %.32s: it must be a number of seconds from 1 to %u", text,
				 SPAN_MOST_S);
		return 0;
	}
	return (unsigned int)span;
}

static void add_all(const struct what *what, unsigned int series, unsigned int level, int64_t first, unsigned int count,
		    uint64_t *sum)
{
	for (unsigned int k = 0; k < count; k++)
		sum[k] = HISTORY_NONE;
	if (series >= FIGURES)
		add(what->flow, series - FIGURES, level, first, count, what, sum);
	for (unsigned int i = 0; series < FIGURES && i < what->count; i++)
		add(what->of[i], series, level, first, count, what, sum);
}

void api_history(const struct http_request *request, struct http_reply *reply)
{
	unsigned int of = http_query(request, "device") ? FIGURES : SERIES, span, level, step, count;
	unsigned int wanted = read_series(http_query(request, "series"), of, reply);
	struct what what = { .before_s = request->daemon->meter.started };
	uint64_t *sum;
	json_t *series;
	int64_t first;

	if (!wanted || !(span = read_span(request, reply)) || !find(request, reply, &what))
		return;
	level = history_level(span);
	step = history_step(level);
	count = span / step ? span / step : 1;
	first = telemetry_now(request->daemon) / step - count;
	sum = calloc(count, sizeof(*sum));
	series = json_object();
	for (unsigned int i = 0; sum && i < SERIES; i++) {
		if (!(wanted >> i & 1))
			continue;
		add_all(&what, i, level, first, count, sum);
		json_object_set_new(series, figures[i].name, values_json(sum, count, figures[i].ppm));
	}
	free(sum);
	http_reply_json(reply, json_pack("{s:I s:i s:o}", "from", (json_int_t)(first * step), "step_s", (int)step,
					 "series", series));
}
