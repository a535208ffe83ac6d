/* rights.h: what the supervisor keeps of its rights. */
#pragma once

/*
 * Gives up all but these: to reach into processes of other users, which a program of root's may have become, and to
 * open what they have open and mapped (/proc/PID/mem, map_files; calls.c). Closes this process to others of its user.
 * 0 or -errno.
 */
int rights_drop(void);
