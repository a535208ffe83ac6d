/*
 * lapack.c: the LAPACK within OpenBLAS, by the name that METE_OPENBLAS gives or libopenblas.so.0.
 *
 * OpenBLAS's own threads are not used, as in libs/blas/gemm.c: where this library loads it, it is set to one.
 */
#include "libs/cusolver/solver.h"

#include "softdev/log.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static void *library; /* written once */

static void open_once(void)
{
	const char *named = secure_getenv("METE_OPENBLAS"), *name = named && *named ? named : "libopenblas.so.0";
	void (*set_threads)(int);
	sigset_t all, before;

	library = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
	if (!library) {
		/* threads that it makes at once get no signals of the program's */
		sigfillset(&all);
		pthread_sigmask(SIG_SETMASK, &all, &before);
		library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
		pthread_sigmask(SIG_SETMASK, &before, NULL);
		set_threads = library ? (void (*)(int))dlsym(library, "openblas_set_num_threads") : NULL;
		if (set_threads)
			set_threads(1);
	}
	if (library && !dlsym(library, "dgesvd_")) {
		dlclose(library);
		library = NULL;
		log_line("cuSOLVER on the software device: %s has no LAPACK; install the package libopenblas0", name);
	} else if (!library) {
		log_line("cuSOLVER on the software device: %s: install the package libopenblas0, or name its library "
			 "with METE_OPENBLAS",
			 dlerror());
	}
}

bool lapack_open(void)
{
	pthread_once(&once, open_once);
	return library;
}

void library_open(void)
{
	lapack_open();
}

void *lapack_find(const char *name, unsigned int type)
{
	char symbol[32];

	snprintf(symbol, sizeof(symbol), "%c%s", "sdcz"[type & 3], name);
	return lapack_open() ? dlsym(library, symbol) : NULL;
}
