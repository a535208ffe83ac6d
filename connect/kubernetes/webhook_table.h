/* webhook_table.h: the resources by which pods request a part of a GPU from other systems, and the meaning of each. */
#pragma once

#include "connect/kubernetes/webhook_words.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum meaning {
	CARDS,
	MEMORY, /* of each device, in units */
	MEMORY_OR_BYTES, /* the same; with a suffix (4Gi), in bytes */
	MEMORY_PCT,
	CORES,
	UNITS_OF_A_CARD,
	PRIORITY,
};

struct word {
	const char *family, *name;
	enum meaning meaning;
	uint64_t unit; /* of memory, in bytes; of cores: the number that a device has, 0: percent */
	enum words_vendor vendor;
	bool whole; /* with several devices the family requests whole ones, whatever else it says */
};

extern const struct word table_words[];
extern const size_t table_count;

/* The name by which a family expresses this; NULL: it has none. */
const char *table_name_for(const char *family, enum meaning meaning);
