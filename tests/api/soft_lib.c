/* soft_lib.c: the hand-written part of a software device over the tiny API, beside tiny_soft_exports.c. */
#include "tiny_soft.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT enum tiny_call soft_last_unsupported(void);
EXPORT const struct tiny_table *soft_reach(void);

static enum tiny_call last = TINY_CALL_COUNT;

void soft_unsupported(enum tiny_call call)
{
	last = call;
}

tyresult soft_tyInit(unsigned int flags)
{
	return flags ? TY_INVALID : TY_OK;
}

const char *soft_tyName(tyresult result)
{
	return soft_table.tyInit(0) == result ? "ok" : "other";
}

__thread bool soft_per_thread;

/* Says by its result which stream the null stream is. */
tyresult soft_tyWrite(tyaddress to, const void *from, size_t size)
{
	return soft_per_thread ? TY_INVALID : TY_OK;
}

enum tiny_call soft_last_unsupported(void)
{
	return last;
}

const struct tiny_table *soft_reach(void)
{
	return &soft_table;
}
