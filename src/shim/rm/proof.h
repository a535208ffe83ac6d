/*
 * proof.h: what the resource manager accepts, tried before it is relied upon.
 *
 * Acceptance is what is proven, not effect: where the manager's core runs on the GPU itself, the slice that is read
 * back is the kernel's copy of what was accepted.
 */
#pragma once

#include "shim/rm/table.h"

#include <stddef.h>

/*
 * Reads the slice, sets another, reads it back, restores it. 0: accepted, and group->program_us is known; else what
 * control.h answers, or -EPROTO, and `why` says which step. What was changed has been restored, or tried to be.
 */
int proof_slice(struct object *group, char *why, size_t size);

enum proof_way { PROOF_NO_WAY, PROOF_BY_CHANNELS, PROOF_BY_GROUP };

/* Switches the group's channels off and on. Value: how that can be done; PROOF_NO_WAY: why. */
enum proof_way proof_switch(struct object *group, char *why, size_t size);
/* In words: "status 0x1b (insufficient permissions)". Static text of the calling thread's. */
const char *proof_words(int r, char *text, size_t size);
