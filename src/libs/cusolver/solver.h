/*
 * solver.h: the dense part of cuSOLVER of the software device: handles, and the execution of calls by routines of
 * LAPACK.
 *
 * A call fills a struct solver_work, which is a kernel's parameters. On the device's threads, solver_run() calls the
 * routine of OpenBLAS's LAPACK on the matrices in place; the batches of a call are spread over the threads. A program's
 * workspace is not used: routines take theirs from the thread's own memory.
 */
#pragma once

#include "cusolver_soft.h"
#include "libs/common/library.h"

#define SOLVER_TITLE "cuSOLVER"
#define SOLVER_SIZE_MOST (INT64_C(1) << 30) /* LAPACK's integers have 32 bits */

/* X(name) for each routine; each has a kernel of its name, which shows in profiles. */
#define SOLVER_EACH(X)                                                                                                 \
	X(potrf)                                                                                                       \
	X(potri) X(potrs) X(getrf) X(getrs) X(geqrf) X(ormqr) X(orgqr) X(gesvd) X(gesvdj) X(syevd) X(sygvd) X(sytrd)   \
		X(trtri) X(geev) X(sytrf) X(sytrs) X(gesvda)

#define SOLVER_NUMBER(name) SOLVER_##name,
enum solver_routine { SOLVER_EACH(SOLVER_NUMBER) SOLVER_ROUTINES };
#undef SOLVER_NUMBER

struct solver_matrix {
	uint64_t at; /* address; for a call with arrays, of an array of addresses */
	int64_t ld;
	int64_t apart; /* between batches, in numbers */
};

/* Addresses are numbers; letters are LAPACK's. */
struct solver_work {
	uint32_t number;      /* device_launch() sets it */
	uint32_t routine;     /* enum solver_routine */
	uint8_t type;	      /* 0 to 3: float, double, and their complex variants */
	uint8_t arrays, wide; /* operands are arrays of addresses; pivots have 64 bits, values of geev are complex */
	uint8_t conjugated;   /* the last operand of gesvdj is V, not its conjugate transpose */
	char uplo, side, trans, diag, job, job_more;
	int32_t itype;
	int64_t m, n, k, nrhs, batch;
	struct solver_matrix a, b, c;
	uint64_t values, values_more, tau, pivots, info;
	int64_t values_apart;
};

_Static_assert(sizeof(struct solver_work) <= DEVICE_PARAM_BYTES, "a kernel's parameters");

/* Opens LAPACK; false: it is missing, which is logged. */
bool lapack_open(void);
/* A routine by its name without the type's letter, such as "potrf_"; NULL: there is none. */
void *lapack_find(const char *name, unsigned int type);

/* The entry point of kernels. */
void solver_run(struct soft_native *n);

/* Per library: its version. */
extern const int solver_version;
