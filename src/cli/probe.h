/*
 * probe.h: opens a library in a child process and tells what is in it.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>

enum probe_kind {
	PROBE_CUDA_EXPORTS, /* every function of the driver's interface is there; nothing is called */
	PROBE_NVML_EXPORTS,
	PROBE_DRIVER, /* cuInit, version and number of devices */
};

struct probe { /* without pointers: it comes through a pipe */
	bool loaded;
	char error[512]; /* why not loaded */
	char path[1024]; /* the file that was opened */
	unsigned int functions, missing;
	char first_missing[128];
	int result; /* of cuInit and what follows it; 0: all went well */
	int cuda_version, devices;
	bool soft; /* it calls itself a software device */
	unsigned int arch; /* compute capability of device 0: 90 for 9.0; 0: none */
};

void probe_library(const char *library, enum probe_kind kind, struct probe *ret);
