/*
 * pins.h: the folder in which the guard's programs and maps are pinned. What lies there is believed and removed with
 * root's rights, so it is used only where nobody else can have put something there: a folder of this process's user,
 * that nobody else may enter, reached without a link, in a folder in which nobody else can replace it.
 *
 * Functions return 0, or -errno and a line for the user in `why` (PINS_WHY bytes; NULL: none is wanted).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define PINS_WHY 256

/* `path` and its folder "maps" are this process's own. -ENOENT: there is no such folder; -EPERM: it is another's. */
int pins_check(const char *path, char *why);
/* Makes what there is not of them. */
int pins_make(const char *path, char *why);
/* Removes the folder `name` of it with the files in it; what is no folder is removed itself. Nothing there is good. */
int pins_remove(const char *path, const char *name, char *why);
