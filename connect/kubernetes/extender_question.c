/* extender_question.c: see extender_question.h. */
#include "connect/kubernetes/extender_question.h"

#include "base/json_text.h"

#include <stdlib.h>
#include <string.h>

#define SCORE_MOST 10

static const char *name_at(json_t *names, json_t *items, size_t i)
{
	json_t *name = names ? json_array_get(names, i)
			     : json_object_get(json_object_get(json_array_get(items, i), "metadata"), "name");

	return json_string_value(name);
}

bool question_read(struct question *q, const char *text, size_t size)
{
	json_t *names, *items;

	*q = (struct question){ .args = json_loadb(text, size, 0, NULL) };
	names = json_object_get(q->args, "NodeNames");
	q->nodes = json_is_array(names) ? NULL : json_object_get(q->args, "Nodes");
	items = json_object_get(q->nodes, "items");
	names = json_is_array(names) ? names : NULL;
	if (!json_is_object(json_object_get(q->args, "Pod")) || (!names && !json_is_array(items)))
		return false;
	q->count = json_array_size(names ? names : items);
	q->list = calloc(q->count + 1, sizeof(*q->list));
	for (size_t i = 0; q->list && i < q->count; i++) {
		q->list[i].name = name_at(names, items, i);
		if (!q->list[i].name)
			return false;
	}
	nodes_asked(json_object_get(q->args, "Pod"), &q->asked);
	return q->list;
}

void question_free(struct question *q)
{
	for (size_t i = 0; q->list && i < q->count; i++)
		free(q->list[i].why);
	json_decref(q->args);
	free(q->list);
}

void question_judge(struct question *q, const struct nodes *nodes, enum placement_rule rule, bool want_loss)
{
	struct nodes_verdict v;

	for (size_t i = 0; i < q->count; i++) {
		struct candidate *c = &q->list[i];

		nodes_judge(nodes_find(nodes, c->name), &q->asked, rule, want_loss, &v);
		c->fits = v.fits;
		c->loss = v.loss;
		c->why = v.fits ? NULL : strdup(v.why);
	}
}

static int by_loss(const void *a, const void *b)
{
	int64_t x = (*(const struct candidate *const *)a)->loss, y = (*(const struct candidate *const *)b)->loss;

	return x < y ? -1 : x > y;
}

/* The best `most` stay; of equal ones those that the scheduler named first. The others are left out without a word. */
static void keep_best(struct question *q, size_t most)
{
	struct candidate **best = calloc(q->count + 1, sizeof(struct candidate *));
	size_t n = 0;

	for (size_t i = 0; best && i < q->count; i++)
		if (q->list[i].fits)
			best[n++] = &q->list[i];
	if (n > most) {
		qsort(best, n, sizeof(*best), by_loss);
		for (size_t i = most; i < n; i++)
			best[i]->fits = false;
	}
	free(best);
}

static char *nodes_json(const struct question *q)
{
	json_t *kept = json_array(), *list = json_copy(q->nodes), *answer;
	char *text;

	for (size_t i = 0; i < q->count; i++)
		if (q->list[i].fits)
			json_array_append(kept, json_array_get(json_object_get(q->nodes, "items"), i));
	json_object_set_new(list, "items", kept);
	answer = json_pack("{s:o s:{} s:s}", "Nodes", list, "FailedNodes", "Error", "");
	for (size_t i = 0; i < q->count; i++)
		if (q->list[i].why)
			json_object_set_new(json_object_get(answer, "FailedNodes"), q->list[i].name,
					    json_string(q->list[i].why));
	text = json_dumps(answer, JSON_COMPACT);
	json_decref(answer);
	return text;
}

/* A node's name is a key of FailedNodes: what needs no escaping there alone. */
static bool plain(const char *name)
{
	for (; *name; name++)
		if ((unsigned char)*name < ' ' || *name == '"' || *name == '\\' || *name == 127)
			return false;
	return true;
}

static char *names_json(const struct question *q)
{
	struct json_text j = { 0 };
	size_t bytes;

	json_text_open(&j, NULL, '{');
	json_text_open(&j, "NodeNames", '[');
	for (size_t i = 0; i < q->count; i++)
		if (q->list[i].fits)
			json_text_string(&j, NULL, q->list[i].name);
	json_text_close(&j, ']');
	json_text_open(&j, "FailedNodes", '{');
	for (size_t i = 0; i < q->count; i++)
		if (q->list[i].why && plain(q->list[i].name))
			json_text_string(&j, q->list[i].name, q->list[i].why);
	json_text_close(&j, '}');
	json_text_string(&j, "Error", "");
	json_text_close(&j, '}');
	return json_text_take(&j, &bytes);
}

char *question_filter(struct question *q, size_t most)
{
	if (most)
		keep_best(q, most);
	return q->nodes ? nodes_json(q) : names_json(q);
}

char *question_prioritize(const struct question *q)
{
	int64_t least = INT64_MAX, most = INT64_MIN;
	struct json_text j = { 0 };
	size_t bytes;

	for (size_t i = 0; i < q->count; i++) {
		const struct candidate *v = &q->list[i];

		least = v->fits && v->loss < least ? v->loss : least;
		most = v->fits && v->loss > most ? v->loss : most;
	}
	json_text_open(&j, NULL, '[');
	for (size_t i = 0; i < q->count; i++) {
		const struct candidate *v = &q->list[i];
		int64_t score = !v->fits	? 0
				: most == least ? SCORE_MOST
						: (int64_t)((__int128_t)(most - v->loss) * SCORE_MOST / (most - least));

		json_text_open(&j, NULL, '{');
		json_text_string(&j, "Host", q->list[i].name);
		json_text_integer(&j, "Score", score);
		json_text_close(&j, '}');
	}
	json_text_close(&j, ']');
	return json_text_take(&j, &bytes);
}
