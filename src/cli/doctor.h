/* doctor.h: the checks of `mete doctor`, with the file of each. verb/doctor.h has what they share. */
#pragma once

#include "client/control.h"
#include "verb/doctor.h"

/* doctor_node.c: the node: service, settings, store, clock, HTTP. */
void doctor_check_node(struct doctor *d);

/* doctor_opencl.c: whether OpenCL programs are metered here. */
void doctor_check_opencl(struct doctor *d);

/* doctor_hip.c: whether HIP programs are metered here. */
void doctor_check_hip(struct doctor *d);

/* doctor_shapes.c: the same for libraries that are CUDA or HIP under other names. */
void doctor_check_shapes(struct doctor *d);
/* doctor_npu.c: the same for Ascend's and Cambricon's libraries. */
void doctor_check_npus(struct doctor *d);
/* doctor_levelzero.c: whether programs of Level Zero are metered here. */
void doctor_check_levelzero(struct doctor *d);

/* Devices in meted's answer that are out of service. */
void doctor_check_devices(struct doctor *d, json_t *devices);
/* Drivers in the same answer that have failed, or find no device. */
void doctor_check_drivers(struct doctor *d, json_t *drivers);

/* The state of a running meted: its settings, store, HTTP, fence and network; `hello` is its answer. */
void doctor_check_meted(struct doctor *d, const struct control *control, json_t *hello);
