/* clean_text_test.c: what is not fit for a line goes, and nothing else. */
#include "base/clean_text.h"
#include "base/tap.h"

#include <string.h>

int main(void)
{
	/* CSI, APC; a space that does not break; half a character */
	char two[] = "\xc2\x9b"
		     "7m\xc2\x9f\xc2\xa0\xc2";
	static const char *const none[] = {
		"\xc0\x80",	    "\xc1\xbf", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80",
		"\xf5\x80\x80\x80", "\x80",	"\xff",		"\xe2\x82",	"\xf0\x9f\x98",	    "\xe2x\x82"
	};
	char good[] = "\xe2\x82\xac \xf0\x9f\x98\x80 \xef\xbf\xbd \xf4\x8f\xbf\xbf \xe1\x88\xb4", kept[sizeof(good)];
	char all[256], ascii[] = "a\tb\nc~ \x7f \xc3\xa4", line[] = "a\tb\nc~ \x7f \xc3\xa4";

	tap_begin();
	tap_ok(!strcmp(clean_text_ascii(ascii), "a?b?c~ ? ??"), "printable ASCII stays: %s", ascii);
	tap_ok(!strcmp(clean_text_line(line), "a?b?c~ ? \xc3\xa4"), "control characters alone go: %s", line);
	tap_ok(!strcmp(clean_text_line(two), "?\?7m??\xc2\xa0?"),
	       "those of two bytes as well, and a character that was cut: %s", two);
	memcpy(kept, good, sizeof(good));
	tap_ok(!strcmp(clean_text_line(good), kept), "characters of all lengths stay: %s", good);
	for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++) {
		char text[16];

		strcpy(text, none[i]);
		clean_text_line(text);
		tap_ok(strlen(text) == strlen(none[i]) && strspn(text, "?x") == strlen(text),
		       "what is no UTF-8 goes: %s", text);
	}
	for (int i = 0; i < 255; i++)
		all[i] = (char)(i + 1);
	all[255] = 0;
	clean_text_ascii(all);
	tap_ok(strlen(all) == 255 && strspn(all, "?") == 31 && all[31] == ' ' && all['~' - 1] == '~' &&
		       strspn(&all['~'], "?") == 129,
	       "each by itself");
	return tap_end();
}
