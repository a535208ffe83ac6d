/*
 * leaving.h: memory of processes that have ended, while their driver has not freed it.
 *
 * The kernel closes a process's descriptors while it ends, but a driver may put its own part of that off: for some
 * tenths of a second after the end, the memory is still there. Until the driver's list of processes does not have the
 * process any more (health/holders.h), and for at most LEAVING_MOST_S, what it held stays charged to its grant, as an
 * object of the grant's. Requests that only lack this memory wait for it. It is in the book as the entry of a process
 * that has ended, where the next meted finds it.
 *
 * The software device frees memory at once, unless METE_SOFT_LINGER is set (for tests).
 */
#pragma once

#include "model/device.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define LEAVING_MOST_S 10u

struct book_entry;
struct client;
struct daemon;
struct leaving;
struct tenant;

/* Closes the account of a client (account.h), but for what its process has on the devices if that has ended. */
void leaving_close(struct client *client);

/* After a restart: the process of an entry in the book has ended. False: nothing of it is waited for. */
bool leaving_restore(struct tenant *tenant, struct book_entry *entry);

/* What is leaving a device of the grant. */
uint64_t leaving_units(const struct tenant *tenant, unsigned int device);

/* The driver of this kind has been asked after the end of a process, and counts so much for it. */
void leaving_told(struct daemon *daemon, enum device_kind kind, pid_t pid, uint64_t bytes);

/* The grant ends (`over`), or meted does. */
void leaving_forget(struct tenant *tenant, bool over);
