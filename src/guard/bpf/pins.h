/*
 * pins.h: the folder in which the guard's programs and maps are pinned. Its contents are trusted and removed with
 * root's rights, so it is used only if no other user can have put anything there: a folder of this process's user that
 * no other user may enter, reached without a link, in a folder in which no other user can replace it.
 *
 * Functions return 0, or -errno and a line for the user in `why` (PINS_WHY bytes; NULL: none).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define PINS_WHY 256

/*
 * Checks that `path` and its folder "maps" belong to this process alone. -ENOENT: there is no such folder; -EPERM: it
 * belongs to another user.
 */
int pins_check(const char *path, char *why);
/* Creates the missing ones. */
int pins_make(const char *path, char *why);
/*
 * Removes the folder `name` in it with its files; something that is not a folder is removed itself. No error if there
 * is nothing.
 */
int pins_remove(const char *path, const char *name, char *why);
