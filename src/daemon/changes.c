/* changes.c: see changes.h. */
#include "daemon/changes.h"

#include "base/clock.h"
#include "daemon/ask.h"
#include "daemon/daemon.h"
#include "daemon/health/health.h"
#include "daemon/store/store.h"
#include "daemon/tenants/grant_ask.h"
#include "daemon/tenants/tenant.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOOK_NS 10000000u /* a busy loop has thousands of rounds a second: it is looked at no more often */
#define WITHIN_S 30
#define WITHIN_MOST_S 300
#define SECOND_NS 1000000000u

struct waiter {
	struct control *control;
	uint64_t seen;
	uint64_t until_ns;
};

struct changes {
	struct waiter waiter[CONTROL_CONNECTIONS];
	unsigned int count;
	struct timer *timer; /* of the next look that no other work would bring */
	uint64_t looked_ns;
};

/* FNV-1a of 64 bits, a value at a time. */
static uint64_t mix(uint64_t hash, const void *bytes, size_t count)
{
	const uint8_t *b = bytes;

	for (size_t i = 0; i < count; i++)
		hash = (hash ^ b[i]) * UINT64_C(0x100000001b3);
	return hash;
}

static uint64_t mix_number(uint64_t hash, uint64_t number)
{
	return mix(hash, &number, sizeof(number));
}

static uint64_t mix_text(uint64_t hash, const char *text)
{
	return mix(hash, text, strlen(text) + 1);
}

static uint64_t mix_device(uint64_t hash, struct daemon *daemon, const struct device *d)
{
	hash = mix(hash, d->uuid, sizeof(d->uuid));
	hash = mix_number(hash, d->total_bytes);
	hash = mix_number(hash, daemon_promised_bytes(daemon, d->uuid, NULL));
	hash = mix_number(hash, daemon_promised_ppm(daemon, d->uuid, NULL));
	hash = mix_number(hash, (uint64_t)store_native(daemon->store, d->uuid));
	hash = mix_number(hash, (uint64_t)health_state(daemon, d->uuid));
	return mix_text(hash, health_reason(daemon, d->uuid));
}

static uint64_t mix_tenant(uint64_t hash, struct tenant *t)
{
	const struct grant *g = &t->grant;

	hash = mix_number(hash, g->id);
	hash = mix_text(hash, grant_state(t));
	hash = mix_number(hash, (uint64_t)g->runner_pid);
	hash = mix_number(hash, t->clients != NULL);
	hash = mix_number(hash, t->expires_ns != 0);
	for (unsigned int i = 0; i < GRANT_LABELS; i++)
		hash = mix_text(hash, g->label[i]);
	for (unsigned int i = 0; i < g->share_count; i++)
		hash = mix_number(hash, g->share[i].ledger.quota_units);
	return hash;
}

static uint64_t state_now(struct daemon *daemon)
{
	const struct machine *m = &daemon->machine;
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (unsigned int i = 0; i < m->device_count; i++)
		hash = mix_device(hash, daemon, &m->device[i]);
	for (struct tenant *t = daemon->tenants; t; t = t->next)
		hash = mix_tenant(hash, t);
	return hash;
}

static json_t *state_json(uint64_t now, bool changed)
{
	char text[20];

	snprintf(text, sizeof(text), "%016" PRIx64, now);
	return json_pack("{s:s s:b}", "seen", text, "changed", changed);
}

static void on_time(void *owner)
{
	changes_look(owner);
}

/* The list of those who wait. NULL: no memory. */
static struct changes *list_of(struct daemon *daemon)
{
	struct changes *c = daemon->changes ? daemon->changes : calloc(1, sizeof(*c));

	if (c && !c->timer)
		c->timer = timer_new(daemon->loop, on_time, daemon);
	daemon->changes = c;
	return c && c->timer ? c : NULL;
}

static void look_at(struct changes *c, uint64_t when_ns, uint64_t now_ns)
{
	timer_start(c->timer, when_ns > now_ns ? (when_ns - now_ns) / 1000000 + 1 : 0, 0);
}

static void drop(struct changes *c, unsigned int i)
{
	c->waiter[i] = c->waiter[--c->count];
}

/* When the first of them has waited long enough. */
static uint64_t first_end(const struct changes *c)
{
	uint64_t first = c->waiter[0].until_ns;

	for (unsigned int i = 1; i < c->count; i++)
		if (c->waiter[i].until_ns < first)
			first = c->waiter[i].until_ns;
	return first;
}

void changes_look(struct daemon *daemon)
{
	struct changes *c = daemon->changes;
	uint64_t now_ns, now;

	if (!c || !c->count)
		return;
	now_ns = clock_now_ns();
	if (now_ns - c->looked_ns < LOOK_NS) {
		look_at(c, c->looked_ns + LOOK_NS, now_ns);
		return;
	}
	c->looked_ns = now_ns;
	now = state_now(daemon);
	/* An answer may let the connection ask again at once: that entry is behind those that are still to be seen. */
	for (unsigned int i = c->count; i-- > 0;) {
		struct waiter w = c->waiter[i];
		json_t *answer;

		if (w.seen == now && now_ns < w.until_ns)
			continue;
		drop(c, i);
		answer = state_json(now, w.seen != now);
		json_object_set_new(answer, "ok", json_true());
		control_answer(w.control, answer);
	}
	if (c->count)
		look_at(c, first_end(c), now_ns);
}

static bool read_seen(struct ask *ask, uint64_t *ret)
{
	const char *text = json_string_value(json_object_get(ask->request, "seen"));
	int length = 0;

	if (text && (strlen(text) != 16 || sscanf(text, "%16" SCNx64 "%n", ret, &length) != 1 || length != 16)) {
		refuse(ask, CODE_MALFORMED, "\"seen\" must be what an answer to changes said");
		return false;
	}
	return true;
}

static bool read_within(struct ask *ask, uint64_t *ret_ns)
{
	json_t *within = json_object_get(ask->request, "within_s");
	json_int_t s = within ? json_integer_value(within) : WITHIN_S;

	if ((within && !json_is_integer(within)) || s < 0 || s > WITHIN_MOST_S) {
		refuse(ask, CODE_MALFORMED, "\"within_s\" must be a whole number of seconds, 0 to %d", WITHIN_MOST_S);
		return false;
	}
	*ret_ns = (uint64_t)s * SECOND_NS;
	return true;
}

enum verbs_result changes_ask(struct ask *ask)
{
	uint64_t now = state_now(ask->daemon), seen = ~now, within_ns, now_ns = clock_now_ns();
	struct changes *c;

	if (!read_seen(ask, &seen) || !read_within(ask, &within_ns))
		return VERBS_ANSWERED;
	if (seen != now || !within_ns || !ask->asker->control)
		return answer(ask, state_json(now, seen != now));
	c = list_of(ask->daemon);
	if (!c || c->count == CONTROL_CONNECTIONS)
		return refuse(ask, CODE_MEMORY, "there is no memory for one more request that waits: ask again");
	c->waiter[c->count++] = (struct waiter){ ask->asker->control, seen, now_ns + within_ns };
	look_at(c, first_end(c), now_ns);
	return VERBS_HELD;
}

static int find(const struct changes *c, const struct control *control)
{
	for (unsigned int i = 0; c && i < c->count; i++)
		if (c->waiter[i].control == control)
			return (int)i;
	return -1;
}

bool changes_waits(const struct daemon *daemon, const struct control *control)
{
	return find(daemon->changes, control) >= 0;
}

void changes_forget(struct daemon *daemon, const struct control *control)
{
	int i = find(daemon->changes, control);

	if (i >= 0)
		drop(daemon->changes, (unsigned int)i);
}

void changes_stop(struct daemon *daemon)
{
	if (daemon->changes)
		timer_free(daemon->changes->timer);
	free(daemon->changes);
	daemon->changes = NULL;
}
