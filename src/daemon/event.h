/* event.h: the last things that happened under a grant, for the operator: a ring of lines. */
#pragma once

#include <stdint.h>

#define EVENT_COUNT 64u
#define EVENT_BYTES 208u

struct event {
	int64_t time;	/* seconds since 1970, of the last occurrence */
	uint64_t count; /* how often; see event_add() */
	char text[];	/* shorter than EVENT_BYTES */
};

/* Zero is an empty one. Each line takes the room that its text needs: most tenants have few. */
struct event_log {
	struct event *event[EVENT_COUNT];
	uint64_t added; /* the newest is event[(added - 1) % EVENT_COUNT] */
};

/*
 * A line that repeats the newest one is counted instead of added, and so are the refusals of memory of one process on
 * one device, of which the newest one's words stay. A line for which there is no memory is lost.
 */
__attribute__((format(printf, 2, 3))) void event_add(struct event_log *log, const char *fmt, ...);

/* A line of a meted before this one. */
void event_restore(struct event_log *log, int64_t time, uint64_t count, const char *text);

void event_log_deinit(struct event_log *log);

/* The i-th oldest that is kept, or NULL. */
const struct event *event_get(const struct event_log *log, unsigned int i);
