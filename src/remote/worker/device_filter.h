/*
 * device_filter.h: which commands a worker may send to NVIDIA's device nodes.
 *
 * There is a list for each branch of the driver: the commands of its resource manager and of unified memory that
 * computing programs use. Every other ioctl() is refused, on any descriptor, and recorded in the kernel's log (audit):
 * the registry of the driver, I2C, access of tools to other processes' memory, terminals, other devices. The kernel's
 * filter cannot see the contents of a command's memory.
 *
 * Names and numbers are those of NVIDIA's open kernel modules (nv_escape.h, nv-ioctl-numbers.h, nv-ioctl-numa.h,
 * uvm_ioctl.h, uvm_linux_ioctl.h). Which of them programs need, and since which branch, follows gVisor's nvproxy
 * (pkg/sentry/devices/nvproxy/version.go), which permits these for computing and has been run with them: branches 525
 * to 570. Not yet run on hardware here. For a driver that needs more, observing shows what.
 */
#pragma once

#include <stdbool.h>

/*
 * Sets the filter for all threads; must precede the other filters, which forbid further filters. `branch`: the
 * driver's, the first part of its version (535 of 535.104.05); 0, or one newer than the list: everything in the list.
 * `observe`: nothing is refused, and what would be is logged. Value: 0 or -errno.
 */
int device_filter_set(unsigned int branch, bool observe);
/* The branch of the loaded kernel driver; 0: there is none, or it does not say. */
unsigned int device_branch(void);
