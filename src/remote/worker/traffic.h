/* traffic.h: counts the traffic of this worker in memory that meted reads (wire/worker.h). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Takes over WORKER_TRAFFIC_FD if meted has passed one. Must be called before any file is opened. */
void traffic_open(void);
/* Sets whether the client is a relay, or a program of this machine. */
void traffic_relayed(bool relayed);
/* Count a request of the client, in any executing thread; a message to it, under the lock of the replies. */
void traffic_received(size_t message, uint64_t payload);
void traffic_sent(size_t message, uint64_t payload);
/* True if meted can request a move, and sees its progress. */
bool traffic_is_kept(void);
/* Waits while meted's wish is `seen`. Value: the new wish. */
uint32_t traffic_wish(uint32_t seen);
/* The destination that belongs to the last wish. WORKER_WHERE_BYTES. */
void traffic_where(char *where);
/* Pass on what the client reports about its move. */
void traffic_why(const char *why);
struct move_said;
void traffic_say(const struct move_said *said);
/* Declares that the client can be asked to move; before traffic_begun(). */
void traffic_moves(void);
/* Declares that the session has begun. `bound`: no other worker could map what this one shares with its client. */
void traffic_begun(bool bound);
