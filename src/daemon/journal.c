/*
 * journal.c: a ring of lines in the order of their ids; see journal.h.
 *
 * The ring is a list over an array, so that a line that is counted up can become the newest one. When it is full a line
 * takes the place of the oldest of the kind and user that have most: who has meted write lines drives out no others.
 */
#include "daemon/journal.h"

#include "base/clean_text.h"
#include "daemon/daemon.h"
#include "daemon/owner.h"
#include "daemon/subordinate.h"
#include "daemon/tenants/tenant.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NONE JOURNAL_LINES
#define REPEAT_S 10
#define LOOK_BACK 256u	  /* lines that are looked through for one that is repeated */
#define RESTART_GAP 4096u /* more ids than are given in the second that a killed meted may not have stored */

/* A user who has lines. */
struct writer {
	uid_t user;
	unsigned int lines, of_kind[JOURNAL_KINDS];
};

struct journal {
	uint64_t last_id, stored_id;
	unsigned int used; /* places of `line` */
	uint16_t oldest, newest;
	uint64_t count[JOURNAL_KINDS];
	unsigned int writers;
	struct writer writer[JOURNAL_LINES];
	struct journal_line line[JOURNAL_LINES];
};

static const char *const kind_names[JOURNAL_KINDS] = {
	[JOURNAL_GRANT] = "grant",   [JOURNAL_REFUSAL] = "refusal", [JOURNAL_FAULT] = "fault",
	[JOURNAL_DEVICE] = "device", [JOURNAL_ACTION] = "action",   [JOURNAL_DAEMON] = "daemon",
};

struct journal *journal_new(void)
{
	struct journal *j = calloc(1, sizeof(*j));

	if (j)
		j->oldest = j->newest = NONE;
	return j;
}

void journal_free(struct journal *journal)
{
	free(journal);
}

const char *journal_kind_name(enum journal_kind kind)
{
	return (unsigned int)kind < JOURNAL_KINDS ? kind_names[kind] : "?";
}

int journal_kind_parse(const char *name)
{
	for (int i = 0; i < JOURNAL_KINDS; i++)
		if (!strcmp(name, kind_names[i]))
			return i;
	return -1;
}

/* Whose lines there are. */

static struct writer *find_writer(struct journal *j, uid_t user)
{
	unsigned int i = 0;

	while (i < j->writers && j->writer[i].user != user)
		i++;
	return &j->writer[i];
}

static void count_line(struct journal *j, const struct journal_line *l)
{
	struct writer *w = find_writer(j, l->user);

	if (w == &j->writer[j->writers]) {
		*w = (struct writer){ .user = l->user };
		j->writers++;
	}
	w->lines++;
	w->of_kind[l->kind]++;
}

static void discount_line(struct journal *j, const struct journal_line *l)
{
	struct writer *w = find_writer(j, l->user);

	w->lines--;
	w->of_kind[l->kind]--;
	if (!w->lines)
		*w = j->writer[--j->writers];
}

/* The list. */

static void unlink_line(struct journal *j, uint16_t at)
{
	struct journal_line *l = &j->line[at];

	if (l->older != NONE)
		j->line[l->older].newer = l->newer;
	else
		j->oldest = l->newer;
	if (l->newer != NONE)
		j->line[l->newer].older = l->older;
	else
		j->newest = l->older;
	discount_line(j, l);
}

static void link_newest(struct journal *j, uint16_t at)
{
	struct journal_line *l = &j->line[at];

	l->older = j->newest;
	l->newer = NONE;
	if (j->newest != NONE)
		j->line[j->newest].newer = at;
	else
		j->oldest = at;
	j->newest = at;
	count_line(j, l);
}

/* A place for one more line: a free one, or that of the oldest of whoever has most, of the kind of which that is. */
static uint16_t take_place(struct journal *j)
{
	const struct writer *most = j->writer;
	enum journal_kind kind = 0;
	uint16_t at = j->oldest;

	if (j->used < JOURNAL_LINES)
		return (uint16_t)j->used++;
	for (unsigned int i = 1; i < j->writers; i++)
		if (j->writer[i].lines > most->lines)
			most = &j->writer[i];
	for (int i = 1; i < JOURNAL_KINDS; i++)
		if (most->of_kind[i] > most->of_kind[kind])
			kind = (enum journal_kind)i;
	while (j->line[at].kind != kind || j->line[at].user != most->user)
		at = j->line[at].newer;
	unlink_line(j, at);
	return at;
}

/* Adding. */

static bool same_origin(const struct journal_line *a, const struct journal_line *b)
{
	return a->kind == b->kind && a->user == b->user && a->has_device == b->has_device &&
	       !strcmp(a->tenant, b->tenant) && (!a->has_device || !memcmp(a->uuid, b->uuid, DEVICE_UUID_BYTES));
}

static bool repeats(const struct journal_line *old, const struct journal_line *new)
{
	if (new->time < old->time)
		return false; /* the clock was set back: who counts on would say that it was earlier than it began */
	if (!strcmp(old->text, new->text))
		return true;
	return (new->kind == JOURNAL_REFUSAL || new->kind == JOURNAL_FAULT) && new->time - old->time < REPEAT_S;
}

/* The newest line of the same origin, when `new` repeats it. */
static struct journal_line *find_repeated(struct journal *j, const struct journal_line *new)
{
	uint16_t at = j->newest;

	for (unsigned int i = 0; at != NONE && i < LOOK_BACK; i++, at = j->line[at].older)
		if (same_origin(&j->line[at], new))
			return repeats(&j->line[at], new) ? &j->line[at] : NULL;
	return NULL;
}

static void add(struct journal *j, const struct journal_line *new)
{
	struct journal_line *old = find_repeated(j, new);
	uint16_t at;

	j->count[new->kind]++;
	if (old) {
		old->time = new->time;
		old->count++;
		old->counted = true;
		memcpy(old->text, new->text, sizeof(old->text));
		return;
	}
	at = take_place(j);
	j->line[at] = *new;
	j->line[at].id = ++j->last_id;
	link_newest(j, at);
}

static uid_t writer_of(uid_t uid)
{
	return owner_is(uid) ? 0 : subordinate_user(uid);
}

__attribute__((format(printf, 6, 0))) static void write_line(struct daemon *daemon, uid_t user, enum journal_kind kind,
							     const char *tenant, const uint8_t *uuid, const char *fmt,
							     va_list ap)
{
	struct journal_line line = { .time = time(NULL), .count = 1, .kind = kind, .user = user, .has_device = uuid };

	if (!daemon->journal)
		return;
	line.first_time = line.time;
	if (uuid)
		memcpy(line.uuid, uuid, DEVICE_UUID_BYTES);
	snprintf(line.tenant, sizeof(line.tenant), "%s", tenant ? tenant : "");
	vsnprintf(line.text, sizeof(line.text), fmt, ap);
	clean_text_ascii(line.text);
	add(daemon->journal, &line);
}

void journal_add(struct daemon *daemon, enum journal_kind kind, const char *tenant, const uint8_t *uuid,
		 const char *fmt, ...)
{
	const struct tenant *t = tenant ? tenant_find(daemon, tenant) : NULL;
	va_list ap;

	va_start(ap, fmt);
	write_line(daemon, t ? writer_of(t->grant.uid) : 0, kind, tenant, uuid, fmt, ap);
	va_end(ap);
}

void journal_add_of(struct daemon *daemon, uid_t uid, enum journal_kind kind, const char *tenant, const uint8_t *uuid,
		    const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	write_line(daemon, writer_of(uid), kind, tenant, uuid, fmt, ap);
	va_end(ap);
}

/* Keeping. */

bool journal_settle(struct journal *j)
{
	uint16_t at = j->oldest, newest = j->newest, next;

	for (bool last = false; at != NONE && !last; at = next) {
		struct journal_line *l = &j->line[at];

		last = at == newest;
		next = l->newer;
		if (!l->counted)
			continue;
		l->counted = false;
		unlink_line(j, at);
		l->id = ++j->last_id;
		link_newest(j, at);
	}
	return j->newest != NONE && j->line[j->newest].id > j->stored_id;
}

void journal_restore(struct journal *j, const struct journal_line *line)
{
	uint16_t at = take_place(j);

	j->line[at] = *line;
	j->line[at].stored_id = line->id;
	j->line[at].counted = false;
	clean_text_ascii(j->line[at].text);
	link_newest(j, at);
	j->stored_id = line->id;
	j->last_id = line->id + RESTART_GAP;
}

void journal_stored(struct journal *j, uint64_t last)
{
	for (uint16_t at = j->newest; at != NONE && j->line[at].id > j->stored_id; at = j->line[at].older)
		if (j->line[at].id <= last)
			j->line[at].stored_id = j->line[at].id;
	j->stored_id = last;
}

/* Reading. */

uint64_t journal_last(const struct journal *j)
{
	return j->newest == NONE ? 0 : j->line[j->newest].id;
}

uint64_t journal_count(const struct journal *j, enum journal_kind kind)
{
	return j->count[kind];
}

void journal_counted(struct journal *j, enum journal_kind kind, uint64_t count)
{
	j->count[kind] += count;
}

const struct journal_line *journal_next(const struct journal *j, const struct journal_line *line)
{
	uint16_t at = line ? line->newer : j->oldest;

	return at == NONE ? NULL : &j->line[at];
}

static bool wanted(const struct journal_line *l, const struct journal_query *q)
{
	if (q->kind >= 0 && l->kind != (enum journal_kind)q->kind)
		return false;
	if (q->tenant && strcmp(q->tenant, l->tenant))
		return false;
	return !q->uuid || (l->has_device && !memcmp(q->uuid, l->uuid, DEVICE_UUID_BYTES));
}

static json_t *line_json(const struct journal_line *l)
{
	char uuid[DEVICE_UUID_TEXT];

	return json_pack("{s:I s:I s:I s:s s:o s:o s:s s:I}", "id", (json_int_t)l->id, "time", (json_int_t)l->time,
			 "first_time", (json_int_t)l->first_time, "kind", journal_kind_name(l->kind), "tenant",
			 *l->tenant ? json_string(l->tenant) : json_null(), "device",
			 l->has_device ? json_string(device_uuid_format(l->uuid, uuid)) : json_null(), "text", l->text,
			 "count", (json_int_t)l->count);
}

json_t *journal_json(struct journal *j, const struct journal_query *q)
{
	json_t *events = json_array();
	unsigned int left = q->limit ? q->limit : JOURNAL_LINES;

	for (uint16_t at = j->newest; at != NONE && j->line[at].id > q->after && left; at = j->line[at].older)
		if (wanted(&j->line[at], q)) {
			json_array_append_new(events, line_json(&j->line[at]));
			left--;
		}
	for (size_t i = 0, n = json_array_size(events); i < n / 2; i++) {
		json_t *a = json_incref(json_array_get(events, i)), *b = json_incref(json_array_get(events, n - 1 - i));

		json_array_set_new(events, i, b);
		json_array_set_new(events, n - 1 - i, a);
	}
	return json_pack("{s:o s:I}", "events", events, "last", (json_int_t)journal_last(j));
}
