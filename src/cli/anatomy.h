/*
 * anatomy.h: what a program consists of, read from its files without running anything: the libraries that it is linked
 * against, NVIDIA's runtime inside one of them, the images of kernels, the calls of CUDA's interfaces.
 *
 * The files may belong to anybody, may be truncated, and may change meanwhile. They are read piece by piece, never
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
	bool library;	     /* shared, and no program: it has no flag that says it is one */
	bool damaged;	     /* it ends before it should, or says what cannot be */
	bool static_runtime; /* NVIDIA's runtime is in it */
	bool shared_runtime; /* it is linked against libcudart.so.N */
	unsigned int images; /* fat binaries */
	struct anatomy_arch arch[ANATOMY_ARCHS];
	size_t arch_count;
	char **calls; /* of the driver, the runtime, NVML, cuBLAS that it imports; owned */
	size_t call_count;
	char **needed, *folders; /* names and search path of its dynamic section; owned */
	size_t needed_count;
	bool runpath; /* `folders` is DT_RUNPATH, which counts for this file alone */
	size_t from;  /* the file that wanted it; its own number: the program */
};

struct anatomy {
	struct anatomy_file *file; /* the first is the program */
	size_t count;
	char **missing; /* libraries that were not found; owned */
	size_t missing_count;
};

/* The program or library at `path` and all that it is linked against. 0, or a negative errno with a fault. */
int anatomy_read(struct anatomy *a, const char *path, struct fault *f);
/* One more file, without what it is linked against: for files that were seen in a process. 0 or a negative errno. */
int anatomy_add(struct anatomy *a, const char *path, struct fault *f);
void anatomy_deinit(struct anatomy *a);
