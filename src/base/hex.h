/* hex.h: converts bytes to lower-case hexadecimal digits and back. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Writes two digits for each of `count` bytes, and a terminating zero. Returns `ret`. */
static inline char *hex_write(const uint8_t *bytes, size_t count, char *ret)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < count; i++) {
		ret[2 * i] = digits[bytes[i] >> 4];
		ret[2 * i + 1] = digits[bytes[i] & 15];
	}
	ret[2 * count] = 0;
	return ret;
}

static inline int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

/* Reads such a text. False: it is not exactly 2 * `count` digits. */
static inline bool hex_read(const char *text, uint8_t *ret, size_t count)
{
	if (strlen(text) != 2 * count)
		return false;
	for (size_t i = 0; i < count; i++) {
		int high = hex_digit(text[2 * i]), low = hex_digit(text[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		ret[i] = (uint8_t)(high << 4 | low);
	}
	return true;
}
