/* address.h: an address and a port as a user writes them, and a socket that listens there. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

/* "10.0.0.7:4711", "[::1]:7480" */
void address_write(const struct sockaddr *address, char *text, size_t size);
bool address_is_loopback(const struct sockaddr *address);

/*
 * Listens at ADDRESS:PORT; `address` is what it has become, with the port that the kernel has chosen for 0. Value: the
 * descriptor or -errno, with what is wrong and the remedy in `error`, to be put behind the address.
 */
int address_listen(const char *text, bool *ret_loopback, char *address, size_t address_size, char *error, size_t size);

/*
 * Whether one could listen there; nothing stays open. `own`: where the asker's meted listens already, which is not in
 * its own way; NULL or "": nowhere. Value: 0 or -errno, as above.
 */
int address_try(const char *text, const char *own, bool *ret_loopback, char *error, size_t size);
