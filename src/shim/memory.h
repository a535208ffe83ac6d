/* memory.h: plain allocations, for other files of the shim. */
#pragma once

#include "core/records.h"

/*
 * Returns the charge of a plain allocation, or an array of known size, on its device, after the driver has freed it.
 * Value: units.
 */
uint32_t memory_refund(const struct record *r);
