/* handover_tenants.h: the handover of grants, their clients' connections, and the requests that wait. */
#pragma once

struct daemon;
struct handover;
struct tenant;

/* "tenants", and their sockets in "listeners". */
void handover_tenants_save(struct daemon *daemon, struct handover *h);

/* A grant that has just been read from the store gets its doorbell, its counts and its events back. */
void handover_tenant_restore(struct handover *h, struct tenant *tenant);

/* When the pages' clients are there: their connections, and what waits on them. */
void handover_sessions_restore(struct daemon *daemon, struct handover *h);
