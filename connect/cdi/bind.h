/*
 * bind.h: one bind mount with its flags, made apart and put into its place when it is complete.
 *
 * Everything goes by descriptors (open_tree, mount_setattr, move_mount): nobody who moves folders about meanwhile has
 * the flags set on another mount, or sees ours without them.
 */
#pragma once

#include <stdbool.h>

/*
 * Mounts the file or folder `source` on the one behind `target`, an O_PATH descriptor: no set-user-id, no devices, and
 * read-only unless `writable`. What the source's own mount forbids stays forbidden. Value: 0; -ENOSYS: this kernel
 * cannot (it is older than Linux 5.12), and nothing was mounted; or another -errno.
 */
int bind_make(const char *source, int target, bool writable);
