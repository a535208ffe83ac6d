/* event.c: a ring of lines. */
#include "daemon/event.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

void event_add(struct event_log *log, const char *fmt, ...)
{
	struct event *newest = log->added ? &log->event[(log->added - 1) % EVENT_COUNT] : NULL;
	struct event now = { .time = time(NULL), .count = 1 };
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(now.text, sizeof(now.text), fmt, ap);
	va_end(ap);
	for (char *c = now.text; *c; c++)
		if (*c < ' ' || *c > '~')
			*c = '?'; /* clients send texts, readers expect UTF-8 */
	if (newest && !strcmp(newest->text, now.text)) {
		newest->time = now.time;
		newest->count++;
		return;
	}
	log->event[log->added++ % EVENT_COUNT] = now;
}

void event_restore(struct event_log *log, int64_t time, uint64_t count, const char *text)
{
	struct event *e = &log->event[log->added++ % EVENT_COUNT];

	*e = (struct event){ .time = time, .count = count };
	snprintf(e->text, sizeof(e->text), "%s", text);
}

const struct event *event_get(const struct event_log *log, unsigned int i)
{
	uint64_t first = log->added > EVENT_COUNT ? log->added - EVENT_COUNT : 0;

	return first + i < log->added ? &log->event[(first + i) % EVENT_COUNT] : NULL;
}
