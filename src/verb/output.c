/* output.c: see output.h. */
#include "verb/output.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define LEAST_COLUMNS 20

static int columns_of_environment(void)
{
	const char *text = getenv("COLUMNS");
	char *end;
	long n = text ? strtol(text, &end, 10) : 0;

	return text && end != text && !*end && n >= LEAST_COLUMNS && n < 10000 ? (int)n : 0;
}

int output_columns(void)
{
	struct winsize size = { 0 };
	int n;

	if (isatty(STDOUT_FILENO) && !ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_col >= LEAST_COLUMNS)
		return size.ws_col;
	n = columns_of_environment();
	return n ? n : OUTPUT_USUAL_COLUMNS;
}

static int begins_letter(char c)
{
	return ((unsigned char)c & 0xc0) != 0x80;
}

int output_letters(const char *text)
{
	int n = 0;

	for (; *text; text++)
		n += begins_letter(*text);
	return n;
}

int output_bytes(const char *text, int letters)
{
	const char *p = text;

	for (; *p; p++) {
		letters -= begins_letter(*p);
		if (letters < 0)
			break;
	}
	return (int)(p - text);
}

void output_words(const char *text, int indent, int at, int columns)
{
	while (*text) {
		size_t word = strcspn(text, " ");

		if (at > indent && at + 1 + (int)word > columns) {
			printf("\n%*s", indent, "");
			at = indent;
		} else if (at > indent) {
			putchar(' ');
			at++;
		}
		printf("%.*s", (int)word, text);
		at += (int)word;
		text += word;
		text += strspn(text, " ");
	}
	putchar('\n');
}
