/*
 * imports.h: the charges for memory of another API that the process has imported. Each import has a number and a count
 * of references: one of the import itself and one of each mapped part. The charge is refunded with the last reference.
 *
 * Each face has its own table. Its records of kind RECORD_EXTERNAL have the import's number in `extra`.
 */
#pragma once

#include <stdint.h>

/* Adds an import with one reference; the caller has charged its units. Returns its number; 0: no memory. */
uint32_t imports_add(uint32_t units, unsigned int device);
/* Adds a reference. */
void imports_hold(uint32_t import);
/* Drops a reference, after the driver has released the memory. Inside the gate. */
void imports_drop(uint32_t import);

/* In the child of fork(): empties the table. */
void imports_forget(void);
