/* placement_say.c: see placement.h: a verdict as a clause for people. */
#include "model/placement.h"

#include "base/size.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define CARD_BYTES 160u

static const char *state_word(enum placement_state state)
{
	static const char *const words[] = { "active", "cordoned", "drained", "lost", "active" };

	return words[state];
}

/* "card 1 (NAME)"; where the node has one, its name says nothing more. */
static const char *card_text(const struct placement_node *node, unsigned int at, char text[CARD_BYTES])
{
	const char *name = node->card[at].name;

	if (name && *name)
		snprintf(text, CARD_BYTES, "card %u (%.120s)", at, name);
	else
		snprintf(text, CARD_BYTES, "card %u", at);
	return text;
}

static void list_words(char *text, size_t size, const char *lead, const char *const *words)
{
	size_t used = strlen(text);

	for (size_t i = 0; words && words[i] && used + 1 < size; i++)
		used += (size_t)snprintf(text + used, size - used, "%s%.60s", i ? ", " : lead, words[i]);
}

static void say_model(const struct placement_node *node, const struct placement_ask *ask,
		      const struct placement_verdict *v, char text[PLACEMENT_TEXT])
{
	char card[CARD_BYTES];

	snprintf(text, PLACEMENT_TEXT, "%s is not of a wanted model", card_text(node, v->card, card));
	list_words(text, PLACEMENT_TEXT, ", allowed: ", ask->allow);
	list_words(text, PLACEMENT_TEXT, ", not allowed: ", ask->deny);
}

static void say_memory(const char *card, const struct placement_verdict *v, const char *what, char text[PLACEMENT_TEXT])
{
	char asked[SIZE_TEXT_BYTES], left[SIZE_TEXT_BYTES];

	snprintf(text, PLACEMENT_TEXT, "%s has %s%s, asked were %s", card, size_format(v->left, left), what,
		 size_format(v->asked, asked));
}

/* Tenths of a percent, no more than are needed. */
static void say_percent(uint64_t ppm, char *text, size_t size)
{
	if (ppm % 10000)
		snprintf(text, size, "%" PRIu64 ".%" PRIu64 " %%", ppm / 10000, ppm % 10000 / 1000);
	else
		snprintf(text, size, "%" PRIu64 " %%", ppm / 10000);
}

static void say_time(const char *card, const struct placement_verdict *v, char text[PLACEMENT_TEXT])
{
	char asked[32], left[32];

	say_percent(v->asked, asked, sizeof(asked));
	say_percent(v->left, left, sizeof(left));
	snprintf(text, PLACEMENT_TEXT, "%s has %s of its time not promised, asked were %s", card, left, asked);
}

static void say_card(const struct placement_node *node, const struct placement_ask *ask,
		     const struct placement_verdict *v, char text[PLACEMENT_TEXT])
{
	char card[CARD_BYTES];

	card_text(node, v->card, card);
	switch (v->why) {
	case PLACEMENT_OWN:
		snprintf(text, PLACEMENT_TEXT, "%s is taken already by the same request", card);
		break;
	case PLACEMENT_MODEL:
		say_model(node, ask, v, text);
		break;
	case PLACEMENT_OUT_OF_SERVICE:
		snprintf(text, PLACEMENT_TEXT, "%s is %s", card, state_word(node->card[v->card].state));
		break;
	case PLACEMENT_OVER_CARD:
		say_memory(card, v, " in all", text);
		break;
	case PLACEMENT_NOT_ALONE:
		snprintf(text, PLACEMENT_TEXT, "%s has %" PRIu64 " tenants, asked was one alone", card, v->left);
		break;
	case PLACEMENT_MEMORY:
		say_memory(card, v, " not promised", text);
		break;
	case PLACEMENT_HELD_BY_NATIVE:
		snprintf(text, PLACEMENT_TEXT, "%s runs native programs unheld, so no time of it can be guaranteed",
			 card);
		break;
	default:
		say_time(card, v, text);
	}
}

static void say_fitting(const struct placement_verdict *v, char text[PLACEMENT_TEXT])
{
	char rest[PLACEMENT_TEXT];

	snprintf(rest, sizeof(rest), "%s", text);
	snprintf(text, PLACEMENT_TEXT, "%u of %u cards fit; %.320s", v->fitting, v->need, rest);
}

const char *placement_say(const struct placement_node *node, const struct placement_ask *ask,
			  const struct placement_verdict *v, char text[PLACEMENT_TEXT])
{
	switch (v->why) {
	case PLACEMENT_FITS:
		snprintf(text, PLACEMENT_TEXT, "fits");
		return text;
	case PLACEMENT_NODE_CORDONED:
		snprintf(text, PLACEMENT_TEXT, "the node takes no shares: it is cordoned");
		return text;
	case PLACEMENT_NO_CARDS:
		snprintf(text, PLACEMENT_TEXT, "the node has no card, asked were %" PRIu64, v->asked);
		return text;
	case PLACEMENT_FEW_CARDS:
		snprintf(text, PLACEMENT_TEXT, "the node has %" PRIu64 " cards, asked were %" PRIu64, v->left,
			 v->asked);
		return text;
	case PLACEMENT_NO_CPU:
		snprintf(text, PLACEMENT_TEXT, "the node has %" PRIu64 " milli-cores left, asked were %" PRIu64,
			 v->left, v->asked);
		return text;
	default:
		say_card(node, ask, v, text);
	}
	if (v->need > 1)
		say_fitting(v, text);
	return text;
}
