/* watch.h: the program's ioctl calls, as they pass. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Finds the real ioctl. Before that, and until `on`, every call passes unseen. */
void watch_init(bool on);
/* The branch of the driver, 535 of "535.104.05"; 0: not known yet. */
unsigned int watch_branch(void);
/* The real ioctl, for calls of our own. Value: 0 or -errno; errno itself is left as it was. */
int watch_call(int fd, unsigned long request, void *argument);
/* The descriptor leads to the resource manager's control node. */
bool watch_is_control(int fd);
/* In the child of fork(). */
void watch_reset(void);
