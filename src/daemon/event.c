/* event.c: a ring of lines; its places are numbered on and on. */
#include "daemon/event.h"

#include "base/clean_text.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* NULL: no memory. */
static struct event *make(int64_t time, uint64_t count, const char *text)
{
	size_t length = strnlen(text, EVENT_BYTES - 1);
	struct event *e = malloc(sizeof(*e) + length + 1);

	if (!e)
		return NULL;
	*e = (struct event){ .time = time, .count = count };
	memcpy(e->text, text, length);
	e->text[length] = 0;
	return e;
}

static struct event **place(struct event_log *log, uint64_t number)
{
	return &log->event[number % EVENT_COUNT];
}

static void add(struct event_log *log, int64_t time, uint64_t count, const char *text)
{
	struct event *e = make(time, count, text), **at = place(log, log->added);

	if (!e)
		return;
	free(*at);
	*at = e;
	log->added++;
}

/* "device 0: pid 4711 (program) was refused " ...: its length; 0: it is no refusal. */
static size_t refusal_of(const char *text)
{
	static const char words[] = " was refused ";
	const char *at = strstr(text, words);

	return at ? (size_t)(at - text) + sizeof(words) - 1 : 0;
}

/*
 * A program that is refused again and again would drive everything else out: the refusals of a process on a device are
 * one line, the newest one, with their number.
 */
static bool fold_refusal(struct event_log *log, const char *text)
{
	uint64_t first = log->added > EVENT_COUNT ? log->added - EVENT_COUNT : 0, at = log->added;
	size_t length = refusal_of(text);
	struct event *e;

	while (length && at > first && strncmp((*place(log, at - 1))->text, text, length))
		at--;
	if (!length || at == first)
		return false;
	e = make(time(NULL), (*place(log, at - 1))->count + 1, text);
	if (!e)
		return false;
	free(*place(log, at - 1));
	for (; at < log->added; at++)
		*place(log, at - 1) = *place(log, at);
	*place(log, log->added - 1) = e;
	return true;
}

void event_add(struct event_log *log, const char *fmt, ...)
{
	struct event *newest = log->added ? *place(log, log->added - 1) : NULL;
	char text[EVENT_BYTES];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	clean_text_ascii(text);
	if (newest && !strcmp(newest->text, text)) {
		newest->time = time(NULL);
		newest->count++;
		return;
	}
	if (!fold_refusal(log, text))
		add(log, time(NULL), 1, text);
}

void event_restore(struct event_log *log, int64_t time, uint64_t count, const char *text)
{
	add(log, time, count, text);
}

const struct event *event_get(const struct event_log *log, unsigned int i)
{
	uint64_t first = log->added > EVENT_COUNT ? log->added - EVENT_COUNT : 0;

	return first + i < log->added ? log->event[(first + i) % EVENT_COUNT] : NULL;
}

void event_log_deinit(struct event_log *log)
{
	for (unsigned int i = 0; i < EVENT_COUNT; i++)
		free(log->event[i]);
	*log = (struct event_log){ 0 };
}
