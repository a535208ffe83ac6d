/* top_help.h: the help of `mete top`, wrapped to the screen's width. */
#pragma once

#define TOP_HELP_LINES 192u
#define TOP_HELP_COLUMNS 160u

struct top_help {
	char line[TOP_HELP_LINES][TOP_HELP_COLUMNS];
	unsigned int count;
	int columns; /* the width it was made for; 0: not made yet */
};

/* Makes it again if the width has changed. The first line of a section begins with a letter, others with blanks. */
void top_help_make(struct top_help *help, int columns);
