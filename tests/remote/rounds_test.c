/*
 * rounds_test.c: how often a program waits for its worker: a vector addition and a loop as of training, both with our
 * CUDA runtime library, as nvcc would build them.
 *
 *   rounds_test WORKER DRIVER CLIENT-FOLDER
 *
 * Starts a worker on the software device, then itself again as its client. The counts are the link's own, read from the
 * file that METE_REMOTE_STATS names while the program runs.
 */
#include "base/tap.h"
#include "remote/client/link.h"

#include <cuda_runtime_api.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef __SANITIZE_ADDRESS__
/*
 * gcc 12's search for leaks takes what lies before the thread-local memory of a library that was opened late for a
 * header of the loader, and follows it into nowhere: "Tracer caught signal 11". Other tests look for leaks.
 */
const char *__asan_default_options(void);
__attribute__((visibility("default"))) const char *__asan_default_options(void)
{
	return "detect_leaks=0";
}
#endif

#define ELEMENTS 10000
#define STEPS 20
#define KERNELS 300 /* in a step */

static const char ptx[] =
	".version 7.0\n.target sm_70\n.address_size 64\n"
	/* c[i] = a[i] + b[i] for i < n */
	".visible .entry add(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n)\n{\n"
	".reg .pred %p;\n.reg .b32 %r<5>;\n.reg .f32 %f<4>;\n.reg .b64 %d<8>;\n"
	"ld.param.u64 %d1, [a];\nld.param.u64 %d2, [b];\nld.param.u64 %d3, [c];\nld.param.u32 %r1, [n];\n"
	"mov.u32 %r2, %ctaid.x;\nmov.u32 %r3, %ntid.x;\nmov.u32 %r4, %tid.x;\nmad.lo.s32 %r2, %r2, %r3, %r4;\n"
	"setp.ge.u32 %p, %r2, %r1;\n@%p bra DONE;\n"
	"mul.wide.u32 %d4, %r2, 4;\nadd.s64 %d5, %d1, %d4;\nadd.s64 %d6, %d2, %d4;\nadd.s64 %d7, %d3, %d4;\n"
	"ld.global.f32 %f1, [%d5];\nld.global.f32 %f2, [%d6];\nadd.f32 %f3, %f1, %f2;\nst.global.f32 [%d7], "
	"%f3;\nDONE: "
	"ret;\n}\n";

/* What nvcc puts around it, see tests/runtime/program.h. */
static struct {
	uint32_t magic;
	uint16_t version, header_bytes;
	uint64_t bytes;
	uint16_t kind, unknown;
	uint32_t entry_header_bytes;
	uint64_t payload_bytes;
	uint32_t compressed_bytes, unknown2;
	uint16_t minor, major;
	uint32_t arch, name_offset, name_bytes;
	uint64_t flags, unknown3, uncompressed_bytes;
	char text[(sizeof(ptx) + 7) & ~7ul];
} image = { .magic = 0xBA55ED50,
	    .version = 1,
	    .header_bytes = 16,
	    .bytes = sizeof(image) - 16,
	    .kind = 1,
	    .unknown = 0x101,
	    .entry_header_bytes = 64,
	    .payload_bytes = sizeof(image.text),
	    .major = 7,
	    .arch = 70,
	    .flags = 0x11 };

static struct {
	uint32_t magic, version;
	const void *data, *aux;
} wrapper = { 0x466243b1, 1, &image, NULL };

static char add;
static char file[64];

static struct link_counts counts(void)
{
	struct link_counts c = { 0 };
	int fd = open(file, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || read(fd, &c, sizeof(c)) != (ssize_t)sizeof(c) || memcmp(c.magic, "metelink", 8))
		memset(&c, 0, sizeof(c));
	close(fd);
	return c;
}

static uint64_t rounds(void)
{
	return counts().round_trips;
}

static cudaError_t launch(float *a, float *b, float *c, unsigned int n, cudaStream_t stream)
{
	void *args[] = { &a, &b, &c, &n };
	struct dim3 grid = { (n + 255) / 256, 1, 1 }, block = { 256, 1, 1 };

	return cudaLaunchKernel(&add, grid, block, args, 0, stream);
}

static void show(const char *what, const struct link_counts *before)
{
	struct link_counts now = counts();

	printf("# %s: %llu round trips, %llu requests, %llu bytes\n", what,
	       (unsigned long long)(now.round_trips - before->round_trips),
	       (unsigned long long)(now.requests - before->requests),
	       (unsigned long long)(now.request_bytes - before->request_bytes));
	for (unsigned int i = 0; i < LINK_COUNTED; i++)
		if (now.waits[i] != before->waits[i])
			printf("#   call %u: %u\n", i, now.waits[i] - before->waits[i]);
}

static float *beside[3];

static void vector_addition(void)
{
	static float x[ELEMENTS], y[ELEMENTS], z[ELEMENTS];
	struct link_counts none = { 0 };
	float *a = NULL, *b = NULL, *c = NULL;
	cudaError_t e = cudaSuccess;
	unsigned int good = 0;
	uint64_t before;

	for (unsigned int i = 0; i < ELEMENTS; i++) {
		x[i] = (float)i;
		y[i] = 2 * (float)i;
	}
	ok(!cudaMalloc((void **)&a, sizeof(x)) && !cudaMalloc((void **)&b, sizeof(y)) &&
	   !cudaMalloc((void **)&c, sizeof(z)));
	ok(!cudaMemcpy(a, x, sizeof(x), cudaMemcpyHostToDevice) &&
	   !cudaMemcpy(b, y, sizeof(y), cudaMemcpyHostToDevice));
	ok(!launch(a, b, c, ELEMENTS, NULL) && !cudaGetLastError());
	ok(!cudaMemcpy(z, c, sizeof(z), cudaMemcpyDeviceToHost));
	for (unsigned int i = 0; i < ELEMENTS; i++)
		good += z[i] == 3 * (float)i;
	is(good, ELEMENTS);

	before = rounds();
	for (int i = 0; i < 1000 && !e; i++)
		e = launch(a, b, c, ELEMENTS, NULL);
	ok(!e && !cudaGetLastError());
	is(rounds() - before, 0);
	ok(!cudaDeviceSynchronize());
	ok(!cudaFree(a) && !cudaFree(b) && !cudaFree(c));
	show("vector addition and a thousand launches more", &none);
	/* one of them is the synchronisation behind the thousand launches */
	tap_ok(rounds() <= 14 + 1, "a vector addition takes 14 round trips at most (%llu)",
	       (unsigned long long)rounds() - 1);
}

/* As frameworks do it: a pool of memory, several streams, events between them, one number back at the end of a step. */
static void training(void)
{
	static float batch[ELEMENTS];
	float *a = NULL, *b = NULL, *c = NULL, loss = 0;
	cudaStream_t compute, copy;
	struct link_counts before;
	cudaError_t e = cudaSuccess;
	cudaEvent_t ready;
	int device = -1;

	ok(!cudaMalloc((void **)&a, sizeof(batch)) && !cudaMalloc((void **)&b, sizeof(batch)) &&
	   !cudaMalloc((void **)&c, sizeof(batch)));
	ok(!cudaMemset(b, 0, sizeof(batch)));
	ok(!cudaStreamCreateWithFlags(&compute, cudaStreamNonBlocking) &&
	   !cudaStreamCreateWithFlags(&copy, cudaStreamNonBlocking) &&
	   !cudaEventCreateWithFlags(&ready, cudaEventDisableTiming));
	ok(!cudaDeviceSynchronize());
	before = counts();
	for (unsigned int step = 0; step < STEPS && !e; step++) {
		for (unsigned int i = 0; i < ELEMENTS; i++)
			batch[i] = (float)step;
		e = cudaMemcpyAsync(a, batch, sizeof(batch), cudaMemcpyHostToDevice, copy);
		e = e ? e : cudaEventRecord(ready, copy);
		e = e ? e : cudaStreamWaitEvent(compute, ready, 0);
		for (int i = 0; i < KERNELS && !e; i++) {
			e = cudaGetDevice(&device);
			e = e ? e : cudaSetDevice(device);
			e = e ? e : launch(a, b, c, ELEMENTS, compute);
			e = e ? e : cudaPeekAtLastError();
		}
		e = e ? e : cudaMemsetAsync(b, 0, sizeof(batch), compute);
		e = e ? e : cudaMemcpyAsync(&loss, c, sizeof(loss), cudaMemcpyDeviceToHost, compute);
		e = e ? e : cudaStreamSynchronize(compute);
		if (loss != (float)step)
			ok(!"the right loss");
	}
	is(e, 0);
	is(loss, STEPS - 1);
	show("a training-like loop of 20 steps", &before);
	tap_ok(rounds() - before.round_trips <= STEPS, "a step takes 1 round trip at most (%.1f)",
	       (double)(rounds() - before.round_trips) / STEPS);
	ok(!cudaFree(a) && !cudaFree(b) && !cudaFree(c) && !cudaStreamDestroy(compute) && !cudaStreamDestroy(copy) &&
	   !cudaEventDestroy(ready));
}

#define SCRATCH 10 /* pieces of memory in a step */

static cudaError_t scratch_step(float *a, float *b, unsigned int step, cudaStream_t stream)
{
	float *piece[SCRATCH], result = -1;
	cudaError_t e = cudaSuccess;

	for (unsigned int i = 0; i < SCRATCH && !e; i++) {
		e = cudaMallocAsync((void **)&piece[i], (1 + i / 2) * sizeof(float) * ELEMENTS, stream);
		e = e ? e : cudaMemsetAsync(piece[i], 0, sizeof(float) * ELEMENTS, stream);
		e = e ? e : launch(a, i ? piece[i - 1] : b, piece[i], ELEMENTS, stream);
	}
	e = e ? e : cudaMemcpyAsync(&result, piece[SCRATCH - 1], sizeof(result), cudaMemcpyDeviceToHost, stream);
	for (unsigned int i = 0; i < SCRATCH && !e; i++)
		e = cudaFreeAsync(piece[i], stream);
	e = e ? e : cudaStreamSynchronize(stream);
	if (result != SCRATCH * (float)step)
		ok(!"the right result");
	return e;
}

/* A loop that asks for its memory in each step: two steps show what it is, then a step asks once. */
static void scratch(void)
{
	static float ones[ELEMENTS];
	struct link_counts counted = { 0 };
	float *a = NULL, *b = NULL;
	size_t before, after, total;
	cudaError_t e = cudaSuccess;
	cudaStream_t stream;

	ok(!cudaMalloc((void **)&a, sizeof(ones)) && !cudaMalloc((void **)&b, sizeof(ones)));
	ok(!cudaMemset(b, 0, sizeof(ones)) && !cudaStreamCreate(&stream) && !cudaMemGetInfo(&before, &total));
	for (unsigned int step = 0; step < STEPS && !e; step++) {
		if (step == 2)
			counted = counts();
		for (unsigned int i = 0; i < ELEMENTS; i++)
			ones[i] = (float)step;
		e = cudaMemcpyAsync(a, ones, sizeof(ones), cudaMemcpyHostToDevice, stream);
		e = e ? e : scratch_step(a, b, step, stream);
	}
	is(e, 0);
	show("a loop of 18 steps with ten pieces of memory each", &counted);
	tap_ok(rounds() - counted.round_trips <= 2 * (STEPS - 2), "a step takes 2 round trips at most (%.1f)",
	       (double)(rounds() - counted.round_trips) / (STEPS - 2));
	/* The last wait has given everything back. */
	ok(!cudaMemGetInfo(&after, &total));
	is(after, before);
	ok(!cudaStreamDestroy(stream) && !cudaFree(a) && !cudaFree(b));
}

/* What another thread submits meanwhile is waited for. */
static void *launch_beside(void *stream)
{
	return launch(beside[0], beside[1], beside[2], ELEMENTS, stream) ? stream : NULL;
}

static uint64_t waits(cudaStream_t stream)
{
	uint64_t before = rounds();

	ok(!cudaStreamSynchronize(stream));
	return rounds() - before;
}

/* A stream that has been waited for is not waited for again, until something is sent. */
static void waited(void)
{
	static float z[2];
	cudaStream_t one = NULL, two = NULL;
	pthread_t thread;
	void *failed;

	for (int i = 0; i < 3; i++)
		ok(!cudaMalloc((void **)&beside[i], ELEMENTS * sizeof(float)));
	ok(!cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking) && !cudaStreamCreate(&two));
	is(waits(one), 1);
	is(waits(one), 0);
	is(waits(two), 1);
	is(waits(one), 1);
	ok(!launch(beside[0], beside[1], beside[2], ELEMENTS, one));
	is(waits(one), 1);
	ok(!launch(beside[0], beside[1], beside[2], ELEMENTS, one));
	ok(!cudaMemcpyAsync(z, beside[2], sizeof(z), cudaMemcpyDeviceToHost, one));
	is(waits(one), 0);
	is(waits(two), 1);
	is(waits(cudaStreamLegacy), 1);
	is(waits(NULL), 0);
	is(waits(cudaStreamPerThread), 1);
	is(waits(cudaStreamPerThread), 0);
	ok(!pthread_create(&thread, NULL, launch_beside, cudaStreamPerThread));
	ok(!pthread_join(thread, &failed) && !failed);
	is(waits(cudaStreamPerThread), 1);
	ok(!cudaStreamDestroy(two) && !cudaStreamDestroy(one));
	for (int i = 0; i < 3; i++)
		ok(!cudaFree(beside[i]));
}

static int client(void)
{
	void **handle;
	int status;

	tap_begin();
	snprintf(file, sizeof(file), "%s", getenv("METE_REMOTE_STATS"));
	memcpy(image.text, ptx, sizeof(ptx));
	handle = __cudaRegisterFatBinary(&wrapper);
	__cudaRegisterFunction(handle, &add, &add, "add", -1, NULL, NULL, NULL, NULL, NULL);
	__cudaRegisterFatBinaryEnd(handle);
	vector_addition();
	training();
	scratch();
	waited();
	__cudaUnregisterFatBinary(handle);
	unlink(file);
	/* the session's socket stays open to the end of the process */
	tap_fds = tap_open_fds();
	status = tap_end();
	fflush(NULL);
	return status;
}

static int start(char **argv)
{
	char dir[64], socket[80], stats[80], number[16];
	int ends[2];
	char byte;

	snprintf(dir, sizeof(dir), "/tmp/mete-rounds-XXXXXX");
	if (!mkdtemp(dir) || pipe(ends))
		tap_skip_all("no folder in /tmp");
	snprintf(socket, sizeof(socket), "%s/wall", dir);
	snprintf(stats, sizeof(stats), "%s/stats", dir);
	setenv("METE_SOFT_DIR", dir, 1);
	setenv("METE_SOFT_DEVICES", "1", 1);
	setenv("METE_SOFT_MEMORY", "256M", 1);
	setenv("METE_SOFT_TIME", "off", 1);
	unsetenv("CUDA_VISIBLE_DEVICES");
	if (fork() == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(ends[0]);
		snprintf(number, sizeof(number), "%d", ends[1]);
		execl(argv[1], argv[1], "--listen", socket, "--driver", argv[2], "--ready-fd", number, NULL);
		_exit(127);
	}
	close(ends[1]);
	if (read(ends[0], &byte, 1) != 1) {
		fprintf(stderr, "rounds_test: the worker did not start\n");
		return 1;
	}
	close(ends[0]);
	setenv("METE_REMOTE", socket, 1);
	setenv("METE_REMOTE_STATS", stats, 1);
	setenv("METE_LOG", "stderr", 1);
	setenv("LD_LIBRARY_PATH", argv[3], 1);
	execl("/proc/self/exe", argv[0], NULL);
	return 1;
}

int main(int argc, char **argv)
{
	if (argc == 4)
		return start(argv);
	if (argc == 1 && getenv("METE_REMOTE_STATS"))
		return client();
	fprintf(stderr, "usage: rounds_test WORKER DRIVER CLIENT-FOLDER\n");
	return 2;
}
