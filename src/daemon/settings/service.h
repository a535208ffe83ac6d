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

/* The listening socket at this path, if the service manager has handed it over. Value: the descriptor, ours from now
 * on; -1: none. Call before anything is opened that could be taken for one of them: the first call marks all as
 * inherited. */
int service_take_socket(const char *path);

/*
 * The service manager wants to hear from us (WatchdogSec=): from now on the loop tells it, as long as it turns. One
 * that has `taken_over` says nothing at first: another process is the main one for a moment (keeper.h).
 */
void service_watch(struct daemon *daemon, bool taken_over);
void service_leave(void);
