/* memory.h: what other files of the shim need of plain allocations. */
#pragma once

#include "core/records.h"

/* Gives back what a plain allocation, or an array of known size, was charged on its device, after the driver has let
 * go. Value: units. */
uint32_t memory_refund(const struct record *r);
