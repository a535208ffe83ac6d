/*
 * trace.h: what happened in a span of time, for `mete trace`: launches, turns, and which tenant's work kept an engine
 * busy.
 *
 * Clients write launches into the ring on their page (struct wire_trace) while `on` is set; meted reads them before
 * they are overwritten. The arbitration notes turns and edges (log.h). Each trace has one queue of bounded length,
 * which receives all of this in the order in which meted learns of it, and which the requests of the trace's reader
 * empty. What does not fit is counted, and nothing waits.
 *
 * A trace that is not read ends by itself, because its reader is assumed to have died.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct client;
struct daemon;
struct tenant;

/* Start and stop to record a client: it has its page; it is about to lose it. */
void trace_attach(struct client *client);
void trace_forget(struct client *client);

/* Ends all recordings, with a line for their readers; what was recorded can still be read. */
void trace_end_all(struct daemon *daemon, const char *why);
/* True while some trace is being read. */
bool trace_is_read(const struct daemon *daemon);
/* Ends all recordings when meted exits. */
void trace_close(struct daemon *daemon);

/*
 * What is asked on the control socket, by a user of this uid. Value: NULL with the answer in *ret (NULL: no memory), or
 * the code of the refusal with its line in `error`.
 *   {"op":"trace_start","grants":[NAME...],"seconds":N}  none named: all that the user may see
 *       -> {"trace":ID,"begin_ns","seconds","left_out":N}: grants of others that were not named
 *   {"op":"trace_read","trace":ID} ->
 * {"done","lost":{"overwritten","full"},"devices":[{"id","index","uuid","driver","name"}],
 *       "tenants":[{"id","name"}],"clients":[{"id","tenant","pid","command"}],"names":[TEXT...],"notes":[TEXT...],
 *       "events":TEXT}
 *       Each list has what is new since the last read; names are numbered from 0 on. Events are lines of words; times
 *       are nanoseconds since begin_ns, and may be negative:
 *         L client device engine thread stream name submitted passed predicted bytes
 *         T tenant device engine open at until bound lag reason   (until: "-" for none)
 *         E client device engine begins at
 *         G client at                                             its process has ended
 *         W client device engine since until                      stood at the gate when the trace ended
 *   {"op":"trace_stop","trace":ID}: what has been recorded can still be read
 */
enum code trace_ask(struct daemon *daemon, uid_t uid, json_t *request, json_t **ret, char *error, size_t error_size);
