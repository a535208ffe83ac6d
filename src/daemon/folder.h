/*
 * folder.h: folders below the runtime directory that belong to meted, reached by descriptor.
 *
 * Every folder on the path is opened from its parent, never through a link. It must belong to this meted, and no other
 * user may have write permission. Whatever other users do meanwhile, meted therefore opens, renames and removes only
 * files that it has put there.
 */
#pragma once

#include <sys/types.h>

/*
 * Opens the folder `path` (names separated by "/", no "..") below `at`. Value: a descriptor; -EPERM: a folder on the
 * path is not under meted's sole control; or another -errno.
 */
int folder_open(int at, const char *path);

/* The same for one name, which is created if it does not exist, and gets exactly this mode. */
int folder_make(int at, const char *name, mode_t mode);

/*
 * Opens the folder that contains the socket or file `place`. Value: as folder_open(); *ret_name points to the last name
 * in `place`.
 */
int folder_open_above(int at, const char *place, const char **ret_name);

/*
 * Takes back the ownership of a folder that earlier versions gave to `uid`, before folder_make() checks it. Its
 * contents are not trusted: folder_open() checks each entry. Value: 0 or -errno.
 */
int folder_take_back(int at, const char *name, uid_t uid);

/*
 * Lets one user pass to entries of the folder without listing it. Uses an access list, because a group may have more
 * members. Value: 0; -EOPNOTSUPP: the file system has no access lists; or another -errno.
 */
int folder_admit(int fd, uid_t uid);

/* Replaces a file of the folder by one with this text, readable by everybody. Value: 0 or -errno. */
int folder_write(int fd, const char *name, const char *text);

/* Removes a folder and its contents: files, sockets and empty folders. */
void folder_remove(int at, const char *name);
