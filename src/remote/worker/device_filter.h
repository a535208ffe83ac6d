/*
 * device_filter.h: which commands a worker may give to NVIDIA's device nodes.
 *
 * A list for each branch of the driver: what programs that compute ask of its resource manager and of unified memory.
 * Everything else that ioctl() can be asked for is refused, on whatever descriptor, and stands in the kernel's log
 * (audit): the registry of the driver, I2C, the reading and writing of other processes by tools, terminals, other
 * devices. What a command's own memory says, the kernel's filter cannot see.
 *
 * Names and numbers are those of NVIDIA's open kernel modules (nv_escape.h, nv-ioctl-numbers.h, nv-ioctl-numa.h,
 * uvm_ioctl.h, uvm_linux_ioctl.h). Which of them programs need, and since which branch, is what gVisor's nvproxy
 * (pkg/sentry/devices/nvproxy/version.go) lets through for computing, and has been run with: branches 525 to 570. Not
 * yet run on hardware here. For a driver that wants more, observing says what.
 */
#pragma once

#include <stdbool.h>

/*
 * For all threads, before the other filters, which forbid setting more. `branch`: the driver's, the first part of its
 * version (535 of 535.104.05); 0, or one that is newer than the list: all that the list has. `observe`: nothing is
 * refused, what would be is logged. 0 or -errno.
 */
int device_filter_set(unsigned int branch, bool observe);
/* The branch of the driver that the kernel has loaded; 0: none, or it does not say. */
unsigned int device_branch(void);
