/*
 * policy.h: translates the words of a request into terms for the arbiter.
 *
 * Pure. A policy is a named way of sharing. A grant has one per device; a device has a default for grants that name
 * none. policy.c contains the table of policies, from which --help, the man page and the error texts are generated.
 */
#pragma once

#include "model/arbiter.h"
#include "model/words.h"

#include <stddef.h>

enum policy {
	POLICY_NATIVE,	   /* memory only: compute time is not controlled */
	POLICY_FAIR,	   /* the same as each of the others */
	POLICY_FIXED,	   /* its percentage, never more */
	POLICY_WEIGHTED,   /* in proportion to its weight */
	POLICY_BURST,	   /* its percentage, and idle time */
	POLICY_BESTEFFORT, /* the time that the others leave */
	POLICY_ELASTIC,	   /* its percentage, and idle time up to its limit */
	POLICY_EXCLUSIVE,  /* the whole device, in long turns */
	POLICIES,
};

/*
 * The requested share: the words of words.h, each 0 or -1 if it is absent. An absent policy follows from the others:
 * fixed with cores, elastic with a limit as well, else native.
 */
#define WISH_PERCENT double
#define WISH_POLICY int
#define WISH_CLASS int
#define WISH_COUNT uint32_t
#define WISH_MS uint64_t
#define WISH_MEMBER(type, member, ...) WISH_##type member;
struct policy_wish {
	SHARE_WORDS(WISH_MEMBER)
};

const char *policy_name(enum policy policy);
/* Returns one line: what the policy does and which words it needs. */
const char *policy_describe(enum policy policy);
/* Returns an enum policy; -1: unknown name, and *ret_nearest is the most similar name, or NULL. */
int policy_parse(const char *name, const char **ret_nearest);
const char *policy_class_name(enum arbiter_class class);
int policy_class_parse(const char *name);

/*
 * Computes the terms and the resulting policy of a wish. Returns 0, or -1 and one line in `error` that names the
 * mistake and the remedy: a percentage outside 1 to 100 (fractions down to 0.1 are kept), a limit below the guarantee,
 * a word that the policy does not use.
 */
int policy_terms(const struct policy_wish *wish, enum policy *ret_policy, struct arbiter_terms *ret, char *error,
		 size_t error_size);

/*
 * True if a device may promise `ppm` while it promises `others_ppm` to others. *ret_left_ppm: what is left otherwise.
 */
bool policy_fits(uint32_t others_ppm, uint32_t ppm, bool overcommit, uint32_t *ret_left_ppm);
