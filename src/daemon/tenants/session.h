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
struct wire_hello;

struct session {
	struct tenant *tenant;
	struct session *next;
	struct client *client; /* NULL before HELLO */
	struct wire_hello *held; /* HELLO of a program that waits until its suspended tenant is resumed; NULL: none */
	pid_t held_pid;		 /* the program */
	int fd;
	uint32_t version; /* of the protocol, as agreed in HELLO */
	pid_t peer_pid; /* the client's process if meted made the connection itself; 0: the kernel reports it */
	struct watch *watch;
	uint64_t began_ns;
	unsigned int bad; /* invalid messages */
	unsigned int waiting; /* requests that wait for room */
	bool ending; /* freed at the end of this turn of the loop */
};

/* Takes over the connection `fd`. NULL: no memory, and fd is closed. */
struct session *session_new(struct tenant *tenant, int fd);
void session_free(struct session *session);

/* Closes the connections of processes that have ended: other processes hold them now. Value: their number. */
unsigned int session_end_left(struct tenant *tenant);

/* Makes room for one more connection: closes the oldest one without HELLO if there are too many. */
void session_make_room(struct tenant *tenant);

/* Reads what has arrived: HELLO is usually there. The session may be freed by it. */
void session_begin(struct session *session);

/* Handles one packet. False: the session is over. */
bool session_message(struct session *session, const void *packet, size_t size);

/* Sends an answer; a peer that does not read ends its session. */
void session_answer(struct session *session, void *message, size_t size);
/* Tells the client to repeat its request: there is no room yet, and others are leaving. */
void session_answer_again(struct session *session, uint32_t serial, unsigned int device);
/* Answers WIRE_STORE; the caller keeps `fd` (-1: none). */
void session_answer_stored(struct session *session, uint32_t serial, enum wire_status status, int fd);
void session_answer_reserved(struct session *session, uint32_t serial, unsigned int device, enum wire_status status);

/*
 * Answers programs that waited until the tenant was resumed: a bounded number, within the user's part of the loop's
 * time. True: more are to be answered.
 */
bool session_let_begin(struct tenant *tenant);

/* Closes connections that have not sent HELLO in time. Value: the number that still have time. */
unsigned int session_sweep(struct tenant *tenant, uint64_t now_ns);
