/* visible.h: the program's devices 0...n-1, and their sessions. */
#pragma once

#include "cuda_table.h"

#include <stdint.h>

struct session;

/* Adds the devices of one more session after the others. */
void visible_add(struct session *session, int32_t count);
/* Reads CUDA_VISIBLE_DEVICES. Value: the number of devices that the program has. */
int visible_choose(void);
void visible_forget(void);
/* The session of a device among all devices, visible to the program or not; NULL behind the last. */
struct session *visible_all(int device, int32_t *ret_local);
int visible_all_count(void);
/* The session of a device of the program, or NULL; *ret_local: its number there. */
struct session *visible_find(CUdevice device, int32_t *ret_local);
/* The reverse; CU_DEVICE_INVALID: the program does not see it. */
CUdevice visible_name(const struct session *session, int32_t local);
