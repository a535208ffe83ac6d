/*
 * top_screen.c: the full screen of `mete top`, by ncurses.
 *
 * One loop: ask meted when the interval is over, draw, wait for a key. What a key starts (a prompt, the help) is a mode
 * of the same loop, so that figures go on changing and a resize is drawn at once in every mode. Columns that do not fit
 * are dropped by their rank (top_heads), the command takes what is left.
 *
 * Colours: when the terminal has them and NO_COLOR is unset or empty; nothing is said by a colour alone.
 */
#include "cli/top_screen.h"
#include "client/requests.h"

#include "base/clean_text.h"
#include "base/clock.h"
#include "base/size.h"
#include "verb/choose.h"
#include "verb/output.h"
#include "cli/top_help.h"

#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <math.h>
#include <ncurses.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#define NOTE_NS UINT64_C(8000000000) /* what is said at the bottom stays for so long, or until a key */
#define COMMAND_COLUMNS 11	     /* at least */
#define LINES_MAX 4		     /* of what is said at the bottom */
#define NAME_COLUMNS 20		     /* at most */
#define BAR_COLUMNS 10
#define WIDE_COLUMNS 120 /* from which on the history has all its columns */

enum mode { MODE_TABLE, MODE_HELP, MODE_PROMPT };
enum colour { COLOUR_NONE, COLOUR_GOOD, COLOUR_WARN, COLOUR_BAD, COLOUR_COLD };

/* What a prompt asks for. The tenant is the one that was selected when it was asked. */
struct question {
	const char *key; /* of grant_set; END_KEY: to end it; NULL: the filter */
	char words[192];
	char name[TOP_TEXT], uuid[TOP_TEXT];
};

static const char END_KEY[] = "end";

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

static volatile sig_atomic_t asked_to_end;

static void on_end(int number)
{
	(void)number;
	asked_to_end = 1;
}

static void say_below(struct screen *s, const char *text)
{
	snprintf(s->note, sizeof(s->note), "%s", text);
	clean_text_line(s->note);
	s->note_ns = clock_now_ns() + NOTE_NS;
}

/* Selection. */

static void remember_selected(struct screen *s)
{
	const struct top_row *row = s->selected < s->view->row_count ? &s->view->row[s->selected] : NULL;

	snprintf(s->name, sizeof(s->name), "%s", row ? device_text(row->grant, "name") : "");
	s->device = row ? device_number(row->share, "index") : 0;
	s->pid = row && row->process ? device_number(row->process, "pid") : 0;
}

static void arrange(struct screen *s)
{
	top_arrange(s->view, &s->choice);
	for (size_t i = 0; i < s->view->row_count; i++) {
		const struct top_row *row = &s->view->row[i];

		if (!strcmp(device_text(row->grant, "name"), s->name) &&
		    device_number(row->share, "index") == s->device &&
		    (row->process ? device_number(row->process, "pid") : 0) == s->pid) {
			s->selected = i;
			return;
		}
	}
	if (s->selected >= s->view->row_count)
		s->selected = s->view->row_count ? s->view->row_count - 1 : 0;
	remember_selected(s);
}

static void select_row(struct screen *s, long long row)
{
	long long last = (long long)s->view->row_count - 1;

	s->selected = (size_t)(row < 0 ? 0 : row > last ? (last < 0 ? 0 : last) : row);
	remember_selected(s);
}

static void refresh_view(struct screen *s)
{
	uint64_t now = clock_now_ns();
	bool machine = !s->view->devices || now >= s->machine_ns;
	struct fault f;

	if (top_fetch(s->view, s->control, machine, &f))
		say_below(s, f.text);
	else
		top_remember(s->view, now, s->pace->interval_ns);
	if (machine && s->view->devices)
		s->machine_ns = clock_now_ns() + TOP_MACHINE_NS;
	arrange(s);
	s->next_ns = now + s->pace->interval_ns;
	s->shown++;
}

/* Drawing. */

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
static unsigned int help_room(void)
{
	return LINES > 1 ? (unsigned int)LINES - 1 : 1;
}

static void scroll_help(struct screen *s, long long lines)
{
	unsigned int room = help_room(), last = s->help.count > room ? s->help.count - room : 0;
	long long first = (long long)s->help_first + lines;

	s->help_first = first < 0 ? 0 : first > last ? last : (unsigned int)first;
}

static void draw_help(struct screen *s)
{
	unsigned int room = help_room();

	top_help_make(&s->help, COLS);
	scroll_help(s, 0);
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

static void draw(struct screen *s)
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

/* What keys do. */

/* Asks meted for something about the tenant `name`, and says what came of it. Takes the reference to the request. */
static void act(struct screen *s, const char *name, json_t *take_request, const char *done)
{
	char text[256];
	json_t *answer;
	struct fault f;

	if (control_ask_again(s->control, CONTROL_START, take_request, &answer, NULL, &f)) {
		say_below(s, f.text);
		return;
	}
	json_decref(answer);
	snprintf(text, sizeof(text), "%s: %s", name, done);
	say_below(s, text);
	s->next_ns = 0;
}

/* Changes one thing of a tenant on a device. */
static void change(struct screen *s, const struct question *q, json_t *take_value, const char *done)
{
	json_t *entry = json_pack("{s:s, s:o}", "device", q->uuid, q->key, take_value);

	act(s, q->name, json_pack("{s:s, s:s, s:[o]}", "op", "grant_set", "name", q->name, "devices", entry), done);
}

static const struct top_row *selected_row(const struct screen *s)
{
	return s->selected < s->view->row_count ? &s->view->row[s->selected] : NULL;
}

/* The tenant of the selected row on its device. Value: false: none is selected. */
static bool about_selected(const struct screen *s, struct question *q, const char *key)
{
	const struct top_row *row = selected_row(s);

	*q = (struct question){ .key = key };
	if (!row)
		return false;
	snprintf(q->name, sizeof(q->name), "%s", device_text(row->grant, "name"));
	snprintf(q->uuid, sizeof(q->uuid), "%s", device_text(row->share, "uuid"));
	return true;
}

static void freeze(struct screen *s)
{
	struct question q;
	bool frozen;

	if (!about_selected(s, &q, "frozen"))
		return;
	frozen = json_is_true(json_object_get(selected_row(s)->share, "frozen"));
	change(s, &q, json_boolean(!frozen), frozen ? "thawed" : "frozen");
}

static void ask(struct screen *s, const char *key, const char *words)
{
	if (!about_selected(s, &s->question, key) && key)
		return;
	snprintf(s->question.words, sizeof(s->question.words), "%s", words);
	s->typed[0] = 0;
	s->mode = MODE_PROMPT;
}

/* As `mete end` asks. */
static void ask_end(struct screen *s)
{
	const struct top_row *row = selected_row(s);
	char words[sizeof(s->question.words)], held[SIZE_TEXT_BYTES];
	json_int_t bytes = 0;
	size_t count, i;
	json_t *share;

	if (!row)
		return;
	json_array_foreach(json_object_get(row->grant, "devices"), i, share) bytes +=
		device_number(share, "held_bytes");
	count = json_array_size(json_object_get(row->grant, "processes"));
	snprintf(words, sizeof(words), "End %s (%zu process%s, %s held)? What they compute is lost. Type yes",
		 device_text(row->grant, "name"), count, count == 1 ? "" : "es", size_format((uint64_t)bytes, held));
	ask(s, END_KEY, words);
}

static void answered_end(struct screen *s)
{
	if (strcasecmp(s->typed, "y") && strcasecmp(s->typed, "yes")) {
		say_below(s, "nothing was ended");
		return;
	}
	act(s, s->question.name, request_grant("grant_end", s->question.name), "is being ended");
}

static void answered_number(struct screen *s)
{
	char *end, text[128];
	double number;

	if (!*s->typed)
		return;
	number = strtod(s->typed, &end);
	if (*end == '%')
		end++;
	if (end == s->typed || *end || !isfinite(number)) {
		snprintf(text, sizeof(text), "%.60s: not a number; nothing was changed", s->typed);
		say_below(s, text);
		return;
	}
	snprintf(text, sizeof(text), "%s is now %g", s->question.key, number);
	change(s, &s->question,
	       number == floor(number) && fabs(number) < 1e9 ? json_integer((json_int_t)number) : json_real(number),
	       text);
}

static void answered(struct screen *s)
{
	s->mode = MODE_TABLE;
	if (s->question.key == END_KEY) {
		answered_end(s);
	} else if (s->question.key) {
		answered_number(s);
	} else {
		memcpy(s->choice.filter, s->typed, sizeof(s->choice.filter));
		arrange(s);
	}
}

static void prompt_key(struct screen *s, int key)
{
	size_t length = strlen(s->typed);

	switch (key) {
	case '\n':
	case '\r':
	case KEY_ENTER:
		answered(s);
		break;
	case 27: /* escape */
		s->mode = MODE_TABLE;
		break;
	case KEY_BACKSPACE:
	case 127:
	case '\b':
		if (length)
			s->typed[length - 1] = 0;
		break;
	case 'U' & 31:
		s->typed[0] = 0;
		break;
	default:
		if (key >= ' ' && key < 127 && length + 1 < sizeof(s->typed)) {
			s->typed[length] = (char)key;
			s->typed[length + 1] = 0;
		}
	}
}

static void sort_by(struct screen *s, int step)
{
	do
		s->choice.by = (enum top_column)(((int)s->choice.by + step + TOP_COLUMNS) % TOP_COLUMNS);
	while (s->choice.by == TOP_HISTORY);
	arrange(s);
}

static void toggle_processes(struct screen *s)
{
	if (s->selected >= s->view->row_count)
		return;
	s->pid = 0; /* a process row that goes away leaves its tenant selected */
	if (json_object_del(s->choice.expanded, s->name))
		json_object_set_new(s->choice.expanded, s->name, json_true());
	arrange(s);
}

/* Value: false when the key moves nothing. */
static bool move_key(struct screen *s, int key)
{
	long long at = (long long)s->selected, page = LINES > 8 ? LINES / 2 : 4;

	switch (key) {
	case KEY_UP:
	case 'k':
		select_row(s, at - 1);
		return true;
	case KEY_DOWN:
	case 'j':
		select_row(s, at + 1);
		return true;
	case KEY_PPAGE:
		select_row(s, at - page);
		return true;
	case KEY_NPAGE:
		select_row(s, at + page);
		return true;
	case KEY_HOME:
		select_row(s, 0);
		return true;
	case KEY_END:
		select_row(s, (long long)s->view->row_count);
		return true;
	default:
		return false;
	}
}

/* Whatever does not scroll goes back. */
static void help_key(struct screen *s, int key)
{
	long long page = help_room();

	switch (key) {
	case KEY_UP:
	case 'k':
		scroll_help(s, -1);
		break;
	case KEY_DOWN:
	case 'j':
		scroll_help(s, 1);
		break;
	case KEY_PPAGE:
		scroll_help(s, -page);
		break;
	case KEY_NPAGE:
		scroll_help(s, page);
		break;
	case KEY_HOME:
		scroll_help(s, -(long long)TOP_HELP_LINES);
		break;
	case KEY_END:
		scroll_help(s, TOP_HELP_LINES);
		break;
	default:
		s->mode = MODE_TABLE;
	}
}

static void table_key(struct screen *s, int key)
{
	switch (key) {
	case 'q':
	case 'Q':
		s->ending = true;
		break;
	case 'h':
	case '?':
		s->mode = MODE_HELP;
		s->help_first = 0;
		break;
	case '<':
	case KEY_LEFT:
		sort_by(s, -1);
		break;
	case '>':
	case KEY_RIGHT:
		sort_by(s, 1);
		break;
	case 'r':
		s->choice.reversed = !s->choice.reversed;
		arrange(s);
		break;
	case '/':
		ask(s, NULL, "show only what contains");
		break;
	case 'c':
		ask(s, "cores", "guarantee in percent of the device");
		break;
	case 'l':
		ask(s, "cores_limit", "limit in percent of the device");
		break;
	case 'w':
		ask(s, "weight", "weight in what is left");
		break;
	case 'f':
		freeze(s);
		break;
	case 'e':
		ask_end(s);
		break;
	case '\n':
	case '\r':
	case ' ':
	case KEY_ENTER:
		toggle_processes(s);
		break;
	case 'p':
		s->choice.all_processes = !s->choice.all_processes;
		arrange(s);
		break;
	default:
		move_key(s, key);
	}
}

static void press(struct screen *s, int key)
{
	if (key == ERR || key == KEY_RESIZE)
		return;
	if (s->mode == MODE_PROMPT) {
		prompt_key(s, key);
		return;
	}
	s->note[0] = 0;
	if (s->mode == MODE_HELP)
		help_key(s, key);
	else
		table_key(s, key);
}

static void begin_colours(struct screen *s)
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

static void loop(struct screen *s)
{
	while (!s->ending && !asked_to_end) {
		uint64_t now = clock_now_ns();
		int wait_ms = 0;

		if (now >= s->next_ns) {
			if (s->pace->count && s->shown > s->pace->count)
				break;
			refresh_view(s);
		}
		if (*s->note && now > s->note_ns)
			s->note[0] = 0;
		draw(s);
		now = clock_now_ns();
		if (s->next_ns > now)
			wait_ms = (int)((s->next_ns - now) / 1000000) + 1;
		timeout(wait_ms > 1000 ? 1000 : wait_ms);
		press(s, getch());
	}
}

int top_screen(struct top_view *view, struct control *control, const struct top_pace *pace, struct fault *f)
{
	static const int ends[] = { SIGINT, SIGTERM, SIGHUP };
	struct screen s = { .view = view, .control = control, .pace = pace, .choice = { .by = TOP_10S } };
	struct sigaction action = { .sa_handler = on_end };
	SCREEN *terminal;
	int r;

	r = top_fetch(view, control, true, f);
	if (r)
		return r;
	s.machine_ns = clock_now_ns() + TOP_MACHINE_NS;
	top_remember(view, clock_now_ns(), pace->interval_ns);
	setlocale(LC_CTYPE, "");
	s.utf8 = !strcmp(nl_langinfo(CODESET), "UTF-8");
	terminal = newterm(NULL, stdout, stdin);
	if (!terminal)
		return fault_set(f, -ENOTTY,
				 "TERM=%s: no such kind of terminal is known here; set TERM=xterm, or use --once",
				 getenv("TERM"));
	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		sigaction(ends[i], &action, NULL); /* after newterm(), which has handlers of its own */
	s.choice.expanded = json_object();
	begin_colours(&s);
	cbreak();
	noecho();
	keypad(stdscr, TRUE);
	set_escdelay(50);
	loop(&s);
	endwin();
	delscreen(terminal);
	json_decref(s.choice.expanded);
	return 0;
}
