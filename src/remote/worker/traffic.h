/* traffic.h: what goes through this worker, counted where meted reads it (wire/worker.h). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Takes WORKER_TRAFFIC_FD over, if meted has given one. Before anything else opens a file. */
void traffic_open(void);
/* The client is a relay, or a program of this machine. */
void traffic_relayed(bool relayed);
/* A request of the client's, by whoever executes; a message to it, under the lock of the replies. */
void traffic_received(size_t message, uint64_t payload);
void traffic_sent(size_t message, uint64_t payload);
/* Whether meted can ask for a move, and learns how far it is. */
bool traffic_is_kept(void);
/* What meted asks; waits while it is `seen`. */
uint32_t traffic_wish(uint32_t seen);
/* Where it asks the client to go; of the wish that was read last. WORKER_WHERE_BYTES each. */
void traffic_where(char *where);
/* What the client says of its move. */
void traffic_why(const char *why);
struct move_said;
void traffic_say(const struct move_said *said);
/* The client can be asked. */
void traffic_moves(void);
