/*
 * types.h: OpenCL's types, from the headers of Khronos that the machine has (Debian: opencl-headers). All of its
 * versions are meant, the deprecated calls too: programs call them.
 */
#pragma once

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_0_APIS
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#define CL_USE_DEPRECATED_OPENCL_2_0_APIS
#define CL_USE_DEPRECATED_OPENCL_2_1_APIS
#define CL_USE_DEPRECATED_OPENCL_2_2_APIS

#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <CL/cl_icd.h>
#include <CL/cl_layer.h>

/* Functions of the program that are arguments of calls. */
typedef void CL_CALLBACK opencl_context_fn(const char *, const void *, size_t, void *);
typedef void CL_CALLBACK opencl_native_fn(void *);
typedef void CL_CALLBACK opencl_svm_free_fn(cl_command_queue, cl_uint, void **, void *);
