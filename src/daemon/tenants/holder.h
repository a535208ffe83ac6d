/*
 * holder.h: a process that holds the descriptors of sealed pages, so that they outlive a meted that is killed.
 *
 * A page of a system's meted is sealed memory without a name (page.h): it is there for as long as somebody holds it.
 * Its client cannot be relied on. So meted hands each page's descriptor to a small process of its own user, which holds
 * nothing else and is reached by a socket in the runtime directory that meted's user alone may connect to; the meted
 * that comes next gets them back from it. What has been sent is safe at once: the kernel holds it for the receiver.
 * The holder is no child of meted and no part of an upgrade. When no meted is connected it lets go of pages whose
 * process has ended, and ends with the last of them. If it dies, meted notices at its next word to it, starts another
 * one and hands all pages over again.
 */
#pragma once

#include <stdbool.h>

struct runtime;

/* Finds the holder of this directory, or starts one. Value: 0 or -errno; then pages are files. */
int holder_connect(struct runtime *runtime);

/* Value: 0; -ENOTCONN: it has died, or none could be started: holder_connect() again and hand over everything. */
int holder_keep(struct runtime *runtime, const char *name, int fd);

void holder_drop(struct runtime *runtime, const char *name);

/* Calls fn with each page that is held; `fd` is fn's own. Value: 0 or -errno. */
int holder_list(struct runtime *runtime, void (*fn)(void *owner, const char *name, int fd), void *owner);

/* The holder itself: `meted --hold-pages SOCKET`, a descriptor that listens. Value: for exit(). */
int holder_main(const char *listen_fd);
