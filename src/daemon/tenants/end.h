/*
 * end.h: ends a tenant on request: its processes get SIGTERM and, END_KILL_S later, SIGKILL. When all have exited, the
 * grant is deleted.
 *
 * The request does not outlive meted: after a restart the tenant continues, and must be ended again.
 */
#pragma once

#include <stdbool.h>

#define END_KILL_S 10u

struct daemon;
struct tenant;

/* Can be called again at any time; a running end continues. `who` is for the log. Value: 0 or -ENOMEM. */
int end_begin(struct tenant *tenant, const char *who);

/* True while an end was requested and something of the tenant remains. */
bool end_is_under_way(const struct tenant *tenant);

/*
 * Sends the tenant's processes a signal; SIGTERM also to the command that the grant was made for, which passes it on.
 */
void end_tell(struct tenant *tenant, int number);

/* Abandons all ends when meted exits. */
void end_stop(struct daemon *daemon);
