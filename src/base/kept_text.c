/* kept_text.c: see kept_text.h. */
#include "base/kept_text.h"

#include <stdlib.h>
#include <string.h>

struct text {
	struct text *next;
	char words[];
};

const char *kept_text(const char *words)
{
	static struct text *all;
	size_t size = strlen(words) + 1;
	struct text *t = all;

	while (t && strcmp(t->words, words))
		t = t->next;
	if (t)
		return t->words;
	t = malloc(sizeof(*t) + size);
	if (!t)
		return NULL;
	memcpy(t->words, words, size);
	t->next = all;
	all = t;
	return t->words;
}
