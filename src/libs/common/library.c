/* library.c: see library.h. */
#include "libs/common/library.h"

#include "softdev/log.h"

#include <pthread.h>
#include <string.h>

#define WORTH_A_BLOCK 65536 /* elements */

void library_refused(const char *title, const char *symbol)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	static const char *told[64]; /* mutex guards it */
	bool known = false;

	pthread_mutex_lock(&mutex);
	for (size_t i = 0; i < sizeof(told) / sizeof(*told); i++) {
		known = told[i] && !strcmp(told[i], symbol);
		if (known || !told[i]) {
			told[i] = symbol;
			break;
		}
	}
	pthread_mutex_unlock(&mutex);
	if (!known)
		log_line("%s: not supported by the software device's %s (docs/libraries.md lists what is)", symbol,
			 title);
}

int library_property(int major, int minor, int patch, int type)
{
	return type == 0 ? major : type == 1 ? minor : type == 2 ? patch : -1;
}

CUresult library_launch(const struct device_driver *driver, CUcontext context, uint32_t kernel, uint32_t blocks,
			CUstream stream, void *params)
{
	CUcontext now = NULL, popped;
	CUresult e = driver->current(&now);
	bool other = !e && now != context;

	if (!e && other)
		e = driver->push(context);
	if (e)
		return e;
	e = device_launch(kernel, blocks, stream, params);
	if (other)
		driver->pop(&popped);
	return e;
}

uint32_t library_blocks(int64_t parts, int64_t each)
{
	int64_t most = 2 * (int64_t)device_threads(), worth = 1 + parts * each / WORTH_A_BLOCK;

	most = most < worth ? most : worth;
	return (uint32_t)(parts < 1 ? 1 : parts < most ? parts : most);
}

void library_part(const struct soft_native *n, int64_t count, int64_t *ret_from, int64_t *ret_to)
{
	*ret_from = (int64_t)((unsigned __int128)count * n->block / n->blocks);
	*ret_to = (int64_t)((unsigned __int128)count * (n->block + 1u) / n->blocks);
}

bool library_reach(struct soft_native *n, uint64_t at, int64_t count, uint64_t each, bool write)
{
	uint64_t bytes;

	if (count <= 0)
		return count == 0 || (n->refuse(n), false);
	if (__builtin_mul_overflow((uint64_t)count, each, &bytes)) {
		n->refuse(n);
		return false;
	}
	return n->reach(n, at, bytes, write);
}
