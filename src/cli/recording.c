/* recording.c: see recording.h. */
#include "cli/recording.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool recording_init(struct recording *r, int64_t begin_ns)
{
	*r = (struct recording){ .devices = json_array(),
				 .tenants = json_array(),
				 .clients = json_array(),
				 .names = json_array(),
				 .notes = json_array(),
				 .begin_ns = begin_ns,
				 .end_ns = begin_ns };
	return r->devices && r->tenants && r->clients && r->names && r->notes;
}

void recording_deinit(struct recording *r)
{
	json_decref(r->devices);
	json_decref(r->tenants);
	json_decref(r->clients);
	json_decref(r->names);
	json_decref(r->notes);
	free(r->launch);
	free(r->turn);
	free(r->edge);
	free(r->wait);
	free(r->gone);
	*r = (struct recording){ 0 };
}

int64_t recording_length(const struct recording *r)
{
	return r->end_ns - r->begin_ns;
}

const char *recording_text(json_t *list, uint32_t number, const char *key)
{
	const char *text = json_string_value(json_object_get(json_array_get(list, number), key));

	return text ? text : "";
}

json_int_t recording_number(json_t *list, uint32_t number, const char *key)
{
	return json_integer_value(json_object_get(json_array_get(list, number), key));
}

int64_t recording_client_end(const struct recording *r, uint32_t client)
{
	return client < r->gones && r->gone[client] ? r->gone[client] : recording_length(r);
}

uint32_t recording_tenant(const struct recording *r, uint32_t client)
{
	return (uint32_t)recording_number(r->clients, client, "tenant");
}

const char *recording_name(const struct recording *r, uint32_t name)
{
	const char *text = json_string_value(json_array_get(r->names, name));

	return text && *text ? text : "other";
}

/* A place at the end of an array. NULL: no memory, and it is said once, at the end. */
static void *place(struct recording *r, void **array, size_t *count, size_t *room, size_t size)
{
	if (*count == *room) {
		size_t more = *room ? *room * 2 : 256;
		void *grown = realloc(*array, more * size);

		if (!grown) {
			r->no_memory = true;
			return NULL;
		}
		*array = grown;
		*room = more;
	}
	return (char *)*array + (*count)++ * size;
}

static bool client_known(const struct recording *r, uint32_t client, unsigned int device, unsigned int engine)
{
	return client < json_array_size(r->clients) && device < json_array_size(r->devices) &&
	       engine < RECORDING_ENGINES;
}

/* Value: false when the line makes no sense. */
static bool take_launch(struct recording *r, const char *line)
{
	unsigned int device, engine, name;
	struct launch l, *at;

	if (sscanf(line, "%" SCNu32 " %u %u %" SCNu32 " %" SCNu64 " %u %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNu64,
		   &l.client, &device, &engine, &l.thread, &l.stream, &name, &l.submitted, &l.passed, &l.predicted,
		   &l.amount) != 10)
		return false;
	if (!client_known(r, l.client, device, engine))
		return false;
	l.device = (uint8_t)device;
	l.engine = (uint8_t)engine;
	l.name = name;
	at = place(r, (void **)&r->launch, &r->launches, &r->launch_room, sizeof(l));
	if (at)
		*at = l;
	return true;
}

static bool take_turn(struct recording *r, const char *line)
{
	unsigned int device, engine, open;
	struct turn_event t = { 0 }, *at;
	char until[32];

	if (sscanf(line, "%" SCNu32 " %u %u %u %" SCNd64 " %31s %" SCNd64 " %" SCNd64 " %11s", &t.tenant, &device,
		   &engine, &open, &t.at, until, &t.bound, &t.lag, t.reason) != 9)
		return false;
	if (t.tenant >= json_array_size(r->tenants) || device >= json_array_size(r->devices) ||
	    engine >= RECORDING_ENGINES)
		return false;
	t.device = (uint8_t)device;
	t.engine = (uint8_t)engine;
	t.open = open;
	t.until_set = strcmp(until, "-");
	t.until = strtoll(until, NULL, 10);
	at = place(r, (void **)&r->turn, &r->turns, &r->turn_room, sizeof(t));
	if (at)
		*at = t;
	return true;
}

static bool take_edge(struct recording *r, const char *line)
{
	unsigned int device, engine, begins;
	struct edge e, *at;

	if (sscanf(line, "%" SCNu32 " %u %u %u %" SCNd64, &e.client, &device, &engine, &begins, &e.at) != 5 ||
	    !client_known(r, e.client, device, engine))
		return false;
	e.device = (uint8_t)device;
	e.engine = (uint8_t)engine;
	e.begins = begins;
	at = place(r, (void **)&r->edge, &r->edges, &r->edge_room, sizeof(e));
	if (at)
		*at = e;
	return true;
}

static bool take_wait(struct recording *r, const char *line)
{
	unsigned int device, engine;
	struct span w, *at;

	if (sscanf(line, "%" SCNu32 " %u %u %" SCNd64 " %" SCNd64, &w.who, &device, &engine, &w.begin, &w.end) != 5 ||
	    !client_known(r, w.who, device, engine))
		return false;
	w.device = (uint8_t)device;
	w.engine = (uint8_t)engine;
	at = place(r, (void **)&r->wait, &r->waits, &r->wait_room, sizeof(w));
	if (at)
		*at = w;
	return true;
}

static bool take_gone(struct recording *r, const char *line)
{
	uint32_t client;
	int64_t at, *place_of;

	if (sscanf(line, "%" SCNu32 " %" SCNd64, &client, &at) != 2 || client >= json_array_size(r->clients))
		return false;
	while (r->gones <= client) {
		place_of = place(r, (void **)&r->gone, &r->gones, &r->gone_room, sizeof(*r->gone));
		if (!place_of)
			return true;
		*place_of = 0;
	}
	r->gone[client] = at;
	return true;
}

static void take_line(struct recording *r, const char *line)
{
	bool good = false;

	switch (*line) {
	case 'L':
		good = take_launch(r, line + 1);
		break;
	case 'T':
		good = take_turn(r, line + 1);
		break;
	case 'E':
		good = take_edge(r, line + 1);
		break;
	case 'G':
		good = take_gone(r, line + 1);
		break;
	case 'W':
		good = take_wait(r, line + 1);
		break;
	}
	r->nonsense += !good;
}

/* One line at a time: sscanf() measures all that follows. */
static void take_lines(struct recording *r, const char *events)
{
	char line[256];

	while (*events) {
		size_t length = strcspn(events, "\n");

		snprintf(line, sizeof(line), "%.*s", (int)length, events);
		take_line(r, line);
		events += length + (events[length] == '\n');
	}
}

/* Entries come in the order of their numbers. */
static void take_list(json_t *list, json_t *answer, const char *key)
{
	json_array_extend(list, json_object_get(answer, key));
}

bool recording_take(struct recording *r, json_t *answer)
{
	json_t *lost = json_object_get(answer, "lost");
	const char *events = json_string_value(json_object_get(answer, "events"));
	bool any = events && *events;

	take_list(r->devices, answer, "devices");
	take_list(r->tenants, answer, "tenants");
	take_list(r->clients, answer, "clients");
	take_list(r->names, answer, "names");
	take_list(r->notes, answer, "notes");
	r->overwritten = (uint64_t)json_integer_value(json_object_get(lost, "overwritten"));
	r->full = (uint64_t)json_integer_value(json_object_get(lost, "full"));
	r->done = json_is_true(json_object_get(answer, "done"));
	r->end_ns = json_integer_value(json_object_get(answer, "end_ns"));
	if (any)
		take_lines(r, events);
	return any;
}
