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
 * Opens the folder `path` (names with "/" between them, no "..") below `at`. Value: a descriptor; -EPERM: one on the
 * way is not meted's alone; or another -errno.
 */
int folder_open(int at, const char *path);

/* The same of one name, which is made where it is not there, and gets exactly this mode. */
int folder_make(int at, const char *name, mode_t mode);

/*
 * Opens the folder that a socket or file `place` lies in, and says how it is called there. Value: as folder_open();
 * *ret_name points into `place`.
 */
int folder_open_above(int at, const char *place, const char **ret_name);

/*
 * A folder that earlier versions have given to `uid` becomes meted's own again, before folder_make() looks at it. What
 * lies in it is not believed: folder_open() looks at each in turn. Value: 0 or -errno.
 */
int folder_take_back(int at, const char *name, uid_t uid);

/*
 * Lets one user through to what lies in the folder, without seeing what there is: an access list, since a group may
 * have more members. Value: 0; -EOPNOTSUPP: the file system keeps none; or another -errno.
 */
int folder_admit(int fd, uid_t uid);

/* Replaces a file of the folder by one with this text, which everybody may read. Value: 0 or -errno. */
int folder_write(int fd, const char *name, const char *text);

/* Removes a folder and what is in it: files, sockets and empty folders. */
void folder_remove(int at, const char *name);
