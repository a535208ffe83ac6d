/* address.h: an address and a port, as a user writes them, and a socket that listens there. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

/* "10.0.0.7:4711", "[::1]:7480" */
void address_write(const struct sockaddr *address, char *text, size_t size);
bool address_is_loopback(const struct sockaddr *address);

/*
 * Listens at ADDRESS:PORT; `address` is what it has become, with the port that the kernel has chosen for 0. Value: the
 * descriptor or -errno, with the line for the user in `error`.
 */
int address_listen(const char *text, bool *ret_loopback, char *address, size_t address_size, char *error, size_t size);
