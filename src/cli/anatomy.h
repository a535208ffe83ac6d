/*
 * anatomy.h: the components of a program, read from its files without running anything: the libraries that it is linked
 * against, NVIDIA's runtime inside one of them, the images of kernels, the calls of CUDA's interfaces.
 *
 * The files may belong to any user, may be truncated, and may change meanwhile. They are read piece by piece, never
 * mapped, and every count is bounded. This file reports; it does not judge.
 */
#pragma once

#include "client/fault.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ANATOMY_ARCHS 48u

struct anatomy_arch {
	uint32_t arch; /* 90 */
	bool machine;  /* machine code, else PTX */
	bool exact, family;
	unsigned int count;
};

struct anatomy_file {
	char path[PATH_MAX];
	bool elf;	     /* a 64-bit ELF file of this byte order */
	bool library;	     /* a shared library, not a program: it lacks the flag of position-independent programs */
	bool damaged;	     /* truncated or inconsistent */
	bool static_runtime; /* contains NVIDIA's runtime */
	bool shared_runtime; /* it is linked against libcudart.so.N */
	unsigned int images; /* fat binaries */
	struct anatomy_arch arch[ANATOMY_ARCHS];
	size_t arch_count;
	char **calls; /* imported calls of the driver, the runtime, NVML and cuBLAS; owned */
	size_t call_count;
	char **needed, *folders; /* names and search path of its dynamic section; owned */
	size_t needed_count;
	bool runpath; /* `folders` is DT_RUNPATH, which applies only to this file */
	size_t from;  /* index of the file that needs it; its own index: the program */
};

struct anatomy {
	struct anatomy_file *file; /* the first is the program */
	size_t count;
	char **missing; /* libraries that were not found; owned */
	size_t missing_count;
};

/*
 * Reads the program or library at `path` and all that it is linked against. Value: 0, or a negative errno with a fault.
 */
int anatomy_read(struct anatomy *a, const char *path, struct fault *f);
/* Adds one file without its dependencies: for files that were seen in a process. Value: 0 or a negative errno. */
int anatomy_add(struct anatomy *a, const char *path, struct fault *f);
void anatomy_deinit(struct anatomy *a);
