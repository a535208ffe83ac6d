/*
 * logs.c: the driver's log, for programs: cuLogs*.
 *
 * The lines that the device says on standard error or to METE_LOG are kept, the last hundred of them, and given to the
 * functions that a program has registered. An iterator is the number of lines that there had been when it was made.
 *
 * Facts: CUDA driver API, "Error Log Management Functions".
 */
#include "softdev/logs.h"
#include "base/cleanup.h"
#include "softdev/driver.h"
#include "softdev/log.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEPT 100
#define LINE_BYTES 256 /* a longer one is cut */

struct CUlogsCallbackEntry_st {
	struct CUlogsCallbackEntry_st *next;
	CUlogsCallback f;
	void *data;
};

static pthread_mutex_t logs_mutex = PTHREAD_MUTEX_INITIALIZER;
static char kept[KEPT][LINE_BYTES]; /* this and what follows: logs_mutex guards it */
static unsigned line_count;
static struct CUlogsCallbackEntry_st *callbacks;

/* The functions are called without the lock: they may call the driver. One taken away meanwhile may still run. */
static void keep(const char *text, size_t bytes)
{
	struct CUlogsCallbackEntry_st copy[16];
	char line[LINE_BYTES];
	size_t n = 0, length;

	snprintf(line, sizeof(line), "%.*s", (int)strcspn(text, "\n"), text);
	length = strlen(line);
	pthread_mutex_lock(&logs_mutex);
	memcpy(kept[line_count++ % KEPT], line, length + 1);
	for (const struct CUlogsCallbackEntry_st *c = callbacks; c && n < sizeof(copy) / sizeof(*copy); c = c->next)
		copy[n++] = *c;
	pthread_mutex_unlock(&logs_mutex);
	for (size_t i = 0; i < n; i++)
		copy[i].f(copy[i].data, CU_LOG_LEVEL_ERROR, line, length);
}

void logs_begin(void)
{
	log_observe(keep);
}

CUresult soft_cuLogsRegisterCallback(CUlogsCallback f, void *data, CUlogsCallbackHandle *ret)
{
	struct CUlogsCallbackEntry_st *c;

	if (!f)
		return CUDA_ERROR_INVALID_VALUE;
	c = malloc(sizeof(*c));
	if (!c)
		return CUDA_ERROR_OUT_OF_MEMORY;
	pthread_mutex_lock(&logs_mutex);
	*c = (struct CUlogsCallbackEntry_st){ callbacks, f, data };
	callbacks = c;
	pthread_mutex_unlock(&logs_mutex);
	if (ret)
		*ret = c;
	return CUDA_SUCCESS;
}

CUresult soft_cuLogsUnregisterCallback(CUlogsCallbackHandle handle)
{
	struct CUlogsCallbackEntry_st *found = NULL;

	pthread_mutex_lock(&logs_mutex);
	for (struct CUlogsCallbackEntry_st **at = &callbacks; *at && !found; at = *at ? &(*at)->next : at)
		if (*at == handle) {
			found = *at;
			*at = found->next;
		}
	pthread_mutex_unlock(&logs_mutex);
	free(found);
	return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult soft_cuLogsCurrent(CUlogIterator *ret, unsigned flags)
{
	if (!ret || flags)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&logs_mutex);
	*ret = line_count;
	pthread_mutex_unlock(&logs_mutex);
	return CUDA_SUCCESS;
}

/* The lines since an iterator (NULL: all that are kept), joined; it then stands behind them. NULL: no memory. */
static char *lines_since(CUlogIterator *iterator, size_t *ret_bytes)
{
	char *text = malloc((size_t)KEPT * (LINE_BYTES + 1) + 1), *to = text;
	unsigned from = iterator ? *iterator : 0;

	if (!text)
		return NULL;
	pthread_mutex_lock(&logs_mutex);
	if (line_count - from > KEPT)
		from = line_count > KEPT ? line_count - KEPT : 0;
	for (; from != line_count; from++)
		to += sprintf(to, "%s\n", kept[from % KEPT]);
	if (iterator)
		*iterator = line_count;
	pthread_mutex_unlock(&logs_mutex);
	*to = 0;
	*ret_bytes = (size_t)(to - text);
	return text;
}

CUresult soft_cuLogsDumpToFile(CUlogIterator *iterator, const char *path, unsigned flags)
{
	_cleanup_fclose_ FILE *f = NULL;
	_cleanup_free_ char *text = NULL;
	size_t bytes;

	if (!path || flags)
		return CUDA_ERROR_INVALID_VALUE;
	f = fopen(path, "we");
	if (!f)
		return CUDA_ERROR_INVALID_VALUE;
	text = lines_since(iterator, &bytes);
	if (!text)
		return CUDA_ERROR_OUT_OF_MEMORY;
	return fwrite(text, 1, bytes, f) == bytes && !fflush(f) ? CUDA_SUCCESS : CUDA_ERROR_OPERATING_SYSTEM;
}

/* Where there is no room for all, the newest lines are what is given. */
CUresult soft_cuLogsDumpToMemory(CUlogIterator *iterator, char *buffer, size_t *size, unsigned flags)
{
	_cleanup_free_ char *text = NULL;
	const char *from;
	size_t bytes;

	if (!buffer || !size || !*size || flags)
		return CUDA_ERROR_INVALID_VALUE;
	text = lines_since(iterator, &bytes);
	if (!text)
		return CUDA_ERROR_OUT_OF_MEMORY;
	from = text;
	if (bytes >= *size) {
		from = strchr(text + bytes + 1 - *size, '\n');
		from = from ? from + 1 : text + bytes;
	}
	bytes -= (size_t)(from - text);
	memcpy(buffer, from, bytes + 1);
	*size = bytes;
	return CUDA_SUCCESS;
}
