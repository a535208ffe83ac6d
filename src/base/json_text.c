/* json_text.c: see json_text.h. */
#include "base/json_text.h"

#include <stdlib.h>
#include <string.h>

#define ROOM_FIRST 4096u
#define FIXED_MOST 1e9
#define DIGITS 24u /* of a 64 bit number, with a sign */

/* Value: where so many bytes can be written, or NULL: no memory. */
static char *reserve(struct json_text *j, size_t bytes)
{
	size_t room = j->room ? j->room : ROOM_FIRST;
	char *text;

	while (room - j->bytes < bytes)
		room *= 2;
	if (j->failed || room == j->room)
		return j->failed ? NULL : j->text + j->bytes;
	text = realloc(j->text, room);
	if (!text) {
		j->failed = true;
		return NULL;
	}
	j->text = text;
	j->room = room;
	return text + j->bytes;
}

static void put(struct json_text *j, const char *data, size_t bytes)
{
	char *at = reserve(j, bytes);

	if (!at)
		return;
	memcpy(at, data, bytes);
	j->bytes += bytes;
}

/* The comma and the key. */
static void begin(struct json_text *j, const char *key)
{
	if (j->more)
		put(j, ",", 1);
	j->more = true;
	if (!key)
		return;
	put(j, "\"", 1);
	put(j, key, strlen(key));
	put(j, "\":", 2);
}

void json_text_open(struct json_text *j, const char *key, char bracket)
{
	begin(j, key);
	put(j, &bracket, 1);
	j->more = false;
}

void json_text_close(struct json_text *j, char bracket)
{
	put(j, &bracket, 1);
	j->more = true;
}

/* Strings. */

/* How many bytes of UTF-8 stand here for one character (RFC 3629); 0: it is none. */
static size_t utf8_length(const unsigned char *c)
{
	static const unsigned char least[] = { 0, 0, 0xc2, 0xe0, 0xf0 };
	size_t n = c[0] < 0x80 ? 1 : c[0] < 0xe0 ? 2 : c[0] < 0xf0 ? 3 : 4;

	if (c[0] < least[n] || c[0] > 0xf4)
		return 0;
	for (size_t i = 1; i < n; i++)
		if ((c[i] & 0xc0) != 0x80)
			return 0;
	/* Longer than needed, half of a pair, or beyond the last. */
	if ((c[0] == 0xe0 && c[1] < 0xa0) || (c[0] == 0xed && c[1] > 0x9f) || (c[0] == 0xf0 && c[1] < 0x90) ||
	    (c[0] == 0xf4 && c[1] > 0x8f))
		return 0;
	return n;
}

static void put_escaped(struct json_text *j, unsigned char c)
{
	static const char hex[] = "0123456789abcdef";
	char escaped[] = { '\\', 'u', '0', '0', hex[c >> 4], hex[c & 15] };

	if (c == '"' || c == '\\')
		put(j, (char[]){ '\\', (char)c }, 2);
	else
		put(j, escaped, sizeof(escaped));
}

void json_text_string(struct json_text *j, const char *key, const char *value)
{
	const unsigned char *c = (const unsigned char *)value, *plain = c;

	if (!value) {
		json_text_null(j, key);
		return;
	}
	begin(j, key);
	put(j, "\"", 1);
	while (*c) {
		size_t n = utf8_length(c);

		if (n && *c >= ' ' && *c != '"' && *c != '\\') {
			c += n;
			continue;
		}
		put(j, (const char *)plain, (size_t)(c - plain));
		if (n)
			put_escaped(j, *c);
		else
			put(j, "?", 1);
		plain = ++c;
	}
	put(j, (const char *)plain, (size_t)(c - plain));
	put(j, "\"", 1);
}

/* Numbers. */

/* Value: the first digit, of those that end before `end`; at least so many. */
static char *write_digits(char *end, uint64_t value, unsigned int least)
{
	for (unsigned int i = 0; value || i < least; i++, value /= 10)
		*--end = (char)('0' + value % 10);
	return end;
}

void json_text_integer(struct json_text *j, const char *key, int64_t value)
{
	char digits[DIGITS], *end = digits + sizeof(digits), *at;

	at = write_digits(end, value < 0 ? -(uint64_t)value : (uint64_t)value, 1);
	if (value < 0)
		*--at = '-';
	begin(j, key);
	put(j, at, (size_t)(end - at));
}

void json_text_fixed(struct json_text *j, const char *key, double value, unsigned int decimals)
{
	char digits[DIGITS], *end = digits + sizeof(digits), *at;
	uint64_t scale = 1, all;

	if (!(value > -FIXED_MOST && value < FIXED_MOST)) {
		json_text_null(j, key);
		return;
	}
	for (unsigned int i = 0; i < decimals; i++)
		scale *= 10;
	all = (uint64_t)((value < 0 ? -value : value) * (double)scale + 0.5);
	begin(j, key);
	if (value < 0 && all)
		put(j, "-", 1);
	at = write_digits(end, all / scale, 1);
	put(j, at, (size_t)(end - at));
	at = write_digits(end, all % scale, decimals ? decimals : 1);
	while (end - at > 1 && end[-1] == '0')
		end--;
	put(j, ".", 1);
	put(j, at, (size_t)(end - at));
}

void json_text_bool(struct json_text *j, const char *key, bool value)
{
	begin(j, key);
	put(j, value ? "true" : "false", value ? 4 : 5);
}

void json_text_null(struct json_text *j, const char *key)
{
	begin(j, key);
	put(j, "null", 4);
}

char *json_text_take(struct json_text *j, size_t *ret_bytes)
{
	char *text;

	put(j, "\n", 2);
	text = j->text;
	if (j->failed) {
		free(text);
		text = NULL;
	}
	*ret_bytes = text ? j->bytes - 1 : 0;
	*j = (struct json_text){ 0 };
	return text;
}
