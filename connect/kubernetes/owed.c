/* owed.c: see owed.h. */
#include "connect/kubernetes/owed.h"

#include "base/clock.h"
#include "connect/kubernetes/plugin.h"

#include <stdlib.h>
#include <string.h>

#define SECOND 1000000000ull
#define ANSWER_WITHIN (5 * SECOND) /* kubelet waits 30 s, and does not end a pod meanwhile */
#define KEPT (60 * SECOND) /* kubelet tries a container again within 15 s */

struct owed {
	struct owed *next;
	struct plugin *plugin;
	char id[AGENT_NAME_BYTES];
	struct grpc_later *later;
	uint64_t answer_ns, until_ns;
	char why[512];
};

/* Takes it out of the list, and tells who waits. */
static void end_at(struct owed **at, int status, const char *line)
{
	struct owed *o = *at;
	json_t *empty = json_object();

	*at = o->next;
	if (o->later)
		grpc_later_answer(o->later, status, empty, line);
	json_decref(empty);
	free(o);
}

static struct owed **find(struct agent *a, const char *id)
{
	struct owed **at = &a->owed;

	while (*at && strcmp((*at)->id, id))
		at = &(*at)->next;
	return at;
}

void owed_add(struct plugin *p, const char *id, struct grpc_later *later, const char *why)
{
	struct owed **at = find(p->agent, id), *o = *at;
	uint64_t now = clock_now_ns();

	if (!o)
		o = *at = calloc(1, sizeof(*o));
	else if (o->later)
		grpc_later_answer(o->later, GRPC_UNAVAILABLE, NULL, "asked again");
	if (!o) {
		if (later)
			grpc_later_answer(later, GRPC_EXHAUSTED, NULL, why);
		return;
	}
	/* It keeps its place. */
	o->plugin = p;
	o->later = later;
	o->answer_ns = now + ANSWER_WITHIN;
	o->until_ns = now + KEPT;
	snprintf(o->id, sizeof(o->id), "%s", id);
	if (strcmp(o->why, why))
		program_log("%s is owed, its container waits: %s", id, why);
	snprintf(o->why, sizeof(o->why), "%s", why);
}

void owed_drop(struct agent *a, const char *id)
{
	struct owed **at = find(a, id);

	if (*at)
		end_at(at, GRPC_OK, "");
}

void owed_make(struct agent *a)
{
	struct owed **at = &a->owed, *o;
	struct fault f;
	bool made;
	int r;

	while ((o = *at) && a->grants && !a->away_ns) {
		f.text[0] = 0;
		r = grant_take_again(a, o->plugin->share, o->id, &made, &f);
		if (grant_comes(r)) {
			snprintf(o->why, sizeof(o->why), "%s", f.text);
			at = &o->next;
			continue;
		}
		if (r)
			program_log("%s cannot be promised: %s", o->id, f.text);
		else
			program_log("%s is promised, for a container that waited", o->id);
		end_at(at, r ? GRPC_PRECONDITION : GRPC_OK, f.text);
		agent_refresh_soon(a);
	}
}

void owed_tend(struct agent *a)
{
	struct owed **at = &a->owed, *o;
	uint64_t now = clock_now_ns();

	while ((o = *at)) {
		if (o->later && now >= o->answer_ns) {
			program_log("a container waits for %s: %s", o->id, o->why);
			grpc_later_answer(o->later, GRPC_EXHAUSTED, NULL, o->why);
			o->later = NULL;
		}
		if (now >= o->until_ns)
			end_at(at, GRPC_EXHAUSTED, o->why);
		else
			at = &o->next;
	}
}

void owed_end(struct plugin *p)
{
	struct owed **at = &p->agent->owed;

	while (*at)
		if ((*at)->plugin == p)
			end_at(at, GRPC_UNAVAILABLE, "mete-agent ends");
		else
			at = &(*at)->next;
}
