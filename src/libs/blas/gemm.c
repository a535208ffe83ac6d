/*
 * gemm.c: see gemm.h.
 *
 * OpenBLAS's own threads are not used: set to one, it works on the caller's thread alone. Where the program itself has
 * loaded the library before, its number of threads is the program's and stays. A build of OpenBLAS without threads is
 * called by one thread at a time, since not all such builds allow more.
 */
#include "libs/blas/gemm.h"

#include "softdev/log.h"

#include <complex.h>
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME "libopenblas.so.0"

enum cblas { COLUMNS = 102, NO_TRANS = 111, TRANS = 112, CONJ_TRANS = 113 };

typedef void (*real_s)(int order, int ta, int tb, int m, int n, int k, float alpha, const float *a, int lda,
		       const float *b, int ldb, float beta, float *c, int ldc);
typedef void (*real_d)(int order, int ta, int tb, int m, int n, int k, double alpha, const double *a, int lda,
		       const double *b, int ldb, double beta, double *c, int ldc);
typedef void (*complex_any)(int order, int ta, int tb, int m, int n, int k, const void *alpha, const void *a, int lda,
			    const void *b, int ldb, const void *beta, void *c, int ldc);

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t alone_mutex = PTHREAD_MUTEX_INITIALIZER;

/* Written once. */
static struct {
	bool there, alone;
	real_s s;
	real_d d;
	complex_any c, z;
} blas;

/* What there is to say about it at the first product: who only opens it, as workers do, has none. */
static char missing[400];
static atomic_flag said = ATOMIC_FLAG_INIT;

static void *library_load(bool *ret_mine)
{
	const char *named = secure_getenv("METE_OPENBLAS");
	const char *name = named && *named ? named : NAME;
	void *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
	sigset_t all, before;

	*ret_mine = !handle;
	if (handle)
		return handle;
	/* threads that it makes at once get no signals of the program's */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!handle)
		snprintf(missing, sizeof(missing),
			 "%s: products of matrices will be several times slower; install the package libopenblas0, or "
			 "name its library with METE_OPENBLAS",
			 dlerror());
	return handle;
}

static void open_once(void)
{
	bool mine;
	void *handle = library_load(&mine);
	void (*set_threads)(int);
	int (*parallel)(void);

	if (!handle)
		return;
	blas.s = (real_s)dlsym(handle, "cblas_sgemm");
	blas.d = (real_d)dlsym(handle, "cblas_dgemm");
	blas.c = (complex_any)dlsym(handle, "cblas_cgemm");
	blas.z = (complex_any)dlsym(handle, "cblas_zgemm");
	set_threads = (void (*)(int))dlsym(handle, "openblas_set_num_threads");
	parallel = (int (*)(void))dlsym(handle, "openblas_get_parallel");
	blas.there = blas.s && blas.d && blas.c && blas.z;
	blas.alone = !parallel || !parallel();
	if (!blas.there)
		snprintf(missing, sizeof(missing),
			 "the OpenBLAS that was found has no cblas_sgemm; products of matrices will be several times "
			 "slower; install the package libopenblas0");
	if (mine && set_threads)
		set_threads(1);
}

void gemm_open(void)
{
	pthread_once(&once, open_once);
}

/* Whether OpenBLAS is there; if not, the first product says so. */
static bool is_fast(void)
{
	if (missing[0] && !atomic_flag_test_and_set(&said))
		log_line("cuBLAS on the software device: %s", missing);
	return blas.there;
}

static int op_of(enum gemm_op op)
{
	return op == GEMM_N ? NO_TRANS : op == GEMM_T ? TRANS : CONJ_TRANS;
}

#define T float
#define NAMED(name) name##_s
#define CONJ(v) (v)
#include "libs/blas/gemm_loops.h"
#define T double
#define NAMED(name) name##_d
#define CONJ(v) (v)
#include "libs/blas/gemm_loops.h"
#define T float _Complex
#define NAMED(name) name##_c
#define CONJ(v) conjf(v)
#include "libs/blas/gemm_loops.h"
#define T double _Complex
#define NAMED(name) name##_z
#define CONJ(v) conj(v)
#include "libs/blas/gemm_loops.h"

static bool fits(int64_t v)
{
	return v <= INT_MAX;
}

static void fast(enum gemm_kind kind, enum gemm_op op_a, enum gemm_op op_b, int m, int n, int k, const void *alpha,
		 const void *a, int lda, const void *b, int ldb, const void *beta, void *c, int ldc)
{
	int ta = op_of(op_a), tb = op_of(op_b);

	switch (kind) {
	case GEMM_S:
		blas.s(COLUMNS, ta, tb, m, n, k, *(const float *)alpha, a, lda, b, ldb, *(const float *)beta, c, ldc);
		break;
	case GEMM_D:
		blas.d(COLUMNS, ta, tb, m, n, k, *(const double *)alpha, a, lda, b, ldb, *(const double *)beta, c, ldc);
		break;
	case GEMM_C:
		blas.c(COLUMNS, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
		break;
	default:
		blas.z(COLUMNS, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
		break;
	}
}

void gemm(enum gemm_kind kind, enum gemm_op op_a, enum gemm_op op_b, int64_t m, int64_t n, int64_t k, const void *alpha,
	  const void *a, int64_t lda, const void *b, int64_t ldb, const void *beta, void *c, int64_t ldc)
{
	static void (*const slow[GEMM_KINDS])(enum gemm_op, enum gemm_op, int64_t, int64_t, int64_t, const void *,
					      const void *, int64_t, const void *, int64_t, const void *, void *,
					      int64_t) = { loops_s, loops_d, loops_c, loops_z };

	if (m <= 0 || n <= 0)
		return;
	if (!is_fast() || !k || !fits(m) || !fits(n) || !fits(k) || !fits(lda) || !fits(ldb) || !fits(ldc)) {
		slow[kind](op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
		return;
	}
	if (blas.alone)
		pthread_mutex_lock(&alone_mutex);
	fast(kind, op_a, op_b, (int)m, (int)n, (int)k, alpha, a, (int)lda, b, (int)ldb, beta, c, (int)ldc);
	if (blas.alone)
		pthread_mutex_unlock(&alone_mutex);
}
