/* rights.h: the rights that the supervisor keeps. */
#pragma once

/*
 * Gives up all rights except these: to access processes of other users, which a program of root may have become, and to
 * open what they have open and mapped (/proc/PID/mem, map_files; calls.c). Protects this process from others of its
 * user. Value: 0 or -errno.
 */
int rights_drop(void);
