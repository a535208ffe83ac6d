/*
 * standing.h: makes a worker an ordinary program. The service manager's better priority and memory protection are for
 * meted, not for the programs that it serves.
 */
#pragma once

/* Called before the first thread. */
void standing_reset(void);
