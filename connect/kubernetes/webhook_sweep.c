/* webhook_sweep.c: see webhook_sweep.h. */
#include "connect/kubernetes/webhook_sweep.h"

#include "base/clock.h"
#include "connect/kubernetes/program.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SECOND 1000000000ull
#define PAGE "250"
#define TEMPLATES_MOST 4096u /* in one pass; the others have their turn when these are gone */
#define TEMPLATES "resourceclaimtemplates"
#define WORD "abcdefghijklmnopqrstuvwxyz0123456789-"

struct sweep {
	struct api *api;
	struct api_call *call;
	long every_s;
	uint64_t next_ns;
	unsigned int failed; /* passes in a row */
	json_t *templates;   /* of this pass: namespace to name to {version, since, used}; NULL: no pass */
	size_t count;	     /* of them */
	char space[64];	     /* whose pods are listed */
	json_t *acts;	     /* of that namespace, to be done: [name, body of a PATCH or NULL, body of a DELETE] */
	unsigned int deleted;
	char trouble[512];
};

static const char *text(json_t *object, const char *key)
{
	const char *value = json_string_value(json_object_get(object, key));

	return value ? value : "";
}

/* It becomes a part of a path. */
static bool is_word(const char *word, size_t most)
{
	return *word && strlen(word) <= most && strspn(word, WORD) == strlen(word);
}

/* A pass. */

static void end_pass(struct sweep *s, bool good)
{
	json_decref(s->templates);
	json_decref(s->acts);
	s->templates = s->acts = NULL;
	s->failed = good ? 0 : s->failed + 1;
	if (good)
		*s->trouble = 0;
	if (s->deleted)
		program_log("%u claim templates that no pod used are deleted", s->deleted);
	s->next_ns = clock_now_ns() + (good ? (uint64_t)s->every_s * SECOND : api_pause_ns(s->failed));
}

static void fail(struct sweep *s, const struct api_answer *answer)
{
	snprintf(s->trouble, sizeof(s->trouble), "claim templates that no pod uses are not deleted: %.400s",
		 *answer->line ? answer->line : "the API server's list is no JSON");
	end_pass(s, false);
}

/* "" on the last page, or where the next one cannot be asked for. */
static const char *next_page(json_t *list)
{
	const char *more = text(json_object_get(list, "metadata"), "continue");

	return strspn(more, WORD "ABCDEFGHIJKLMNOPQRSTUVWXYZ_=.") == strlen(more) ? more : "";
}

static void ask_templates(struct sweep *s, const char *page);
static void go_on(struct sweep *s);

static void add_template(struct sweep *s, json_t *object)
{
	json_t *meta = json_object_get(object, "metadata"), *of, *row;
	const char *space = text(meta, "namespace"), *name = text(meta, "name");

	/* The label is anybody's to write: the name must be one of ours, too. */
	if (!is_word(space, sizeof(s->space) - 1) || !is_word(name, 63) || strncmp(name, "mete-", 5) ||
	    s->count == TEMPLATES_MOST)
		return;
	of = json_object_get(s->templates, space);
	if (!of) {
		of = json_object();
		json_object_set_new(s->templates, space, of);
	}
	row = json_pack("{s:s s:s}", "version", text(meta, "resourceVersion"), "since",
			text(json_object_get(meta, "annotations"), SWEEP_MARK));
	s->count += !json_object_set_new(of, name, row);
}

static void templates_came(void *owner, const struct api_answer *answer)
{
	struct sweep *s = owner;
	json_t *items = json_object_get(answer->body, "items"), *item;
	const char *page = next_page(answer->body);
	size_t i;

	s->call = NULL;
	/* A cluster that does not have them has none to sweep. */
	if (answer->status == 404) {
		end_pass(s, true);
		return;
	}
	if (answer->status != 200 || !json_is_array(items)) {
		fail(s, answer);
		return;
	}
	json_array_foreach(items, i, item) add_template(s, item);
	if (*page && s->count < TEMPLATES_MOST)
		ask_templates(s, page);
	else
		go_on(s);
}

static void ask_templates(struct sweep *s, const char *page)
{
	char path[4096];

	snprintf(path, sizeof(path), "/apis/resource.k8s.io/v1/" TEMPLATES "?labelSelector=%s&limit=" PAGE "%s%s",
		 SWEEP_SELECTOR, *page ? "&continue=" : "", page);
	s->call = api_ask_metadata(s->api, path, templates_came, s);
}

/* Pods of one namespace. */

static bool is_over(json_t *pod)
{
	const char *phase = text(json_object_get(pod, "status"), "phase");

	return !strcmp(phase, "Succeeded") || !strcmp(phase, "Failed");
}

static void note_used(json_t *of, json_t *pod)
{
	json_t *claim;
	size_t i;

	if (is_over(pod))
		return;
	json_array_foreach(json_object_get(json_object_get(pod, "spec"), "resourceClaims"), i, claim)
	{
		json_t *row = json_object_get(of, text(claim, "resourceClaimTemplateName"));

		if (row)
			json_object_set_new(row, "used", json_true());
	}
}

/* A change of the mark, of this version of the object alone. */
static json_t *marking(const char *version, json_t *take_mark)
{
	return json_pack("{s:{s:s s:{s:o}}}", "metadata", "resourceVersion", version, "annotations", SWEEP_MARK,
			 take_mark);
}

/* What is to be done with one; NULL: nothing. */
static json_t *decide(const struct sweep *s, const char *name, json_t *row)
{
	const char *version = text(row, "version"), *since = text(row, "since");
	long long now = time(NULL), marked = strtoll(since, NULL, 10);

	if (json_object_get(row, "used"))
		return *since ? json_pack("[s o]", name, marking(version, json_null())) : NULL;
	/* A mark from the future is no mark. */
	if (!*since || marked > now)
		return json_pack("[s o]", name, marking(version, json_sprintf("%lld", now)));
	if (now - marked < s->every_s)
		return NULL;
	return json_pack("[s n {s:s s:s s:{s:s}}]", name, "apiVersion", "v1", "kind", "DeleteOptions", "preconditions",
			 "resourceVersion", version);
}

static void pods_came(void *owner, const struct api_answer *answer);

static void ask_pods(struct sweep *s, const char *page)
{
	char path[4096];

	snprintf(path, sizeof(path), "/api/v1/namespaces/%s/pods?limit=" PAGE "%s%s", s->space,
		 *page ? "&continue=" : "", page);
	s->call = api_ask(s->api, "GET", path, NULL, pods_came, s);
}

static void pods_came(void *owner, const struct api_answer *answer)
{
	struct sweep *s = owner;
	json_t *of = json_object_get(s->templates, s->space), *items = json_object_get(answer->body, "items"), *one;
	const char *page = next_page(answer->body), *name;
	size_t i;

	s->call = NULL;
	/* Of a list that is not whole nothing is known. */
	if (answer->status != 200 || !json_is_array(items)) {
		fail(s, answer);
		return;
	}
	json_array_foreach(items, i, one) note_used(of, one);
	if (*page) {
		ask_pods(s, page);
		return;
	}
	s->acts = json_array();
	json_object_foreach(of, name, one)
	{
		json_t *act = decide(s, name, one);

		if (act)
			json_array_append_new(s->acts, act);
	}
	go_on(s);
}

/* Another one has changed or deleted it meanwhile: the next pass looks again. */
static void act_done(void *owner, const struct api_answer *answer)
{
	struct sweep *s = owner;
	bool deletes = json_array_size(json_array_get(s->acts, 0)) > 2;

	s->call = NULL;
	if (answer->status != 200 && answer->status != 202 && answer->status != 404 && answer->status != 409) {
		fail(s, answer);
		return;
	}
	s->deleted += deletes && answer->status < 300;
	json_array_remove(s->acts, 0);
	go_on(s);
}

static void act(struct sweep *s, json_t *what)
{
	json_t *patch = json_array_get(what, 1);
	bool deletes = !json_is_object(patch);
	char path[512];

	snprintf(path, sizeof(path), "/apis/resource.k8s.io/v1/namespaces/%s/" TEMPLATES "/%s", s->space,
		 json_string_value(json_array_get(what, 0)));
	s->call = api_ask(s->api, deletes ? "DELETE" : "PATCH", path, deletes ? json_array_get(what, 2) : patch,
			  act_done, s);
}

/* The next step: an act, else another namespace, else the end. */
static void go_on(struct sweep *s)
{
	if (json_array_size(s->acts)) {
		act(s, json_array_get(s->acts, 0));
		return;
	}
	if (s->acts) {
		json_decref(s->acts);
		s->acts = NULL;
		json_object_del(s->templates, s->space);
	}
	if (!json_object_size(s->templates)) {
		end_pass(s, true);
		return;
	}
	snprintf(s->space, sizeof(s->space), "%s", json_object_iter_key(json_object_iter(s->templates)));
	ask_pods(s, "");
}

void sweep_tend(struct sweep *s)
{
	if (!s || clock_now_ns() < s->next_ns)
		return;
	if (!s->templates) {
		s->templates = json_object();
		s->count = s->deleted = 0;
		ask_templates(s, "");
	}
	/* There was no memory for a request. */
	if (s->templates && !s->call)
		end_pass(s, false);
}

const char *sweep_trouble(const struct sweep *s)
{
	return s ? s->trouble : "";
}

struct sweep *sweep_new(struct api *a, long every_s)
{
	struct sweep *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->api = a;
	s->every_s = every_s;
	/* Soon, but not with each try of one that does not come up. */
	s->next_ns = clock_now_ns() + (uint64_t)every_s * SECOND / 8;
	return s;
}

void sweep_free(struct sweep *s)
{
	if (!s)
		return;
	if (s->call)
		api_cancel(s->call);
	json_decref(s->templates);
	json_decref(s->acts);
	free(s);
}
