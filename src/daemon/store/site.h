/*
 * site.h: checks the store's file and its folder before meted trusts them.
 *
 * Whoever can write there can give shares: folder and file must belong to meted's user or root, and no other user may
 * have write permission. A new file is completed under another name first. An empty file is therefore never one that
 * was being created: it has been truncated, and its grants must not be forgotten silently.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * Value: 0: the file can be opened, or ret_missing says that there is none. -EBADMSG: it is not safe, or no store, and
 * `error` is the line for the user. Other errors appear when it is opened.
 */
int site_check(const char *path, bool *ret_missing, char *error, size_t size);

/* The same for the folder alone. */
int site_check_folder(const char *folder, char *error, size_t size);

/*
 * The process that has locked the store's file, as SQLite does; 0: none. Locks of the calling process are not found.
 */
pid_t site_locked_by(const char *path);
/* Writes the line about it. */
void site_say_locked(const char *path, pid_t by, char *error, size_t size);

/* Whether a store that is missing would have room. Value: 0 or -ENOSPC, with the line. */
int site_check_room(const char *path, char *error, size_t size);

/*
 * Creates a store of this version without grants; replaces a file that was created meanwhile. Value: 0, or -errno with
 * the line.
 */
int site_make(const char *path, char *error, size_t size);

/* Writes the line about an unreadable file: the reason, and how to put the file aside. */
void site_say_damaged(const char *path, const char *why, char *error, size_t size);
