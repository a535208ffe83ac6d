/*
 * top_screen.c: the full screen of `mete top`, by ncurses.
 *
 * One loop: ask meted when the interval is over, draw, wait for a key. What a key starts (a prompt, the help) is a mode
 * of the same loop, so that figures go on changing and a resize is drawn at once in every mode. top_picture.c draws.
 */
#include "cli/top_picture.h"
#include "client/requests.h"

#include "base/clean_text.h"
#include "base/clock.h"
#include "verb/choose.h"

#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <math.h>
#include <ncurses.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define NOTE_NS UINT64_C(8000000000) /* what is said at the bottom stays for so long, or until a key */

static const char END_KEY[] = "end"; /* of a question */

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
	long long page = picture_help_room();

	switch (key) {
	case KEY_UP:
	case 'k':
		picture_help_scroll(s, -1);
		break;
	case KEY_DOWN:
	case 'j':
		picture_help_scroll(s, 1);
		break;
	case KEY_PPAGE:
		picture_help_scroll(s, -page);
		break;
	case KEY_NPAGE:
		picture_help_scroll(s, page);
		break;
	case KEY_HOME:
		picture_help_scroll(s, -(long long)TOP_HELP_LINES);
		break;
	case KEY_END:
		picture_help_scroll(s, TOP_HELP_LINES);
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
		picture_draw(s);
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
	picture_colours(&s);
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
