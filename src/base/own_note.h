/*
 * own_note.h: identifies mete's own libraries that replace a driver's. Such a file has an ELF note of owner "mete",
 * whose text names the library. The note is not a symbol, and programs do not see it.
 */
#pragma once

#include <stdint.h>

#define OWN_NOTE_OWNER "mete"
#define OWN_NOTE_TYPE 1u
#define OWN_NOTE_TEXT_BYTES 36u

struct own_note {
	uint32_t owner_bytes, text_bytes, type;
	char owner[8]; /* owner and text are padded to whole words */
	char text[OWN_NOTE_TEXT_BYTES];
};

_Static_assert(sizeof(struct own_note) == 12 + 8 + OWN_NOTE_TEXT_BYTES, "as the format of notes has it");

/* Use it once in a library. */
#define OWN_NOTE(what)                                                                                                 \
	__attribute__((section(".note.mete"), used, aligned(4))) static const struct own_note own_note = {             \
		sizeof(OWN_NOTE_OWNER), OWN_NOTE_TEXT_BYTES, OWN_NOTE_TYPE, OWN_NOTE_OWNER, what                       \
	}
