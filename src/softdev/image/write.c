/* write.c: see write.h. Fields as image.c reads them, written byte by byte. */
#include "softdev/image/write.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ENTRY_HEAD 88u /* 64 bytes and the name */
#define NAME_BYTES 24u

static void put(unsigned char *p, unsigned bytes, uint64_t value)
{
	for (unsigned i = 0; i < bytes; i++)
		p[i] = (unsigned char)(value >> 8 * i);
}

static size_t padded(size_t bytes)
{
	return (bytes + 8) / 8 * 8; /* with a NUL at least */
}

static void entry_write(unsigned char *p, const struct image_text *t, size_t index, uint32_t arch, const char *end)
{
	const size_t bytes = t->bytes + strlen(end);

	put(p, 2, 1); /* PTX */
	put(p + 2, 2, 0x101);
	put(p + 4, 4, ENTRY_HEAD);
	put(p + 8, 8, padded(bytes));
	put(p + 28, 4, arch);
	put(p + 32, 4, 64);
	put(p + 36, 4, (uint64_t)snprintf((char *)p + 64, NAME_BYTES, "mete linked %u", (unsigned)index));
	put(p + 40, 8, 0x11); /* 64 bit, linux */
	memcpy(p + ENTRY_HEAD, t->text, t->bytes);
	memcpy(p + ENTRY_HEAD + t->bytes, end, bytes - t->bytes);
}

void *image_write(const struct image_text *text, size_t count, uint32_t arch, uint32_t max_registers, size_t *ret_bytes)
{
	size_t bytes = 16, at = 16;
	char end[64] = "";
	unsigned char *p;

	if (max_registers)
		snprintf(end, sizeof(end), IMAGE_REGISTERS_PRAGMA, max_registers);
	for (size_t i = 0; i < count; i++)
		bytes += ENTRY_HEAD + padded(text[i].bytes + strlen(end));
	p = calloc(1, bytes);
	if (!p)
		return NULL;
	put(p, 4, 0xba55ed50u);
	put(p + 4, 2, 1);
	put(p + 6, 2, 16);
	put(p + 8, 8, bytes - 16);
	for (size_t i = 0; i < count; i++) {
		entry_write(p + at, &text[i], i, arch, end);
		at += ENTRY_HEAD + padded(text[i].bytes + strlen(end));
	}
	*ret_bytes = bytes;
	return p;
}
