/*
 * words.h: the table of the words of a share of a device's time: how each is written on the command line, in requests
 * and answers, in settings of connectors and in the store, and its help text. Pure.
 *
 * All code that reads, writes or stores a word uses its row. Two places define its effect: policy.c says which policies
 * use it and which terms follow from it, the arbiter what the terms do. docs/control.md documents it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arbiter_terms;
struct policy_wish;

enum word_type {
	WORD_PERCENT, /* of the device's time; a double, 0: not given. In the terms: ppm */
	WORD_POLICY,  /* the name of a policy; an int, enum policy, -1: not given */
	WORD_CLASS,   /* the name of a class; an int, enum arbiter_class, -1: not given */
	WORD_COUNT,   /* a whole number; uint32_t, 0: not given */
	WORD_MS,      /* milliseconds; kept as uint64_t in nanoseconds, 0: not given */
};

/*
 * WORD(type, member, term, key, column, option, letter, least, most, help)
 *
 * member: of struct policy_wish. term: the resulting member of struct arbiter_terms, which answers contain instead of
 * the wish; WORD_NO_TERM: none. key: in requests and answers. column: of the table "shares" in the store (steps.c adds
 * it). option, letter, help: of the command line. least and most: what the command line accepts, in the unit of
 * requests.
 */
#define SHARE_WORDS(WORD)                                                                                              \
	WORD(PERCENT, cores_pct, WORD_TERM(guarantee_ppm), "cores", "cores", "cores", 'c', 1, 100,                     \
	     "The percentage of the device's time that is guaranteed while there is work, 1 to 100: 30 or 12.5. "      \
	     "With --policy fixed, the policy that it implies when given alone, it is also the limit. This and the "   \
	     "following terms, given once, apply to every --device; otherwise give them for each.")                    \
	WORD(PERCENT, limit_pct, WORD_TERM(limit_ppm), "cores_limit", "cores_limit", "cores-limit", 'C', 1, 100,       \
	     "The limit on the device's time, in percent, also when the device is idle. Default: 100.")                \
	WORD(POLICY, policy, WORD_NO_TERM, "policy", "policy", "policy", 'p', 0, 0,                                    \
	     "How the device's time is shared; `mete policy` lists the names. Default: fixed with --cores alone, "     \
	     "elastic with --cores-limit too, else the device's default.")                                             \
	WORD(CLASS, class, WORD_TERM(class), "class", "class", "class", 'k', 0, 0,                                     \
	     "high precedes the others, at the latest after one bounded batch of their work, and requires root "       \
	     "or the daemon's own user; low gets the time that the others leave. Default: normal.")                    \
	WORD(COUNT, weight, WORD_TERM(weight), "weight", "weight", "weight", 'w', 1, 10000,                            \
	     "The part of the time that remains after the guarantees, in proportion to the weights of others, 1 "      \
	     "to 10000. Default: 100.")                                                                                \
	WORD(MS, turn_ns, WORD_TERM(turn_ns), "turn_ms", "turn_ns", "turn", 't', 10, 600000,                           \
	     "With --policy exclusive: how long a turn lasts, in milliseconds, 10 to 600000. Default: 10000.")

struct share_word {
	enum word_type type;
	size_t member, term;
	const char *key, *column, *option;
	double least, most;
};

#define WORD_COUNT_ONE(...) +1
enum { SHARE_WORD_COUNT = SHARE_WORDS(WORD_COUNT_ONE) };

extern const struct share_word word_table[SHARE_WORD_COUNT];

/* Clears a wish: no word is given. */
void words_clear(struct policy_wish *w);
bool word_given(const struct share_word *word, const struct policy_wish *w);
bool words_given(const struct policy_wish *w);
/* Removes a word from a wish. */
void word_drop(const struct share_word *word, struct policy_wish *w);

/* True if the word is a name, of a policy or a class. */
bool word_is_name(const struct share_word *word);
/* Return a number of the wish in the unit of requests, 0: not given; a name, NULL: not given. */
double word_number(const struct share_word *word, const struct policy_wish *w);
const char *word_name(const struct share_word *word, const struct policy_wish *w);
/* Sets a number, in the unit of requests. False: it cannot be stored; the word is then not given. */
bool word_set_number(const struct share_word *word, struct policy_wish *w, double x);
/* Sets a name. False: unknown name; *ret_nearest (may be NULL) is the most similar one, or NULL. */
bool word_set_name(const struct share_word *word, struct policy_wish *w, const char *name, const char **ret_nearest);

/* Convert a number of the wish to and from its form in the store. */
double word_kept(const struct share_word *word, const struct policy_wish *w);
void word_keep(const struct share_word *word, struct policy_wish *w, double kept);

/* As word_number() and word_name(), but by the terms that resulted. */
double word_term_number(const struct share_word *word, const struct policy_wish *w, const struct arbiter_terms *terms);
const char *word_term_name(const struct share_word *word, const struct policy_wish *w,
			   const struct arbiter_terms *terms);
