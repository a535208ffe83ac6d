/* top_help.h: the help of `mete top`, as lines of the screen's width. */
#pragma once

#define TOP_HELP_LINES 192u
#define TOP_HELP_COLUMNS 160u

struct top_help {
	char line[TOP_HELP_LINES][TOP_HELP_COLUMNS];
	unsigned int count;
	int columns; /* that it was made for; 0: not yet */
};

/* Makes it anew where the width is another one. A line that begins a part begins with a letter, others with blanks. */
void top_help_make(struct top_help *help, int columns);
