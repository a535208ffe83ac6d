/*
 * clockwork.h: what the loop does by itself: it ends expired grants, an idle meted, and connections that are too slow.
 */
#pragma once

struct daemon;

/* Creates the timers. Value: 0 or -ENOMEM. */
int clockwork_start(struct daemon *daemon);
void clockwork_stop(struct daemon *daemon);

/* Queries the drivers for their devices in the background, and logs what they report. */
void clockwork_ask_drivers(struct daemon *daemon);
/* The callback for machine_refresh(): logs what the drivers report. */
void clockwork_tell_drivers(void *daemon);
