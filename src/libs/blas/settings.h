/* settings.h: which values a handle of cuBLAS can be set to, for the library and for a client on the remote path. */
#pragma once

#include "cublas_table.h"

#include <stdbool.h>
#include <stdint.h>

static inline bool setting_pointer_mode(cublasPointerMode_t mode)
{
	return (unsigned int)mode <= CUBLAS_POINTER_MODE_DEVICE;
}

static inline bool setting_atomics_mode(cublasAtomicsMode_t mode)
{
	return (unsigned int)mode <= CUBLAS_ATOMICS_ALLOWED;
}

static inline bool setting_math_mode(cublasMath_t mode)
{
	return !((unsigned int)mode & ~0x1fu);
}

static inline bool setting_sm_count(int count)
{
	return count >= 0;
}

static inline bool setting_emulation(cublasEmulationStrategy_t strategy)
{
	return (unsigned int)strategy <= CUBLAS_EMULATION_STRATEGY_EAGER;
}

/* Aligned to 256 bytes, as documented. */
static inline bool setting_workspace(const void *at, size_t bytes)
{
	return !bytes || (at && !((uintptr_t)at & 255));
}
