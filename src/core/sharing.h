/*
 * sharing.h: device memory that several processes hold. Its charge moves from the exporter's account to an object of
 * the grant, and goes when the last process lets go. meted counts a process once, however many handles it has; those
 * are counted here. Every function asks meted: outside the gate and without locks.
 *
 * On the software device the memory behind an exported descriptor lives as long as anybody holds a lock on its file
 * (softdev/segment.h), and so does its charge: a descriptor of our own, without a lock, watches the file. When our last
 * hold goes and somebody else's does not, another process of the grant that references the object keeps it charged;
 * where there is none, the object lingers with us. That somebody has let go of a lingering object is seen at this
 * process's next call that handles such memory, asks what is free or would be refused, and at its end; until then
 * others of the tenant find it charged. Without /proc, a descriptor to spare, or room in the quota for it a moment
 * twice, it is less exact: not watched in the first two cases, lingering beside the other process in the last.
 */
#pragma once

#include "wire/message.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SOFT_PAGE_UNITS (4096 / WIRE_UNIT_BYTES) /* the software device shares memory by whole pages of the host */

#define SHARING_NONE (-1)
#define SHARING_UNKNOWN (-2)   /* SHARING_NONE because nobody has exported it under this grant */
#define SHARING_OWN UINT32_MAX /* `extra` of a record whose charge lies with us */

/* The charge of `units` in our account moves to the object. Value: an id, or SHARING_NONE: it stays with us. */
int sharing_share(const uint8_t *key, unsigned int device, uint32_t units);
/* We hold the object too. Value: an id, SHARING_NONE or SHARING_UNKNOWN. */
int sharing_import(const uint8_t *key);
/* One of our holds is gone; the driver has let go already. SHARING_OWN: nothing to let go of. */
void sharing_drop(uint32_t id);
/* Held while an imported pointer is closed, as while one is opened. Before the gate. */
void sharing_openings_lock(void);
void sharing_openings_unlock(void);
/* The object is what this descriptor names: watches its file, if it lies on the software device. */
void sharing_watch(uint32_t id, int fd);
/* Lets go of lingering objects that nobody holds any more. True: there were some, so there is more room. */
bool sharing_look(void);

/*
 * A descriptor of what is exported as this allocation of ours. NVIDIA's driver exports through its device node, whose
 * inode tells no allocation from another: then the open file gets a lock of one byte, at an offset that is this
 * allocation's alone. False: it cannot be marked, and must not be exported: what is imported outlives the exporter's
 * handle, and nobody would be charged for it.
 */
bool sharing_mark(int fd, uint64_t allocation);
/* The key of what an exported descriptor names. False: a device node's without a mark: exported outside of mete. */
bool sharing_key_of_fd(int fd, uint8_t *ret_key);
/* The key of a handle's bytes. */
void sharing_key_of_bytes(const void *bytes, size_t size, uint8_t *ret_key);

/* In the child of fork(). */
void sharing_reset(void);
