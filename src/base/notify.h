/*
 * notify.h: messages from a service to the service manager that started it, by the protocol of sd_notify(3),
 * implemented here without a library.
 */
#pragma once

/* As "READY=1". Without a service manager (NOTIFY_SOCKET) nothing. */
void notify_tell(const char *state);
/* Waits until what was told before has been understood, at most so long. Without a service manager nothing. */
void notify_barrier(int timeout_ms);
