/*
 * object.h: creation, identification and destruction of descriptors of cuDNN's older calls. Each is a struct that
 * begins with its `kind`, which identifies a wrong handle.
 */
#pragma once

#include "libs/cudnn/dnn.h"

#include <stdlib.h>

#define IS(descriptor, what) ((descriptor) && (descriptor)->kind == (what))

/* Returns a value through a pointer that may be NULL. */
#define GIVE(to, value)                                                                                                \
	do {                                                                                                           \
		if (to)                                                                                                \
			*(to) = (value);                                                                               \
	} while (0)

/*
 * cudnnCreate and cudnnDestroy of a kind; `begin` is run for the new object (*ret), `end` before it is freed
 * (parameter).
 */
#define OBJECT_WITH(name, what, parameter, begin, end)                                                                 \
	cudnnStatus_t soft_cudnnCreate##name(cudnn##name##_t *ret)                                                     \
	{                                                                                                              \
		if (!ret)                                                                                              \
			return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;                                                    \
		*ret = calloc(1, sizeof(**ret));                                                                       \
		if (!*ret)                                                                                             \
			return CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;                                     \
		(*ret)->kind = what;                                                                                   \
		begin;                                                                                                 \
		return CUDNN_STATUS_SUCCESS;                                                                           \
	}                                                                                                              \
	cudnnStatus_t soft_cudnnDestroy##name(cudnn##name##_t parameter)                                               \
	{                                                                                                              \
		if (!parameter)                                                                                        \
			return CUDNN_STATUS_SUCCESS;                                                                   \
		if (!IS(parameter, what))                                                                              \
			return CUDNN_STATUS_BAD_PARAM;                                                                 \
		parameter->kind = 0;                                                                                   \
		end;                                                                                                   \
		free(parameter);                                                                                       \
		return CUDNN_STATUS_SUCCESS;                                                                           \
	}

#define OBJECT(name, what, parameter) OBJECT_WITH(name, what, parameter, , )
