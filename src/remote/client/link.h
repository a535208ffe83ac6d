/*
 * link.h: the client's end of a session: requests out of several threads, replies back to the thread that asked.
 *
 * Writing: one thread at a time, between link_begin() and link_send(); what it writes goes straight into the ring.
 * Reading: whoever waits and finds nobody reading becomes the reader, and hands to each waiting thread its reply,
 * copied out of the ring, until its own has come; then the next one that waits takes over. So a round trip of one
 * thread needs no other thread. Notices go to the handlers that link_open() was given, on the thread that reads; host
 * functions go to the service thread, which is made by the first link_expect_host() and reads when nobody else does,
 * as long as one is expected.
 *
 * A line that is lost is lost for good: link_begin() gives NULL, link_wait() -EPIPE, at once and for everybody. errno
 * is left as it was. No function takes a lock that a handler may hold.
 */
#pragma once

#include "ring/call.h"
#include "ring/wall.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LINK_ANSWER_ROOM 464u /* replies up to this size cost no allocation */

/* A thread that waits; made on its stack. */
struct link_waiter {
	struct link_waiter *next;
	uint32_t bell; /* futex: 1 when it is to look again */
	bool queued, reads, for_word;
};

/* A reply. Needs no initialisation; stays where it is from link_begin() to link_done(). */
struct link_answer {
	struct link_answer *next; /* these: link.c's own */
	struct link_waiter *waiter;
	void *longer; /* what did not fit into `room` */
	uint32_t ticket, done;
	uint64_t asked; /* when, by a count of all such requests of the process */
	uint64_t sent; /* of the link's requests, how many up to this one */
	struct call_reply head; /* valid after link_wait() */
	struct call_payload payload; /* zero without */
	const uint8_t *body; /* behind head and payload; aligned to CALL_ALIGN; until link_done() */
	size_t bytes;
	uint8_t _Alignas(8) room[LINK_ANSWER_ROOM];
};

/* Called by the reading thread: short, without waiting, and of the link only link_changed(). Any may be NULL. */
struct link_handlers {
	void (*retired)(void *arg, uint64_t serial); /* CALL_NOTICE_RETIRED */
	void (*mirror)(void *arg, const struct call_payload *payload); /* CALL_NOTICE_MIRROR */
	/* CALL_NOTICE_HOST, on the service thread, one at a time; may use the link. */
	void (*host)(void *arg, const void *body, size_t bytes);
	void (*output)(void *arg, const char *text, size_t bytes); /* CALL_NOTICE_OUTPUT */
	/* Once: why the line is lost, one line. Any thread. */
	void (*lost)(void *arg, const char *why);
};

#define LINK_COUNTED 1024u

/* Where a call is counted: those of the API by their numbers, the others above. */
static inline unsigned int link_counted(uint16_t call)
{
	return call < LINK_COUNTED - 256 ? call : LINK_COUNTED - 256 + (call & 255);
}

/*
 * What went over the link. METE_REMOTE_STATS=FILE: kept in that file, which is there even when the program is killed;
 * %p in the name is the process's number, a second link of the process appends its own.
 */
struct link_counts {
	char magic[8]; /* "metelink" */
	uint64_t pid;
	uint64_t requests; /* all of them */
	/* waits for a reply, but for those that went on while an earlier wait of the thread did */
	uint64_t round_trips;
	uint64_t request_bytes;
	uint64_t payloads, payload_bytes; /* towards the worker */
	uint64_t reply_bytes; /* by the reader */
	uint64_t notices;
	uint32_t waits[LINK_COUNTED]; /* round trips by call: link_counted() */
};

struct link_host; /* link_host.c: the service thread */

struct link {
	struct wall wall;
	const struct link_handlers *handlers;
	void *arg;
	struct link_counts *counts; /* never NULL once open */
	struct link_counts own_counts;
	uint32_t lost; /* atomic: 1; set once */
	uint64_t alive_ns; /* guarded by `writing`: when the other side was last known to live */
	pthread_mutex_t writing; /* guards wall.requests, the ticket, the serial, most of the counts */
	uint32_t paused;	 /* atomic, a futex; set under `lock`: between two workers nobody reads */
	uint32_t ticket;
	uint64_t serial;
	uint64_t sent; /* requests; written under `writing`, also read without: link_sent() */
	struct link_answer *asked; /* the answer to the request that is being written */
	pthread_mutex_t lock; /* guards what follows; held for some instructions */
	struct link_answer *answers; /* asked for, not come */
	struct link_waiter *first, *last; /* those who sleep, oldest first */
	bool reading; /* somebody is the reader, or has been woken to become it; it alone touches wall.replies */
	struct link_host *host;
};

/*
 * Connects. `name`: which of a server's offers, or NULL. 0; above 0: refused, an enum wall_status with
 * link->wall.welcome.text; -errno. A link that is open is never moved.
 */
int link_open(struct link *link, const char *path, uint32_t fingerprint, const char *name, unsigned int timeout_ms,
	      const struct link_handlers *handlers, void *arg);
/* Says goodbye and gives everything back; no other thread uses the link any more. */
void link_close(struct link *link);
/* In a child after fork(): the parent's session is not touched; the link is lost here. */
void link_abandon(struct link *link);
/*
 * The session goes on with another worker (client/move.c). No other thread uses the link meanwhile but the service
 * thread, and no answer is waited for. 0; -EBADF: wall_leave().
 */
int link_leave(struct link *link);
/*
 * As link_open(); may be tried again. `bytes`: that the client keeps, for people to read. Until it is called once more
 * without a path the line may be left again, also when it was lost.
 */
int link_return(struct link *link, const char *path, uint32_t fingerprint, uint64_t bytes, unsigned int timeout_ms);
/*
 * A second worker, of another server, by the same arena: before the first one is left. As link_open(); the line goes
 * on with the first one. `next` stays where it is until wall_part().
 */
int link_join(struct link *link, struct wall *next, const char *path, uint32_t fingerprint, unsigned int timeout_ms);
/*
 * The line goes on with the other one, and `other` is the one before; no other thread uses it meanwhile, and no answer
 * is waited for. `trial`: it is not lost for good when this one is lost, until it turns back, or link_return() without
 * a path. *serial: the other's, 0 at first.
 */
void link_turn(struct link *link, struct wall *other, uint64_t *serial, bool trial);
/* It cannot go on: `why`, one line. */
void link_give_up(struct link *link, const char *why);
bool link_lost(const struct link *link);
/* Looks after the worker now. False: it is gone, and the link is lost. */
bool link_alive(struct link *link);

/*
 * Room for a request of at most `bytes` (aligned to CALL_ALIGN); no other thread writes until link_send(). `answer`:
 * NULL when no reply is wanted, else answer->ticket is what the request's head has to carry. NULL: lost, or longer
 * than link_longest(); then there is nothing to send, to wait for or to be done with.
 */
void *link_begin(struct link *link, size_t bytes, struct link_answer *answer);
/* Between the two: the serial of the payload that this request carries; counted once per call. */
uint64_t link_serial(struct link *link, uint64_t payload_bytes);
/* Hands over `bytes` of the room; 0: nothing after all, and no answer is waited for. */
void link_send(struct link *link, size_t bytes);
size_t link_longest(const struct link *link);
/* How many requests have been sent. */
uint64_t link_sent(const struct link *link);

/* Until the reply is there. 0; -EPIPE: lost. link_done() follows in either case. */
int link_wait(struct link *link, struct link_answer *answer);
/* Whether the reply is there already; reads what has come when nobody else does. */
bool link_poll(struct link *link, struct link_answer *answer);
void link_done(struct link_answer *answer);

/*
 * Until *word is not `value` any more, or the line is lost: for what handlers change (arena.c). Whoever changes it
 * calls link_changed(). The reader, which only the ring wakes, looks at it after `look_ns` again. 0; -EPIPE.
 */
int link_until(struct link *link, const uint32_t *word, uint32_t value, uint64_t look_ns);
void link_changed(struct link *link);
/* Notices that have come are handled, if nobody reads. */
void link_stir(struct link *link);

/*
 * A function is known to the worker for which CALL_NOTICE_HOST may come, once or any number of times, or is not any
 * more. While there is any the service thread reads. 0, or -errno: there is no service thread.
 */
int link_expect_host(struct link *link, bool more);
/* Whether any were ever expected. */
static inline bool link_expects_host(const struct link *link)
{
	return __atomic_load_n(&link->host, __ATOMIC_ACQUIRE);
}

/* Writes what was counted, for whoever asks (`mete remote`, tests). */
void link_read_counts(const struct link *link, struct link_counts *ret);
