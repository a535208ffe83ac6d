/* waiting.c: see waiting.h. */
#include "daemon/tenants/waiting.h"

#include "base/clock.h"
#include "daemon/ask.h"
#include "daemon/daemon.h"
#include "daemon/journal.h"
#include "daemon/owner.h"
#include "daemon/subordinate.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

uint64_t waiting_bit(struct daemon *daemon, const uint8_t *uuid)
{
	const struct machine *m = &daemon->machine;

	for (unsigned int i = 0; i < m->device_count; i++)
		if (!memcmp(m->device[i].uuid, uuid, DEVICE_UUID_BYTES))
			return UINT64_C(1) << i;
	return 0;
}

/* Root and meted's own user are held up by nobody else. */
static unsigned int holding(const struct ask *ask, uint64_t devices, uint64_t now_ns)
{
	return queue_holding(&ask->daemon->queue, ask->asker->control, subordinate_user(ask->asker->uid), devices,
			     now_ns, owner_is(ask->asker->uid) ? 0 : QUEUE_HOLD_NS);
}

bool waiting_lets_pass(struct ask *ask, const struct device *device)
{
	struct queue *q = &ask->daemon->queue;
	uint64_t now_ns = clock_now_ns();
	unsigned int before;

	queue_sweep(q, now_ns);
	before = holding(ask, waiting_bit(ask->daemon, device->uuid), now_ns);
	if (!before)
		return true;
	refuse(ask, CODE_QUEUED,
	       "device %u (%s): %u request%s for it came before and wait%s: stand behind them (--wait), or take "
	       "another device",
	       device->index, device->name, before, before == 1 ? "" : "s", before == 1 ? "s" : "");
	return false;
}

/* What comes by itself, and whether it is waited for in the order of the queue. */
static const struct {
	enum code code;
	enum queue_hold hold;
} passing[] = {
	{ CODE_OVER_PROMISED, QUEUE_ROOM },    { CODE_QUEUED, QUEUE_ROOM },	   { CODE_OVER_LIMIT, QUEUE_OTHER },
	{ CODE_OUT_OF_SERVICE, QUEUE_OTHER }, { CODE_NATIVE_RUNS, QUEUE_OTHER },
};

static int passing_find(enum code code)
{
	for (size_t i = 0; i < sizeof(passing) / sizeof(*passing); i++)
		if (passing[i].code == code)
			return (int)i;
	return -1;
}

/* The refusal with its place; what is refused over and over is one event. */
static void tell_place(struct ask *ask, unsigned int place, enum code code, bool is_new)
{
	char text[1024];
	const char *why = json_string_value(json_object_get(ask->answer, "error"));

	if (place == 1)
		snprintf(text, sizeof(text), "first of those who wait: %s", why);
	else
		snprintf(text, sizeof(text), "behind %u who wait%s: %s", place - 1, place == 2 ? "s" : "", why);
	if (is_new)
		journal_add_of(ask->daemon, ask->asker->uid, JOURNAL_GRANT, NULL, NULL, "uid %u (pid %d) waits, %s",
			       (unsigned int)ask->asker->uid, (int)ask->asker->pid, text);
	json_object_set_new(ask->answer, "code", json_string(code_word(CODE_WAITING)));
	json_object_set_new(ask->answer, "error", json_string(text));
	json_object_set_new(ask->answer, "place", json_integer(place));
	json_object_set_new(ask->answer, "for", json_string(code_word(code)));
}

void waiting_refused(struct ask *ask, uint64_t devices)
{
	bool wanted = json_is_true(json_object_get(ask->request, "wait")) && ask->asker->control;
	struct queue *q = &ask->daemon->queue;
	int found = passing_find(ask->code);
	bool is_new = !queue_find(q, ask->asker->control);
	unsigned int place = 0;

	if (wanted && found >= 0)
		place = queue_wait(q, ask->asker->control, subordinate_user(ask->asker->uid), devices,
				   passing[found].hold, clock_now_ns());
	else
		queue_leave(q, ask->asker->control);
	if (place)
		tell_place(ask, place, ask->code, is_new);
	else
		refuse_aloud(ask);
}

void waiting_leave(struct daemon *daemon, const struct control *control)
{
	queue_leave(&daemon->queue, control);
}

json_t *waiting_save(const struct daemon *daemon, const struct control *control)
{
	const struct queue_entry *e = queue_find(&daemon->queue, control);

	return e ? json_pack("{s:I s:I s:i}", "devices", (json_int_t)e->devices, "since", (json_int_t)e->since_ns,
			     "hold", (int)e->hold)
		 : json_null();
}

void waiting_restore(struct daemon *daemon, const struct control *control, const json_t *saved)
{
	if (json_is_object(saved))
		queue_put(&daemon->queue,
			  &(struct queue_entry){
				  .who = control,
				  .devices = (uint64_t)json_integer_value(json_object_get(saved, "devices")),
				  .since_ns = (uint64_t)json_integer_value(json_object_get(saved, "since")),
				  .seen_ns = clock_now_ns(),
				  .hold = json_integer_value(json_object_get(saved, "hold")) ? QUEUE_OTHER : QUEUE_ROOM,
				  .user = subordinate_user(control_asker(control)->uid) });
}

static json_t *devices_json(const struct daemon *daemon, uint64_t devices)
{
	json_t *list = json_array();

	for (unsigned int i = 0; i < daemon->machine.device_count; i++)
		if (devices >> i & 1)
			json_array_append_new(list, json_integer(daemon->machine.device[i].index));
	return list;
}

json_t *waiting_json(struct daemon *daemon)
{
	struct queue *q = &daemon->queue;
	uint64_t now_ns = clock_now_ns();
	json_t *list = json_array();

	queue_sweep(q, now_ns);
	for (unsigned int i = 0; i < q->count; i++) {
		const struct queue_entry *e = &q->entry[i];
		const struct asker *a = control_asker(e->who);

		json_array_append_new(list,
				      json_pack("{s:i s:i s:i s:b s:o s:I}", "pid", (int)a->pid, "uid", (int)a->uid,
						"place", (int)queue_before(q, e->who, e->devices) + 1, "room",
						e->hold == QUEUE_ROOM, "devices", devices_json(daemon, e->devices),
						"waited_s", (json_int_t)((now_ns - e->since_ns) / 1000000000u)));
	}
	return list;
}
