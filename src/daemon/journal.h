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
	JOURNAL_GRANT,	 /* made, changed, ended */
	JOURNAL_REFUSAL, /* memory or a grant that was not given */
	JOURNAL_FAULT,	 /* an error of a device or of meted's own files */
	JOURNAL_DEVICE,	 /* cordoned, drained, lost, back */
	JOURNAL_ACTION,	 /* by an operator, from the console or the command line */
	JOURNAL_DAEMON,	 /* started, upgraded, configured; the clock jumped */
	JOURNAL_KINDS,
};

struct journal_line {
	uint64_t id;
	uint64_t stored_id; /* the id that history.db has it under; 0: none yet */
	int64_t time;	    /* seconds since 1970, of the last occurrence */
	int64_t first_time;
	uint64_t count; /* how often */
	enum journal_kind kind;
	uid_t user; /* whose it is; 0: an owner's, or the node's */
	bool has_device;
	bool counted; /* up, since it got its id */
	uint8_t uuid[DEVICE_UUID_BYTES];
	char tenant[GRANT_NAME_BYTES]; /* "": of none */
	char text[JOURNAL_TEXT_BYTES];
	uint16_t older, newer; /* places in the ring; JOURNAL_LINES: none */
};

struct journal;

/* NULL: no memory. */
struct journal *journal_new(void);
void journal_free(struct journal *journal);

/* "grant", "refusal", "fault", "device", "action", "daemon". */
const char *journal_kind_name(enum journal_kind kind);
/* Value: the kind, or -1. */
int journal_kind_parse(const char *name);

/*
 * Adds a line to the daemon's journal, of the tenant's user; without a journal (not started yet) nothing is done.
 * tenant, uuid: NULL for none.
 */
__attribute__((format(printf, 5, 6))) void journal_add(struct daemon *daemon, enum journal_kind kind,
						       const char *tenant, const uint8_t *uuid, const char *fmt, ...);

/* The same, of the user who asked for something, whose grant it may not be. */
__attribute__((format(printf, 6, 7))) void journal_add_of(struct daemon *daemon, uid_t uid, enum journal_kind kind,
							  const char *tenant, const uint8_t *uuid, const char *fmt,
							  ...);

/* How many events of a kind there have been since meted was started. */
uint64_t journal_count(const struct journal *journal, enum journal_kind kind);
/* So many were counted by the meted before this one: it is counted on from there. */
void journal_counted(struct journal *journal, enum journal_kind kind, uint64_t count);

/* The newest id; 0: there is no line. */
uint64_t journal_last(const struct journal *journal);

/* Lines from the oldest (NULL) on to the newest. Value: NULL at the end. */
const struct journal_line *journal_next(const struct journal *journal, const struct journal_line *line);

/* Gives lines that were counted up their new ids. Value: true when there is something that history.db has not. */
bool journal_settle(struct journal *journal);

/* A line of an earlier meted, from history.db, oldest first, before any other is added. */
void journal_restore(struct journal *journal, const struct journal_line *line);
/* All lines that there are now are stored under their ids, the newest of which is `last`. */
void journal_stored(struct journal *journal, uint64_t last);

/*
 * Lines with an id above `after`, at most `limit` of them, the newest ones, oldest first; of one tenant or device, and
 * of one kind, when given (NULL, NULL, -1: all).
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
