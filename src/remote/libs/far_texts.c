/* far_texts.c: see far_texts.h. */
#include "remote/libs/far_texts.h"

#include <stdlib.h>
#include <string.h>

#define TEXTS 64

static struct far_kept_text texts[TEXTS]; /* the oldest first; the executor's alone */
static unsigned int text_count;
static uint64_t text_bytes;

static void text_drop(struct far_kept_text *t)
{
	text_bytes -= t->head.bytes;
	free(t->text);
	free(t->values.value);
	text_count--;
	memmove(t, t + 1, (size_t)(texts + text_count - t) * sizeof(*t));
}

static struct far_kept_text *find(int32_t name, const struct far_text *head)
{
	for (unsigned int i = 0; i < text_count; i++)
		if (texts[i].name == name && texts[i].head.bytes == head->bytes && texts[i].head.hash == head->hash)
			return &texts[i];
	return NULL;
}

const struct far_kept_text *far_text_find(int32_t name, const struct far_text *head)
{
	return find(name, head);
}

const struct far_kept_text *far_text_keep(int32_t name, char *text, uint64_t bytes, const struct far_values *values)
{
	struct far_kept_text new = { .name = name, .head = { bytes, far_text_hash(text, bytes) }, .text = text };
	struct far_kept_text *old = find(name, &new.head);

	if (old && !far_values_note(&old->values, values)) {
		text_drop(old);
		free(text);
		return NULL;
	}
	if (old || bytes > FAR_TEXTS_BYTES || !far_values_note(&new.values, values)) {
		free(text);
		free(new.values.value);
		return old;
	}
	while (text_count == TEXTS || text_bytes + bytes > FAR_TEXTS_BYTES)
		text_drop(texts);
	text_bytes += bytes;
	texts[text_count] = new;
	return &texts[text_count++];
}
