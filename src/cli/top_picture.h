/*
 * top_picture.h: what the screen of `mete top` shows, and how it is drawn. Inside top_screen.c and top_picture.c alone.
 */
#pragma once

#include "cli/top_help.h"
#include "cli/top_screen.h"

#include <stdbool.h>

enum mode { MODE_TABLE, MODE_HELP, MODE_PROMPT };

/* What a prompt asks for. The tenant is the one that was selected when it was asked. */
struct question {
	const char *key; /* of grant_set; "end": to end it; NULL: the filter */
	char words[192];
	char name[TOP_TEXT], uuid[TOP_TEXT];
};

struct screen {
	struct top_view *view;
	struct control *control;
	const struct top_pace *pace;
	struct top_choice choice;
	enum mode mode;
	size_t selected, first; /* rows; the first one that is shown */
	/* who is selected, so that it stays so when rows move */
	char name[TOP_TEXT];
	json_int_t device, pid;
	struct question question;
	char typed[TOP_TEXT];
	char note[1024];
	uint64_t note_ns;
	uint64_t next_ns, machine_ns;
	unsigned long shown;
	struct top_help help;
	unsigned int help_first;
	bool colours, utf8, ending;
};

/* Prepares the colours, if the terminal has any and the user wants them. */
void picture_colours(struct screen *s);
/* Draws the screen anew, in its mode and for the size that the terminal has now. */
void picture_draw(struct screen *s);
/* How many lines of the help there is room for; and scrolls it, no further than its ends. */
unsigned int picture_help_room(void);
void picture_help_scroll(struct screen *s, long long lines);
