/* watch.h: observes the program's ioctl calls. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Finds the real ioctl. Before that, and until `on`, calls pass unobserved. */
void watch_init(bool on);
/* The driver's branch, 535 of "535.104.05"; 0: not known yet. */
unsigned int watch_branch(void);
/* The real ioctl, for the shim's own calls. Value: 0 or -errno; errno is preserved. */
int watch_call(int fd, unsigned long request, void *argument);
/* True if the descriptor leads to the resource manager's control node. */
bool watch_is_control(int fd);
/* In the child of fork(). */
void watch_reset(void);
