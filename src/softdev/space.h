/*
 * space.h: address space outside of the arenas, for what a program reserves or has on the host.
 *
 * A graph, a kernel or a copy may know an address for longer than memory is there. In a process that has a fence
 * (fence.h) such an address must never lead to the process's own memory: what is given back stays without access, and
 * only the driver takes it again. Other processes get it back.
 */
#pragma once

#include <stdint.h>

/*
 * Reserves `bytes` without access, at a multiple of `align`: at `wish` (0: anywhere) if that is free. Value: 0: there
 * is none.
 */
uint64_t space_take(uint64_t bytes, uint64_t align, uint64_t wish);
/* The same with access: private memory of zeros. */
void *space_take_memory(uint64_t bytes);
void space_give(uint64_t begin, uint64_t bytes);
