/*
 * dra_sweep.c: see dra_state.h: grants of claims that are gone.
 *
 * Kubelet gives a claim back; but a kubelet that lost its state, or a claim that somebody forced away while the agent
 * was down, would leave its grant for ever. So the claims of each namespace that has grants are listed, when the agent
 * begins and every ten minutes. A grant is ended when its claim is gone or not allocated any more, and never while a
 * program of it runs; of a claim that lives it is noted what the scheduler counted. Who may write claims can make the
 * list of their namespace one that cannot be read: then the other namespaces have their turn all the same, and all are
 * looked at again soon.
 */
#include "connect/kubernetes/dra_state.h"

#include "base/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SECOND 1000000000ull
#define EVERY (600 * SECOND)
#define NAMESPACES_MOST 64u

struct sweeper {
	struct dra *dra;
	struct api_call *call;
	json_t *left; /* namespace to list of UIDs that have a grant */
	char namespace[254];
	uint64_t next_ns;
	unsigned int failed; /* lists in a row */
	unsigned int missed; /* passes in a row that left a namespace out */
	bool misses;	     /* this one does */
};

/* What has a grant, by namespace. */
static json_t *granted(struct dra *d)
{
	json_t *all = json_object(), *row, *list;
	const char *name;

	json_object_foreach (d->agent->grants, name, row) {
		const char *namespace = device_text(json_object_get(row, "labels"), "namespace");

		if (strncmp(name, DRA_GRANT_PREFIX, strlen(DRA_GRANT_PREFIX)) || !grant_is_ours(row) ||
		    !dra_word_good(namespace, 253))
			continue;
		list = json_object_get(all, namespace);
		if (!list && json_object_size(all) < NAMESPACES_MOST) {
			list = json_array();
			json_object_set_new(all, namespace, list);
		}
		json_array_append_new(list, json_string(name + strlen(DRA_GRANT_PREFIX)));
	}
	return all;
}

/* The claim, if it is allocated; borrowed. */
static json_t *find_alive(json_t *claims, const char *uid)
{
	json_t *claim;
	size_t i;

	json_array_foreach (claims, i, claim)
		if (!strcmp(device_text(json_object_get(claim, "metadata"), "uid"), uid))
			return json_is_object(json_object_get(json_object_get(claim, "status"), "allocation")) ? claim
													   : NULL;
	return NULL;
}

static void note_counted(struct dra *d, json_t *object, const char *uid)
{
	json_t *devices = json_object_get(d->agent->edits.machine, "devices");
	struct dra_claim claim;
	struct fault f;

	if (!dra_claim_read(&claim, object, devices, d->node, &f))
		dra_grant_counted(d, uid, &claim);
	dra_claim_free(&claim);
}

static void sweep(struct sweeper *s, json_t *uids, json_t *claims)
{
	json_t *uid, *claim;
	struct fault f;
	size_t i;

	json_array_foreach (uids, i, uid) {
		const char *text = json_string_value(uid);

		claim = find_alive(claims, text);
		if (claim)
			note_counted(s->dra, claim, text);
		else if (!dra_grant_end(s->dra, text, false, &f))
			program_log("claim %s of namespace %s is gone: its grant is ended", text, s->namespace);
	}
}

static void claims_came(void *owner, const struct api_answer *answer)
{
	struct sweeper *s = owner;
	json_t *items = json_object_get(answer->body, "items");

	s->call = NULL;
	if (answer->status != 200 || !json_is_array(items)) {
		s->failed++;
		s->misses = true;
		s->next_ns = clock_now_ns() + api_pause_ns(s->failed);
		json_object_del(s->left, s->namespace);
		dra_say(s->dra, *answer->line ? answer->line : "the API server's list of claims is no JSON");
		return;
	}
	s->failed = 0;
	if (s->dra->agent->grants)
		sweep(s, json_object_get(s->left, s->namespace), items);
	json_object_del(s->left, s->namespace);
}

static void ask(struct sweeper *s, const char *namespace)
{
	char path[512];

	snprintf(s->namespace, sizeof(s->namespace), "%s", namespace);
	snprintf(path, sizeof(path), DRA_GROUP "/%s/namespaces/%s/resourceclaims", s->dra->version, s->namespace);
	s->call = api_ask(s->dra->api, "GET", path, NULL, claims_came, s);
}

void sweeper_tend(struct sweeper *s)
{
	uint64_t now = clock_now_ns();

	if (s->call || now < s->next_ns || !*s->dra->version || !s->dra->agent->grants)
		return;
	if (!s->left)
		s->left = granted(s->dra);
	if (json_object_size(s->left)) {
		ask(s, json_object_iter_key(json_object_iter(s->left)));
		return;
	}
	json_decref(s->left);
	s->left = NULL;
	s->missed = s->misses ? s->missed + 1 : 0;
	s->misses = false;
	s->next_ns = now + (s->missed ? api_pause_ns(s->missed) : EVERY);
}

struct sweeper *sweeper_new(struct dra *d)
{
	struct sweeper *s = calloc(1, sizeof(*s));

	if (s)
		s->dra = d;
	return s;
}

void sweeper_free(struct sweeper *s)
{
	if (!s)
		return;
	if (s->call)
		api_cancel(s->call);
	json_decref(s->left);
	free(s);
}
