/* fault.c: see fault.h. */
#include "client/fault.h"

#include "base/clean_text.h"

#include <stdarg.h>
#include <stdio.h>

int fault_set(struct fault *f, int r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(f->text, sizeof(f->text), fmt, ap);
	va_end(ap);
	clean_text_line(f->text); /* it may have names of an image's, or of another user's */
	return r;
}
