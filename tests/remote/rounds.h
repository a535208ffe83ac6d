/*
 * rounds.h: a program as nvcc would build it, with our CUDA runtime library, that counts how often it waits for its
 * worker. The counts are the link's own, read from the file that METE_REMOTE_STATS names while the program runs.
 *
 *   TEST WORKER DRIVER CLIENT-FOLDER
 *
 * Starts a worker on the software device, then itself again as its client, which runs rounds_client().
 */
#pragma once

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

/* What the test does as a client. */
static void rounds_client(void);

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
	rounds_client();
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
		fprintf(stderr, "rounds: the worker did not start\n");
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
	fprintf(stderr, "usage: TEST WORKER DRIVER CLIENT-FOLDER\n");
	return 2;
}
