/*
 * residing.h: one client whose memory may leave its device: its reports on its page, the requests to it, and their
 * outcome. residence.c decides which client is asked and when.
 */
#pragma once

#include "daemon/journal.h"
#include "wire/page.h"

#include <stdbool.h>
#include <stdint.h>

struct client;
struct tenant;

#define RESIDING_WANT_NS 2000000000u /* a client that waits for more repeats its request within this time */

struct wire_account *residing_account(const struct client *client, unsigned int device);
/* Its report of where its memory is: a word of wire_place_state() and related functions. 0: it has no page. */
uint32_t residing_place(const struct client *client);
/* True if its memory moves, and it can be asked to move it. */
bool residing_can_be_asked(const struct client *client);

/* In units, limited to what the client can have: memory that is away, can leave, cannot leave. */
uint64_t residing_away(const struct client *client);
uint64_t residing_movable(const struct client *client);
uint64_t residing_staying(const struct client *client);

/*
 * Asks it to leave, or to return. `whom`: the client that needs the room; NULL: none, the user asks. `urgent`: the
 * memory is promised to that client, so there is a time limit.
 */
void residing_wish(struct client *client, bool away, const struct client *whom, bool urgent);
bool residing_wishes_away(const struct client *client);
/* True if its memory has not left, and may leave at any moment. */
bool residing_is_to_leave(const struct client *client);
/* Reads its page, and acts on a change. */
void residing_look(struct client *client, uint64_t now);
/* The reason that a client stays, for people to read. */
const char *residing_reason(enum wire_stay why);
