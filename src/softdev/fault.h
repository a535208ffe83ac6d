/* fault.h: errors of devices as the driver sees them: those of kernels are reported, those from outside obeyed. */
#pragma once

#include "cuda_soft.h"

struct context;

/* A kernel of the context has failed: the device reports it. */
void fault_report(const struct context *c, CUresult error);
/* The table of wire/soft_fault.h; NULL: the id is another one. */
const void *fault_table(const CUuuid *id);
