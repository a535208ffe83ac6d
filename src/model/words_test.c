/* words_test.c: the table of the words of a share: each can be said, read back, kept, taken back and told. */
#include "base/tap.h"
#include "model/policy.h"

#include <string.h>

/* A value that the command line takes: the first policy but native, a class, or a number between the bounds. */
static bool say(const struct share_word *word, struct policy_wish *w)
{
	if (word->type == WORD_POLICY)
		return word_set_name(word, w, "fair", NULL);
	if (word->type == WORD_CLASS)
		return word_set_name(word, w, "low", NULL);
	return word_set_number(word, w, (word->least + word->most) / 2);
}

static void test_alone(const struct share_word *word)
{
	struct policy_wish w, kept;

	words_clear(&w);
	words_clear(&kept);
	tap_ok(!words_given(&w), "%s: nothing is given", word->key);
	tap_ok(say(word, &w), "%s: it can be said", word->key);
	for (size_t i = 0; i < SHARE_WORD_COUNT; i++)
		if (word_given(&word_table[i], &w) != (&word_table[i] == word))
			tap_ok(0, "%s: %s is not touched", word->key, word_table[i].key);
	if (word_is_name(word)) {
		tap_ok(word_name(word, &w) && word_number(word, &w) == 0, "%s: it is a name", word->key);
		tap_ok(word_set_name(word, &kept, word_name(word, &w), NULL) &&
			       !strcmp(word_name(word, &kept), word_name(word, &w)),
		       "%s: it is kept", word->key);
		tap_ok(!word_set_name(word, &kept, "no such name", NULL) && !word_given(word, &kept),
		       "%s: a name that there is not", word->key);
	} else {
		tap_ok(word_number(word, &w) == (double)(unsigned int)((word->least + word->most) / 2) ||
			       word_number(word, &w) == (word->least + word->most) / 2,
		       "%s: it is read back", word->key);
		word_keep(word, &kept, word_kept(word, &w));
		tap_ok(word_number(word, &kept) == word_number(word, &w), "%s: it is kept", word->key);
	}
	word_drop(word, &w);
	tap_ok(!words_given(&w), "%s: it is taken back", word->key);
}

static void test_apart(void)
{
	for (size_t i = 0; i < SHARE_WORD_COUNT; i++)
		for (size_t k = 0; k < i; k++)
			if (!strcmp(word_table[i].key, word_table[k].key) ||
			    !strcmp(word_table[i].column, word_table[k].column) ||
			    !strcmp(word_table[i].option, word_table[k].option))
				tap_ok(0, "%s and %s are different words", word_table[i].key, word_table[k].key);
	tap_ok(1, "no two words share a name");
}

/* What answers tell is what the wish has come to. */
static void test_terms(void)
{
	struct policy_wish w;
	struct arbiter_terms terms;
	char error[256];

	words_clear(&w);
	w.policy = POLICY_FIXED;
	w.cores_pct = 30;
	is(policy_terms(&w, NULL, &terms, error, sizeof(error)), 0);
	for (size_t i = 0; i < SHARE_WORD_COUNT; i++) {
		const struct share_word *word = &word_table[i];

		if (!strcmp(word->key, "cores") || !strcmp(word->key, "cores_limit"))
			is(word_term_number(word, &w, &terms), 30);
		if (!strcmp(word->key, "class"))
			is_str(word_term_name(word, &w, &terms), "normal");
		if (!strcmp(word->key, "policy"))
			is_str(word_term_name(word, &w, &terms), "fixed");
	}
}

int main(void)
{
	tap_begin();
	for (size_t i = 0; i < SHARE_WORD_COUNT; i++)
		test_alone(&word_table[i]);
	test_apart();
	test_terms();
	return tap_end();
}
