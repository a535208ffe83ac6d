/*
 * link.h: the client's end of a session: requests from several threads, replies to the thread that asked.
 *
 * Writing: one thread at a time, between link_begin() and link_send(), writes straight into the ring. Reading: a
 * waiting thread that finds no reader becomes the reader. It copies each reply out of the ring for the thread that
 * waits for it, until its own reply has come; then the next waiting thread takes over. A round trip of one thread
 * therefore needs no other thread. Notices go to the handlers that link_open() was given, on the reading thread. Host
 * functions go to the service thread, which the first link_expect_host() creates and which reads when no other thread
 * does, as long as one is expected.
 *
 * A lost connection stays lost: link_begin() returns NULL and link_wait() -EPIPE, at once and for all threads. errno is
 * preserved. No function takes a lock that a handler may hold.
 */
#pragma once

#include "ring/call.h"
#include "ring/wall.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LINK_ANSWER_ROOM 464u /* replies up to this size need no allocation */

/* A waiting thread; the struct is on its stack. */
struct link_waiter {
	struct link_waiter *next;
	uint32_t bell; /* futex: 1 when it must check again */
	bool queued, reads, for_word;
};

/* A reply. Needs no initialisation; must not move between link_begin() and link_done(). */
struct link_answer {
	struct link_answer *next; /* these fields belong to link.c */
	struct link_waiter *waiter;
	void *longer; /* a reply that does not fit into `room` */
	uint32_t ticket, done;
	uint64_t asked; /* the position of the request among all requests with an answer of the process */
	uint64_t sent; /* the number of the link's requests up to this one */
	struct call_reply head; /* valid after link_wait() */
	struct call_payload payload; /* zero: none */
	const uint8_t *body; /* behind head and payload; aligned to CALL_ALIGN; valid until link_done() */
	size_t bytes;
	uint8_t _Alignas(8) room[LINK_ANSWER_ROOM];
};

/*
 * Called by the reading thread: must be short, must not wait, and may call only link_changed() of the link. Any may be
 * NULL.
 */
struct link_handlers {
	void (*retired)(void *arg, uint64_t serial); /* CALL_NOTICE_RETIRED */
	void (*mirror)(void *arg, const struct call_payload *payload); /* CALL_NOTICE_MIRROR */
	/* CALL_NOTICE_HOST, on the service thread, one at a time; may use the link. */
	void (*host)(void *arg, const void *body, size_t bytes);
	void (*output)(void *arg, const char *text, size_t bytes); /* CALL_NOTICE_OUTPUT */
	/* Called once, in any thread, with the reason for the loss in one line. */
	void (*lost)(void *arg, const char *why);
};

#define LINK_COUNTED 1024u

/* The index at which a call is counted: calls of the API by their numbers, the others above. */
static inline unsigned int link_counted(uint16_t call)
{
	return call < LINK_COUNTED - 256 ? call : LINK_COUNTED - 256 + (call & 255);
}

/*
 * Counts of the link's traffic. METE_REMOTE_STATS=FILE keeps them in that file, which remains even if the program is
 * killed; %p in the name is the pid. A second link of the process appends its own record.
 */
struct link_counts {
	char magic[8]; /* "metelink" */
	uint64_t pid;
	uint64_t requests; /* all of them */
	/* waits for a reply, without those that began while an earlier wait of the thread was running */
	uint64_t round_trips;
	uint64_t request_bytes;
	uint64_t payloads, payload_bytes; /* towards the worker */
	uint64_t reply_bytes; /* counted by the reader */
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
	uint32_t lost; /* atomic: 1 if lost; set once */
	uint64_t alive_ns; /* guarded by `writing`: when the peer was last known to live */
	pthread_mutex_t writing; /* guards wall.requests, the ticket, the serial, and most of the counts */
	uint32_t paused;	 /* atomic, a futex; set under `lock`: no thread reads between two workers */
	uint32_t ticket;
	uint64_t serial;
	uint64_t sent; /* requests; written under `writing`, also read without: link_sent() */
	struct link_answer *asked; /* the answer to the request that is being written */
	pthread_mutex_t lock; /* guards the fields below; held for some instructions */
	struct link_answer *answers; /* requested, not received yet */
	struct link_waiter *first, *last; /* sleeping threads, oldest first */
	bool reading; /* a thread is the reader, or was woken to become it; only it accesses wall.replies */
	struct link_host *host;
};

/*
 * Connects. `name`: one of a server's offers, or NULL. Value: 0; above 0: refused, an enum wall_status with
 * link->wall.welcome.text; or -errno. An open link must not move in memory.
 */
int link_open(struct link *link, const char *path, uint32_t fingerprint, const char *name, unsigned int timeout_ms,
	      const struct link_handlers *handlers, void *arg);
/* Sends a farewell and frees everything; no other thread may use the link any more. */
void link_close(struct link *link);
/* In a child after fork(): marks the link as lost here, and leaves the parent's session untouched. */
void link_abandon(struct link *link);
/*
 * Leaves the worker so that the session can continue with another one (client/move.c). No other thread except the
 * service thread uses the link meanwhile, and no answer is pending. Value: 0; -EBADF: wall_leave().
 */
int link_leave(struct link *link);
/*
 * Connects to the next worker as link_open() does; may be tried again. `bytes`: what the client keeps meanwhile, for
 * people to read. Until it is called once more without a path, the connection may be left again, even if it was lost.
 */
int link_return(struct link *link, const char *path, uint32_t fingerprint, uint64_t bytes, unsigned int timeout_ms);
/*
 * Connects to a second worker, of another server, with the same arena, before the first one is left. As link_open();
 * the link continues with the first one. `next` must not move in memory until wall_part().
 */
int link_join(struct link *link, struct wall *next, const char *path, uint32_t fingerprint, unsigned int timeout_ms);
/*
 * Switches the link to the other worker; `other` becomes the previous one. No other thread uses the link meanwhile, and
 * no answer is pending. `trial`: a loss of this worker is not final until the link is switched back, or link_return()
 * is called without a path. *serial: the other's, 0 at first.
 */
void link_turn(struct link *link, struct wall *other, uint64_t *serial, bool trial);
/* Gives up the connection: `why`, one line. */
void link_give_up(struct link *link, const char *why);
bool link_lost(const struct link *link);
/* Checks now whether the worker lives. False: it does not, and the link is lost. */
bool link_alive(struct link *link);

/*
 * Reserves room for a request of at most `bytes` (aligned to CALL_ALIGN); no other thread writes until link_send().
 * `answer`: NULL if no reply is expected, else answer->ticket must go into the request's head. NULL: the link is lost,
 * or `bytes` exceeds link_longest(); then nothing must be sent, waited for or done.
 */
void *link_begin(struct link *link, size_t bytes, struct link_answer *answer);
/* Between the two: the serial of the payload of this request; counted once per call. */
uint64_t link_serial(struct link *link, uint64_t payload_bytes);
/* Sends `bytes` of the room; 0: cancels the request, and no answer is pending. */
void link_send(struct link *link, size_t bytes);
size_t link_longest(const struct link *link);
/* The number of requests sent. */
uint64_t link_sent(const struct link *link);

/* Waits for the reply. Value: 0; -EPIPE: lost. link_done() must follow in either case. */
int link_wait(struct link *link, struct link_answer *answer);
/* True if the reply has arrived; reads what has come if no other thread does. */
bool link_poll(struct link *link, struct link_answer *answer);
void link_done(struct link_answer *answer);

/*
 * Waits until *word differs from `value`, or the connection is lost: for values that handlers change (arena.c). The
 * code that changes the word calls link_changed(). The reader, which only the ring wakes, checks it again after
 * `look_ns`. Value: 0; -EPIPE.
 */
int link_until(struct link *link, const uint32_t *word, uint32_t value, uint64_t look_ns);
void link_changed(struct link *link);
/* Handles notices that have arrived, if no thread reads. */
void link_stir(struct link *link);

/*
 * Notes that the worker knows one more function, or one fewer, for which CALL_NOTICE_HOST may come once or repeatedly.
 * While there is any, the service thread reads. Value: 0, or -errno: there is no service thread.
 */
int link_expect_host(struct link *link, bool more);
/* True if any were ever expected. */
static inline bool link_expects_host(const struct link *link)
{
	return __atomic_load_n(&link->host, __ATOMIC_ACQUIRE);
}

/* Copies the counts, for `mete remote` and tests. */
void link_read_counts(const struct link *link, struct link_counts *ret);
