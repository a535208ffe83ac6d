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

#include "base/clean_text.h"
#include "base/clock.h"
#include "cli/choose.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <ncurses.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NOTE_NS UINT64_C(8000000000) /* what is said at the bottom stays for so long, or until a key */
#define COMMAND_COLUMNS 7	     /* at least */
#define LINES_MAX 4		     /* of what is said at the bottom */

enum mode { MODE_TABLE, MODE_HELP, MODE_PROMPT };
enum colour { COLOUR_NONE, COLOUR_GOOD, COLOUR_WARN, COLOUR_BAD, COLOUR_COLD };

/* What a prompt asks for. */
struct question {
	const char *key; /* of grant_set; NULL: the filter */
	const char *words;
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
	bool colours, ending;
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
	else if (machine)
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
	int length = (int)strlen(text);

	if (x + width > COLS)
		width = COLS - x;
	if (width <= 0 || y >= LINES)
		return;
	if (right && length < width)
		x += width - length;
	mvaddnstr(y, x, text, width);
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
		if (strlen(text + i * stride) > most)
			most = strlen(text + i * stride);
	return (int)most;
}

/* Value: the line below. */
static int draw_devices(const struct screen *s, int y)
{
	const struct top_device *d = s->view->device;
	size_t count = s->view->device_count, most = LINES > 9 ? (size_t)(LINES - 6) / 3 : 1;
	int name = d ? longest("NAME", d->name, sizeof(*d), count) : 4, memory, x;

	if (name > COLS / 3)
		name = COLS / 3;
	memory = d ? longest("MEMORY", d->memory, sizeof(*d), count) : 6;
	put_line(y, A_REVERSE, "DEV %-*s %*s %8s %5s WHO", name, "NAME", memory, "MEMORY", "PROMISED", "BUSY");
	y++;
	for (size_t i = 0; i < count && i < most; i++, y++, d++) {
		enum colour full = d->full_pct >= 95 ? COLOUR_BAD : d->full_pct >= 80 ? COLOUR_WARN : COLOUR_NONE;

		put(y, 0, 3, true, d->index);
		put(y, 4, name, false, d->name);
		x = 5 + name;
		colour_on(s, full);
		put(y, x, memory, true, d->memory);
		colour_off(s, full);
		put(y, x + memory + 1, 8, true, d->promised);
		colour_on(s, d->busy_pct >= 50 ? COLOUR_GOOD : COLOUR_NONE);
		put(y, x + memory + 10, 5, true, d->busy);
		colour_off(s, d->busy_pct >= 50 ? COLOUR_GOOD : COLOUR_NONE);
		put(y, x + memory + 16, COLS, false, d->who);
	}
	if (count > most)
		put_line(y++, 0, "    and %zu more", count - most);
	return y;
}

/* Widths of the columns; -1: dropped. The command gets the rest. */
static void fit_columns(const struct screen *s, int width[TOP_COLUMNS])
{
	int total = 0, dropped = 1;

	for (unsigned int c = 0; c < TOP_COLUMNS; c++) {
		width[c] = s->view->row_count ? longest(top_heads[c].name, s->view->row->text[c], sizeof(*s->view->row),
							s->view->row_count)
					      : (int)strlen(top_heads[c].name);
		if (c == TOP_NAME && width[c] > 20)
			width[c] = COLS < 100 ? 14 : 20;
		if (c == TOP_COMMAND)
			width[c] = COMMAND_COLUMNS;
		total += width[c] + 1;
	}
	for (; total - 1 > COLS && dropped < TOP_COLUMNS; dropped++)
		for (unsigned int c = 0; c < TOP_COLUMNS; c++)
			if (top_heads[c].dropped == dropped) {
				total -= width[c] + 1;
				width[c] = -1;
			}
	if (total - 1 < COLS)
		width[TOP_COMMAND] += COLS - total + 1;
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

static enum colour colour_of(const struct top_row *row, unsigned int column)
{
	if (!strcmp(row->text[TOP_CLASS], "frozen"))
		return COLOUR_COLD;
	if (column == TOP_WAIT && row->value[TOP_WAIT] >= 50)
		return COLOUR_WARN;
	if ((column == TOP_1S || column == TOP_10S) && row->value[column] >= 1)
		return COLOUR_GOOD;
	return COLOUR_NONE;
}

static void draw_row(const struct screen *s, int y, const int width[TOP_COLUMNS], const struct top_row *row,
		     bool selected)
{
	int x = 0;

	if (selected) {
		attron(A_REVERSE);
		mvhline(y, 0, ' ', COLS);
	}
	for (unsigned int c = 0; c < TOP_COLUMNS; c++) {
		enum colour colour = selected ? COLOUR_NONE : colour_of(row, c);

		if (width[c] < 0)
			continue;
		colour_on(s, colour);
		put(y, x, width[c], top_heads[c].number, row->text[c]);
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

static void draw_help(void)
{
	static const char *const keys[][2] = {
		{ "up, down, j, k", "select a row; page up, page down, home, end as usual" },
		{ "<, >, left, right", "sort by the column before or after; r the other way round" },
		{ "/", "show only what contains a text: name, command, policy, pid" },
		{ "c, l, w", "change the tenant's guarantee, limit (percent) or weight" },
		{ "f", "freeze the tenant: no more turns until f thaws it" },
		{ "Enter, p", "show the tenant's processes, or those of all" },
		{ "h, ?", "this text;  q  ends" },
	};
	int y = 0;

	put_line(y++, A_BOLD, "mete top: keys");
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		put_line(y++, 0, "  %-18s %s", keys[i][0], keys[i][1]);
	y++;
	put_line(y++, A_BOLD, "columns");
	for (unsigned int c = 0; c < TOP_COLUMNS; c++)
		put_line(y++, 0, "  %-10s %s", top_heads[c].name, top_heads[c].what);
	put_line(LINES - 1, A_REVERSE, "any key goes back");
}

/* What is said at the bottom, over as many lines as it needs. Value: the first of them. */
static int draw_below(const struct screen *s)
{
	int y = LINES - 1, lines;

	if (s->mode == MODE_PROMPT) {
		put_line(y, A_BOLD, "%s: %s", s->question.words, s->typed);
		return y;
	}
	if (!*s->note) {
		put_line(y, 0, "q quit  h help  < > sort  / filter  c share  f freeze  Enter processes");
		return y;
	}
	lines = ((int)strlen(s->note) + COLS - 1) / COLS;
	if (lines > LINES_MAX)
		lines = LINES_MAX;
	if (lines > LINES)
		lines = LINES;
	y = LINES - lines;
	attron(A_BOLD);
	for (int i = 0; i < lines; i++)
		put(y + i, 0, COLS, false, s->note + i * COLS);
	attroff(A_BOLD);
	return y;
}

static void draw(struct screen *s)
{
	int y, below;

	erase();
	if (s->mode == MODE_HELP) {
		draw_help();
	} else {
		below = draw_below(s);
		draw_title(s);
		y = draw_devices(s, 1);
		draw_tenants(s, y + (LINES > 12), below);
	}
	curs_set(s->mode == MODE_PROMPT);
	if (s->mode == MODE_PROMPT)
		move(LINES - 1, (int)(strlen(s->question.words) + 2 + strlen(s->typed)));
	refresh();
}

/* What keys do. */

/* Changes one thing of the selected tenant on the device of its row. */
static void change(struct screen *s, const char *key, json_t *take_value, const char *done)
{
	const struct top_row *row = s->selected < s->view->row_count ? &s->view->row[s->selected] : NULL;
	char name[TOP_TEXT], text[256];
	json_t *request, *entry, *answer;
	struct fault f;

	if (!row) {
		json_decref(take_value);
		return;
	}
	snprintf(name, sizeof(name), "%s", device_text(row->grant, "name"));
	entry = json_pack("{s:s, s:o}", "device", device_text(row->share, "uuid"), key, take_value);
	request = json_pack("{s:s, s:s, s:[o]}", "op", "grant_set", "name", name, "devices", entry);
	if (control_ask_again(s->control, CONTROL_START, request, &answer, NULL, &f)) {
		say_below(s, f.text);
		return;
	}
	json_decref(answer);
	snprintf(text, sizeof(text), "%s: %s", name, done);
	say_below(s, text);
	s->next_ns = 0;
}

static void freeze(struct screen *s)
{
	bool frozen;

	if (s->selected >= s->view->row_count)
		return;
	frozen = json_is_true(json_object_get(s->view->row[s->selected].share, "frozen"));
	change(s, "frozen", json_boolean(!frozen), frozen ? "thawed" : "frozen");
}

static void ask(struct screen *s, const char *key, const char *words)
{
	if (key && s->selected >= s->view->row_count)
		return;
	s->question = (struct question){ key, words };
	s->typed[0] = 0;
	s->mode = MODE_PROMPT;
}

static void answered(struct screen *s)
{
	char *end, text[128];
	double number;

	s->mode = MODE_TABLE;
	if (!s->question.key) {
		memcpy(s->choice.filter, s->typed, sizeof(s->choice.filter));
		arrange(s);
		return;
	}
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
	change(s, s->question.key,
	       number == floor(number) && fabs(number) < 1e9 ? json_integer((json_int_t)number) : json_real(number),
	       text);
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
	s->choice.by = (enum top_column)(((int)s->choice.by + step + TOP_COLUMNS) % TOP_COLUMNS);
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
		s->mode = MODE_TABLE;
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
	setlocale(LC_CTYPE, "");
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
