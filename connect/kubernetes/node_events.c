/* node_events.c: see node_events.h. */
#include "connect/kubernetes/node_events.h"

#include "client/control.h"
#include "connect/kubernetes/api.h"
#include "verb/choose.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define EVENTS_PATH "/api/v1/namespaces/default/events"
#define QUEUE_MOST 32u /* a node of sixteen devices that is drained */
#define MESSAGE_BYTES 512

struct node_events {
	struct api *api;
	struct api_call *call; /* under way: of the first in the queue */
	char node[254];
	json_t *queue;	  /* events that are to be sent */
	json_t *states;	  /* by UUID; NULL: nothing has been seen yet */
	json_t *troubles; /* reason to its line, that are not over */
};

/* What is said of a state. */
static const struct {
	const char *state, *reason, *words;
	bool warning;
} states[] = {
	{ "active", "DeviceActive", "is in service", false },
	{ "cordoned", "DeviceCordoned", "takes no new shares", true },
	{ "draining", "DeviceDraining", "is being taken out of service", true },
	{ "lost", "DeviceLost", "does not answer", true },
};

struct node_events *node_events_new(struct api *api, const char *node)
{
	struct node_events *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->api = api;
	e->queue = json_array();
	e->troubles = json_object();
	snprintf(e->node, sizeof(e->node), "%s", node);
	return e;
}

void node_events_free(struct node_events *e)
{
	if (!e)
		return;
	if (e->call)
		api_cancel(e->call);
	json_decref(e->queue);
	json_decref(e->states);
	json_decref(e->troubles);
	free(e);
}

static void send_first(struct node_events *e);

/* Whatever came of it: the next one. */
static void sent(void *owner, const struct api_answer *answer)
{
	struct node_events *e = owner;

	e->call = NULL;
	json_array_remove(e->queue, 0);
	send_first(e);
}

static void send_first(struct node_events *e)
{
	json_t *first = json_array_get(e->queue, 0);

	if (!e->call && first)
		e->call = api_ask(e->api, "POST", EVENTS_PATH, first, sent, e);
}

__attribute__((format(printf, 4, 5))) static void say(struct node_events *e, bool warning, const char *reason,
						      const char *fmt, ...)
{
	char text[MESSAGE_BYTES], stamp[32];
	json_t *event;
	struct timespec now;
	struct tm day;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &day);
	strftime(stamp, sizeof(stamp), "%Y-%m-%dT%H:%M:%SZ", &day);
	if (json_array_size(e->queue) >= QUEUE_MOST)
		return;
	/* Named as kubelet names its own; a node's events are by custom in this namespace, and its UID is its name. */
	event = json_pack("{s:s s:s s:{s:o s:s} s:{s:s s:s s:s s:s} s:s s:s s:s s:s s:s s:i s:{s:s s:s}}", "apiVersion",
			  "v1", "kind", "Event", "metadata", "name",
			  json_sprintf("%s.%lx%08lx", e->node, (long)now.tv_sec, (long)now.tv_nsec), "namespace",
			  "default", "involvedObject", "apiVersion", "v1", "kind", "Node", "name", e->node, "uid",
			  e->node, "reason", reason, "message", text, "type", warning ? "Warning" : "Normal",
			  "firstTimestamp", stamp, "lastTimestamp", stamp, "count", 1, "source", "component",
			  "mete-agent", "host", e->node);
	json_array_append_new(e->queue, event);
	send_first(e);
}

static void tell(struct node_events *e, json_t *device)
{
	const char *why = device_text(device, "reason");

	for (size_t i = 0; i < sizeof(states) / sizeof(*states); i++)
		if (!strcmp(device_text(device, "state"), states[i].state))
			say(e, states[i].warning, states[i].reason, "GPU %lld (%s) %s%s%s",
			    (long long)device_number(device, "index"), device_text(device, "uuid"), states[i].words,
			    *why ? ": " : "", why);
}

/* The first time only what is out of service is news. */
void node_events_devices(struct node_events *e, json_t *devices)
{
	json_t *now = json_object(), *device;
	size_t i;

	if (!e) {
		json_decref(now);
		return;
	}
	json_array_foreach (devices, i, device) {
		const char *uuid = device_text(device, "uuid"), *state = device_text(device, "state");
		const char *before = json_string_value(json_object_get(e->states, uuid));

		json_object_set_new(now, uuid, json_string(state));
		if (strcmp(before ? before : "active", state))
			tell(e, device);
	}
	json_decref(e->states);
	e->states = now;
}

void node_events_trouble(struct node_events *e, const char *reason, const char *line)
{
	json_t *before = e ? json_object_get(e->troubles, reason) : NULL;

	if (!e || (!line && !before) || (line && before && !strcmp(json_string_value(before), line)))
		return;
	say(e, line, reason, "%s", line ? line : "it is over");
	if (line)
		json_object_set_new(e->troubles, reason, json_string(line));
	else
		json_object_del(e->troubles, reason);
}
