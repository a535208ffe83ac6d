/*
 * setting.h: the settings of mete's libraries inside a program.
 *
 * On a plain machine they come from the environment. In a container they come from the file /run/mete/settings, one
 * NAME=VALUE in a line, which mete's hook has mounted read-only beside the grant's socket. The environment is not used
 * then, so that a program sees the same share whatever environment it was started with (`podman exec`, ssh, sudo). The
 * environment of a program that gained privileges when it started is never used.
 */
#pragma once

#include <stdbool.h>

#define SETTING_DIR "/run/mete" /* in a container: the folder of its grant */

/*
 * Returns the value of one of mete's variables (METE_SOCKET, METE_DRIVER, ...), or NULL. The file is read once; the
 * environment is read at each call. Preserves errno. Any thread.
 */
const char *setting_get(const char *name);

/* True if the process is in a container that has a grant. */
bool setting_inside(void);
