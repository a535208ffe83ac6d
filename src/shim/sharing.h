/*
 * sharing.h: device memory that several processes hold. Its charge moves from the exporter's account to an object of
 * the grant, and goes when the last process lets go. meted counts a process once, however many handles it has; those
 * are counted here. Every function asks meted: outside the gate and without locks.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SHARING_NONE (-1)

/* The charge of `units` in our account moves to the object. Value: an id, or SHARING_NONE: it stays with us. */
int sharing_share(const uint8_t *key, unsigned int device, uint32_t units);
/* We hold the object too. Value: an id, or SHARING_NONE: not exported under this grant, its owner is charged elsewhere.
 */
int sharing_import(const uint8_t *key);
/* One of our holds is gone; the driver has let go already. */
void sharing_drop(uint32_t id);

/*
 * The key of what an exported descriptor names. False: its inode does not tell one allocation from another (a device
 * node's), so the charge stays with the exporter.
 */
bool sharing_key_of_fd(int fd, uint8_t *ret_key);
/* The key of a handle's bytes. */
void sharing_key_of_bytes(const void *bytes, size_t size, uint8_t *ret_key);

/* In the child of fork(). */
void sharing_reset(void);
