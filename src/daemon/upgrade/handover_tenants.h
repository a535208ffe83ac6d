/* handover_tenants.h: the handover of grants, their clients' connections, and the requests that wait. */
#pragma once

struct daemon;
struct handover;
struct tenant;

/* Saves "tenants", and their sockets in "listeners". */
void handover_tenants_save(struct daemon *daemon, struct handover *h);

/* Restores the doorbell, counts and events of a grant that was just read from the store. */
void handover_tenant_restore(struct handover *h, struct tenant *tenant);

/* Restores the connections and their waiting requests, once the clients of the pages exist. */
void handover_sessions_restore(struct daemon *daemon, struct handover *h);
