/*
 * logs.c: the driver's log, for programs: cuLogs*. Nothing that the worker's driver says of its errors comes over the
 * way, so here the log is one without a line: what a program registers is never called. The errors themselves are the
 * calls' own, and what mete has to say goes to METE_LOG.
 *
 * Facts: CUDA driver API, "Error Log Management Functions".
 */
#include "cuda_remote.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

struct CUlogsCallbackEntry_st {
	struct CUlogsCallbackEntry_st *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the list */
static struct CUlogsCallbackEntry_st *registered;

CUresult client_cuLogsRegisterCallback(CUlogsCallback callbackFunc, void *userData, CUlogsCallbackHandle *callback_out)
{
	struct CUlogsCallbackEntry_st *c;

	(void)userData;
	if (!callbackFunc)
		return CUDA_ERROR_INVALID_VALUE;
	c = malloc(sizeof *c);
	if (!c)
		return CUDA_ERROR_OUT_OF_MEMORY;
	pthread_mutex_lock(&lock);
	c->next = registered;
	registered = c;
	pthread_mutex_unlock(&lock);
	if (callback_out)
		*callback_out = c;
	return CUDA_SUCCESS;
}

CUresult client_cuLogsUnregisterCallback(CUlogsCallbackHandle callback)
{
	struct CUlogsCallbackEntry_st **at = &registered, *found;

	pthread_mutex_lock(&lock);
	while (*at && *at != callback)
		at = &(*at)->next;
	found = *at;
	if (found)
		*at = found->next;
	pthread_mutex_unlock(&lock);
	free(found);
	return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult client_cuLogsCurrent(CUlogIterator *iterator_out, unsigned int flags)
{
	if (!iterator_out || flags)
		return CUDA_ERROR_INVALID_VALUE;
	*iterator_out = 0;
	return CUDA_SUCCESS;
}

/* A file without a line. */
CUresult client_cuLogsDumpToFile(CUlogIterator *iterator, const char *pathToFile, unsigned int flags)
{
	int saved = errno, fd;

	(void)iterator;
	if (!pathToFile || flags)
		return CUDA_ERROR_INVALID_VALUE;
	fd = open(pathToFile, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd >= 0)
		close(fd);
	errno = saved;
	return fd >= 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult client_cuLogsDumpToMemory(CUlogIterator *iterator, char *buffer, size_t *size, unsigned int flags)
{
	(void)iterator;
	if (!size || flags || (!buffer && *size))
		return CUDA_ERROR_INVALID_VALUE;
	if (*size)
		*buffer = 0;
	*size = 0;
	return CUDA_SUCCESS;
}
