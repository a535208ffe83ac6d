/*
 * far_values.h: the tensors behind a descriptor, by their ids: which ones are numbers of the program, and which ones
 * memory.
 */
#pragma once

#include "remote/libs/far.h"

#include <stdbool.h>

/* All zero: an empty list; `value` is freed by free(). */
struct far_values {
	uint64_t count;
	struct far_value *value;
};

/* False: no memory, or one id is used as both. */
bool far_value_note(struct far_values *v, const struct far_value *value);
/* Adds all of another list. */
bool far_values_note(struct far_values *v, const struct far_values *other);
/* NULL: no tensor has this id. */
const struct far_value *far_value_find(const struct far_values *v, int64_t id);
