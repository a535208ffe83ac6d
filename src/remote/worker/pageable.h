/*
 * pageable.h: keeps the GPU out of the worker's own memory.
 *
 * Where the driver offers heterogeneous memory management (HMM), a kernel may use any address of the process that
 * launched it: a client's kernels would read and write the worker. nvidia-uvm leaves that out for a process that says
 * so when it opens the device (UVM_INITIALIZE, flag UVM_INIT_FLAGS_DISABLE_HMM; uvm_types.h and uvm_linux_ioctl.h of
 * NVIDIA's open kernel modules). libcuda makes that call, by the C library's ioctl(): this program's own comes first.
 */
#pragma once

#include "cuda_table.h"

#include <stdbool.h>

/* The flag, where this is the call. Value: whether it is. */
bool pageable_leave_out(unsigned long request, void *argument);

/*
 * After the driver was started: the device reaches the process's memory nevertheless (a driver that does not honour the
 * flag, or hardware that shares page tables). Then the wall holds against honest tenants only, and that must be said.
 */
bool pageable_reached(const struct cuda_table *driver, CUdevice device);
