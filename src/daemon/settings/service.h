/*
 * service.h: what a service manager and meted tell each other, by the protocols of sd_notify(3) and sd_listen_fds(3)
 * (systemd), spoken by hand.
 *
 * A socket unit may hold control.sock: then it is there before meted is and while meted is replaced, and whoever asks
 * first starts it. Without a service manager all of this does nothing.
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
