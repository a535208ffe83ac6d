/* native.c: see native.h. Functions are only ever added, so readers need no lock. */
#include "softdev/native.h"

#include "softdev/driver.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#define FUNCTIONS_MOST 64u

static struct {
	pthread_mutex_t lock; /* writers */
	soft_native_function function[FUNCTIONS_MOST];
	_Atomic uint32_t count; /* release: a writer, behind its function; acquire: readers */
} native = { .lock = PTHREAD_MUTEX_INITIALIZER };

static uint32_t native_add(soft_native_function f)
{
	uint32_t count;

	pthread_mutex_lock(&native.lock);
	count = atomic_load_explicit(&native.count, memory_order_relaxed);
	if (count < FUNCTIONS_MOST) {
		native.function[count] = f;
		atomic_store_explicit(&native.count, ++count, memory_order_release);
	} else {
		count = 0;
	}
	pthread_mutex_unlock(&native.lock);
	return count;
}

/* As the pool of kernels counts them. */
static uint32_t native_threads(void)
{
	long cores = driver.threads ? (long)driver.threads : sysconf(_SC_NPROCESSORS_ONLN);

	return cores < 1 ? 1 : (uint32_t)cores;
}

soft_native_function native_find(uint32_t number)
{
	uint32_t count = atomic_load_explicit(&native.count, memory_order_acquire);

	return number && number <= count ? native.function[number - 1] : NULL;
}

const void *native_table(const CUuuid *id)
{
	static const struct soft_native_table table = { sizeof(table), native_add, native_threads };
	static const char mine[16] = SOFT_NATIVE_ID;

	return memcmp(id, mine, sizeof(mine)) ? NULL : &table;
}
