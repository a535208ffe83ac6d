/*
 * check.h: the checker: how exactly kernels and calls are checked, and the reports of what was found.
 *
 *   METE_SOFT_CHECK   off (default): as on hardware, memory is accessible in whole granules in which something is
 *                     allocated. strict: to the byte, per allocation; freed addresses are not given out again soon, and
 *                     gaps lie between allocations. report: strict, and every fault is described in several lines.
 *                     report,leaks: also what a context still has when it ends.
 *   METE_SOFT_REPORT  a file to which reports are appended as well
 *   METE_SOFT_TIMEOUT seconds that a kernel may run; 0 (default): no limit
 *
 * A report is one write of several lines, each with the prefix "mete: check: ".
 */
#pragma once

#include "softdev/driver.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reads the variables above into driver.check. Value: CUDA_ERROR_INVALID_VALUE with one line in the log. */
CUresult check_read(void);
/* True if accesses are checked to the byte; if reports are requested. */
static inline bool check_exact(void)
{
	return driver.check.mode != CHECK_OFF;
}

static inline bool check_reports(void)
{
	return driver.check.mode == CHECK_REPORT;
}

struct report {
	size_t bytes;
	char text[6144];
};

/* Adds a line. What does not fit is omitted. */
__attribute__((format(printf, 2, 3))) void report_line(struct report *r, const char *fmt, ...);
/* Adds a line that describes the memory at an address that should have been valid for `bytes`. */
void report_address(struct report *r, uint64_t address, size_t bytes, const struct context *c);
void report_send(const struct report *r);

/*
 * A call of the program was refused because of its address; reported if reports are requested. Called without a lock.
 */
void report_call(const char *what, uint64_t address, size_t bytes);
/* Reports what the program has not freed in a context that ends. */
void report_leaks(struct context *c);

/* A kernel's fault. */
struct ptx_launch;
struct function;
void report_fault(const struct ptx_launch *l, const struct function *f, const struct context *c, CUresult error);
