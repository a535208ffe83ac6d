/*
 * probe.h: opens a library in a child process and reports its contents.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>

enum probe_kind {
	PROBE_CUDA_EXPORTS, /* checks that every function of the driver's interface exists; calls nothing */
	PROBE_NVML_EXPORTS,
	PROBE_DRIVER, /* cuInit, version and number of devices */
};

struct probe { /* without pointers: it is sent through a pipe */
	bool loaded;
	char error[512]; /* why it was not loaded */
	char path[1024]; /* the file that was opened */
	unsigned int functions, missing;
	char first_missing[128];
	int result; /* of cuInit and later calls; 0: all succeeded */
	int cuda_version, devices;
	bool soft; /* it identifies itself as a software device */
	unsigned int arch; /* compute capability of device 0: 90 for 9.0; 0: none */
};

void probe_library(const char *library, enum probe_kind kind, struct probe *ret);
