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

/* May be asked again at any time: nothing is begun anew. `who` is for the log. Value: 0 or -ENOMEM. */
int end_begin(struct tenant *tenant, const char *who);

/* It was asked for, and something of the tenant is still there. */
bool end_is_under_way(const struct tenant *tenant);

/* Sends the tenant's processes a signal: SIGTERM also to the command that the grant was made for, which passes it
 * on. */
void end_tell(struct tenant *tenant, int number);

/* meted leaves. */
void end_stop(struct daemon *daemon);
