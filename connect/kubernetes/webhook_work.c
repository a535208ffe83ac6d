/* webhook_work.c: see webhook_work.h. */
#include "connect/kubernetes/webhook_work.h"

#include "base/clean_text.h"

#include <stdarg.h>
#include <stdio.h>

bool work_refuse(struct work *w, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(w->answer->line, sizeof(w->answer->line), fmt, ap);
	va_end(ap);
	clean_text_line(w->answer->line); /* it has words of the pod's, which may be cut within a character */
	return false;
}

void work_warn(struct work *w, const char *fmt, ...)
{
	char text[WORDS_LINE];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	clean_text_line(text);
	if (!w->answer->warnings)
		w->answer->warnings = json_array();
	json_array_append_new(w->answer->warnings, json_string(text));
}

const char *work_annotation(json_t *pod, const char *name)
{
	return json_string_value(
		json_object_get(json_object_get(json_object_get(pod, "metadata"), "annotations"), name));
}
