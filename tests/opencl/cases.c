/*
 * cases.c: OpenCL programs in small, each a case by name; the tests run them under a grant and without one.
 *
 *	quota BYTES STEP     takes blocks until it is refused; prints how many bytes it had, and the refusal
 *	exact BYTES          all of the quota, then one unit more, by every call that takes memory
 *	refund BYTES         what is released comes back when the driver lets go: behind a queue that waits
 *	objects N            N live buffers, made and released
 *	hold BYTES           takes one buffer, says so, and waits for a line on its input
 *	race BYTES STEP N    N times: takes what it gets, and gives it back
 *	queues               properties and profiling as the program asked for them
 *	devices              what devices and contexts say
 *	spin SECONDS ITEMS STEPS   kernels one after another; prints how many
 *	sum N                a computation, its result printed
 *	both BYTES           CUDA and OpenCL on one card: refused at the sum
 *	cuda SECONDS         kernels of CUDA's one after another, without OpenCL; prints how many
 *	beside BYTES         a context made while another thread's first call finds the drivers
 *	price N BATCH        what an enqueue (BATCH of them before a wait), and a create and release (beside N
 *	                     live buffers) cost: least and median of rounds, in nanoseconds
 */
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#define CL_USE_DEPRECATED_OPENCL_2_0_APIS
#include <CL/cl.h>
#include <CL/cl_ext.h>

#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LIVE 65536u

static cl_platform_id platform;
static cl_device_id device;
static cl_context context;
static cl_command_queue queue;
static unsigned int checks, failed;

static const char source[] = "kernel void spin(global float *x, int n)\n"
			     "{\n"
			     "	float a = x[get_global_id(0)];\n"
			     "	for (int i = 0; i < n; i++)\n"
			     "		a = a * 0.999f + 0.5f;\n"
			     "	x[get_global_id(0)] = a;\n"
			     "}\n"
			     "kernel void square(global int *x) { size_t i = get_global_id(0); x[i] = (int)(i * i); }\n"
			     "kernel void nothing(global int *x) { }\n";

static void ok(bool good, const char *fmt, ...)
{
	va_list ap;

	checks++;
	failed += !good;
	printf("%sok %u - ", good ? "" : "not ", checks);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	puts("");
	fflush(stdout);
}

static void need(cl_int r, const char *what)
{
	if (r == CL_SUCCESS)
		return;
	printf("%s: %d\n", what, r);
	exit(3);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void begin(void)
{
	cl_int r;

	need(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
	need(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
	context = clCreateContext(NULL, 1, &device, NULL, NULL, &r);
	need(r, "clCreateContext");
	queue = clCreateCommandQueueWithProperties(context, device, NULL, &r);
	need(r, "clCreateCommandQueueWithProperties");
}

static cl_kernel kernel_of(const char *name)
{
	const char *text = source;
	cl_program program;
	cl_kernel kernel;
	cl_int r;

	program = clCreateProgramWithSource(context, 1, &text, NULL, &r);
	need(r, "clCreateProgramWithSource");
	need(clBuildProgram(program, 1, &device, "", NULL, NULL), "clBuildProgram");
	kernel = clCreateKernel(program, name, &r);
	need(r, "clCreateKernel");
	return kernel;
}

static cl_mem buffer(size_t bytes, cl_int *r)
{
	return clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, NULL, r);
}

static int quota(uint64_t bytes, size_t step)
{
	static cl_mem made[LIVE];
	uint64_t total = 0;
	unsigned int n = 0;
	cl_int r = 0;

	while (n < LIVE && total <= bytes && (made[n] = buffer(step, &r))) {
		total += step;
		n++;
	}
	printf("%llu %d\n", (unsigned long long)total, r);
	while (n)
		clReleaseMemObject(made[--n]);
	return 0;
}

/* Each way to take memory: gets the object or NULL, and the refusal. */
static void *take_buffer(size_t bytes, cl_int *r)
{
	return buffer(bytes, r);
}

static void *take_properties(size_t bytes, cl_int *r)
{
	return clCreateBufferWithProperties(context, NULL, CL_MEM_READ_WRITE, bytes, NULL, r);
}

/* Imports: how many of `bytes` it gets before it is refused, `most` at most. */
static int imports(size_t bytes, unsigned int most)
{
	const cl_mem_properties properties[] = { 0x2060 /* CL_EXTERNAL_MEMORY_HANDLE_OPAQUE_FD_KHR */, 0, 0 };
	unsigned int n = 0;
	cl_int r = CL_SUCCESS;

	while (n < most && clCreateBufferWithProperties(context, properties, CL_MEM_READ_WRITE, bytes, NULL, &r))
		n++;
	printf("%u %d\n", n, r);
	return 0;
}

static void *take_copy(size_t bytes, cl_int *r)
{
	void *host = calloc(1, bytes);
	void *made = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, bytes, host, r);

	free(host);
	return made;
}

static void *take_image(size_t bytes, cl_int *r)
{
	cl_image_format format = { CL_RGBA, CL_UNORM_INT8 };
	cl_image_desc desc = { .image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 1024, .image_height = bytes / 4096 };

	return clCreateImage(context, CL_MEM_READ_WRITE, &format, &desc, NULL, r);
}

static void *take_array(size_t bytes, cl_int *r)
{
	cl_image_format format = { CL_R, CL_FLOAT };
	cl_image_desc desc = { .image_type = CL_MEM_OBJECT_IMAGE2D_ARRAY,
			       .image_width = 1024,
			       .image_height = bytes / 65536,
			       .image_array_size = 16 };

	return clCreateImage(context, CL_MEM_READ_WRITE, &format, &desc, NULL, r);
}

static void *take_image2d(size_t bytes, cl_int *r)
{
	cl_image_format format = { CL_RGBA, CL_FLOAT };

	return clCreateImage2D(context, CL_MEM_READ_WRITE, &format, 1024, bytes / 16384, 0, NULL, r);
}

static void *take_image3d(size_t bytes, cl_int *r)
{
	cl_image_format format = { CL_RGBA, CL_UNSIGNED_INT8 };

	return clCreateImage3D(context, CL_MEM_READ_WRITE, &format, 1024, bytes / 65536, 16, 0, 0, NULL, r);
}

static void *take_svm(size_t bytes, cl_int *r)
{
	void *made = clSVMAlloc(context, CL_MEM_READ_WRITE, bytes, 0);

	*r = made ? CL_SUCCESS : CL_MEM_OBJECT_ALLOCATION_FAILURE;
	return made;
}

static void give_object(void *object)
{
	clReleaseMemObject(object);
}

static void give_svm(void *pointer)
{
	clSVMFree(context, pointer);
}

static void give_svm_queued(void *pointer)
{
	clEnqueueSVMFree(queue, 1, &pointer, NULL, NULL, 0, NULL, NULL);
	clFinish(queue);
}

/* A driver gives a pipe or an image of some kinds to none. */
static const struct way {
	const char *name;
	void *(*take)(size_t bytes, cl_int *r);
	void (*give)(void *object);
} ways[] = {
	{ "clCreateBuffer", take_buffer, give_object },
	{ "clCreateBufferWithProperties", take_properties, give_object },
	{ "a copy of the host's", take_copy, give_object },
	{ "clCreateImage", take_image, give_object },
	{ "an array of images", take_array, give_object },
	{ "clCreateImage2D", take_image2d, give_object },
	{ "clCreateImage3D", take_image3d, give_object },
	{ "clSVMAlloc", take_svm, give_svm },
	{ "clSVMAlloc, freed by the queue", take_svm, give_svm_queued },
};

/* Waits until all of the quota is to be had again: the driver lets go when it likes. */
static bool all_back(size_t bytes)
{
	cl_int r;

	for (int i = 0; i < 2000; i++) {
		cl_mem made = buffer(bytes, &r);

		if (made) {
			clReleaseMemObject(made);
			return true;
		}
		usleep(1000);
	}
	return false;
}

static int exact(size_t bytes)
{
	cl_int r = 0;

	for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
		const struct way *w = &ways[i];
		void *made = w->take(bytes, &r), *more;
		cl_mem part;
		cl_buffer_region region = { 0, 4096 };

		if (!made && r == CL_INVALID_OPERATION) {
			ok(true, "%s # SKIP the driver has none (%d)", w->name, r);
			continue;
		}
		ok(made, "%s: all of the quota (%d)", w->name, r);
		if (!made)
			continue;
		more = buffer(1, &r);
		ok(!more && r == CL_MEM_OBJECT_ALLOCATION_FAILURE, "%s: not one byte beyond it (%d)", w->name, r);
		if (w->take == take_buffer) {
			part = clCreateSubBuffer(made, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &r);
			ok(part, "a part of the buffer takes nothing (%d)", r);
			clReleaseMemObject(part);
		}
		w->give(made);
		ok(all_back(bytes), "%s: all of it back", w->name);
		more = w->take(bytes + 65536, &r);
		ok(!more && r == CL_MEM_OBJECT_ALLOCATION_FAILURE, "%s: more than the quota at once (%d)", w->name, r);
		ok(all_back(bytes), "%s: a refusal takes nothing", w->name);
	}
	ok(!buffer(0, &r) && r == CL_INVALID_BUFFER_SIZE, "a buffer of nothing is the driver's to refuse (%d)", r);
	printf("1..%u\n", checks);
	return failed ? 1 : 0;
}

static int refund(size_t bytes)
{
	cl_event gate, filled;
	cl_mem made, more;
	int zero = 0;
	cl_int r;

	gate = clCreateUserEvent(context, &r);
	made = buffer(bytes, &r);
	ok(made, "all of the quota (%d)", r);
	r = clEnqueueFillBuffer(queue, made, &zero, sizeof zero, 0, 4096, 1, &gate, &filled);
	ok(r == CL_SUCCESS, "work that waits (%d)", r);
	clReleaseMemObject(made);
	more = buffer(bytes, &r);
	ok(!more, "what the program has released, and its queue has not, is still charged (%d)", r);
	clSetUserEventStatus(gate, CL_COMPLETE);
	clFinish(queue);
	clReleaseEvent(filled);
	clReleaseEvent(gate);
	ok(all_back(bytes), "it comes back when the driver lets go");
	printf("1..%u\n", checks);
	return failed ? 1 : 0;
}

static int objects(unsigned int count)
{
	static cl_mem made[LIVE];
	cl_int r;

	for (unsigned int i = 0; i < count && i < LIVE; i++) {
		made[i] = buffer(512, &r);
		need(r, "clCreateBuffer");
	}
	for (unsigned int i = 0; i < count && i < LIVE; i++)
		clReleaseMemObject(made[i]);
	return 0;
}

static int hold(size_t bytes)
{
	char line[16];
	cl_int r;

	if (!buffer(bytes, &r))
		printf("refused %d\n", r);
	else
		puts("held");
	fflush(stdout);
	return fgets(line, sizeof line, stdin) ? 0 : 0;
}

/* Never more than the quota together: the one who counts is the test, who asks meted. */
static int race(size_t step, unsigned int rounds)
{
	static cl_mem made[LIVE];
	uint64_t got = 0, refused = 0;
	cl_int r = 0;

	for (unsigned int i = 0; i < rounds; i++) {
		unsigned int n = 0;

		while (n < LIVE && (made[n] = buffer(step, &r)))
			n++;
		got += n;
		refused += r == CL_MEM_OBJECT_ALLOCATION_FAILURE;
		if (r != CL_MEM_OBJECT_ALLOCATION_FAILURE)
			return 4;
		while (n)
			clReleaseMemObject(made[--n]);
	}
	printf("%llu %llu\n", (unsigned long long)got, (unsigned long long)refused);
	return 0;
}

static void queue_case(const cl_queue_properties *properties, const char *what, bool profiling)
{
	cl_queue_properties list[16];
	cl_command_queue_properties has = 0;
	cl_ulong at = 0;
	size_t size = 0, want = 0;
	cl_event done;
	cl_command_queue q;
	cl_int r;

	q = clCreateCommandQueueWithProperties(context, device, properties, &r);
	need(r, what);
	need(clGetCommandQueueInfo(q, CL_QUEUE_PROPERTIES, sizeof has, &has, NULL), "CL_QUEUE_PROPERTIES");
	ok(!(has & CL_QUEUE_PROFILING_ENABLE) == !profiling, "%s: its properties are those asked for", what);
	need(clGetCommandQueueInfo(q, CL_QUEUE_PROPERTIES_ARRAY, sizeof list, list, &size), "the list");
	while (properties && properties[want])
		want += 2;
	want = properties ? (want + 1) * sizeof *list : 0;
	ok(size == want && (!size || !memcmp(list, properties, size)), "%s: its list is the one given", what);
	need(clEnqueueMarkerWithWaitList(q, 0, NULL, &done), "a marker");
	need(clFinish(q), "clFinish");
	r = clGetEventProfilingInfo(done, CL_PROFILING_COMMAND_END, sizeof at, &at, NULL);
	ok(r == (profiling ? CL_SUCCESS : CL_PROFILING_INFO_NOT_AVAILABLE), "%s: times are told as asked for (%d)",
	   what, r);
	clReleaseEvent(done);
	clRetainCommandQueue(q);
	clReleaseCommandQueue(q);
	ok(clFinish(q) == CL_SUCCESS, "%s: it lives while somebody holds it", what);
	clReleaseCommandQueue(q);
}

static int queues(void)
{
	cl_queue_properties none[] = { 0 }, plain[] = { CL_QUEUE_PROPERTIES, 0, 0 };
	cl_queue_properties timed[] = { CL_QUEUE_PROPERTIES, CL_QUEUE_PROFILING_ENABLE, 0 };
	cl_queue_properties free_order[] = { CL_QUEUE_PROPERTIES, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, 0 };
	cl_command_queue_properties has = 0;
	cl_command_queue q;
	cl_int r;

	queue_case(NULL, "no list", false);
	queue_case(none, "an empty list", false);
	queue_case(plain, "no properties", false);
	queue_case(timed, "profiling", true);
	queue_case(free_order, "out of order", false);
	q = clCreateCommandQueue(context, device, 0, &r);
	need(r, "clCreateCommandQueue");
	clGetCommandQueueInfo(q, CL_QUEUE_PROPERTIES, sizeof has, &has, NULL);
	ok(!has, "clCreateCommandQueue: its properties are those asked for");
	clReleaseCommandQueue(q);
	printf("1..%u\n", checks);
	return failed ? 1 : 0;
}

static int devices(void)
{
	cl_context_properties properties[] = { CL_CONTEXT_PLATFORM, (cl_context_properties)platform, 0 };
	cl_ulong total = 0, most = 0;
	cl_uint count = 0;
	cl_context other;
	cl_int r;

	need(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, NULL, &count), "clGetDeviceIDs");
	need(clGetDeviceInfo(device, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof total, &total, NULL),
	     "CL_DEVICE_GLOBAL_MEM_SIZE");
	need(clGetDeviceInfo(device, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof most, &most, NULL),
	     "CL_DEVICE_MAX_MEM_ALLOC_SIZE");
	other = clCreateContextFromType(properties, CL_DEVICE_TYPE_ALL, NULL, NULL, &r);
	need(r, "clCreateContextFromType");
	clReleaseContext(other);
	need(clGetDeviceIDs(platform, CL_DEVICE_TYPE_DEFAULT, 1, &device, NULL), "the default device");
	printf("%u %llu %llu\n", count, (unsigned long long)total, (unsigned long long)most);
	return 0;
}

static int spin(double seconds, size_t items, int steps)
{
	cl_kernel kernel = kernel_of("spin");
	uint64_t end;
	long done = 0;
	cl_mem x;
	cl_int r;

	x = buffer(items * sizeof(float), &r);
	need(r, "clCreateBuffer");
	need(clSetKernelArg(kernel, 0, sizeof x, &x), "clSetKernelArg");
	need(clSetKernelArg(kernel, 1, sizeof steps, &steps), "clSetKernelArg");
	need(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, NULL, 0, NULL, NULL), "clEnqueueNDRangeKernel");
	need(clFinish(queue), "clFinish");
	puts("begins");
	fflush(stdout);
	end = now_ns() + (uint64_t)(seconds * 1e9);
	while (now_ns() < end) {
		for (int i = 0; i < 4; i++)
			need(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, NULL, 0, NULL, NULL), "enqueue");
		need(clFinish(queue), "clFinish");
		done += 4;
	}
	printf("%ld\n", done);
	return 0;
}

/* Kernels, copies and maps behind each other and behind events, in two queues. */
static int sum(size_t items)
{
	cl_kernel kernel = kernel_of("square");
	cl_command_queue second;
	cl_event first, copied;
	unsigned long long total = 0;
	cl_mem x, y;
	int *seen;
	cl_int r;

	second = clCreateCommandQueueWithProperties(context, device, NULL, &r);
	need(r, "a second queue");
	x = buffer(items * sizeof(int), &r);
	need(r, "clCreateBuffer");
	y = buffer(items * sizeof(int), &r);
	need(r, "clCreateBuffer");
	for (int round = 0; round < 50; round++) {
		need(clSetKernelArg(kernel, 0, sizeof x, &x), "clSetKernelArg");
		need(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, NULL, 0, NULL, &first), "the kernel");
		need(clEnqueueCopyBuffer(second, x, y, 0, 0, items * sizeof(int), 1, &first, &copied), "the copy");
		seen = clEnqueueMapBuffer(queue, y, CL_TRUE, CL_MAP_READ, 0, items * sizeof(int), 1, &copied, NULL, &r);
		need(r, "the map");
		for (size_t i = 0; i < items; i++)
			total += (unsigned int)seen[i];
		need(clEnqueueUnmapMemObject(queue, y, seen, 0, NULL, NULL), "the unmap");
		clReleaseEvent(first);
		clReleaseEvent(copied);
	}
	need(clFinish(queue), "clFinish");
	printf("%llu\n", total);
	clReleaseMemObject(x);
	clReleaseMemObject(y);
	clReleaseKernel(kernel);
	clReleaseCommandQueue(second);
	clReleaseCommandQueue(queue);
	clReleaseContext(context);
	return 0;
}

/* CUDA, by the names of its driver's library; -1: not there. */
static struct {
	int (*init)(unsigned int);
	int (*device)(int *, int);
	int (*retain)(void **, int);
	int (*current)(void *);
	int (*alloc)(uint64_t *, size_t);
	int (*free)(uint64_t);
	int (*total)(size_t *, int);
	int (*info)(size_t *, size_t *);
	int (*load)(void **, const void *);
	int (*function)(void **, void *, const char *);
	int (*launch)(void *, unsigned int, unsigned int, unsigned int, unsigned int, unsigned int, unsigned int,
		      unsigned int, void *, void **, void **);
	int (*wait)(void);
} cuda;

static bool cuda_begin(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW), *primary;
	const struct {
		const char *name;
		void **to;
	} wanted[] = { { "cuInit", (void **)&cuda.init },
		       { "cuDeviceGet", (void **)&cuda.device },
		       { "cuDevicePrimaryCtxRetain", (void **)&cuda.retain },
		       { "cuCtxSetCurrent", (void **)&cuda.current },
		       { "cuMemAlloc_v2", (void **)&cuda.alloc },
		       { "cuMemFree_v2", (void **)&cuda.free },
		       { "cuDeviceTotalMem_v2", (void **)&cuda.total },
		       { "cuMemGetInfo_v2", (void **)&cuda.info },
		       { "cuModuleLoadData", (void **)&cuda.load },
		       { "cuModuleGetFunction", (void **)&cuda.function },
		       { "cuLaunchKernel", (void **)&cuda.launch },
		       { "cuCtxSynchronize", (void **)&cuda.wait } };
	int is;

	for (size_t i = 0; library && i < sizeof wanted / sizeof *wanted; i++)
		*wanted[i].to = dlsym(library, wanted[i].name);
	return library && cuda.init && !cuda.init(0) && !cuda.device(&is, 0) && !cuda.retain(&primary, is) &&
	       !cuda.current(primary);
}

static int cuda_spin(double seconds)
{
	static const char ptx[] =
		".version 7.5\n.target sm_75\n.address_size 64\n.visible .entry spin_a()\n{\n	ret;\n}\n";
	void *module, *kernel;
	uint64_t end;
	long done = 0;

	if (!cuda_begin() || cuda.load(&module, ptx) || cuda.function(&kernel, module, "spin_a"))
		return 3;
	puts("begins");
	fflush(stdout);
	end = now_ns() + (uint64_t)(seconds * 1e9);
	while (now_ns() < end) {
		for (int i = 0; i < 4; i++, done++)
			if (cuda.launch(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL))
				return 4;
		if (cuda.wait())
			return 5;
	}
	printf("%ld\n", done);
	return 0;
}

static int both(size_t bytes)
{
	size_t room = 0, all = 0, rest;
	uint64_t first = 0, second = 0;
	cl_ulong total = 0;
	cl_mem made;
	cl_int r;

	ok(cuda_begin(), "CUDA begins beside OpenCL");
	ok(!cuda.total(&all, 0) && all == bytes, "CUDA shows the quota");
	need(clGetDeviceInfo(device, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof total, &total, NULL),
	     "CL_DEVICE_GLOBAL_MEM_SIZE");
	ok(total == bytes, "and so does OpenCL (%llu)", (unsigned long long)total);
	ok(!cuda.alloc(&first, bytes / 2), "CUDA takes half");
	ok(!cuda.info(&room, &all), "what is free");
	ok(!buffer(bytes / 2 + 512, &r) && r == CL_MEM_OBJECT_ALLOCATION_FAILURE, "OpenCL is refused at the sum");
	rest = room;
	made = buffer(rest, &r);
	ok(made, "and gets what is left (%d)", r);
	ok(!cuda.info(&room, &all) && room == 0, "CUDA sees that nothing is free");
	ok(cuda.alloc(&second, 512) == 2, "and is out of memory");
	clReleaseMemObject(made);
	ok(all_back(rest), "OpenCL's goes back");
	ok(!cuda.alloc(&second, rest), "and CUDA may have it");
	ok(!buffer(512, &r) && r == CL_MEM_OBJECT_ALLOCATION_FAILURE, "then OpenCL gets nothing");
	ok(!cuda.free(second) && !cuda.free(first), "CUDA gives all back");
	ok(all_back(rest + bytes / 2), "and OpenCL may have that");
	ok(!cuda.alloc(&second, rest), "CUDA takes it again");
	printf("1..%u\n", checks);
	return failed ? 1 : 0;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The median of rounds of many calls, without those in which the machine was away. */
static int price(unsigned int live, unsigned int batch)
{
	static cl_mem made[LIVE];
	cl_kernel kernel = kernel_of("nothing");
	double enqueue[41], create[41];
	size_t items = 1;
	uint64_t from;
	cl_mem x;
	cl_int r;

	for (unsigned int i = 0; i < live && i < LIVE; i++)
		made[i] = buffer(512, &r);
	x = buffer(4096, &r);
	need(r, "clCreateBuffer");
	need(clSetKernelArg(kernel, 0, sizeof x, &x), "clSetKernelArg");
	for (int round = 0; round < 41; round++) {
		from = now_ns();
		for (unsigned int i = 0; i < batch; i++)
			clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, NULL, 0, NULL, NULL);
		enqueue[round] = (double)(now_ns() - from) / batch;
		need(clFinish(queue), "clFinish");
		from = now_ns();
		for (int i = 0; i < 1000; i++)
			clReleaseMemObject(buffer(4096, &r));
		create[round] = (double)(now_ns() - from) / 1000;
	}
	qsort(enqueue, 41, sizeof *enqueue, by_size);
	qsort(create, 41, sizeof *create, by_size);
	printf("%.1f %.1f %.1f %.1f\n", enqueue[0], enqueue[20], create[0], create[20]);
	for (unsigned int i = 0; i < live && i < LIVE; i++)
		clReleaseMemObject(made[i]);
	return 0;
}

static void *find_platforms(void *data)
{
	clGetPlatformIDs(1, &platform, NULL);
	return NULL;
}

static int beside(uint64_t bytes)
{
	uint64_t total = 0;
	pthread_t first;
	cl_int r;

	pthread_create(&first, NULL, find_platforms, NULL);
	usleep(100000);
	context = clCreateContextFromType(NULL, CL_DEVICE_TYPE_GPU, NULL, NULL, &r);
	pthread_join(first, NULL);
	need(r, "clCreateContextFromType");
	while (total <= bytes && buffer(1 << 20, &r))
		total += 1 << 20;
	printf("%llu %d\n", (unsigned long long)total, r);
	return 0;
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";
	uint64_t a = argc > 2 ? strtoull(argv[2], NULL, 10) : 0, b = argc > 3 ? strtoull(argv[3], NULL, 10) : 0;

	if (!strcmp(name, "cuda"))
		return cuda_spin(argc > 2 ? atof(argv[2]) : 1);
	if (!strcmp(name, "beside"))
		return beside(a);
	begin();
	if (!strcmp(name, "quota"))
		return quota(a, b);
	if (!strcmp(name, "exact"))
		return exact(a);
	if (!strcmp(name, "imports"))
		return imports(a, (unsigned int)b);
	if (!strcmp(name, "refund"))
		return refund(a);
	if (!strcmp(name, "objects"))
		return objects((unsigned int)a);
	if (!strcmp(name, "hold"))
		return hold(a);
	if (!strcmp(name, "race"))
		return race(a, (unsigned int)b);
	if (!strcmp(name, "queues"))
		return queues();
	if (!strcmp(name, "devices"))
		return devices();
	if (!strcmp(name, "spin"))
		return spin(argc > 2 ? atof(argv[2]) : 1, b, argc > 4 ? atoi(argv[4]) : 1000);
	if (!strcmp(name, "sum"))
		return sum(a);
	if (!strcmp(name, "both"))
		return both(a);
	if (!strcmp(name, "price"))
		return price((unsigned int)a, b ? (unsigned int)b : 200);
	fprintf(stderr, "cases.c says which cases there are\n");
	return 2;
}
