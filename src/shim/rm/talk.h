/*
 * talk.h: tier T3's messages to meted and meted's answers, on a thread of its own.
 *
 * A meted that stops in the middle of an answer blocks only this thread: the code that switches channels reads only the
 * time of the last sign of life.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* True if the process is attached: attach_page() exists, and the devices of the grant are known. */
bool talk_ready(void);
/* The index in the grant of the device with this UUID. False: it is not in the grant. */
bool talk_device(const uint8_t *uuid, uint32_t *ret_device);
/* Starts the thread, which attaches. False: it could not be created. */
bool talk_start(void);
/*
 * Queues a line for the grant's events. It is sent when meted can be reached; beyond a few, the oldest lines are lost.
 */
__attribute__((format(printf, 2, 3))) void talk_event(uint32_t device, const char *fmt, ...);
/* Asks meted for a sign of life, unless it was asked a moment ago. */
void talk_ping(uint64_t now_ns);
/* The time of its last sign of life; 0: never. */
uint64_t talk_news_ns(void);
/* True if it could not be reached at the last attempt. */
bool talk_lost(void);
/* In the child of fork(). */
void talk_reset(void);
