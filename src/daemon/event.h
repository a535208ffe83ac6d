/* event.h: the latest events of a grant, for the operator: a ring of lines. */
#pragma once

#include <stdint.h>

#define EVENT_COUNT 64u
#define EVENT_BYTES 208u

struct event {
	int64_t time;	/* seconds since 1970, of the last occurrence */
	uint64_t count; /* number of occurrences; see event_add() */
	char text[];	/* shorter than EVENT_BYTES */
};

/* All zero: an empty log. Each line is allocated with the length of its text, because most tenants have few. */
struct event_log {
	struct event *event[EVENT_COUNT];
	uint64_t added; /* the newest is event[(added - 1) % EVENT_COUNT] */
};

/*
 * Adds a line. A line equal to the newest one only raises its count. Refusals of memory to one process on one device
 * are counted in one line too, which takes the newest text. A line is lost if there is no memory for it.
 */
__attribute__((format(printf, 2, 3))) void event_add(struct event_log *log, const char *fmt, ...);

/* Adds a line that the previous meted had. */
void event_restore(struct event_log *log, int64_t time, uint64_t count, const char *text);

void event_log_deinit(struct event_log *log);

/* The i-th oldest line that is kept, or NULL. */
const struct event *event_get(const struct event_log *log, unsigned int i);
