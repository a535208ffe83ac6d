/*
 * others.h: how much all processes of the tenant hold on a device, read without asking meted. The sources are this
 * process's page, the shared objects on it, and the first block of the pages of the tenant's other processes, which is
 * mapped for reading.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* False: not known here at present; ask meted. Outside the gate. */
bool others_held(unsigned int device, uint64_t *ret_units);

/* Call when the page was replaced or is gone. `forked`: in the child of fork(), where no thread holds the lock. */
void others_forget(bool forked);
