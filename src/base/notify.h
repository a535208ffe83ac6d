/*
 * notify.h: messages from a service to the service manager that started it, by the protocol of sd_notify(3),
 * implemented here without a library.
 */
#pragma once

/* Sends a state, such as "READY=1". No effect without a service manager (NOTIFY_SOCKET). */
void notify_tell(const char *state);
/* Waits until the earlier messages were processed, for a limited time. No effect without a service manager. */
void notify_barrier(int timeout_ms);
