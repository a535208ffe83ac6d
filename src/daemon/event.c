/* event.c: a ring of lines. */
#include "daemon/event.h"

#include "base/clean_text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void add(struct event_log *log, int64_t time, uint64_t count, const char *text)
{
	size_t length = strnlen(text, EVENT_BYTES - 1);
	struct event *e = malloc(sizeof(*e) + length + 1), **at = &log->event[log->added % EVENT_COUNT];

	if (!e)
		return;
	*e = (struct event){ .time = time, .count = count };
	memcpy(e->text, text, length);
	e->text[length] = 0;
	free(*at);
	*at = e;
	log->added++;
}

void event_add(struct event_log *log, const char *fmt, ...)
{
	struct event *newest = log->added ? log->event[(log->added - 1) % EVENT_COUNT] : NULL;
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
