/*
 * handover_windows.h: the samples from which the rates over the last minute are computed (turns/resume.h), in a memory
 * file of their own: as JSON, so many would take longer than turns may pause. They are read after turns are given
 * again. A file of another format is ignored, and the windows start empty.
 */
#pragma once

#include <jansson.h>

struct daemon;
struct handover;

/* The value of "windows": the file's descriptor, or null. */
json_t *handover_windows_save(struct daemon *daemon, struct handover *h, int *ret_file);

/* Called once clients have their seats. */
void handover_windows_restore(struct daemon *daemon, struct handover *h);
