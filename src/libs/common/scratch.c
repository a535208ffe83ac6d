/* scratch.c: see scratch.h. */
#include "libs/common/scratch.h"

#include <pthread.h>
#include <stdlib.h>

struct scratch {
	size_t bytes;
	void *memory;
};

static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void scratch_free(void *given)
{
	struct scratch *s = given;

	free(s->memory);
	free(s);
}

static void make_key(void)
{
	pthread_key_create(&key, scratch_free);
}

void *scratch_get(size_t bytes)
{
	struct scratch *s;

	pthread_once(&once, make_key);
	s = pthread_getspecific(key);
	if (!s) {
		s = calloc(1, sizeof(*s));
		if (!s || pthread_setspecific(key, s)) {
			free(s);
			return NULL;
		}
	}
	if (s->memory && s->bytes >= bytes)
		return s->memory;
	free(s->memory);
	s->bytes = ((bytes ? bytes : 1) + 63) & ~(size_t)63;
	s->memory = aligned_alloc(64, s->bytes);
	if (!s->memory)
		s->bytes = 0;
	return s->memory;
}
