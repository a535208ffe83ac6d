/*
 * pageable.h: keeps the GPU out of the worker's own memory.
 *
 * With heterogeneous memory management (HMM), a kernel may use any address of the process that launched it: a client's
 * kernels would read and write the worker's memory. nvidia-uvm disables this for a process that requests so when it
 * opens the device (UVM_INITIALIZE, flag UVM_INIT_FLAGS_DISABLE_HMM; uvm_types.h and uvm_linux_ioctl.h of NVIDIA's open
 * kernel modules). libcuda makes that call through the C library's ioctl(); this program's own ioctl() is found first
 * and adds the flag.
 */
#pragma once

#include "cuda_table.h"

#include <stdbool.h>

/* Adds the flag if this is that call. Value: true if it is. */
bool pageable_leave_out(unsigned long request, void *argument);

/*
 * Called after the driver was started. True: the device can access the process's memory nevertheless (a driver that
 * ignores the flag, or hardware that shares page tables). The wall then protects only against honest tenants, which
 * must be reported.
 */
bool pageable_reached(const struct cuda_table *driver, CUdevice device);
