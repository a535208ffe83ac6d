/* clean_text.c: see clean_text.h. */
#include "base/clean_text.h"

char *clean_text_ascii(char *text)
{
	for (char *c = text; *c; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
	return text;
}

char *clean_text_line(char *text)
{
	for (char *c = text; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = '?';
	return text;
}
