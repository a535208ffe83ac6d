/* claim_words.c: see claim_words.h. */
#include "connect/kubernetes/claim_words.h"

#include <ctype.h>
#include <string.h>

bool claim_word_name(const struct share_word *word, char name[CLAIM_WORD_BYTES])
{
	size_t n = 0;

	for (const char *key = word->key; *key && n + 1 < CLAIM_WORD_BYTES; key++)
		if (*key == '_' && key[1])
			name[n++] = (char)toupper((unsigned char)*++key);
		else
			name[n++] = *key;
	name[n] = 0;
	return strcmp(word->key, "cores") != 0;
}

const struct share_word *claim_word_find(const char *name)
{
	char own[CLAIM_WORD_BYTES];

	for (size_t i = 0; i < SHARE_WORD_COUNT; i++)
		if (claim_word_name(&word_table[i], own) && !strcmp(own, name))
			return &word_table[i];
	return NULL;
}
