/*
 * talk.h: what tier T3 says to meted and hears from it, on a thread of its own.
 *
 * A meted that is stopped in the middle of an answer stops this thread and no other: whoever switches channels only
 * looks at the time of the last news.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The process is attached: attach_page() is there, and the devices of the grant are known. */
bool talk_ready(void);
/* The index in the grant of the device with this UUID. False: it is not in the grant. */
bool talk_device(const uint8_t *uuid, uint32_t *ret_device);
/* Starts the thread, which attaches. False: it could not be made. */
bool talk_start(void);
/* A line for meted's record of the grant. Sent when meted can be reached; the oldest of more than a few are lost. */
__attribute__((format(printf, 2, 3))) void talk_event(uint32_t device, const char *fmt, ...);
/* Asks meted for a sign of life, unless it was asked just now. */
void talk_ping(uint64_t now_ns);
/* When it last gave one; 0: never. */
uint64_t talk_news_ns(void);
/* The last time it was asked, it could not be reached. */
bool talk_lost(void);
/* In the child of fork(). */
void talk_reset(void);
