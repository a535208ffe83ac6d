/*
 * sharing.h: device memory that several processes hold. Its charge moves from the exporter's account to an object of
 * the grant, and is refunded when the last process releases the object. meted counts a process once, however many
 * handles it has; the handles are counted here. Every function asks meted: call it outside the gate and without locks.
 *
 * On the software device, memory behind an exported descriptor exists as long as any process holds a lock on its file
 * (softdev/segment.h). Its charge lasts as long: this module watches the file with a descriptor of its own, which has
 * no lock. Suppose that this process drops its last reference while another process still holds the file. If another
 * process of the grant references the object, that one keeps it charged. If none does, the object lingers: this process
 * keeps its reference. It notices the end of a lingering object in its next call that handles such memory, that queries
 * the free memory, or that would be refused, and when the process ends. Until then the tenant's other processes see the
 * object as charged.
 *
 * Three things make this less exact. Without /proc, or without a spare descriptor, the file is not watched. If the
 * quota has no room for the object to be charged twice for a moment, the object lingers although another process has
 * it.
 */
#pragma once

#include "wire/message.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SOFT_PAGE_UNITS (4096 / WIRE_UNIT_BYTES) /* the software device shares memory by whole pages of the host */

#define SHARING_NONE (-1)
#define SHARING_UNKNOWN (-2)   /* as SHARING_NONE: it was not exported under this grant */
#define SHARING_OWN UINT32_MAX /* `extra` of a record whose charge is in this process's account */

/* Moves the charge of `units` from our account to the object. Returns its id; SHARING_NONE: it stays in our account. */
int sharing_share(const uint8_t *key, unsigned int device, uint32_t units);
/* Adds a reference of this process. Returns the object's id, SHARING_NONE or SHARING_UNKNOWN. */
int sharing_import(const uint8_t *key);
/* Drops a reference, after the driver has released the memory. No effect for SHARING_OWN. */
void sharing_drop(uint32_t id);
/* Lock that is held while an imported pointer is opened or closed. Taken before the gate. */
void sharing_openings_lock(void);
void sharing_openings_unlock(void);
/* Watches the file of the object that this descriptor names, if it is on the software device. */
void sharing_watch(uint32_t id, int fd);
/* Releases lingering objects that no process holds any more. True: there were some, so there is more room. */
bool sharing_look(void);

/*
 * Marks a descriptor of an exported allocation so that an importer can recognise it. NVIDIA's driver exports through
 * its device node, whose inode is the same for all allocations; then the open file gets a lock of one byte at an offset
 * that only this allocation has. False: it cannot be marked, and must not be exported: imported memory outlives the
 * exporter's handle, and nobody would be charged for it.
 */
bool sharing_mark(int fd, uint64_t allocation);
/* Returns the key of an exported descriptor. False: a device node without a mark, exported outside of mete. */
bool sharing_key_of_fd(int fd, uint8_t *ret_key);
/* Returns the key of a handle, by its bytes. */
void sharing_key_of_bytes(const void *bytes, size_t size, uint8_t *ret_key);

/* In the child of fork(): drops all objects. */
void sharing_reset(void);
