/*
 * control.h: calls to the resource manager, over the program's own descriptor.
 *
 * Value of each: 0 done; above 0 the manager's status (enum rm_status); below 0 -errno. -ENODEV: the descriptor does
 * not lead to the control node any more.
 */
#pragma once

#include "shim/rm/table.h"

int control_get_slice(const struct object *group, uint64_t *ret_us);
int control_set_slice(const struct object *group, uint64_t us);
/* Switches the group's channels off or on, those of one call together, and marks them. */
int control_switch(struct object *group, bool off);
/* The same by another command, for a manager that refuses the first. */
int control_switch_group(struct object *group, bool off);
/* Writes 16 bytes. */
int control_uuid(const struct object *subdevice, uint8_t *ret_uuid);
