/*
 * service.h: the exchange between a service manager and meted, by the protocols of sd_notify(3) and sd_listen_fds(3)
 * (systemd), implemented here without a library.
 *
 * A socket unit may hold control.sock: it then exists before meted and while meted is replaced, and the first client
 * starts meted. Without a service manager these functions do nothing.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct daemon;

/*
 * Returns the listening socket at this path, if the service manager has passed it; the caller owns it. -1: none. Must
 * be called before any descriptor is opened that could be mistaken for one of them: the first call marks all as
 * inherited.
 */
int service_take_socket(const char *path);

/*
 * Sends the service manager its keep-alive (WatchdogSec=) from the loop. A meted that has `taken_over` waits with it:
 * another process is the main one for a moment (keeper.h).
 */
void service_watch(struct daemon *daemon, bool taken_over);
void service_leave(void);
