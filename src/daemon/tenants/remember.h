/* remember.h: restores the events of grants from before this meted started. */
#pragma once

struct daemon;

/*
 * Gives tenants without events their lines from the journal, with the original times. Called when the journal has been
 * read.
 */
void remember_events(struct daemon *daemon);
