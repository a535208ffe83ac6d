/*
 * clockwork.h: what the loop does by itself: it ends expired grants, an idle meted, and connections that are too slow.
 */
#pragma once

struct daemon;

/* Makes the timers. 0 or -ENOMEM. */
int clockwork_start(struct daemon *daemon);
void clockwork_stop(struct daemon *daemon);

/* Asks the drivers what devices there are; what they say is for the log, too. */
void clockwork_ask_drivers(struct daemon *daemon);
/* For machine_refresh(): the drivers' words into the log. */
void clockwork_tell_drivers(void *daemon);
