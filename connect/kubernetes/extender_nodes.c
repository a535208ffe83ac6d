/* extender_nodes.c: see extender_nodes.h. */
#include "connect/kubernetes/extender_nodes.h"

#include "base/clean_text.h"
#include "base/fnv.h"
#include "base/size.h"
#include "connect/kubernetes/publish.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define OWN "mete.io/"

/* A node. */

static void node_free(struct nodes_node *n)
{
	if (!n)
		return;
	free(n->card);
	free(n->words);
	free(n->share);
	free(n);
}

static uint64_t number(json_t *object, const char *key)
{
	json_int_t n = json_integer_value(json_object_get(object, key));

	return n > 0 ? (uint64_t)n : 0;
}

static uint32_t ppm(json_t *object, const char *key)
{
	uint64_t n = number(object, key);

	return n < PLACEMENT_WHOLE_PPM ? (uint32_t)n : PLACEMENT_WHOLE_PPM;
}

static const char *text_of(json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

static enum placement_state state_of(json_t *card)
{
	static const struct {
		const char *word;
		enum placement_state state;
	} words[] = { { "cordoned", PLACEMENT_CORDONED },
		      { "draining", PLACEMENT_DRAINED },
		      { "lost", PLACEMENT_LOST } };

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (!strcmp(text_of(card, "state"), words[i].word))
			return words[i].state;
	return json_is_true(json_object_get(card, "native")) ? PLACEMENT_NATIVE : PLACEMENT_ACTIVE;
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

static int read_cards(struct nodes_node *n, json_t *cards)
{
	size_t count = least(json_array_size(cards), PLACEMENT_CARDS);
	json_t *card;

	n->card = calloc(count + 1, sizeof(*n->card));
	n->words = calloc(count + 1, sizeof(*n->words));
	if (!n->card || !n->words)
		return -ENOMEM;
	for (; n->cards < count; n->cards++) {
		struct nodes_words *w = &n->words[n->cards];
		uint64_t total, left;

		card = json_array_get(cards, n->cards);
		total = number(card, "total");
		/* No card has more, and the arithmetic of losses has no room for it. */
		total = total < SIZE_LIMIT_BYTES ? total : SIZE_LIMIT_BYTES;
		left = number(card, "left");
		snprintf(w->name, sizeof(w->name), "%s", text_of(card, "name"));
		snprintf(w->uuid, sizeof(w->uuid), "%s", text_of(card, "uuid"));
		/* They come to terminals and into events; who wrote the annotation may be anybody. */
		clean_text_line(w->name);
		clean_text_line(w->uuid);
		n->card[n->cards] = (struct placement_card){ .total_bytes = total,
							     .left_bytes = left < total ? left : total,
							     .left_ppm = ppm(card, "time"),
							     .sharers = (unsigned int)number(card, "tenants"),
							     .state = state_of(card),
							     .name = w->name,
							     .uuid = w->uuid,
							     .group = -1 };
	}
	return 0;
}

static void read_share(struct nodes_share *s, const char *name, json_t *rows)
{
	json_t *row;
	size_t i;

	snprintf(s->name, sizeof(s->name), "%s", name);
	row = json_array_get(rows, 0); /* each of them says it */
	s->overcommit = json_is_true(json_object_get(row, "overcommit"));
	s->leaves = json_object_get(row, "stays");
	s->stays_bytes = number(row, "stays");
	json_array_foreach(rows, i, row)
	{
		if (i == NODES_ROWS)
			break;
		s->row[s->rows++] = (struct nodes_row){ .card = (int)json_integer_value(json_object_get(row, "card")),
							.bytes = number(row, "bytes"),
							.bytes_ppm = ppm(row, "ppm"),
							.time_ppm = ppm(row, "time") };
	}
}

static int read_shares(struct nodes_node *n, json_t *shares)
{
	const char *name;
	json_t *rows;

	n->share = calloc(least(json_object_size(shares), NODES_SHARES) + 1, sizeof(*n->share));
	if (!n->share)
		return -ENOMEM;
	json_object_foreach(shares, name, rows) if (n->shares < NODES_SHARES && strlen(name) < NODES_WORD)
		read_share(&n->share[n->shares++], name, rows);
	return 0;
}

static struct nodes_node *node_new(json_t *object)
{
	json_t *metadata = json_object_get(object, "metadata");
	const char *told = text_of(json_object_get(metadata, "annotations"), PUBLISH_ANNOTATION);
	struct nodes_node *n = calloc(1, sizeof(*n));
	json_t *text;
	int r;

	if (!n)
		return NULL;
	snprintf(n->name, sizeof(n->name), "%s", text_of(metadata, "name"));
	n->cordoned = json_is_true(json_object_get(json_object_get(object, "spec"), "unschedulable"));
	text = *told ? json_loads(told, 0, NULL) : NULL;
	n->told = json_is_object(text);
	r = read_cards(n, json_object_get(text, "cards"));
	r = r ? r : read_shares(n, json_object_get(text, "shares"));
	json_decref(text);
	if (!r)
		return n;
	node_free(n);
	return NULL;
}

/* The table. */

static uint32_t hash_of(const char *name)
{
	return fnv_hash(name, strlen(name));
}

/* The slot of the name: where it is, or would be. */
static size_t slot_at(const struct nodes *n, const char *name, uint32_t hash)
{
	/* The low bits of FNV's hash of names that differ at their end are close together. */
	size_t at = n->room ? (hash ^ hash >> 15) & (n->room - 1) : 0;

	while (n->room && n->list[at].node && (n->list[at].hash != hash || strcmp(n->list[at].node->name, name)))
		at = (at + 1) & (n->room - 1);
	return at;
}

struct nodes_node *nodes_find(const struct nodes *n, const char *name)
{
	return n->room ? n->list[slot_at(n, name, hash_of(name))].node : NULL;
}

static void move(struct nodes *n, struct nodes_slot slot)
{
	n->list[slot_at(n, slot.node->name, slot.hash)] = slot;
}

static int grow(struct nodes *n)
{
	struct nodes bigger = { .room = n->room ? n->room * 2 : 64, .count = n->count };

	if (n->room && n->count * 2 < n->room)
		return 0;
	bigger.list = calloc(bigger.room, sizeof(*bigger.list));
	if (!bigger.list)
		return -ENOMEM;
	for (size_t i = 0; i < n->room; i++)
		if (n->list[i].node)
			move(&bigger, n->list[i]);
	free(n->list);
	*n = bigger;
	return 0;
}

int nodes_put(struct nodes *n, json_t *object)
{
	struct nodes_node *node = node_new(object);
	uint32_t hash;
	size_t at;

	if (!node || grow(n)) {
		node_free(node);
		return -ENOMEM;
	}
	hash = hash_of(node->name);
	at = slot_at(n, node->name, hash);
	n->count += !n->list[at].node;
	node_free(n->list[at].node);
	n->list[at] = (struct nodes_slot){ node, hash };
	return 0;
}

/* Those behind it in the same run move up. */
void nodes_drop(struct nodes *n, const char *name)
{
	size_t at = slot_at(n, name, hash_of(name)), next;

	if (!n->room || !n->list[at].node)
		return;
	node_free(n->list[at].node);
	n->list[at].node = NULL;
	n->count--;
	for (next = (at + 1) & (n->room - 1); n->list[next].node; next = (next + 1) & (n->room - 1)) {
		struct nodes_slot slot = n->list[next];

		n->list[next].node = NULL;
		move(n, slot);
	}
}

void nodes_free(struct nodes *n)
{
	for (size_t i = 0; i < n->room; i++)
		node_free(n->list[i].node);
	free(n->list);
	*n = (struct nodes){ NULL, 0, 0 };
}

int nodes_replace(struct nodes *n, json_t *items)
{
	struct nodes now = { NULL, 0, 0 };
	json_t *item;
	size_t i;
	int r = 0;

	json_array_foreach(items, i, item) r = r ? r : nodes_put(&now, item);
	if (r) {
		nodes_free(&now);
		return r;
	}
	nodes_free(n);
	*n = now;
	return 0;
}

/* A pod. */

static void ask_container(json_t *container, bool passes, struct nodes_asked *ret)
{
	json_t *value;
	const char *name;

	json_object_foreach(json_object_get(json_object_get(container, "resources"), "limits"), name, value)
	{
		if (strncmp(name, OWN, strlen(OWN)) || strlen(name + strlen(OWN)) >= NODES_WORD ||
		    ret->count == NODES_ASKED)
			continue;
		snprintf(ret->share[ret->count], NODES_WORD, "%s", name + strlen(OWN));
		ret->passes[ret->count++] = passes;
	}
}

/* "A100, H100" into pieces. NULL: there is none. */
static const char *const *words_of(json_t *pod, const char *annotation, char text[512], const char *ret[17])
{
	const char *given = text_of(json_object_get(json_object_get(pod, "metadata"), "annotations"), annotation);
	char *next = text, *word;
	size_t n = 0;

	snprintf(text, 512, "%s", given);
	while (n < 16 && (word = strsep(&next, ",")) != NULL) {
		word += strspn(word, " ");
		for (size_t length = strlen(word); length && word[length - 1] == ' ';)
			word[--length] = 0;
		if (*word)
			ret[n++] = word;
	}
	ret[n] = NULL;
	return n ? ret : NULL;
}

unsigned int nodes_asked(json_t *pod, struct nodes_asked *ret)
{
	json_t *spec = json_object_get(pod, "spec"), *container;
	size_t i;

	*ret = (struct nodes_asked){ .count = 0 };
	json_array_foreach(json_object_get(spec, "initContainers"), i, container)
		ask_container(container, strcmp(text_of(container, "restartPolicy"), "Always") != 0, ret);
	json_array_foreach(json_object_get(spec, "containers"), i, container) ask_container(container, false, ret);
	ret->allow = words_of(pod, OWN "use-model", ret->words[0], ret->allowed);
	ret->deny = words_of(pod, OWN "avoid-model", ret->words[1], ret->denied);
	return ret->count;
}

/* Judging. */

static const struct nodes_share *share_of(const struct nodes_node *node, const char *name)
{
	for (unsigned int i = 0; i < node->shares; i++)
		if (!strcmp(node->share[i].name, name))
			return &node->share[i];
	return NULL;
}

static struct placement_ask ask_of(const struct nodes_share *share, const struct nodes_row *row)
{
	return (struct placement_ask){ .bytes = row->bytes,
				       .bytes_ppm = row->bytes_ppm,
				       .time_ppm = row->time_ppm,
				       .overcommit = share->overcommit,
				       .leaves = share->leaves,
				       .stays_bytes = share->stays_bytes };
}

/* What is asked for there: the node's own shares, all alike. */
static size_t mix_of(const struct nodes_node *node, struct placement_type *mix)
{
	size_t n = 0;

	for (unsigned int i = 0; i < node->shares && n < PLACEMENT_MIX; i++)
		if (node->share[i].rows)
			mix[n++] = (struct placement_type){ ask_of(&node->share[i], &node->share[i].row[0]), 1 };
	return n;
}

static void take(struct placement_card *c, const struct placement_ask *ask)
{
	uint64_t bytes = placement_need_bytes(ask, c);

	c->left_bytes -= bytes < c->left_bytes ? bytes : c->left_bytes;
	c->left_ppm -= ask->time_ppm < c->left_ppm ? ask->time_ppm : c->left_ppm;
	c->sharers++;
}

/* The node while shares are put on it one after the other. */
struct trial {
	const struct nodes_node *node;
	const struct placement_card *now; /* the node's, until something is taken, then `card` */
	struct placement_card card[PLACEMENT_CARDS];
	struct placement_type mix[PLACEMENT_MIX];
	size_t mix_count;
	enum placement_rule rule;
	bool want_loss, more; /* more: what is taken counts for what comes after it */
};

/* Cards are copied when there is more to come than one share of one card. */
static void take_of(struct trial *t, unsigned int card, const struct placement_ask *ask)
{
	if (t->now != t->card)
		memcpy(t->card, t->node->card, t->node->cards * sizeof(*t->card));
	t->now = t->card;
	take(&t->card[card], ask);
}

/* Whether the row of the share fits; then it is taken. */
static bool try_row(struct trial *t, const struct nodes_share *share, const struct nodes_row *row,
		    const struct nodes_asked *asked, struct nodes_verdict *ret)
{
	bool any = row->card < 0 || (unsigned int)row->card >= t->node->cards;
	unsigned int first = any ? 0 : (unsigned int)row->card;
	struct placement_node view = { .card = &t->now[first],
				       .count = any ? t->node->cards : 1,
				       .cpu_left_milli = -1 };
	struct placement_ask ask = ask_of(share, row);
	struct placement_choice choice;
	int length;

	ask.allow = asked->allow;
	ask.deny = asked->deny;
	if (t->want_loss) {
		placement_choose(&view, &ask, t->rule, t->mix, t->mix_count, &choice);
	} else {
		placement_judge(&view, &ask, &choice.verdict);
		choice.card[0] = 0;
		choice.loss = 0;
	}
	if (choice.verdict.why != PLACEMENT_FITS) {
		/* Cards are numbered as the node has them. */
		view.card = t->now;
		view.count = t->node->cards;
		choice.verdict.card += first;
		length = snprintf(ret->why, sizeof(ret->why) - PLACEMENT_TEXT, "share %s: ", share->name);
		placement_say(&view, &ask, &choice.verdict, ret->why + length);
		return false;
	}
	ret->loss += choice.loss;
	if (t->more)
		take_of(t, first + choice.card[0], &ask);
	return true;
}

static bool try_share(struct trial *t, const char *name, const struct nodes_asked *asked, struct nodes_verdict *ret)
{
	const struct nodes_share *s = share_of(t->node, name);

	if (!s)
		snprintf(ret->why, sizeof(ret->why), "the node has no share %s", name);
	for (unsigned int i = 0; s && i < s->rows; i++) {
		t->more = asked->count > 1 || s->rows > 1;
		if (!try_row(t, s, &s->row[i], asked, ret))
			return false;
	}
	return s;
}

/* An init container comes beside the sidecars before it, and gives back what it had; a sidecar stays. */
static bool try_passing(struct trial *t, const char *name, const struct nodes_asked *asked, struct nodes_verdict *ret)
{
	struct trial before = *t; /* `now` is of `t` in both */
	bool fits = try_share(t, name, asked, ret);

	*t = before;
	return fits;
}

static bool try_all(struct trial *t, const struct nodes_asked *asked, struct nodes_verdict *ret)
{
	for (unsigned int i = 0; i < asked->count; i++)
		if (!(asked->passes[i] ? try_passing : try_share)(t, asked->share[i], asked, ret))
			return false;
	return true;
}

void nodes_judge(const struct nodes_node *node, const struct nodes_asked *asked, enum placement_rule rule,
		 bool want_loss, struct nodes_verdict *ret)
{
	struct trial t;

	ret->fits = false;
	ret->loss = 0;
	*ret->why = 0;
	if (!asked->count) {
		ret->fits = true;
	} else if (!node || !node->told) {
		snprintf(ret->why, sizeof(ret->why), "no mete-agent has said what the node has (annotation %s)",
			 PUBLISH_ANNOTATION);
	} else if (node->cordoned) {
		snprintf(ret->why, sizeof(ret->why), "the node is cordoned");
	} else {
		t.node = node;
		t.now = node->card;
		t.rule = rule;
		t.want_loss = want_loss;
		t.mix_count = want_loss && rule == PLACEMENT_FIT ? mix_of(node, t.mix) : 0;
		ret->fits = try_all(&t, asked, ret);
		if (!ret->fits)
			clean_text_line(ret->why);
	}
}
