/* clean_text.c: see clean_text.h. */
#include "base/clean_text.h"

#include <stdbool.h>

char *clean_text_ascii(char *text)
{
	for (char *c = text; *c; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
	return text;
}

char *clean_text_line(char *text)
{
	for (unsigned char *c = (unsigned char *)text; *c; c++) {
		/* terminals obey those as well that have two bytes in UTF-8 */
		bool two = c[0] == 0xc2 && c[1] >= 0x80 && c[1] < 0xa0;

		if (!two && *c >= ' ' && *c != 0x7f)
			continue;
		*c = '?';
		if (two)
			*++c = '?';
	}
	return text;
}
