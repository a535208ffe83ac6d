/*
 * fence_probe.c: which part of a worker's fence the driver cannot do without. For each choice of parts a child starts
 * the driver as a worker does, enters those parts, and makes what programs make later. A line per choice on standard
 * output: the parts, then each call with its answer.
 *
 *	fence_probe DRIVER [PARTS...]
 *
 * PARTS are letters of the table below; without any: none, each alone, all, and all but each. The driver is a
 * libcuda.so.1. METE_PROBE_STOP=1 stops the child before the calls, for a tracer.
 */
#include "remote/worker/sandbox.h"

#include "cuda_table.h"
#include "remote/worker/device_filter.h"
#include "remote/worker/driver.h"
#include "remote/worker/pageable.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

static const char text[] = ".version 6.0\n.target sm_60\n.address_size 64\n.visible .entry probe() { ret; }\n";

#define UID 1900000001u

static const char *parts;

static bool has(char part)
{
	return strchr(parts, part) != NULL;
}

static int device_filter_if(unsigned int branch, bool observe)
{
	return has('D') ? device_filter_set(branch, observe) : 0;
}

#define device_filter_set device_filter_if
#include "remote/worker/sandbox.c"
#undef device_filter_set

static const struct {
	char letter;
	const char *what;
} table[] = {
	{ 's', "namespaces" },
	{ 'k', "Landlock's scope" },
	{ 'l', "limits" },
	{ 'f', "empty root" },
	{ 'u', "its own user" },
	{ 'd', "no dumps" },
	{ 'R', "Landlock's files" },
	{ 'c', "filter of calls" },
	{ 'D', "list of device commands" },
	{ 'r', "rights kept by one thread, where the user stays" },
	{ 'U', "its own user before the driver" },
	{ 'P', "memory in stream order before the fence" },
	{ 'C', "a context before the fence" },
	{ 'J', "a module of PTX before the fence, as a worker has it" },
};

#define REAL 9u /* a worker of root's */

#define PARTS (sizeof(table) / sizeof(table[0]))

static void before_driver(struct sandbox *sandbox)
{
	*sandbox = (struct sandbox){ .devices = SANDBOX_LISTED, .branch = device_branch() };
	identity_choose(&sandbox->identity, UID);
	if (!has('u'))
		sandbox->identity.leaves = false;
	if (has('s'))
		sandbox->fence = spaces_enter(&sandbox->identity);
	if (has('k') && !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) && !landlock_scope())
		printf("no Landlock; ");
	if (has('r'))
		rights_keep();
	if (has('U') && !leave_user(sandbox))
		printf("no user; ");
}

/* What the driver may open when it is first used. */
static void use_driver(struct cuda_table *d, CUdevice device, CUcontext primary)
{
	CUcontext context;
	CUmodule module;
	CUdeviceptr p;

	if (has('J') && !d->cuCtxSetCurrent(primary) && !d->cuModuleLoadData(&module, text)) {
		d->cuModuleUnload(module);
		d->cuCtxSetCurrent(NULL);
	}
	if (has('P')) {
		d->cuCtxSetCurrent(primary);
		if (!d->cuMemAllocAsync(&p, 1 << 20, NULL))
			d->cuMemFreeAsync(p, NULL);
		d->cuCtxSynchronize();
		d->cuCtxSetCurrent(NULL);
	}
	if (has('C') && !d->cuCtxCreate_v2(&context, 0, device))
		d->cuCtxDestroy_v2(context);
}

static void after_driver(struct sandbox *sandbox)
{
	int r;

	if (has('l')) {
		limit(RLIMIT_CORE, 0);
		limit(RLIMIT_RTPRIO, 0);
		limit(RLIMIT_NICE, 0);
		limit(RLIMIT_NOFILE, DESCRIPTORS);
	}
	nodes_find(&sandbox->nodes);
	if (has('f') && !rights_use(leave_files, sandbox))
		printf("no empty root; ");
	if (has('u') && !leave_user(sandbox))
		printf("no user; ");
	if (has('d'))
		prctl(PR_SET_DUMPABLE, 0);
	if (has('R') && (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || !landlock_files(sandbox->reopens)))
		printf("no rules; ");
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	r = has('c') ? filter_calls(sandbox) : has('D') ? device_filter_set(sandbox->branch, false) : 0;
	if (r)
		printf("no filter (%d); ", r);
	if (has('f'))
		printf("%u nodes, %s; ", sandbox->nodes.count, sandbox->reopens ? "opened again" : "not opened again");
}

static void say(const char *name, CUresult r)
{
	printf(" %s=%d", name, (int)r);
	fflush(stdout);
}

static void try_calls(struct cuda_table *d, CUdevice device)
{
	CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED };
	CUcontext primary, context;
	CUmemoryPool pool;
	CUfunction function;
	CUdeviceptr p;
	CUstream stream;
	CUmodule module;
	CUarray array;
	CUgraphExec exec;
	CUgraph graph;
	CUresult r;
	void *host;

	props.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
	d->cuDevicePrimaryCtxRetain(&primary, device);
	say("set", d->cuCtxSetCurrent(primary));
	say("alloc", d->cuMemAlloc_v2(&p, 1 << 20));
	say("managed", d->cuMemAllocManaged(&p, 1 << 20, CU_MEM_ATTACH_GLOBAL));
	say("host", d->cuMemHostAlloc(&host, 1 << 20, 0));
	say("array", d->cuArrayCreate_v2(&array, &(CUDA_ARRAY_DESCRIPTOR){ .Width = 64, .Height = 64, .Format = CU_AD_FORMAT_FLOAT,
									   .NumChannels = 1 }));
	say("stream", d->cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	r = d->cuModuleLoadData(&module, text);
	say("module", r);
	if (!r && !(r = d->cuModuleGetFunction(&function, module, "probe"))) {
		say("launch", d->cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, NULL, NULL));
		say("wait", d->cuStreamSynchronize(stream));
	}
	say("capture", d->cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
	if (!r)
		d->cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, NULL, NULL);
	say("captured", d->cuStreamEndCapture(stream, &graph));
	say("instantiate", d->cuGraphInstantiateWithFlags(&exec, graph, 0));
	say("pool", d->cuMemPoolCreate(&pool, &props));
	say("pooled", d->cuMemAllocFromPoolAsync(&p, 1 << 20, pool, stream));
	say("async", d->cuMemAllocAsync(&p, 1 << 20, stream));
	say("wait", d->cuStreamSynchronize(stream));
	say("context", d->cuCtxCreate_v2(&context, 0, device));
	say("alloc", d->cuMemAlloc_v2(&p, 1 << 20));
	say("async", d->cuMemAllocAsync(&p, 1 << 20, NULL));
	say("wait", d->cuCtxSynchronize());
}

static _Noreturn void probe(const char *driver)
{
	static struct cuda_table table_of;
	struct sandbox sandbox;
	CUcontext primary;
	CUdevice device;
	char why[512];

	setvbuf(stdout, NULL, _IOFBF, 4096);
	setenv("CUDA_CACHE_DISABLE", "1", 1);
	printf("%-10s ", *parts ? parts : "-");
	before_driver(&sandbox);
	if (!driver_open(driver, &table_of, why, sizeof(why))) {
		printf("%s\n", why);
		_exit(2);
	}
	say("init", table_of.cuInit(0));
	say("device", table_of.cuDeviceGet(&device, 0));
	say("primary", table_of.cuDevicePrimaryCtxRetain(&primary, device));
	use_driver(&table_of, device, primary);
	printf(" | ");
	after_driver(&sandbox);
	fflush(stdout);
	if (getenv("METE_PROBE_STOP"))
		raise(SIGSTOP);
	try_calls(&table_of, device);
	printf("\n");
	fflush(stdout);
	_exit(0);
}

static void run(const char *driver, const char *chosen)
{
	pid_t child;
	int status;

	fflush(stdout);
	parts = chosen;
	child = fork();
	if (!child)
		probe(driver);
	if (waitpid(child, &status, 0) == child && WIFSIGNALED(status))
		printf(" signal %d\n", WTERMSIG(status));
}

int main(int argc, char **argv)
{
	static const char *const more[] = { "skrlfdRcD", "skUlfdRcD", "sklfudRcDJ", "sklfudRcDJP", "sklfudRcDJC",
					     "sfJ", "sfJC" };
	char chosen[PARTS + 1];

	if (argc < 2) {
		fprintf(stderr, "fence_probe DRIVER [PARTS...]\n");
		return 2;
	}
	for (size_t i = 0; i < PARTS; i++)
		printf("# %c: %s\n", table[i].letter, table[i].what);
	for (int i = 2; i < argc; i++)
		run(argv[1], argv[i]);
	if (argc > 2)
		return 0;
	run(argv[1], "");
	for (size_t i = 0; i < PARTS; i++) {
		snprintf(chosen, sizeof(chosen), "%s%c", table[i].letter == 'f' ? "s" : "", table[i].letter);
		run(argv[1], chosen);
	}
	for (size_t left = REAL + 1; left-- > 0;) {
		size_t n = 0;

		for (size_t i = 0; i < REAL; i++)
			if (i != left)
				chosen[n++] = table[i].letter;
		chosen[n] = 0;
		run(argv[1], chosen);
	}
	for (size_t i = 0; i < sizeof(more) / sizeof(more[0]); i++)
		run(argv[1], more[i]);
	return 0;
}
