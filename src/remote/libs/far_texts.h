/* far_texts.h: texts of plans that NVIDIA's cuDNN has written in this session; of another it reads none. */
#pragma once

#include "remote/libs/far_values.h"

#define FAR_TEXTS_BYTES (UINT64_C(64) << 20) /* all of them */

struct far_kept_text {
	int32_t name; /* of the attribute: a plan is made of no text of a cache, or of a device */
	struct far_text head;
	char *text;
	struct far_values values;
};

/* The one of this length and hash, until the next far_text_keep(), or NULL. */
const struct far_kept_text *far_text_find(int32_t name, const struct far_text *head);
/*
 * Takes the text over. NULL: no memory, or it is the text of two plans whose tensors are not the same, and says nothing
 * certain of either. The oldest go when there are many.
 */
const struct far_kept_text *far_text_keep(int32_t name, char *text, uint64_t bytes, const struct far_values *values);
