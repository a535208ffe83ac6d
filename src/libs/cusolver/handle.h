/* handle.h: handles of cuSOLVER, and the launch of a routine. */
#pragma once

#include "libs/cusolver/solver.h"

#define SOLVER_MAGIC UINT64_C(0x6d6574652d736c76)

/* struct cusolverDnContext and struct cusolverSpContext of the headers. */
struct solver_handle {
	uint64_t magic;
	const struct device_driver *driver;
	CUcontext context;
	cudaStream_t stream;
	cusolverDeterministicMode_t deterministic;
	cusolverMathMode_t math_mode;
	cudaEmulationStrategy_t emulation;
};

/* NULL: not a handle of this library. */
struct solver_handle *solver_handle_find(const void *handle);
/* Launches on the handle's stream. Fields that the call has not set get defaults. */
cusolverStatus_t solver_launch(const void *handle, struct solver_work *w);
