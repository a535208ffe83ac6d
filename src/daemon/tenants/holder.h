/*
 * holder.h: a process that holds the descriptors of sealed pages, so that they outlive a killed meted.
 *
 * A page of a system's meted is sealed memory without a name (page.h). It exists as long as a process holds it, and
 * meted cannot rely on the client. meted therefore sends each page's descriptor to a small process of its own user.
 * That process holds nothing else, and its socket in the runtime directory admits only meted's user. The next meted
 * gets the descriptors back from it. A descriptor is safe as soon as it is sent, because the kernel keeps it for the
 * receiver. The holder is no child of meted and no part of an upgrade. When no meted is connected, it releases pages
 * whose process has ended, and exits with the last of them. If it dies, meted notices at the next message, starts
 * another holder and sends all pages again.
 */
#pragma once

#include <stdbool.h>

struct runtime;

/* Finds the holder of this directory, or starts one. Value: 0, or -errno: pages are then files. */
int holder_connect(struct runtime *runtime);

/*
 * Value: 0; -ENOTCONN: the holder has died, or none could be started: call holder_connect() again and send all pages.
 */
int holder_keep(struct runtime *runtime, const char *name, int fd);

void holder_drop(struct runtime *runtime, const char *name);

/* Calls fn for each page that is held; fn owns `fd`. Value: 0 or -errno. */
int holder_list(struct runtime *runtime, void (*fn)(void *owner, const char *name, int fd), void *owner);

/*
 * The main function of the holder, `meted --hold-pages SOCKET`, where SOCKET is a listening descriptor. Value: the exit
 * status.
 */
int holder_main(const char *listen_fd);
