/*
 * engine_opencl.c: the kernels of engine_cases.h on an OpenCL device of this machine's processor beside the software
 * device, by turns, on the same memory.
 *
 *   engine_opencl KERNELS.cl KERNELS.ptx TURNS    prints one JSON object per kernel that both have
 *
 * Times are the process's CPU time, the least of the turns, behind a first run of each that may compile. The OpenCL
 * device takes addresses as they are (fine-grained SVM); the first one that does is taken.
 */
#define CL_TARGET_OPENCL_VERSION 300
#include "engine_run.h"

#include <CL/cl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct opencl {
	cl_device_id device;
	cl_context context;
	cl_command_queue queue;
	cl_program program;
	char name[200];
};

static void must(cl_int r, const char *what)
{
	if (r == CL_SUCCESS)
		return;
	fprintf(stderr, "engine_opencl: %s: error %d\n", what, r);
	exit(1);
}

static cl_device_id device_find_opencl(void)
{
	cl_platform_id platform[8];
	cl_uint platforms = 0, devices;
	cl_device_id device;
	cl_device_svm_capabilities svm;

	clGetPlatformIDs(8, platform, &platforms);
	for (cl_uint i = 0; i < platforms; i++) {
		svm = 0;
		if (clGetDeviceIDs(platform[i], CL_DEVICE_TYPE_CPU, 1, &device, &devices) == CL_SUCCESS &&
		    clGetDeviceInfo(device, CL_DEVICE_SVM_CAPABILITIES, sizeof(svm), &svm, NULL) == CL_SUCCESS &&
		    svm & CL_DEVICE_SVM_FINE_GRAIN_BUFFER)
			return device;
	}
	fprintf(stderr,
		"engine_opencl: no OpenCL device of this processor that takes addresses as they are (PoCL does)\n");
	exit(77);
}

static struct opencl opencl_open(const char *path)
{
	struct opencl o = { .device = device_find_opencl() };
	size_t bytes;
	char *text = file_read(path, &bytes), log[4000] = "";
	const char *texts[1] = { text };
	cl_int r;

	clGetDeviceInfo(o.device, CL_DEVICE_NAME, sizeof(o.name), o.name, NULL);
	o.context = clCreateContext(NULL, 1, &o.device, NULL, NULL, &r);
	must(r, "clCreateContext");
	o.queue = clCreateCommandQueueWithProperties(o.context, o.device, NULL, &r);
	must(r, "clCreateCommandQueueWithProperties");
	o.program = clCreateProgramWithSource(o.context, 1, texts, NULL, &r);
	must(r, "clCreateProgramWithSource");
	r = clBuildProgram(o.program, 1, &o.device, "-cl-std=CL3.0", NULL, NULL);
	if (r != CL_SUCCESS) {
		clGetProgramBuildInfo(o.program, o.device, CL_PROGRAM_BUILD_LOG, sizeof(log) - 1, log, NULL);
		fprintf(stderr, "engine_opencl: %s: %s\n", path, log);
		exit(1);
	}
	free(text);
	return o;
}

/* NULL: the program has no such kernel. */
static cl_kernel kernel_find(const struct opencl *o, const struct ptx_kernel *k, const struct setup *s)
{
	cl_int r;
	cl_kernel kernel = clCreateKernel(o->program, k->name, &r);

	if (r != CL_SUCCESS)
		return NULL;
	for (cl_uint i = 0; i < k->param_count; i++) {
		const uint8_t *value = s->params.bytes + k->param[i].offset;
		void *p;

		if (k->param[i].bytes == sizeof(p)) {
			memcpy(&p, value, sizeof(p));
			must(clSetKernelArgSVMPointer(kernel, i, p), "clSetKernelArgSVMPointer");
		} else {
			must(clSetKernelArg(kernel, i, k->param[i].bytes, value), "clSetKernelArg");
		}
	}
	return kernel;
}

static void kernel_run(const struct opencl *o, cl_kernel kernel, const struct setup *s)
{
	size_t global[3], local[3];

	for (int i = 0; i < 3; i++) {
		local[i] = s->block[i];
		global[i] = (size_t)s->grid[i] * s->block[i];
	}
	must(clEnqueueNDRangeKernel(o->queue, kernel, 3, NULL, global, local, 0, NULL, NULL), "clEnqueueNDRangeKernel");
	must(clFinish(o->queue), "clFinish");
}

static bool case_run(const struct opencl *o, const struct bench_case *c, const struct ptx_module *m,
		     struct ptx_pool *pool, int turns)
{
	double ours = 1e9, theirs = 1e9, loop = 1e9, begin;
	struct setup s = { .n = 0 };
	struct ptx_launch l;
	bool good[2];
	cl_kernel kernel;

	device_clear();
	c->prepare(&s);
	l = launch_of(m, c->kernel, &s);
	kernel = kernel_find(o, l.kernel, &s);
	if (!kernel)
		return true;
	launch_run(pool, &l);
	c->loop(&loops_plain, &s);
	good[0] = agrees(c, &s);
	if (!c->twice)
		memset(s.out, 0, s.out_bytes);
	kernel_run(o, kernel, &s);
	good[1] = c->twice || agrees(c, &s);
	for (int i = 0; i < turns; i++) {
		begin = clock_of(CLOCK_PROCESS_CPUTIME_ID);
		launch_run(pool, &l);
		ours = fmin(ours, clock_of(CLOCK_PROCESS_CPUTIME_ID) - begin);
		begin = clock_of(CLOCK_PROCESS_CPUTIME_ID);
		kernel_run(o, kernel, &s);
		theirs = fmin(theirs, clock_of(CLOCK_PROCESS_CPUTIME_ID) - begin);
		begin = clock_of(CLOCK_PROCESS_CPUTIME_ID);
		c->loop(&loops_plain, &s);
		loop = fmin(loop, clock_of(CLOCK_PROCESS_CPUTIME_ID) - begin);
	}
	clReleaseKernel(kernel);
	printf("{\"kernel\":\"%s\",\"what\":\"%s\",\"seconds\":%.6g,\"opencl\":%.6g,\"loop\":%.6g,\"agrees\":[%s,%s],"
	       "\"device\":\"%s\"}\n",
	       c->kernel, c->what, ours, theirs, loop, good[0] ? "true" : "false", good[1] ? "true" : "false", o->name);
	fflush(stdout);
	return good[0] && good[1];
}

static bool cases_run(const struct opencl *o, const struct bench_case *c, unsigned count, const struct ptx_module *m,
		      struct ptx_pool *pool, int turns)
{
	bool good = true;

	for (; count; count--, c++)
		if (ptx_module_kernel_find(m, c->kernel))
			good &= case_run(o, c, m, pool, turns);
	return good;
}

int main(int argc, char **argv)
{
	struct ptx_pool *pool = ptx_pool_new(1);
	struct ptx_module *m;
	struct opencl o;
	size_t bytes;
	char *text;
	void *memory;
	bool good;

	if (argc != 4 || !pool) {
		fprintf(stderr, "usage: engine_opencl KERNELS.cl KERNELS.ptx TURNS\n");
		return 2;
	}
	o = opencl_open(argv[1]);
	memory = clSVMAlloc(o.context, CL_MEM_READ_WRITE | CL_MEM_SVM_FINE_GRAIN_BUFFER, DEVICE_BYTES, 0);
	must(memory ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY, "clSVMAlloc");
	device_open(memory);
	text = file_read(argv[2], &bytes);
	m = module_load(text, bytes, NULL);
	free(text);
	good = cases_run(&o, bench_cases, bench_case_count, m, pool, atoi(argv[3]));
	good &= cases_run(&o, varied_cases, varied_case_count, m, pool, atoi(argv[3]));
	good &= cases_run(&o, irregular_cases, irregular_case_count, m, pool, atoi(argv[3]));
	good &= cases_run(&o, unseen_cases, unseen_case_count, m, pool, atoi(argv[3]));
	good &= cases_run(&o, held_cases, held_case_count, m, pool, atoi(argv[3]));
	good &= cases_run(&o, fresh_cases, fresh_case_count, m, pool, atoi(argv[3]));
	return good ? 0 : 1;
}
