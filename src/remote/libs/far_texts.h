/* far_texts.h: texts of plans that NVIDIA's cuDNN has written in this session; it is given no others to read. */
#pragma once

#include "remote/libs/far_values.h"

#define FAR_TEXTS_BYTES (UINT64_C(64) << 20) /* limit of all texts together */

struct far_kept_text {
	int32_t name; /* the attribute: a plan is not created from the text of a cache or of a device */
	struct far_text head;
	char *text;
	struct far_values values;
};

/* Finds the text with this length and hash; valid until the next far_text_keep(). NULL: none. */
const struct far_kept_text *far_text_find(int32_t name, const struct far_text *head);
/*
 * Takes over the text. NULL: no memory, or two plans with different tensors have the same text, which then identifies
 * neither. The oldest texts are dropped when there are too many.
 */
const struct far_kept_text *far_text_keep(int32_t name, char *text, uint64_t bytes, const struct far_values *values);
