/*
 * landlock.h: the kernel's rules for what a process may reach (Linux 5.13, more of them since), behind the filter of
 * system calls: a call that should get through reaches nothing all the same.
 */
#pragma once

#include <stdbool.h>

/*
 * For this thread and those that it will start, so before the driver's: no signal to a process outside, no socket of a
 * name without a file, no TCP, no other process's memory. False: the kernel has not all of these rules.
 */
bool landlock_scope(void);
/*
 * No path leads anywhere; with `nodes`, those in /dev may be used, and those in /proc be read. For this thread and
 * those that it will start; for all threads where the kernel can (rules of version 8). What is open stays open. False:
 * the kernel has no such rules.
 */
bool landlock_files(bool nodes);
