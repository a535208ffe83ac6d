/* meters_keep.h: collects the counters for the file `meters` (meters.h), and restores them from it. */
#pragma once

struct daemon;

/* Writes all counters. */
void meters_keep(struct daemon *daemon);
/*
 * Opens the file and takes over its values where they are higher, since history.db is older. Fills the seconds that the
 * histories lack with the mean of that time. Called once, after the tenants and history.db have been restored.
 */
void meters_restore(struct daemon *daemon);
