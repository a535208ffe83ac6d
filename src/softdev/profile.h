/*
 * profile.h: what each kernel did, written to the file that METE_SOFT_PROFILE names, for `mete soft run --profile`.
 *
 * Lines of fields that tabs part, from all processes that share the file:
 *
 *   launch  begin and length in ns (monotonic)  pid  thread  device  blocks  threads of a block  warp instructions
 *           lane instructions  32-byte pieces of memory  kernel
 *   form    count  form  kernel             with METE_SOFT_PROFILE_FORMS=1, at the end of the process
 *
 * Nothing is done, and no counter is kept, while METE_SOFT_PROFILE is not set.
 */
#pragma once

#include "softdev/ptx/ptx.h"

#include <stdbool.h>
#include <stdint.h>

/* Reads the environment; called once, by cuInit. */
void profile_read(void);
bool profile_wanted(void);

/* Called before a launch: sets its counters of forms, if forms are requested. Value: its start time. */
uint64_t profile_begin(struct ptx_launch *l);
void profile_launch(const struct ptx_launch *l, uint64_t begin_ns, int device);
/* Called when the process exits: writes what was buffered. */
void profile_end(void);
