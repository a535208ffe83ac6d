/*
 * top_picture.c: see top_picture.h. Columns that do not fit are dropped by their rank (top_heads), and the command
 * takes what is left.
 *
 * Colours: when the terminal has them and NO_COLOR is unset or empty; nothing is said by a colour alone.
 */
#include "cli/top_picture.h"

#include "base/size.h"
#include "verb/output.h"

#include <ncurses.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define COMMAND_COLUMNS 11	     /* at least */
#define LINES_MAX 4		     /* of what is said at the bottom */
#define NAME_COLUMNS 20		     /* at most */
#define BAR_COLUMNS 10
#define WIDE_COLUMNS 120 /* from which on the history has all its columns */

enum colour { COLOUR_NONE, COLOUR_GOOD, COLOUR_WARN, COLOUR_BAD, COLOUR_COLD };

static void colour_on(const struct screen *s, enum colour colour)
{
	if (s->colours && colour)
		attron(COLOR_PAIR(colour));
}

static void colour_off(const struct screen *s, enum colour colour)
{
	if (s->colours && colour)
		attroff(COLOR_PAIR(colour));
}

/* Text in `width` columns from x on, what is longer is cut. Nothing outside the window is drawn. */
static void put(int y, int x, int width, bool right, const char *text)
{
	int length = output_letters(text);

	if (x + width > COLS)
		width = COLS - x;
	if (width <= 0 || y >= LINES)
		return;
	if (right && length < width)
		x += width - length;
	mvaddnstr(y, x, text, output_bytes(text, width));
}

__attribute__((format(printf, 3, 4))) static void put_line(int y, attr_t look, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	attron(look);
	if (look & A_REVERSE && y < LINES)
		mvhline(y, 0, ' ', COLS);
	put(y, 0, COLS, false, text);
	attroff(look);
}

static void draw_title(const struct screen *s)
{
	time_t now = time(NULL);
	char clock[16] = "";
	struct tm tm;

	if (localtime_r(&now, &tm))
		strftime(clock, sizeof(clock), "%H:%M:%S", &tm);
	put_line(0, A_BOLD, "mete top  %s  %zu tenant%s, %zu process%s  every %g s%s%s%s", clock, s->view->tenants,
		 s->view->tenants == 1 ? "" : "s", s->view->processes, s->view->processes == 1 ? "" : "es",
		 (double)s->pace->interval_ns / 1e9, *s->choice.filter ? "  filter \"" : "", s->choice.filter,
		 *s->choice.filter ? "\"" : "");
}

static int longest(const char *head, const char *text, size_t stride, size_t count)
{
	size_t most = strlen(head);

	for (size_t i = 0; i < count; i++)
		if ((size_t)output_letters(text + i * stride) > most)
			most = (size_t)output_letters(text + i * stride);
	return (int)most;
}

/*
 * Widths by the room that there is: columns are dropped by rank, 1 first, until the rest fits; -1: dropped. What is
 * over goes to the last column.
 */
static void fit(int *width, const unsigned char *dropped, unsigned int count)
{
	int total = -1;

	for (unsigned int c = 0; c < count; c++)
		total += width[c] + 1;
	for (unsigned int rank = 1; total > COLS && rank <= count; rank++)
		for (unsigned int c = 0; c < count; c++)
			if (dropped[c] == rank) {
				total -= width[c] + 1;
				width[c] = -1;
			}
	if (total < COLS)
		width[count - 1] += COLS - total;
}

/* A minute in 30 columns where there is room, else in 15. */
static int history_columns(void)
{
	return COLS >= WIDE_COLUMNS ? (int)TOP_HISTORY_SLOTS : (int)TOP_HISTORY_SLOTS / 2;
}

static enum colour colour_of_percent(double pct)
{
	return pct >= 50 ? COLOUR_GOOD : COLOUR_NONE;
}

enum device_column {
	DEVICE_INDEX,
	DEVICE_NAME,
	DEVICE_MEMORY,
	DEVICE_GUARANTEED,
	DEVICE_BUSY,
	DEVICE_BAR,
	DEVICE_HISTORY,
	DEVICE_WHO,
	DEVICE_COLUMNS
};

static const struct {
	const char *name;
	bool number;
} device_heads[DEVICE_COLUMNS] = {
	{ "DEV", true },  { "NAME", false }, { "MEMORY", true },   { "GUARANTEED", true },
	{ "BUSY", true }, { "", false },     { "HISTORY", false }, { "WHO", false },
};

static void fit_devices(const struct screen *s, int width[DEVICE_COLUMNS])
{
	static const unsigned char dropped[DEVICE_COLUMNS] = { 0, 4, 0, 1, 0, 2, 3, 0 };
	const struct top_device *d = s->view->device;
	size_t count = s->view->device_count;

	width[DEVICE_INDEX] = 3;
	width[DEVICE_NAME] = d ? longest("NAME", d->name, sizeof(*d), count) : 4;
	width[DEVICE_MEMORY] = d ? longest("MEMORY", d->memory, sizeof(*d), count) : 6;
	width[DEVICE_GUARANTEED] = 10;
	width[DEVICE_BUSY] = 5;
	width[DEVICE_BAR] = BAR_COLUMNS;
	width[DEVICE_HISTORY] = history_columns();
	width[DEVICE_WHO] = COMMAND_COLUMNS;
	if (width[DEVICE_NAME] > NAME_COLUMNS)
		width[DEVICE_NAME] = NAME_COLUMNS;
	fit(width, dropped, DEVICE_COLUMNS);
}

static void draw_device(const struct screen *s, int y, const int width[DEVICE_COLUMNS], const struct top_device *d)
{
	enum colour full = d->full_pct >= 95 ? COLOUR_BAD : d->full_pct >= 80 ? COLOUR_WARN : COLOUR_NONE;
	char bar[TOP_HISTORY_BYTES], history[TOP_HISTORY_BYTES];
	const char *text[DEVICE_COLUMNS] = {
		d->index, d->name, d->memory, d->guaranteed, d->busy, bar, history, d->who
	};
	int x = 0;

	top_bar_draw(d->busy_pct, BAR_COLUMNS, s->utf8, bar);
	top_history_draw(d->history, (unsigned int)history_columns(), s->utf8, history);
	for (unsigned int c = 0; c < DEVICE_COLUMNS; c++) {
		enum colour colour = c == DEVICE_MEMORY			   ? full
				     : c >= DEVICE_BUSY && c != DEVICE_WHO ? colour_of_percent(d->busy_pct)
									   : COLOUR_NONE;

		if (width[c] < 0)
			continue;
		colour_on(s, colour);
		put(y, x, width[c], device_heads[c].number, text[c]);
		colour_off(s, colour);
		x += width[c] + 1;
	}
}

/* Value: the line below. */
static int draw_devices(const struct screen *s, int y)
{
	size_t count = s->view->device_count, most = LINES > 9 ? (size_t)(LINES - 6) / 3 : 1;
	int width[DEVICE_COLUMNS], x = 0;

	fit_devices(s, width);
	put_line(y, A_REVERSE, " ");
	attron(A_REVERSE);
	for (unsigned int c = 0; c < DEVICE_COLUMNS; c++) {
		if (width[c] < 0)
			continue;
		put(y, x, width[c], device_heads[c].number, device_heads[c].name);
		x += width[c] + 1;
	}
	attroff(A_REVERSE);
	y++;
	for (size_t i = 0; i < count && i < most; i++)
		draw_device(s, y++, width, &s->view->device[i]);
	if (count > most)
		put_line(y++, 0, "    and %zu more", count - most);
	return y;
}

/* Widths of the columns; -1: dropped. The command gets the rest. */
static void fit_columns(const struct screen *s, int width[TOP_COLUMNS])
{
	unsigned char dropped[TOP_COLUMNS];

	for (unsigned int c = 0; c < TOP_COLUMNS; c++) {
		dropped[c] = top_heads[c].dropped;
		width[c] = s->view->row_count ? longest(top_heads[c].name, s->view->row->text[c], sizeof(*s->view->row),
							s->view->row_count)
					      : (int)strlen(top_heads[c].name);
	}
	if (width[TOP_NAME] > NAME_COLUMNS)
		width[TOP_NAME] = COLS < 100 ? 14 : NAME_COLUMNS;
	width[TOP_HISTORY] = history_columns();
	width[TOP_COMMAND] = COMMAND_COLUMNS;
	fit(width, dropped, TOP_COLUMNS);
}

static void draw_heads(const struct screen *s, int y, const int width[TOP_COLUMNS])
{
	int x = 0;

	put_line(y, A_REVERSE, " ");
	for (unsigned int c = 0; c < TOP_COLUMNS; c++) {
		attr_t look = A_REVERSE | (c == s->choice.by ? A_BOLD | A_UNDERLINE : 0);

		if (width[c] < 0)
			continue;
		attron(look);
		put(y, x, width[c], top_heads[c].number, top_heads[c].name);
		attroff(look);
		x += width[c] + 1;
	}
}

static bool is_frozen(const struct top_row *row)
{
	return !strcmp(row->text[TOP_CLASS], "frozen");
}

/* The column of classes says why a tenant does not work: frozen, or where its memory is. */
static bool stands_still(const struct top_row *row)
{
	static const char *const words[] = { "frozen", "leaving", "away", "returning" };

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (!strcmp(row->text[TOP_CLASS], words[i]))
			return true;
	return false;
}

/* Why a tenant does not work is said even where the column that says it is dropped. */
static const char *text_of(const struct top_row *row, unsigned int column, const int width[TOP_COLUMNS])
{
	return column == TOP_REQUESTED && width[TOP_CLASS] < 0 && stands_still(row) ? row->text[TOP_CLASS]
										    : row->text[column];
}

static enum colour colour_of(const struct top_row *row, unsigned int column)
{
	if (is_frozen(row))
		return COLOUR_COLD;
	if (column == TOP_HISTORY)
		return COLOUR_GOOD;
	if (column == TOP_WAIT && row->value[TOP_WAIT] >= 50)
		return COLOUR_WARN;
	if ((column == TOP_1S || column == TOP_10S) && row->value[column] >= 1)
		return COLOUR_GOOD;
	return COLOUR_NONE;
}

static void draw_row(const struct screen *s, int y, const int width[TOP_COLUMNS], const struct top_row *row,
		     bool selected)
{
	char history[TOP_HISTORY_BYTES];
	int x = 0;

	top_history_draw(row->history, (unsigned int)history_columns(), s->utf8, history);
	if (selected) {
		attron(A_REVERSE);
		mvhline(y, 0, ' ', COLS);
	}
	for (unsigned int c = 0; c < TOP_COLUMNS; c++) {
		enum colour colour = selected ? COLOUR_NONE : colour_of(row, c);

		if (width[c] < 0)
			continue;
		colour_on(s, colour);
		put(y, x, width[c], top_heads[c].number, c == TOP_HISTORY ? history : text_of(row, c, width));
		colour_off(s, colour);
		x += width[c] + 1;
	}
	if (selected)
		attroff(A_REVERSE);
}

static void draw_tenants(struct screen *s, int y, int below)
{
	size_t room = below > y + 1 ? (size_t)(below - y - 1) : 0;
	int width[TOP_COLUMNS];

	fit_columns(s, width);
	draw_heads(s, y++, width);
	if (!room)
		return;
	if (s->first > s->selected)
		s->first = s->selected;
	if (s->selected >= s->first + room)
		s->first = s->selected - room + 1;
	if (s->first + room > s->view->row_count)
		s->first = s->view->row_count > room ? s->view->row_count - room : 0;
	for (size_t i = 0; i < room && s->first + i < s->view->row_count; i++)
		draw_row(s, y + (int)i, width, &s->view->row[s->first + i], s->first + i == s->selected);
	if (!s->view->row_count)
		put(y, 0, COLS, false,
		    *s->choice.filter ? "nothing fits the filter; / and Enter shows all"
				      : "no tenant; `mete run` and `mete create` make some");
}

/* How many lines of the help there is room for. */
unsigned int picture_help_room(void)
{
	return LINES > 1 ? (unsigned int)LINES - 1 : 1;
}

void picture_help_scroll(struct screen *s, long long lines)
{
	unsigned int room = picture_help_room(), last = s->help.count > room ? s->help.count - room : 0;
	long long first = (long long)s->help_first + lines;

	s->help_first = first < 0 ? 0 : first > last ? last : (unsigned int)first;
}

static void draw_help(struct screen *s)
{
	unsigned int room = picture_help_room();

	top_help_make(&s->help, COLS);
	picture_help_scroll(s, 0);
	for (unsigned int i = 0; i < room && s->help_first + i < s->help.count; i++) {
		const char *line = s->help.line[s->help_first + i];

		put_line((int)i, *line && *line != ' ' ? A_BOLD : 0, "%s", line);
	}
	if (s->help.count > room)
		put_line(LINES - 1, A_REVERSE, "%u-%u of %u: up, down scroll; another key goes back", s->help_first + 1,
			 s->help_first + room < s->help.count ? s->help_first + room : s->help.count, s->help.count);
	else
		put_line(LINES - 1, A_REVERSE, "any key goes back");
}

/* At the bottom, over as many lines as it needs. Value: the first of them. */
static int put_lines(const char *text)
{
	int lines = (output_letters(text) + COLS - 1) / COLS, y;

	if (lines > LINES_MAX)
		lines = LINES_MAX;
	if (lines > LINES)
		lines = LINES;
	y = LINES - lines;
	attron(A_BOLD);
	for (int i = 0; i < lines; i++, text += output_bytes(text, COLS))
		put(y + i, 0, COLS, false, text);
	attroff(A_BOLD);
	return y;
}

/* What is said at the bottom. Value: the first of its lines. */
static int draw_below(const struct screen *s)
{
	char text[sizeof(s->question.words) + sizeof(s->typed) + 2];
	int y = LINES - 1;

	if (s->mode == MODE_PROMPT) {
		snprintf(text, sizeof(text), "%s: %s", s->question.words, s->typed);
		return put_lines(text);
	}
	if (!*s->note) {
		put_line(y, 0, "q quit  h help  < > sort  / filter  c share  f freeze  e end  Enter processes");
		return y;
	}
	return put_lines(s->note);
}

void picture_draw(struct screen *s)
{
	int y, below;

	erase();
	if (s->mode == MODE_HELP) {
		draw_help(s);
	} else {
		below = draw_below(s);
		draw_title(s);
		y = draw_devices(s, 1);
		draw_tenants(s, y + (LINES > 12), below);
	}
	curs_set(s->mode == MODE_PROMPT);
	if (s->mode == MODE_PROMPT)
		move(LINES - 1, (output_letters(s->question.words) + 2 + (int)strlen(s->typed)) % COLS);
	refresh();
}

void picture_colours(struct screen *s)
{
	const char *none = getenv("NO_COLOR");

	if ((none && *none) || !has_colors() || start_color() == ERR)
		return;
	use_default_colors();
	init_pair(COLOUR_GOOD, COLOR_GREEN, -1);
	init_pair(COLOUR_WARN, COLOR_YELLOW, -1);
	init_pair(COLOUR_BAD, COLOR_RED, -1);
	init_pair(COLOUR_COLD, COLOR_CYAN, -1);
	s->colours = true;
}
