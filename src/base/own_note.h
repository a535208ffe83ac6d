/*
 * own_note.h: what our own libraries that stand in for a driver's are known by: a note in the file, of owner "mete",
 * whose text says which it is. It is no symbol, and no program sees it.
 */
#pragma once

#include <stdint.h>

#define OWN_NOTE_OWNER "mete"
#define OWN_NOTE_TYPE 1u
#define OWN_NOTE_TEXT_BYTES 36u

struct own_note {
	uint32_t owner_bytes, text_bytes, type;
	char owner[8]; /* both are padded to whole words */
	char text[OWN_NOTE_TEXT_BYTES];
};

_Static_assert(sizeof(struct own_note) == 12 + 8 + OWN_NOTE_TEXT_BYTES, "as the format of notes has it");

/* Once in a library. */
#define OWN_NOTE(what)                                                                                                 \
	__attribute__((section(".note.mete"), used, aligned(4))) static const struct own_note own_note = {             \
		sizeof(OWN_NOTE_OWNER), OWN_NOTE_TEXT_BYTES, OWN_NOTE_TYPE, OWN_NOTE_OWNER, what                       \
	}
