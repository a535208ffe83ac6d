/*
 * handover_windows.h: the samples that rates over the last minute are made of (turns/resume.h), in a memory file of
 * their own: they are many, and as JSON they would take longer than turns may pause. They are read when turns are given
 * again. A file that is not as this meted knows it is left: windows begin anew then.
 */
#pragma once

#include <jansson.h>

struct daemon;
struct handover;

/* "windows": the file's descriptor, or null. */
json_t *handover_windows_save(struct daemon *daemon, struct handover *h, int *ret_file);

/* When clients have their seats. */
void handover_windows_restore(struct daemon *daemon, struct handover *h);
