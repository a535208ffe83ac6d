/* guarding.c: see guarding.h. */
#include "model/guarding.h"

#include <string.h>

static const char *const words[GUARDINGS] = { "asked", "preferred", "required" };

const char *guarding_word(enum guarding rule)
{
	return words[rule];
}

int guarding_find(const char *word)
{
	for (int i = 0; i < GUARDINGS; i++)
		if (!strcmp(words[i], word))
			return i;
	return -1;
}

enum guarding_wish guarding_wish(enum guarding rule, bool asked, const char *driver, bool walled)
{
	static const enum guarding_wish wishes[GUARDINGS] = { GUARDING_NONE, GUARDING_IF_IT_HOLDS, GUARDING_MUST };

	if (asked)
		return GUARDING_MUST;
	return walled || strcmp(driver, "nvidia") ? GUARDING_NONE : wishes[rule];
}
