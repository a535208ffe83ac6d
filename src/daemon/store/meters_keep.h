/* meters_keep.h: the counters that the file `meters` (meters.h) contains, and where they come from and go to. */
#pragma once

struct daemon;

/* Writes all of them. */
void meters_keep(struct daemon *daemon);
/*
 * Opens the file, and takes up what it has, where that is more than what is there (history.db is older); fills what was
 * not yet in the histories, by the means of that time. Once, after the tenants and history.db have been restored.
 */
void meters_restore(struct daemon *daemon);
