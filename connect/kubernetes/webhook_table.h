/* webhook_table.h: the resources by which pods ask other systems for a part of a GPU, and what each means. */
#pragma once

#include "connect/kubernetes/webhook_words.h"

#include <stddef.h>
#include <stdint.h>

enum meaning { CARDS, MEMORY, MEMORY_PCT, CORES, UNITS_OF_A_CARD, PRIORITY };

struct word {
	const char *family, *name;
	enum meaning meaning;
	uint64_t unit; /* of memory, in bytes */
	enum words_vendor vendor;
};

extern const struct word table_words[];
extern const size_t table_count;

/* The name by which a family says this; NULL: it does not. */
const char *table_name_for(const char *family, enum meaning meaning);
