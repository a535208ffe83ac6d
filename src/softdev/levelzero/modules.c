/* modules.c: modules, whose code is PTX (ZE_MODULE_FORMAT_NATIVE), and kernels. See soft.h. */
#include "softdev/levelzero/soft.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ARGUMENTS_MOST 16u
#define ARGUMENT_BYTES 16u

struct ze_module {
	struct ze_device *device;
	CUmodule module;
};

struct kernel_call {
	CUfunction function;
	unsigned int block[3], grid[3];
	unsigned int count;
	_Alignas(16) uint8_t argument[ARGUMENTS_MOST][ARGUMENT_BYTES];
};

struct ze_kernel {
	char name[64];
	struct kernel_call call;
};

struct soft_launch {
	struct kernel_call call;
};

static ze_result_t module_create(ze_context_handle_t hContext, ze_device_handle_t hDevice, const ze_module_desc_t *desc,
				 ze_module_handle_t *phModule, ze_module_build_log_handle_t *phBuildLog)
{
	struct ze_module *m = calloc(1, sizeof *m);
	char *text = calloc(1, desc->inputSize + 1);
	CUresult r;

	(void)hContext;
	if (phBuildLog)
		*phBuildLog = NULL;
	if (!m || !text || desc->format != ZE_MODULE_FORMAT_NATIVE) {
		free(m);
		free(text);
		return ZE_RESULT_ERROR_MODULE_BUILD_FAILURE;
	}
	memcpy(text, desc->pInputModule, desc->inputSize);
	m->device = hDevice;
	{
		ON_DEVICE(hDevice);
		r = soft_cu.cuModuleLoadData(&m->module, text);
	}
	free(text);
	if (r == CUDA_SUCCESS)
		*phModule = m;
	else
		free(m);
	return r == CUDA_SUCCESS ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_MODULE_BUILD_FAILURE;
}

static ze_result_t module_destroy(ze_module_handle_t hModule)
{
	ON_DEVICE(hModule->device);
	soft_cu.cuModuleUnload(hModule->module);
	free(hModule);
	return ZE_RESULT_SUCCESS;
}

static ze_result_t kernel_create(ze_module_handle_t hModule, const ze_kernel_desc_t *desc, ze_kernel_handle_t *phKernel)
{
	struct ze_kernel *k = calloc(1, sizeof *k);

	if (!k)
		return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
	snprintf(k->name, sizeof k->name, "%s", desc->pKernelName);
	k->call.block[0] = k->call.block[1] = k->call.block[2] = 1;
	if (soft_cu.cuModuleGetFunction(&k->call.function, hModule->module, desc->pKernelName) == CUDA_SUCCESS) {
		*phKernel = k;
		return ZE_RESULT_SUCCESS;
	}
	free(k);
	return ZE_RESULT_ERROR_INVALID_KERNEL_NAME;
}

static ze_result_t kernel_destroy(ze_kernel_handle_t hKernel)
{
	free(hKernel);
	return ZE_RESULT_SUCCESS;
}

static ze_result_t kernel_group(ze_kernel_handle_t hKernel, uint32_t x, uint32_t y, uint32_t z)
{
	hKernel->call.block[0] = x;
	hKernel->call.block[1] = y;
	hKernel->call.block[2] = z;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t kernel_argument(ze_kernel_handle_t hKernel, uint32_t argIndex, size_t argSize, const void *value)
{
	if (argIndex >= ARGUMENTS_MOST || argSize > ARGUMENT_BYTES)
		return ZE_RESULT_ERROR_INVALID_ARGUMENT;
	if (value)
		memcpy(hKernel->call.argument[argIndex], value, argSize);
	if (argIndex >= hKernel->call.count)
		hKernel->call.count = argIndex + 1;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t kernel_name(ze_kernel_handle_t hKernel, size_t *pSize, char *pName)
{
	if (pName)
		snprintf(pName, *pSize, "%s", hKernel->name);
	*pSize = strlen(hKernel->name) + 1;
	return ZE_RESULT_SUCCESS;
}

struct soft_launch *soft_launch_of(ze_kernel_handle_t kernel, const ze_group_count_t *groups)
{
	struct soft_launch *l = malloc(sizeof *l);

	if (!l)
		return NULL;
	l->call = kernel->call;
	l->call.grid[0] = groups->groupCountX;
	l->call.grid[1] = groups->groupCountY;
	l->call.grid[2] = groups->groupCountZ;
	return l;
}

CUresult soft_launch_run(const struct soft_launch *l, CUstream stream)
{
	const struct kernel_call *c = &l->call;
	void *arguments[ARGUMENTS_MOST];

	for (unsigned int i = 0; i < c->count; i++)
		arguments[i] = (void *)(uintptr_t)c->argument[i];
	return soft_cu.cuLaunchKernel(c->function, c->grid[0], c->grid[1], c->grid[2], c->block[0], c->block[1],
				      c->block[2], 0, stream, arguments, NULL);
}

void soft_launch_free(struct soft_launch *l)
{
	free(l);
}

void soft_fill_modules(struct levelzero_table *t)
{
	t->zeModuleCreate = module_create;
	t->zeModuleDestroy = module_destroy;
	t->zeKernelCreate = kernel_create;
	t->zeKernelDestroy = kernel_destroy;
	t->zeKernelSetGroupSize = kernel_group;
	t->zeKernelSetArgumentValue = kernel_argument;
	t->zeKernelGetName = kernel_name;
}
