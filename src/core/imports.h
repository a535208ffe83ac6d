/*
 * imports.h: what is charged for memory of another API that a process has imported. A number names an import; the
 * import and each part of it that is mapped hold it, and its charge goes with the last of them.
 *
 * Each face has its own, and calls it for its records of kind RECORD_EXTERNAL, whose `extra` is the number.
 */
#pragma once

#include <stdint.h>

/* Held once. Value: its number; 0: no memory. */
uint32_t imports_add(uint32_t units, unsigned int device);
void imports_hold(uint32_t import);
/* One hold is gone, after the driver has let go. Inside the gate. */
void imports_drop(uint32_t import);

/* In the child of fork(). */
void imports_forget(void);
