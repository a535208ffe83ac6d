/* json_text_test.c: what json_text.c writes, character by character. */
#include "base/json_text.h"
#include "base/tap.h"

#include <math.h>

static void wrote(struct json_text *j, const char *expected)
{
	size_t bytes;
	char *text = json_text_take(j, &bytes);

	tap_ok(text && bytes == strlen(text) && text[bytes - 1] == '\n', "it ends with a line's end");
	if (text)
		text[bytes - 1] = 0;
	is_str(text ? text : "", expected);
	free(text);
}

static void string(const char *value, const char *expected)
{
	struct json_text j = { 0 };

	json_text_string(&j, NULL, value);
	wrote(&j, expected);
}

static void fixed(double value, unsigned int decimals, const char *expected)
{
	struct json_text j = { 0 };

	json_text_fixed(&j, NULL, value, decimals);
	wrote(&j, expected);
}

static void integer(int64_t value, const char *expected)
{
	struct json_text j = { 0 };

	json_text_integer(&j, NULL, value);
	wrote(&j, expected);
}

static void nests(void)
{
	struct json_text j = { 0 };

	json_text_open(&j, NULL, '{');
	json_text_open(&j, "none", '[');
	json_text_close(&j, ']');
	json_text_bool(&j, "yes", true);
	json_text_open(&j, "list", '[');
	json_text_integer(&j, NULL, 1);
	json_text_null(&j, NULL);
	json_text_open(&j, NULL, '{');
	json_text_bool(&j, "no", false);
	json_text_close(&j, '}');
	json_text_string(&j, NULL, "x");
	json_text_close(&j, ']');
	json_text_fixed(&j, "part", 0.25, 6);
	json_text_close(&j, '}');
	wrote(&j, "{\"none\":[],\"yes\":true,\"list\":[1,null,{\"no\":false},\"x\"],\"part\":0.25}");
}

static void grows(void)
{
	struct json_text j = { 0 };
	size_t bytes;
	char *text;

	json_text_open(&j, NULL, '[');
	for (int i = 0; i < 100000; i++)
		json_text_string(&j, NULL, "1234567");
	json_text_close(&j, ']');
	text = json_text_take(&j, &bytes);
	tap_ok(text && bytes == 100000 * 10 + 2 && !memcmp(text + bytes - 12, ",\"1234567\"]\n", 12), "a long one");
	free(text);
}

int main(void)
{
	tap_begin();
	string("plain", "\"plain\"");
	string("", "\"\"");
	string(NULL, "null");
	string("a \"b\"\\\n\x01", "\"a \\\"b\\\"\\\\\\u000a\\u0001\"");
	string("Gr\xc3\xb6\xc3\x9f"
	       "e \xe2\x82\xac \xf0\x9f\x98\x80",
	       "\"Gr\xc3\xb6\xc3\x9f"
	       "e \xe2\x82\xac \xf0\x9f\x98\x80\"");
	string("\xff\xc3", "\"??\"");
	string("\xc0\xaf\xed\xa0\x80\xf5\x80\x80\x80", "\"?????????\"");
	integer(0, "0");
	integer(INT64_MAX, "9223372036854775807");
	integer(INT64_MIN, "-9223372036854775808");
	fixed(0, 6, "0.0");
	fixed(1, 0, "1.0");
	fixed(0.1, 6, "0.1");
	fixed(12.0001, 4, "12.0001");
	fixed(0.0000004, 6, "0.0");
	fixed(-0.0000004, 6, "0.0");
	fixed(-2.5, 3, "-2.5");
	fixed(0.9999999, 6, "1.0");
	fixed(999999999.5, 9, "999999999.5");
	fixed((double)NAN, 6, "null");
	fixed((double)INFINITY, 6, "null");
	fixed(-1e9, 6, "null");
	nests();
	grows();
	return tap_end();
}
