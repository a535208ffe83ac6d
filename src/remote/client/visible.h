/* visible.h: the program's devices 0...n-1, and whose they are. */
#pragma once

#include "cuda_table.h"

#include <stdint.h>

struct session;

/* The devices of one more session, which comes behind the others. */
void visible_add(struct session *session, int32_t count);
/* Reads CUDA_VISIBLE_DEVICES. Value: how many devices the program has. */
int visible_choose(void);
void visible_forget(void);
/* The session of a device of all of them, whether the program sees it or not; NULL behind the last. */
struct session *visible_all(int device, int32_t *ret_local);
int visible_all_count(void);
/* The session of a device of the program's, or NULL; *ret_local: its number there. */
struct session *visible_find(CUdevice device, int32_t *ret_local);
/* The other way round; CU_DEVICE_INVALID: the program does not see it. */
CUdevice visible_name(const struct session *session, int32_t local);
