/* refused.c: see refused.h. */
#include "remote/worker/refused.h"

#include "rm/interface.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>

#define LINES_MOST 200
#define LETTER 'F'

static _Atomic int lines = LINES_MOST;

void refused_begin(void)
{
	atomic_store(&lines, 0);
}

/* The status word and what was asked for. False: a call without one that is known. */
static bool status_of(unsigned int number, unsigned int size, const void *argument, uint32_t *ret_status,
		      uint32_t *ret_what)
{
	const struct rm_alloc *alloc = argument;
	const struct rm_control *control = argument;
	const struct rm_alloc_memory *memory = argument;

	if (number == RM_ESC_CONTROL && size == sizeof(*control)) {
		*ret_status = control->status;
		*ret_what = control->command;
	} else if (number == RM_ESC_ALLOC && (size == 32 || size == sizeof(*alloc))) {
		*ret_status = alloc->rest[size == 32 ? 1 : 4];
		*ret_what = alloc->class;
	} else if (number == RM_ESC_ALLOC_MEMORY && size == sizeof(*memory)) {
		*ret_status = memory->status;
		*ret_what = memory->class;
	} else {
		return false;
	}
	return true;
}

void refused_note(unsigned long request, const void *argument, int result)
{
	uint32_t status = 0, what = 0;
	int saved = errno;

	if (atomic_load_explicit(&lines, memory_order_relaxed) >= LINES_MOST)
		return;
	if (result >= 0 &&
	    (_IOC_TYPE(request) != LETTER || !argument ||
	     !status_of((unsigned int)_IOC_NR(request), (unsigned int)_IOC_SIZE(request), argument, &status, &what)))
		return;
	if ((result >= 0 && !status) || atomic_fetch_add(&lines, 1) >= LINES_MOST)
		return;
	if (result < 0)
		fprintf(stderr, "the driver's module: command 0x%lx fails: errno %d\n", request, saved);
	else
		fprintf(stderr, "the driver's module: command 0x%lx of 0x%x answers status 0x%x\n",
			(unsigned long)_IOC_NR(request), what, status);
	errno = saved;
}
