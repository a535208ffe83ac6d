/*
 * racer.c: one thread takes or gives memory whose size the driver is asked about, and at some moment of that another
 * thread, or another process, ends something that the driver counts.
 *
 *   racer CALL END IMAGE ROUNDS SEED QUOTA   CALL: "load" or "unload" a module; END: what ends, a name of `ends`;
 * IMAGE: "plain" text, whose variables can be read, or "packed", whose cannot; QUOTA: bytes, of which nothing is in use
 *
 * After each race it fills the quota to the last byte with plain memory, says "rest", and waits for a line: then what
 * the device counts must be the quota. Memory that was not charged is had once more. In the end it says how often the
 * end fell within the call. An unload takes as long as the kernel that still runs: METE_SOFT_DURATION.
 */
#include <cuda.h>

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MIB (1ull << 20)
#define MODULE_BYTES (16 * MIB)
#define ENDING_BYTES (32 * MIB)
#define MODULES_MOST 2
#define KERNELS 400 /* they make loading take some milliseconds */
#define ROUNDS_MOST 64

struct importer {
	pid_t pid;
	int socket;
};

struct race {
	const struct end *end;
	CUcontext context;
	CUlibrary library;
	CUdeviceptr p;
	int fd;
	struct importer *importer;
	double delay_s, at_s; /* the end comes that long after the beginning, and came then */
	CUresult result;
};

/* What the driver counts, how it is made, and how it is ended beside the call; `after`: with the race over. */
struct end {
	const char *name;
	CUresult (*make)(struct race *r);
	CUresult (*end)(struct race *r);
	CUresult (*after)(struct race *r);
	enum { NOBODY, ONE, ONE_EACH } importers; /* one for all rounds, or one for each */
};

static struct importer importers[ROUNDS_MOST];
static char *image, *library_image;
static CUmodule modules[MODULES_MOST];
static unsigned int module_count;
static double call_s = 5e-3; /* how long the last one took */
static unsigned long long quota;

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void fail(const char *what, CUresult r)
{
	printf("trouble: %s: %d\n", what, (int)r);
	exit(1);
}

static void must(const char *what, CUresult r)
{
	if (r)
		fail(what, r);
}

/* ---- images ---- */

static char *write_text(unsigned long long bytes, unsigned int kernels)
{
	size_t room = 512 + kernels * 256, n;
	char *text = malloc(room);

	if (!text)
		exit(2);
	n = (size_t)snprintf(text, room,
			     ".version 7.0\n.target sm_80\n.address_size 64\n.global .align 4 .b8 v[%llu];\n", bytes);
	for (unsigned int i = 0; i < kernels; i++)
		n += (size_t)snprintf(text + n, room - n,
				      ".visible .entry k%u()\n{\n .reg .u32 %%r<4>;\n mov.u32 %%r1, %%tid.x;\n"
				      " add.u32 %%r2, %%r1, %u;\n mul.lo.u32 %%r3, %%r2, %%r1;\n ret;\n}\n",
				      i, i);
	return text;
}

/*
 * Instead of the text a fat binary with it as an LZ4 block of nothing but literals, in the container that
 * tests/behaviour/images/make.py describes.
 */
static char *pack(char *text)
{
	const unsigned short kind = 1, version = 0x101, container_version = 1, container_head = 16, minor = 0,
			     major = 8;
	const unsigned int magic = 0xba55ed50, head = 64, arch = 80;
	const unsigned long long flags = 0x11 | 0x2000;
	unsigned long long plain = strlen(text) + 1, padded, all;
	unsigned int extra = (unsigned int)((plain - 15) / 255 + 1), packed = 1 + extra + (unsigned int)plain;
	char *fat, *p;

	padded = ((unsigned long long)packed + 7) / 8 * 8;
	all = head + padded;
	fat = calloc(1, container_head + all);
	if (!fat)
		exit(2);
	memcpy(fat, &magic, 4);
	memcpy(fat + 4, &container_version, 2);
	memcpy(fat + 6, &container_head, 2);
	memcpy(fat + 8, &all, 8);
	p = fat + container_head;
	memcpy(p, &kind, 2);
	memcpy(p + 2, &version, 2);
	memcpy(p + 4, &head, 4);
	memcpy(p + 8, &padded, 8);
	memcpy(p + 16, &packed, 4);
	memcpy(p + 24, &minor, 2);
	memcpy(p + 26, &major, 2);
	memcpy(p + 28, &arch, 4);
	memcpy(p + 40, &flags, 8);
	memcpy(p + 56, &plain, 8);
	p += head;
	*p++ = (char)0xf0;
	memset(p, 0xff, extra - 1);
	p[extra - 1] = (char)((plain - 15) % 255);
	memcpy(p + extra, text, plain);
	free(text);
	return fat;
}

/* ---- other processes ---- */

/* Opens what it is sent, says so, closes it at a word, says so; until nobody sends any more. */
static int import_for(int socket)
{
	CUipcMemHandle handle;
	CUcontext context;
	CUdeviceptr p;
	char word = 'o';

	if (cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context))
		return 1;
	while (read(socket, &handle, sizeof handle) == sizeof handle) {
		if (cuIpcOpenMemHandle(&p, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) ||
		    write(socket, &word, 1) != 1 || read(socket, &word, 1) != 1 || cuIpcCloseMemHandle(p) ||
		    write(socket, &word, 1) != 1)
			return 1;
	}
	return 0;
}

/* Before this process has met the driver. */
static void start_importers(unsigned int count)
{
	int pair[2];

	for (unsigned int i = 0; i < count; i++) {
		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
			exit(2);
		importers[i].pid = fork();
		if (importers[i].pid == 0) {
			for (unsigned int other = 0; other < i; other++)
				close(importers[other].socket);
			close(pair[0]);
			_exit(import_for(pair[1]));
		}
		close(pair[1]);
		importers[i].socket = pair[0];
	}
}

/* ---- what ends ---- */

/* Nothing of it is left but its descriptor. */
static CUresult make_exported(struct race *r)
{
	CUmemAllocationProp prop = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
				     .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
				     .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 } };
	CUmemGenericAllocationHandle handle;
	CUresult e = cuMemCreate(&handle, ENDING_BYTES, &prop, 0);

	if (!e)
		e = cuMemExportToShareableHandle(&r->fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
	return e ? e : cuMemRelease(handle);
}

static CUresult close_exported(struct race *r)
{
	return close(r->fd) ? CUDA_ERROR_UNKNOWN : CUDA_SUCCESS;
}

static CUresult make_plain(struct race *r)
{
	return cuMemAlloc(&r->p, ENDING_BYTES);
}

/* Its memory belongs to whoever has a handle from now on. */
static CUresult name_plain(struct race *r)
{
	CUipcMemHandle handle;

	return cuIpcGetMemHandle(&handle, r->p);
}

static CUresult free_plain(struct race *r)
{
	return cuMemFree(r->p);
}

/* Another process has opened it, and its maker has freed it. */
static CUresult make_imported(struct race *r)
{
	CUipcMemHandle handle;
	CUresult e = cuMemAlloc(&r->p, ENDING_BYTES);
	char word;

	if (!e)
		e = cuIpcGetMemHandle(&handle, r->p);
	if (e)
		return e;
	if (write(r->importer->socket, &handle, sizeof handle) != sizeof handle ||
	    read(r->importer->socket, &word, 1) != 1)
		return CUDA_ERROR_UNKNOWN;
	return cuMemFree(r->p);
}

static CUresult close_imported(struct race *r)
{
	char word = 'c';

	return write(r->importer->socket, &word, 1) == 1 && read(r->importer->socket, &word, 1) == 1
		       ? CUDA_SUCCESS
		       : CUDA_ERROR_UNKNOWN;
}

static CUresult kill_importer(struct race *r)
{
	kill(r->importer->pid, SIGKILL);
	return waitpid(r->importer->pid, NULL, 0) == r->importer->pid ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN;
}

static CUresult make_library(struct race *r)
{
	CUdeviceptr p;
	size_t size;
	CUresult e = cuLibraryLoadData(&r->library, library_image, NULL, NULL, 0, NULL, NULL, 0);

	return e ? e : cuLibraryGetGlobal(&p, &size, r->library, "v");
}

static CUresult unload_library(struct race *r)
{
	return cuLibraryUnload(r->library);
}

static const struct end ends[] = {
	{ "descriptor", make_exported, close_exported, NULL, NOBODY },
	{ "handle", make_plain, name_plain, free_plain, NOBODY },
	{ "importer", make_imported, close_imported, NULL, ONE },
	{ "killed", make_imported, kill_importer, NULL, ONE_EACH },
	{ "library", make_library, unload_library, NULL, NOBODY },
};

/* ---- the race ---- */

static void wait_until_s(double at_s)
{
	double left_s;

	while ((left_s = at_s - now_s()) > 0)
		nanosleep(&(struct timespec){ .tv_nsec = (long)(left_s > 2e-4 ? (left_s - 1e-4) * 1e9 : 1000) }, NULL);
}

static void *run_end(void *data)
{
	struct race *r = data;
	double begin_s = now_s();

	r->result = cuCtxSetCurrent(r->context);
	wait_until_s(begin_s + r->delay_s);
	r->at_s = now_s();
	if (!r->result)
		r->result = r->end->end(r);
	return NULL;
}

static CUresult load(void)
{
	return cuModuleLoadData(&modules[module_count++], image);
}

static CUresult unload(void)
{
	return cuModuleUnload(modules[--module_count]);
}

/* The module that is to go next is at work. */
static CUresult use(void)
{
	CUfunction f;
	CUresult r = cuModuleGetFunction(&f, modules[module_count - 1], "k0");

	return r ? r : cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
}

/* For a load there is room for one module, for an unload there is none left. */
static void prepare(bool loads)
{
	while (loads && module_count == MODULES_MOST)
		while (module_count)
			must("cuModuleUnload", unload());
	while (!loads && module_count < MODULES_MOST)
		must("cuModuleLoadData", load());
}

/* Value: whether the end began within the call. */
static bool race(struct race *r, bool loads)
{
	double begin_s, end_s;
	pthread_t thread;

	must("what ends", r->end->make(r));
	r->delay_s = call_s * 1.1 * rand() / RAND_MAX;
	if (!loads)
		must("a kernel", use());
	if (pthread_create(&thread, NULL, run_end, r))
		exit(2);
	begin_s = now_s();
	if (loads)
		must("a module that there is room for", load());
	else
		must("cuModuleUnload", unload());
	end_s = now_s();
	pthread_join(thread, NULL);
	must("the end", r->result);
	if (r->end->after)
		must("after the end", r->end->after(r));
	must("cuCtxSynchronize", cuCtxSynchronize()); /* behind a wall all has been done then */
	call_s = end_s - begin_s;
	return r->at_s > begin_s && r->at_s < end_s;
}

/* The last byte of the quota is had, soon at the latest (meted has to hear of a process that was killed), and no more.
 */
static void rest(unsigned long long held)
{
	static const unsigned long long more[] = { MODULE_BYTES, 512 };
	CUdeviceptr all = 0, p[2] = { 0 };
	double until_s = now_s() + 10;
	CUresult r;

	do
		r = cuMemAlloc(&all, quota - held);
	while (r == CUDA_ERROR_OUT_OF_MEMORY && now_s() < until_s && !usleep(1000));
	must("the rest of the quota", r);
	for (int i = 0; i < 2; i++)
		if (cuMemAlloc(&p[i], more[i]) == CUDA_SUCCESS)
			printf("over\n");
	printf("rest\n");
	fflush(stdout);
	if (getchar() != '\n')
		exit(0);
	for (int i = 0; i < 2; i++)
		if (p[i])
			must("cuMemFree", cuMemFree(p[i]));
	must("cuMemFree", cuMemFree(all));
}

static void begin(struct race *r)
{
	must("cuInit", cuInit(0));
	must("cuDevicePrimaryCtxRetain", cuDevicePrimaryCtxRetain(&r->context, 0));
	must("cuCtxSetCurrent", cuCtxSetCurrent(r->context));
}

int main(int argc, char **argv)
{
	bool loads = argc > 1 && !strcmp(argv[1], "load");
	unsigned int rounds, hits = 0;
	struct race r = { 0 };

	if (argc != 7)
		return 2;
	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
		if (!strcmp(argv[2], ends[i].name))
			r.end = &ends[i];
	rounds = (unsigned int)strtoul(argv[4], NULL, 10);
	srand((unsigned int)strtoul(argv[5], NULL, 10));
	quota = strtoull(argv[6], NULL, 10);
	if (!r.end || rounds > ROUNDS_MOST || quota < ENDING_BYTES + MODULES_MOST * MODULE_BYTES)
		return 2;
	image = write_text(MODULE_BYTES, KERNELS);
	library_image = write_text(ENDING_BYTES, 1);
	if (!strcmp(argv[3], "packed"))
		image = pack(image);
	start_importers(r.end->importers == ONE_EACH ? rounds : r.end->importers == ONE);
	begin(&r);
	for (unsigned int i = 0; i < rounds; i++) {
		r.importer = &importers[r.end->importers == ONE_EACH ? i : 0];
		prepare(loads);
		hits += race(&r, loads);
		rest(module_count * MODULE_BYTES);
	}
	printf("hits %u\n", hits);
	return 0;
}
