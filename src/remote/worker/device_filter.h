/*
 * device_filter.h: which commands a worker may give to NVIDIA's device nodes.
 *
 * A list: what a running program's driver asks for of its resource manager and of unified memory. Everything else that
 * ioctl() can be asked for is refused, on whatever descriptor, and stands in the kernel's log (audit): the registry of
 * the driver, I2C, the reading and writing of other processes by tools, terminals, other devices. What a command's own
 * memory says, the kernel's filter cannot see.
 *
 * The list is by name of NVIDIA's open kernel modules (nv_escape.h, nv-ioctl-numbers.h, uvm_ioctl.h), which keep their
 * numbers from release to release. For a driver that wants more, observing says what.
 */
#pragma once

#include <stdbool.h>

/* For all threads, before the other filters, which forbid setting more. `observe`: nothing is refused, what would be is
 * logged. 0 or -errno. */
int device_filter_set(bool observe);
