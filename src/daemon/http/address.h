/* address.h: an address and a port as a user writes them, and a socket that listens there. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

/* Writes "10.0.0.7:4711" or "[::1]:7480". */
void address_write(const struct sockaddr *address, char *text, size_t size);
bool address_is_loopback(const struct sockaddr *address);

/*
 * Listens at ADDRESS:PORT. `address` is the resulting address, with the port that the kernel has chosen for 0. Value:
 * the descriptor, or -errno with the cause and the remedy in `error`, to be appended to the address.
 */
int address_listen(const char *text, bool *ret_loopback, char *address, size_t address_size, char *error, size_t size);

/*
 * Checks whether listening there would succeed; nothing stays open. `own`: the address at which the running meted
 * already listens, which does not count as occupied; NULL or "": none. Value: 0 or -errno, as above.
 */
int address_try(const char *text, const char *own, bool *ret_loopback, char *error, size_t size);
