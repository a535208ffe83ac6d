/* remember.h: what happened under grants before this meted started. */
#pragma once

struct daemon;

/* The journal is read: tenants that know of nothing get the lines that are theirs, and from their time, as events. */
void remember_events(struct daemon *daemon);
