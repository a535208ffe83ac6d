/*
 * session.h: one connection of a client, and the messages on it.
 *
 * wire_check_request() checks each packet, and one handler per type processes it. A packet that is no message ends the
 * session with one line in the log. An invalid message is answered with WIRE_BAD; repeated ones end the session.
 */
#pragma once

#include "daemon/loop.h"
#include "wire/decode.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct client;
struct tenant;

struct session {
	struct tenant *tenant;
	struct session *next;
	struct client *client; /* NULL before HELLO */
	int fd;
	uint32_t version; /* of the protocol, as HELLO settled it */
	pid_t peer_pid; /* whose it is when we have made the connection ourselves; 0: the kernel says it */
	struct watch *watch;
	uint64_t began_ns;
	unsigned int bad; /* messages that made no sense */
	unsigned int waiting; /* requests that wait for room */
	bool ending; /* to be freed at the end of this turn */
};

/* Takes the connection `fd`. NULL: no memory, fd is closed. */
struct session *session_new(struct tenant *tenant, int fd);
void session_free(struct session *session);

/* Ends the connections of processes that have ended: somebody else has them now. Value: how many. */
unsigned int session_end_left(struct tenant *tenant);

/* Makes room for one more connection: of too many that have not said HELLO the oldest is closed. */
void session_make_room(struct tenant *tenant);

/* Reads what has come already: HELLO is usually there. The session may be gone afterwards. */
void session_begin(struct session *session);

/* Treats one packet. False: the session is over. */
bool session_message(struct session *session, const void *packet, size_t size);

/* Sends an answer; a peer that does not read ends its session. */
void session_answer(struct session *session, void *message, size_t size);
/* No room, and others leave for it: it is to ask again. */
void session_answer_again(struct session *session, uint32_t serial, unsigned int device);
/* To WIRE_STORE; `fd`, -1 for none, stays the caller's. */
void session_answer_stored(struct session *session, uint32_t serial, enum wire_status status, int fd);
void session_answer_reserved(struct session *session, uint32_t serial, unsigned int device, enum wire_status status);

/* Closes connections that have not said HELLO for long. Value: how many still have time. */
unsigned int session_sweep(struct tenant *tenant, uint64_t now_ns);
