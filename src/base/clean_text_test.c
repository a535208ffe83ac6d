/* clean_text_test.c: what is not fit for a line goes, and nothing else. */
#include "base/clean_text.h"
#include "base/tap.h"

#include <string.h>

int main(void)
{
	/* CSI, APC; a space that does not break; half a character */
	char two[] = "\xc2\x9b"
		     "7m\xc2\x9f\xc2\xa0\xc2";
	char all[256], ascii[] = "a\tb\nc~ \x7f \xc3\xa4", line[] = "a\tb\nc~ \x7f \xc3\xa4";

	tap_begin();
	tap_ok(!strcmp(clean_text_ascii(ascii), "a?b?c~ ? ??"), "printable ASCII stays: %s", ascii);
	tap_ok(!strcmp(clean_text_line(line), "a?b?c~ ? \xc3\xa4"), "control characters alone go: %s", line);
	tap_ok(!strcmp(clean_text_line(two), "?\?7m??\xc2\xa0\xc2"), "those of two bytes as well: %s", two);
	for (int i = 0; i < 255; i++)
		all[i] = (char)(i + 1);
	all[255] = 0;
	clean_text_ascii(all);
	tap_ok(strlen(all) == 255 && strspn(all, "?") == 31 && all[31] == ' ' && all['~' - 1] == '~' &&
		       strspn(&all['~'], "?") == 129,
	       "each by itself");
	return tap_end();
}
