/*
 * proof.h: tests what the resource manager accepts before tier T3 relies on it.
 *
 * This proves acceptance, not effect: where the manager's core runs on the GPU itself, the slice that is read back is
 * the kernel's copy of what was accepted.
 */
#pragma once

#include "shim/rm/table.h"

#include <stddef.h>

/*
 * Reads the slice, sets another, reads it back, restores it. Value: 0: accepted, and group->program_us is known;
 * otherwise as in control.h, or -EPROTO, and `why` names the step. Changes have been restored as far as possible.
 */
int proof_slice(struct object *group, char *why, size_t size);

enum proof_way { PROOF_NO_WAY, PROOF_BY_CHANNELS, PROOF_BY_GROUP };

/*
 * Switches the group's channels off and on. Value: how that can be done; PROOF_NO_WAY: *ret_refusal, as in control.h,
 * and `why` give the reason.
 */
enum proof_way proof_switch(struct object *group, int *ret_refusal, char *why, size_t size);
/* A value in words: "status 0x1b (insufficient permissions)". Value: `text`. */
const char *proof_words(int r, char *text, size_t size);
