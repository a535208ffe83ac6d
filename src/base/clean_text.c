/* clean_text.c: see clean_text.h. */
#include "base/clean_text.h"

#include <stddef.h>
#include <stdint.h>

char *clean_text_ascii(char *text)
{
	for (char *c = text; *c; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
	return text;
}

/* How many bytes a character of UTF-8 has that begins so; 0: none does. */
static size_t length_of(unsigned char first)
{
	return first < 0x80 ? 1 : first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
}

/* The length of the character there; 0: it is none, or cut. A zero byte is no part of one. */
static size_t character(const unsigned char *c, uint32_t *ret)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t length = length_of(*c);

	*ret = length > 1 ? *c & (0x7fu >> length) : *c;
	for (size_t i = 1; i < length; i++) {
		if ((c[i] & 0xc0) != 0x80)
			return 0;
		*ret = *ret << 6 | (c[i] & 0x3f);
	}
	return length && *ret >= least[length] && *ret < 0x110000 && (*ret & ~0x7ffu) != 0xd800 ? length : 0;
}

char *clean_text_line(char *text)
{
	unsigned char *c = (unsigned char *)text;
	uint32_t value;
	size_t length;

	for (; *c; c += length) {
		length = character(c, &value);
		/* Terminals obey control characters of two bytes as well. */
		if (length && value >= ' ' && (value < 0x7f || value >= 0xa0))
			continue;
		length = length ? length : 1;
		for (size_t i = 0; i < length; i++)
			c[i] = '?';
	}
	return text;
}
