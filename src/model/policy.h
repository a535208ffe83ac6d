/*
 * policy.h: what people ask for, in words, and the terms that follow from it.
 *
 * Pure. A policy is a name for a way of sharing; a grant has one per device, a device has a default for grants that
 * name none. The table of policies is policy.c's; --help, the man page and the error texts are made from it.
 */
#pragma once

#include "model/arbiter.h"
#include "model/words.h"

#include <stddef.h>

enum policy {
	POLICY_NATIVE,	   /* memory only: compute is not touched */
	POLICY_FAIR,	   /* as much as each of the others */
	POLICY_FIXED,	   /* its percentage, never more */
	POLICY_WEIGHTED,   /* in proportion to its weight */
	POLICY_BURST,	   /* its percentage, and what is idle */
	POLICY_BESTEFFORT, /* what the others leave */
	POLICY_ELASTIC,	   /* its percentage, and what is idle up to its limit */
	POLICY_EXCLUSIVE,  /* the whole device, in long turns */
	POLICIES,
};

/*
 * What was asked for: the words of words.h, each 0 or -1 where it was not given. Without a policy it follows from the
 * others: fixed with cores, elastic with a limit too, else native.
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
/* One line: what it does, what it needs. */
const char *policy_describe(enum policy policy);
/* Value: enum policy; -1: no such name, *ret_nearest the one that was probably meant, or NULL. */
int policy_parse(const char *name, const char **ret_nearest);
const char *policy_class_name(enum arbiter_class class);
int policy_class_parse(const char *name);

/*
 * The terms of a wish, and the policy that it comes to. Value: 0, or -1 and one line in `error` that names the mistake
 * and the remedy: a percentage outside 1 to 100 (fractions down to 0.1 are kept), a limit below the guarantee, a word
 * that the policy has no use for.
 */
int policy_terms(const struct policy_wish *wish, enum policy *ret_policy, struct arbiter_terms *ret, char *error,
		 size_t error_size);

/* May a device promise `ppm` while others are promised `others_ppm`? What is left otherwise. */
bool policy_fits(uint32_t others_ppm, uint32_t ppm, bool overcommit, uint32_t *ret_left_ppm);
