/*
 * share_device.h: kernels of a given length on whatever device is there.
 *
 * A kernel of 200 us is the function spin_200us. On the software device its length is declared by that name
 * (METE_SOFT_DURATION) and it executes next to nothing; on a GPU it goes round a loop as often as was calibrated on
 * every multiprocessor, and writes down when it began and ended by the GPU's global timer. The work is what is fixed,
 * not the time: a kernel that shares the device takes longer.
 */
#pragma once

#include "share_report.h"

#include <cuda.h>
#include <stdint.h>

#define DEVICE_LENGTHS 8

/* Of the grids: one block, or as many as the device holds at once, as programs launch them. On a GPU always as many. */
enum device_grid { GRID_ONE, GRID_FULL };

struct device {
	CUdevice device;
	CUcontext context;
	CUmodule module;
	unsigned blocks;
	double rounds_per_us; /* 0: lengths are declared, not spun */
	unsigned lengths;
	uint64_t length_ns[DEVICE_LENGTHS];
	CUfunction function[DEVICE_LENGTHS];
	CUdeviceptr counter, marks;
	CUevent base;
	uint64_t base_ns;
};

struct device_kernel {
	CUfunction function;
	unsigned blocks;
	uint64_t rounds, counter, marks, length_ns;
	void *params[4];
};

uint64_t now_ns(void);
/* Ends the program with a message when a call fails. */
void must(CUresult r, const char *what);
#define MUST(call) must(call, #call)

/* Opens device 0 with kernels of these lengths; marks go into `report`, which may be NULL. */
void device_open(struct device *d, const uint64_t *length_ns, unsigned lengths, double rounds_per_us,
		 enum device_grid grid, struct report *report);
void device_kernel(const struct device *d, unsigned which, struct device_kernel *ret);
void device_launch(struct device_kernel *k, CUstream stream);
/* A chain of so many of the kernel. */
CUgraphExec device_graph(struct device_kernel *k, unsigned nodes);
/* CLOCK_MONOTONIC of an event that has happened, by the device's clock. */
uint64_t device_time(const struct device *d, CUevent event);
/*
 * How many rounds of the loop take a microsecond on this device, which nobody else may be using. Ends the program where
 * twice as many do not take longer.
 */
double device_calibrate(void);
