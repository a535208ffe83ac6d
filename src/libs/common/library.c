/* library.c: see library.h. */
#include "libs/common/library.h"

#include "softdev/log.h"

#include <pthread.h>
#include <string.h>

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

CUresult library_launch(const struct device_driver *driver, CUcontext context, uint32_t kernel, uint32_t blocks,
			CUstream stream, const void *work, size_t bytes)
{
	CUcontext now = NULL, popped;
	CUresult e = driver->current(&now);
	bool other = !e && now != context;

	if (!e && other)
		e = driver->push(context);
	if (e)
		return e;
	e = device_launch(kernel, blocks, stream, work, bytes);
	if (other)
		driver->pop(&popped);
	return e;
}
