/* words.c: see words.h. */
#include "model/words.h"

#include "model/policy.h"

#define MOST_COUNT 1000000u /* more than any policy takes: it is refused there, with its remedy */
#define MOST_MS 1e9
#define NS_PER_MS 1e6
#define PPM_PER_PERCENT 1e4

#define WORD_NO_TERM SIZE_MAX
#define WORD_TERM(name) offsetof(struct arbiter_terms, name)
#define WORD_ROW(type_, member_, term_, key_, column_, option_, letter_, least_, most_, help_)                         \
	{                                                                                                              \
		.type = WORD_##type_,                                                                                  \
		.member = offsetof(struct policy_wish, member_),                                                       \
		.term = term_,                                                                                         \
		.key = key_,                                                                                           \
		.column = column_,                                                                                     \
		.option = option_,                                                                                     \
		.least = least_,                                                                                       \
		.most = most_,                                                                                         \
	},

const struct share_word word_table[SHARE_WORD_COUNT] = { SHARE_WORDS(WORD_ROW) };

static const void *value_of(const struct share_word *word, const struct policy_wish *w)
{
	return (const char *)w + word->member;
}

static void *value_in(const struct share_word *word, struct policy_wish *w)
{
	return (char *)w + word->member;
}

bool word_is_name(const struct share_word *word)
{
	return word->type == WORD_POLICY || word->type == WORD_CLASS;
}

void word_drop(const struct share_word *word, struct policy_wish *w)
{
	switch (word->type) {
	case WORD_PERCENT:
		*(double *)value_in(word, w) = 0;
		break;
	case WORD_POLICY:
	case WORD_CLASS:
		*(int *)value_in(word, w) = -1;
		break;
	case WORD_COUNT:
		*(uint32_t *)value_in(word, w) = 0;
		break;
	case WORD_MS:
		*(uint64_t *)value_in(word, w) = 0;
		break;
	}
}

void words_clear(struct policy_wish *w)
{
	for (size_t i = 0; i < SHARE_WORD_COUNT; i++)
		word_drop(&word_table[i], w);
}

bool word_given(const struct share_word *word, const struct policy_wish *w)
{
	return word_is_name(word) ? *(const int *)value_of(word, w) >= 0 : word_number(word, w) != 0;
}

bool words_given(const struct policy_wish *w)
{
	for (size_t i = 0; i < SHARE_WORD_COUNT; i++)
		if (word_given(&word_table[i], w))
			return true;
	return false;
}

double word_number(const struct share_word *word, const struct policy_wish *w)
{
	switch (word->type) {
	case WORD_PERCENT:
		return *(const double *)value_of(word, w);
	case WORD_COUNT:
		return *(const uint32_t *)value_of(word, w);
	case WORD_MS:
		return (double)*(const uint64_t *)value_of(word, w) / NS_PER_MS;
	case WORD_POLICY:
	case WORD_CLASS:
		break;
	}
	return 0;
}

static const char *name_of(const struct share_word *word, int value)
{
	if (value < 0)
		return NULL;
	return word->type == WORD_POLICY ? policy_name((enum policy)value)
					 : policy_class_name((enum arbiter_class)value);
}

const char *word_name(const struct share_word *word, const struct policy_wish *w)
{
	return word_is_name(word) ? name_of(word, *(const int *)value_of(word, w)) : NULL;
}

bool word_set_number(const struct share_word *word, struct policy_wish *w, double x)
{
	word_drop(word, w);
	switch (word->type) {
	case WORD_PERCENT:
		*(double *)value_in(word, w) = x;
		return true;
	case WORD_COUNT:
		*(uint32_t *)value_in(word, w) = x < MOST_COUNT ? (uint32_t)x : MOST_COUNT;
		return word_given(word, w);
	case WORD_MS:
		*(uint64_t *)value_in(word, w) = (uint64_t)((x < MOST_MS ? x : MOST_MS) * NS_PER_MS);
		return true;
	case WORD_POLICY:
	case WORD_CLASS:
		break;
	}
	return false;
}

bool word_set_name(const struct share_word *word, struct policy_wish *w, const char *name, const char **ret_nearest)
{
	const char *nearest = NULL;
	int value = word->type == WORD_POLICY ? policy_parse(name, &nearest) : policy_class_parse(name);

	if (ret_nearest)
		*ret_nearest = nearest;
	*(int *)value_in(word, w) = value;
	return value >= 0;
}

double word_kept(const struct share_word *word, const struct policy_wish *w)
{
	return word->type == WORD_MS ? (double)*(const uint64_t *)value_of(word, w) : word_number(word, w);
}

void word_keep(const struct share_word *word, struct policy_wish *w, double kept)
{
	if (word->type == WORD_MS)
		*(uint64_t *)value_in(word, w) = (uint64_t)kept;
	else
		word_set_number(word, w, kept);
}

double word_term_number(const struct share_word *word, const struct policy_wish *w, const struct arbiter_terms *terms)
{
	const char *at = (const char *)terms + word->term;

	if (word->term == WORD_NO_TERM)
		return word_number(word, w);
	switch (word->type) {
	case WORD_PERCENT:
		return *(const uint32_t *)(const void *)at / PPM_PER_PERCENT;
	case WORD_COUNT:
		return *(const uint32_t *)(const void *)at;
	case WORD_MS:
		return (double)*(const uint64_t *)(const void *)at / NS_PER_MS;
	case WORD_POLICY:
	case WORD_CLASS:
		break;
	}
	return 0;
}

const char *word_term_name(const struct share_word *word, const struct policy_wish *w,
			   const struct arbiter_terms *terms)
{
	if (!word_is_name(word) || word->term == WORD_NO_TERM)
		return word_name(word, w);
	return name_of(word, (int)*(const enum arbiter_class *)(const void *)((const char *)terms + word->term));
}
