/* fault.h: errors of devices in the driver: those of kernels are reported, those from outside take effect. */
#pragma once

#include "cuda_soft.h"

struct context;

/* Reports that a kernel of the context has failed. */
void fault_report(const struct context *c, CUresult error);
/* The table of wire/soft_fault.h; NULL: another id. */
const void *fault_table(const CUuuid *id);
