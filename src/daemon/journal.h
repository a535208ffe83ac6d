/*
 * journal.h: the latest events of this node, for operators: a bounded ring of lines with increasing ids.
 *
 * `mete events` and /api/v1/events read the lines. Every second they are written to history.db, from which a restarted
 * meted continues. A line that repeats the newest line of its kind, tenant and device is counted instead of added. The
 * same holds for a refusal or a fault that follows another one within REPEAT_S, whatever its text, because programs
 * can cause thousands of them. Each line belongs to a user: the user of the grant that it is about, or the user who
 * made the request. Root, meted's own user and the node itself count as one user. When there are JOURNAL_LINES lines,
 * meted drops a line of the user who has the most: the oldest one of the kind of which that user has the most. No user
 * can therefore displace the lines of others or of the node. A line whose count has grown gets a new id within a
 * second, and becomes the newest.
 */
#pragma once

#include "model/device.h"
#include "model/grant.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define JOURNAL_LINES 1024u
#define JOURNAL_TEXT_BYTES 240u

struct daemon;

enum journal_kind {
	JOURNAL_GRANT,	 /* created, changed, ended */
	JOURNAL_REFUSAL, /* a refused request for memory or a grant */
	JOURNAL_FAULT,	 /* an error of a device or of meted's own files */
	JOURNAL_DEVICE,	 /* cordoned, drained, lost, back */
	JOURNAL_ACTION,	 /* by an operator, from the console or the command line */
	JOURNAL_DAEMON,	 /* started, upgraded, configured; the clock jumped */
	JOURNAL_KINDS,
};

struct journal_line {
	uint64_t id;
	uint64_t stored_id; /* the id in history.db; 0: not stored yet */
	int64_t time;	    /* seconds since 1970, of the last occurrence */
	int64_t first_time;
	uint64_t count; /* number of occurrences */
	enum journal_kind kind;
	uid_t user; /* the user it belongs to; 0: an owner, or the node */
	bool has_device;
	bool counted; /* the count has grown since the line got its id */
	uint8_t uuid[DEVICE_UUID_BYTES];
	char tenant[GRANT_NAME_BYTES]; /* "": none */
	char text[JOURNAL_TEXT_BYTES];
	uint16_t older, newer; /* indices in the ring; JOURNAL_LINES: none */
};

struct journal;

/* NULL: no memory. */
struct journal *journal_new(void);
void journal_free(struct journal *journal);

/* "grant", "refusal", "fault", "device", "action", "daemon". */
const char *journal_kind_name(enum journal_kind kind);
/* Value: the kind, or -1 for an unknown word. */
int journal_kind_parse(const char *name);

/*
 * Adds a line to the daemon's journal; it belongs to the tenant's user. Does nothing before the journal exists. tenant,
 * uuid: NULL for none.
 */
__attribute__((format(printf, 5, 6))) void journal_add(struct daemon *daemon, enum journal_kind kind,
						       const char *tenant, const uint8_t *uuid, const char *fmt, ...);

/* The same, for a line that belongs to the user who made the request, possibly about another user's grant. */
__attribute__((format(printf, 6, 7))) void journal_add_of(struct daemon *daemon, uid_t uid, enum journal_kind kind,
							  const char *tenant, const uint8_t *uuid, const char *fmt,
							  ...);

/* The number of events of a kind since meted was started. */
uint64_t journal_count(const struct journal *journal, enum journal_kind kind);
/* Continues the count of the previous meted. */
void journal_counted(struct journal *journal, enum journal_kind kind, uint64_t count);

/* The newest id; 0: there are no lines. */
uint64_t journal_last(const struct journal *journal);

/* Iterates from the oldest line (`line` NULL) to the newest. Value: NULL at the end. */
const struct journal_line *journal_next(const struct journal *journal, const struct journal_line *line);

/* Gives new ids to lines whose counts have grown. Value: true if there is something that history.db does not have. */
bool journal_settle(struct journal *journal);

/* Adds a line of an earlier meted from history.db: oldest first, before any other line is added. */
void journal_restore(struct journal *journal, const struct journal_line *line);
/* Marks all current lines as stored under their ids; `last` is the newest id. */
void journal_stored(struct journal *journal, uint64_t last);

/*
 * The newest lines with an id above `after`, at most `limit`, oldest first; only those of a tenant, device or kind if
 * given (NULL, NULL, -1: all).
 * {"events":[{"id","time","first_time","kind","tenant","device","text","count"}],"last":ID}. NULL: no memory.
 */
struct journal_query {
	uint64_t after;
	unsigned int limit; /* 0: all */
	const char *tenant;
	const uint8_t *uuid;
	int kind;
};
json_t *journal_json(struct journal *journal, const struct journal_query *query);
