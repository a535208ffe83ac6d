/*
 * trace_ask.c: what is asked about traces on the control socket, and the answers; trace.h has their form.
 *
 * Events go out as lines of numbers in one text: an object for each of them would keep meted from its turns for
 * milliseconds.
 */
#include "base/clock.h"
#include "daemon/daemon.h"
#include "daemon/descriptors.h"
#include "daemon/owner.h"
#include "daemon/subordinate.h"
#include "daemon/turns/recorder.h"
#include "daemon/tenants/tenant.h"
#include "daemon/turns/trace.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EVENTS_AT_ONCE 512u
#define LINE_BYTES 256u /* more than a line of nine numbers can have */

static bool may_see(uid_t uid, const struct tenant *tenant)
{
	return owner_is(uid) || uid == tenant->grant.uid;
}

static enum code refuse(enum code code, char *error, size_t size, const char *fmt, const char *what)
{
	snprintf(error, size, fmt, what);
	return code;
}

/* Every name must be a grant's that the user may see. Value: CODE_NONE or the code. */
static enum code check_names(struct daemon *daemon, uid_t uid, json_t *names, char *error, size_t size)
{
	json_t *name;
	size_t i;

	if (names && !json_is_array(names))
		return refuse(CODE_MALFORMED, error, size, "%s must be a list of names", "\"grants\"");
	json_array_foreach(names, i, name)
	{
		const char *text = json_string_value(name);
		struct tenant *tenant = text ? tenant_find(daemon, text) : NULL;

		if (!text)
			return refuse(CODE_MALFORMED, error, size, "%s must be a list of names", "\"grants\"");
		if (!tenant)
			return refuse(CODE_UNKNOWN_GRANT, error, size,
				      "there is no grant %.64s: `mete ps` lists those that there are", text);
		if (!may_see(uid, tenant))
			return refuse(CODE_NOT_YOURS, error, size,
				      "grant %.64s belongs to another user: only they and root may trace it", text);
	}
	return CODE_NONE;
}

/* Owners find a place whatever other users hold. Value: CODE_NONE or the code. */
static enum code find_place(const struct daemon *daemon, uid_t uid, char *error, size_t size)
{
	unsigned int of_kind = 0, own = 0;

	for (const struct trace *t = daemon->traces; t; t = t->next) {
		of_kind += owner_is(t->uid) == owner_is(uid);
		own += subordinate_user(t->uid) == subordinate_user(uid);
	}
	if (of_kind >= TRACES_MAX)
		return refuse(CODE_BUSY, error, size,
			      "%s traces are being taken already: wait until one has ended", "8");
	if (own >= TRACES_OF_UID && !owner_is(uid))
		return refuse(CODE_BUSY, error, size,
			      "you are taking %s traces already: wait until one has ended", "2");
	return CODE_NONE;
}

static enum code start(struct daemon *daemon, uid_t uid, json_t *request, json_t **ret, char *error, size_t size)
{
	json_t *names = json_object_get(request, "grants"), *wanted = NULL;
	double seconds = json_number_value(json_object_get(request, "seconds"));
	unsigned int left_out = 0;
	enum code code = check_names(daemon, uid, names, error, size);
	struct trace *t;

	if (code)
		return code;
	if (!(seconds > 0 && seconds <= TRACE_MAX_SECONDS))
		return refuse(CODE_MALFORMED, error, size, "\"seconds\" must be above 0 and at most %s", "3600");
	code = find_place(daemon, uid, error, size);
	if (code)
		return code;
	for (struct tenant *tenant = daemon->tenants; tenant; tenant = tenant->next)
		left_out += !may_see(uid, tenant);
	if (json_array_size(names))
		wanted = json_deep_copy(names);
	t = trace_new(daemon, uid, wanted, (uint64_t)(seconds * 1e9));
	if (!t)
		return refuse(CODE_MEMORY, error, size, "no memory for %s: end other programs", "a trace");
	*ret = json_pack("{s:I s:I s:f s:i}", "trace", (json_int_t)t->id, "begin_ns", (json_int_t)t->begin_ns,
			 "seconds", seconds, "left_out", (int)(wanted ? 0 : left_out));
	return CODE_NONE;
}

static struct trace *find(struct daemon *daemon, uid_t uid, json_t *request)
{
	json_int_t id = json_integer_value(json_object_get(request, "trace"));
	struct trace *t = daemon->traces;

	while (t && (json_int_t)t->id != id)
		t = t->next;
	return t && (!uid || t->uid == uid) ? t : NULL;
}

static const char *reason_word(unsigned int reason)
{
	static const char *const words[] = {
		[TRACE_GIVEN] = "given", [TRACE_BEFORE] = "before", [TRACE_OVER] = "over",
		[TRACE_IDLE] = "idle",	 [TRACE_TAKEN] = "taken",   [TRACE_FROZEN] = "frozen"
	};

	return reason < sizeof(words) / sizeof(*words) ? words[reason] : "?";
}

static size_t write_event(const struct trace *t, const struct trace_event *e, char line[LINE_BYTES])
{
	int64_t at = (int64_t)(e->at - t->begin_ns), until = (int64_t)(e->until - t->begin_ns);
	int n = 0;

	switch ((enum trace_kind)e->kind) {
	case TRACE_LAUNCH:
		n = snprintf(line, LINE_BYTES,
			     "L %" PRIu32 " %u %u %" PRIu32 " %" PRIu64 " %u %" PRId64 " %" PRId64 " %" PRIu64
			     " %" PRIu64 "\n",
			     e->who, e->device, e->engine, e->thread, e->stream, e->name, at, until, e->length,
			     e->amount);
		break;
	case TRACE_TURN:
		n = snprintf(line, LINE_BYTES, "T %" PRIu32 " %u %u %d %" PRId64 " ", e->who, e->device, e->engine,
			     e->flag, at);
		n += e->until ? snprintf(line + n, LINE_BYTES - (size_t)n, "%" PRId64, until)
			      : snprintf(line + n, LINE_BYTES - (size_t)n, "-");
		n += snprintf(line + n, LINE_BYTES - (size_t)n, " %" PRIu64 " %" PRId64 " %s\n", e->length,
			      (int64_t)e->amount, reason_word(e->name));
		break;
	case TRACE_EDGE:
		n = snprintf(line, LINE_BYTES, "E %" PRIu32 " %u %u %d %" PRId64 "\n", e->who, e->device, e->engine,
			     e->flag, at);
		break;
	case TRACE_GONE:
		n = snprintf(line, LINE_BYTES, "G %" PRIu32 " %" PRId64 "\n", e->who, at);
		break;
	case TRACE_WAIT:
		n = snprintf(line, LINE_BYTES, "W %" PRIu32 " %u %u %" PRId64 " %" PRId64 "\n", e->who, e->device,
			     e->engine, at, until);
		break;
	}
	return (size_t)n;
}

static json_t *take_events(struct trace *t)
{
	char *text = malloc(EVENTS_AT_ONCE * LINE_BYTES);
	size_t used = 0;
	json_t *json;

	if (!text)
		return NULL;
	for (unsigned int n = 0; n < EVENTS_AT_ONCE && t->event_tail != t->event_head; n++)
		used += write_event(t, &t->event[t->event_tail++ % TRACE_EVENTS], text + used);
	json = json_stringn(text, used);
	free(text);
	return json;
}

static json_t *take_list(json_t **list)
{
	json_t *taken = *list;

	*list = json_array();
	return taken;
}

static json_t *take_names(struct trace *t)
{
	json_t *names = json_array();

	while (t->names_told < t->name_count)
		json_array_append_new(names, json_string(t->name[t->names_told++]));
	return names;
}

static enum code read_trace(struct daemon *daemon, uid_t uid, json_t *request, json_t **ret, char *error, size_t size)
{
	struct trace *t = find(daemon, uid, request);
	json_t *events;
	bool done;

	if (!t)
		return refuse(CODE_UNKNOWN_TRACE, error, size,
			      "there is no such trace%s: it has been read to its end or given up, or meted was "
			      "started anew",
			      "");
	t->read_ns = clock_now_ns();
	events = take_events(t);
	done = t->ended && t->event_tail == t->event_head;
	*ret = json_pack("{s:b s:I s:{s:I s:I} s:o s:o s:o s:o s:o s:o}", "done", done, "end_ns", (json_int_t)t->end_ns,
			 "lost", "overwritten", (json_int_t)t->lost_overwritten, "full", (json_int_t)t->lost_full,
			 "devices", take_list(&t->devices), "tenants", take_list(&t->tenants), "clients",
			 take_list(&t->clients_new), "notes", take_list(&t->notes), "names", take_names(t), "events",
			 events);
	if (done)
		trace_free(t);
	return CODE_NONE;
}

static enum code stop(struct daemon *daemon, uid_t uid, json_t *request, json_t **ret, char *error, size_t size)
{
	struct trace *t = find(daemon, uid, request);

	if (!t)
		return refuse(CODE_UNKNOWN_TRACE, error, size, "there is no such trace%s", "");
	trace_end(t);
	*ret = json_object();
	return CODE_NONE;
}

enum code trace_ask(struct daemon *daemon, uid_t uid, json_t *request, json_t **ret, char *error, size_t size)
{
	const char *op = json_string_value(json_object_get(request, "op"));

	*ret = NULL;
	if (!strcmp(op, "trace_start"))
		return start(daemon, uid, request, ret, error, size);
	if (!strcmp(op, "trace_read"))
		return read_trace(daemon, uid, request, ret, error, size);
	return stop(daemon, uid, request, ret, error, size);
}
