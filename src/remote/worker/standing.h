/*
 * standing.h: a worker is a program among others. What the service manager gives meted, a better priority and
 * protection when memory is short, is not for those whom it serves.
 */
#pragma once

/* Before the first thread. */
void standing_reset(void);
