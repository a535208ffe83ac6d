/* fare.c: see fare.h. */
#include "cli/fare.h"

#include "base/call_fare.h"
#include "wire/soft_capability.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Libraries of NVIDIA's that ask for NVIDIA's driver, by the beginning of their names, and what becomes of them. */
enum {
	HARMLESS = 1,	/* NVIDIA's runtime inside of it keeps it from nothing */
	REPLACED = 2,	/* mete's own takes its place, everywhere */
	FRONTED = 4,	/* one of mete's stands before it on the software device */
	COMPUTED = 8,	/* on the software device mete's own does, for what it has */
	FORWARDED = 16, /* it goes to the worker as a whole */
};

static const struct library {
	const char *name, *what;
	unsigned int is;
} libraries[] = {
	{ "libcudart.so", "the shared CUDA runtime", HARMLESS | REPLACED },
	{ "libnvrtc.so", "NVRTC", HARMLESS | FRONTED },
	{ "libnvrtc-builtins.so", "NVRTC", HARMLESS | FRONTED },
	{ "libnvJitLink.so", "nvJitLink", HARMLESS | FRONTED },
	{ "libcublasLt.so", "cuBLASLt", COMPUTED | FORWARDED },
	{ "libcublas.so", "cuBLAS", COMPUTED | FORWARDED },
	{ "libcudnn", "cuDNN", COMPUTED | FORWARDED },
	{ "libcufft", "cuFFT", COMPUTED | FORWARDED },
	{ "libcurand", "cuRAND", COMPUTED | FORWARDED },
	{ "libcusparse", "cuSPARSE", COMPUTED | FORWARDED },
	{ "libcusolver", "cuSOLVER", COMPUTED | FORWARDED },
	{ "libnccl", "NCCL", COMPUTED | FORWARDED },
	{ "libnvjpeg", "nvJPEG", 0 },
	{ "libnpp", "NPP", 0 },
	{ "libcupti", "CUPTI", 0 },
	{ "libnvinfer", "TensorRT", 0 },
	{ "libcufile", "cuFile", 0 },
	{ "libnvshmem", "NVSHMEM", 0 },
};

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static const struct library *library_of(const char *name)
{
	for (size_t i = 0; i < sizeof(libraries) / sizeof(*libraries); i++)
		if (!strncmp(name, libraries[i].name, strlen(libraries[i].name)))
			return &libraries[i];
	return NULL;
}

static bool is_driver(const char *name)
{
	return !strncmp(name, "libcuda.so", 10) || !strncmp(name, "libcudart.so", 12) ||
	       !strncmp(name, "libnvidia-ml.so", 15);
}

bool fare_file_uses_cuda(const struct anatomy_file *f)
{
	return f->images || f->static_runtime || f->shared_runtime || f->call_count || library_of(base_name(f->path));
}

bool fare_uses_cuda(const struct anatomy *a)
{
	for (size_t i = 0; i < a->count; i++)
		if (fare_file_uses_cuda(&a->file[i]))
			return true;
	for (size_t i = 0; i < a->missing_count; i++)
		if (is_driver(a->missing[i]) || library_of(a->missing[i]))
			return true;
	return false;
}

bool fare_static_counts(const struct anatomy_file *f)
{
	const struct library *l = library_of(base_name(f->path));

	return f->static_runtime && !(l && l->is & HARMLESS);
}

static void put_arch(const struct anatomy_arch *a, char *text, size_t size, size_t *used)
{
	int n = snprintf(text + *used, size - *used, "%s%s_%u%s", *used && text[*used - 1] != ' ' ? ", " : "",
			 a->machine ? "sm" : "compute", a->arch,
			 a->exact    ? "a"
			 : a->family ? "f"
				     : "");

	if (n > 0 && (size_t)n < size - *used)
		*used += (size_t)n;
	else
		text[*used] = 0;
}

const char *fare_archs(const struct anatomy_file *f, char *text, size_t size)
{
	size_t used = 0;

	*text = 0;
	for (int machine = 0; machine < 2; machine++) {
		bool first = true;

		for (size_t i = 0; i < f->arch_count; i++) {
			if (f->arch[i].machine != machine)
				continue;
			if (first && used + 40 < size)
				used += (size_t)snprintf(text + used, size - used, "%s%s ", used ? "; " : "",
							 machine ? "machine code" : "PTX");
			first = false;
			put_arch(&f->arch[i], text, size, &used);
		}
	}
	return text;
}

__attribute__((format(printf, 3, 4))) static void add(struct fare *f, enum fare_grade grade, const char *fmt, ...)
{
	va_list ap;

	if (grade > f->grade)
		f->grade = grade;
	if (f->count == FARE_REASONS)
		return;
	f->reason[f->count].grade = grade;
	va_start(ap, fmt);
	vsnprintf(f->reason[f->count++].text, FARE_REASON_BYTES, fmt, ap);
	va_end(ap);
}

/* The program itself, or a library of its; one whose calls fail makes the program fail if it is the program. */
static enum fare_grade weight(const struct anatomy *a, const struct anatomy_file *f)
{
	return f == a->file ? FARE_FAILS : FARE_PARTLY;
}

/* ---- what is in a file ---- */

static void judge_static(const struct anatomy *a, const struct anatomy_file *f, struct fare *ret)
{
	const struct library *l = library_of(base_name(f->path));

	if (fare_static_counts(f) && !l)
		add(ret, weight(a, f),
		    f == a->file
			    ? "%s has NVIDIA's CUDA runtime linked into it, which accepts NVIDIA's driver only: its "
			      "calls fail; build it with `mete soft cc` (nvcc -cudart shared)"
			    : "%s has NVIDIA's CUDA runtime linked into it, which accepts NVIDIA's driver only: what "
			      "uses it fails, the rest works; where its source is at hand, `mete soft cc` builds one "
			      "that runs",
		    base_name(f->path));
}

static bool takes(const struct anatomy_arch *a, uint32_t arch)
{
	return !a->machine && (a->exact	   ? a->arch == arch
			       : a->family ? a->arch <= arch && a->arch / 10 == arch / 10
					   : a->arch <= arch);
}

static void judge_images(const struct anatomy *a, const struct anatomy_file *f, uint32_t soft_arch, struct fare *ret)
{
	const char *name = base_name(f->path);
	bool any = false, fits = false;
	uint32_t least = UINT32_MAX;
	char text[300], remedy[SOFT_REMEDY_BYTES];

	if (!f->images || !f->arch_count || library_of(name))
		return;
	for (size_t i = 0; i < f->arch_count; i++) {
		any |= !f->arch[i].machine;
		fits |= takes(&f->arch[i], soft_arch);
		if (!f->arch[i].machine && f->arch[i].arch < least)
			least = f->arch[i].arch;
	}
	if (fits)
		return;
	if (!any)
		add(ret, weight(a, f),
		    f == a->file
			    ? "%s holds no PTX (%s), and the software device runs PTX: build it with `mete soft cc`, "
			      "or nvcc -gencode arch=compute_%u,code=compute_%u"
			    : "%s holds no PTX (%s), and the software device runs PTX: its kernels fail, the rest "
			      "works; "
			      "where its source is at hand, build it with `mete soft cc`, or nvcc -gencode "
			      "arch=compute_%u,code=compute_%u",
		    name, fare_archs(f, text, sizeof(text)), soft_arch, soft_arch);
	else
		add(ret, weight(a, f), "%s holds PTX for newer devices alone (%s): %s", name,
		    fare_archs(f, text, sizeof(text)), soft_capability_remedy(least, remedy));
}

/* ---- calls ---- */

static int compare(const void *name, const void *fare)
{
	return strcmp(name, ((const struct call_fare *)fare)->name);
}

static const struct call_fare *call_find(const char *name)
{
	return bsearch(name, call_fares, call_fare_count, sizeof(*call_fares), compare);
}

/* The libraries of cublas...() and cuFile...() are judged by themselves. */
static bool of_driver_or_runtime(const char *name)
{
	return strncmp(name, "cublas", 6) && strncmp(name, "cuFile", 6) &&
	       (!strncmp(name, "cu", 2) || !strncmp(name, "__cuda", 6));
}

static void judge_calls(const struct anatomy_file *f, bool soft, struct fare *ret)
{
	char text[200] = "";
	size_t used = 0;
	unsigned int more = 0;

	for (size_t i = 0; i < f->call_count; i++) {
		const struct call_fare *fare;

		if (!of_driver_or_runtime(f->calls[i]) || library_of(base_name(f->path)))
			continue;
		fare = call_find(f->calls[i]);
		if (fare && (soft ? fare->soft : fare->remote))
			continue;
		if (used + strlen(f->calls[i]) + 3 < sizeof(text))
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s", used ? ", " : "",
						 f->calls[i]);
		else
			more++;
	}
	if (used && more)
		add(ret, FARE_PARTLY, "%s is linked against calls that are not supported there: %s and %u more",
		    base_name(f->path), text, more);
	else if (used)
		add(ret, FARE_PARTLY, "%s is linked against calls that are not supported there: %s", base_name(f->path),
		    text);
}

/* ---- libraries of NVIDIA's ---- */

static void judge_library(const char *name, enum fare_way way, const char *seen[], size_t *count, struct fare *ret)
{
	const struct library *l = library_of(name);

	if (!l)
		return;
	for (size_t i = 0; i < *count; i++)
		if (seen[i] == l->what)
			return;
	seen[(*count)++] = l->what;
	if (l->is & REPLACED)
		add(ret, FARE_WORKS, "%s: mete's own takes its place", l->what);
	else if (way == FARE_SOFT && l->is & FRONTED)
		add(ret, FARE_WORKS, "%s: mete's front gives PTX in the place of machine code", l->what);
	else if (way == FARE_SOFT && l->is & COMPUTED)
		add(ret, FARE_WORKS, "%s: mete's own takes its place, for the calls that docs/libraries.md lists",
		    l->what);
	else if (way != FARE_SOFT && l->is & FORWARDED)
		add(ret, FARE_WORKS,
		    "%s: its calls go to the worker, which calls the real library on a GPU and "
		    "mete's own on the software device",
		    l->what);
	else if (way != FARE_SOFT && l->is & FRONTED)
		add(ret, FARE_WORKS, "%s: runs as it is", l->what);
	else
		add(ret, FARE_PARTLY, "%s accepts NVIDIA's driver only: what uses it fails with its own error",
		    l->what);
}

static void judge_libraries(const struct anatomy *a, enum fare_way way, struct fare *ret)
{
	const char *seen[sizeof(libraries) / sizeof(*libraries)];
	size_t count = 0;

	for (size_t i = 0; i < a->count; i++)
		judge_library(base_name(a->file[i].path), way, seen, &count, ret);
	for (size_t i = 0; i < a->missing_count; i++)
		judge_library(a->missing[i], way, seen, &count, ret);
}

/* Whether mete has a library of this version, which programs find where it stands in the driver's place. */
static bool is_brought(const char *name)
{
	const struct library *l = library_of(name);
	const char *version = strstr(name, ".so.");

	return l && l->is & (COMPUTED | FORWARDED) && version &&
	       (!strcmp(version, ".so.12") || !strcmp(version, ".so.13"));
}

static void judge_missing(const struct anatomy *a, bool local, struct fare *ret)
{
	for (size_t i = 0; i < a->missing_count; i++) {
		const char *name = a->missing[i];

		/* mete brings these where it stands in the driver's place. */
		if (is_driver(name) && (!local || strncmp(name, "libcudart", 9)))
			continue;
		if (!local && is_brought(name))
			continue;
		add(ret, FARE_FAILS, "%s is not found; install it, or set LD_LIBRARY_PATH", name);
	}
}

/* ---- ways ---- */

static void judge_local(const struct anatomy *a, struct fare *ret)
{
	char text[300];

	for (size_t i = 0; i < a->count; i++)
		if (a->file[i].arch_count && !library_of(base_name(a->file[i].path)))
			add(ret, FARE_WORKS, "%s has kernels for GPUs that take %s", base_name(a->file[i].path),
			    fare_archs(&a->file[i], text, sizeof(text)));
	judge_missing(a, true, ret);
}

void fare_judge(const struct anatomy *a, enum fare_way way, uint32_t soft_arch, struct fare *ret)
{
	*ret = (struct fare){ .grade = FARE_WORKS };
	if (way == FARE_LOCAL) {
		judge_local(a, ret);
		return;
	}
	if (way == FARE_SOFT && !soft_arch) {
		add(ret, FARE_FAILS, "the software device is not installed; install all of mete");
		return;
	}
	for (size_t i = 0; i < a->count; i++) {
		judge_static(a, &a->file[i], ret);
		if (way == FARE_SOFT)
			judge_images(a, &a->file[i], soft_arch, ret);
		judge_calls(&a->file[i], way == FARE_SOFT, ret);
	}
	judge_libraries(a, way, ret);
	judge_missing(a, false, ret);
}

const char *fare_way_name(enum fare_way way)
{
	static const char *const names[] = { "local", "soft", "wall", "remote" };

	return names[way];
}

const char *fare_grade_name(enum fare_grade grade)
{
	static const char *const names[] = { "works", "partly", "fails" };

	return names[grade];
}
