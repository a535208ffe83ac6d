/*
 * others.h: what the tenant holds on a device, all its processes together, read without asking meted: from this
 * process's page, the shared objects that are written there, and the pages of the tenant's other processes, of which
 * the first block is mapped for reading.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* False: not now, meted knows. Outside the gate. */
bool others_held(unsigned int device, uint64_t *ret_units);

/* The page is another one, or gone. In the child of fork() nobody holds the lock. */
void others_forget(bool forked);
