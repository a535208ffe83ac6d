/*
 * setting.h: what mete's libraries are told from outside, inside a program.
 *
 * On a plain machine that is the environment. In a container it is the file /run/mete/settings, one NAME=VALUE a line,
 * which a hook of mete's has mounted there read-only beside the grant's socket: then the environment is not asked at
 * all, so that a program sees the same share whatever environment it was started with (`podman exec`, ssh, sudo).
 * A program that gained privileges when it started is never told anything by its environment.
 */
#pragma once

#include <stdbool.h>

#define SETTING_DIR "/run/mete" /* in a container: what its grant brings along */

/*
 * The value of one of mete's variables (METE_SOCKET, METE_DRIVER, ...), or NULL. The file is read once. Of the
 * environment it is the value as it stands; keeps errno; may be called from any thread.
 */
const char *setting_get(const char *name);

/* This is a container that has a grant. */
bool setting_inside(void);
