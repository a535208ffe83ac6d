/*
 * bind.h: makes one bind mount with its flags detached, and attaches it when it is complete.
 *
 * All steps use descriptors (open_tree, mount_setattr, move_mount): a user who moves folders meanwhile can neither have
 * the flags set on another mount nor see this one without them.
 */
#pragma once

#include <stdbool.h>

/*
 * Mounts the file or folder `source` on the one behind `target`, an O_PATH descriptor: nosuid, nodev, and read-only
 * unless `writable`. Restrictions of the source's own mount remain. Value: 0; -ENOSYS: this kernel does not support it
 * (older than Linux 5.12), and nothing was mounted; or another -errno.
 */
int bind_make(const char *source, int target, bool writable);
