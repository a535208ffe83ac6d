/*
 * landlock.h: Landlock rules of the kernel (Linux 5.13, more of them since), behind the system call filter: a call that
 * evades the filter still reaches nothing.
 */
#pragma once

#include <stdbool.h>

/*
 * For this thread and those that it will start, so called before the driver starts threads: forbids signals to
 * processes outside, abstract sockets, TCP, and access to other processes' memory. False: the kernel does not have all
 * of these rules.
 */
bool landlock_scope(void);
/*
 * Forbids all paths; with `nodes`, those in /dev may be used and those in /proc may be read. For this thread and those
 * that it will start; for all threads where the kernel supports it (rules of version 8). Open files stay open. False:
 * the kernel has no such rules.
 */
bool landlock_files(bool nodes);
