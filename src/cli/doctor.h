/* doctor.h: the checks of `mete doctor`, by file. What they share is verb/doctor.h. */
#pragma once

#include "client/control.h"
#include "verb/doctor.h"

/* What whoever runs a node wants to know: service, settings, store, clock, HTTP. doctor_node.c */
void doctor_check_node(struct doctor *d);

/* Whether OpenCL programs are metered here. doctor_opencl.c */
void doctor_check_opencl(struct doctor *d);

/* Whether HIP programs are metered here. doctor_hip.c */
void doctor_check_hip(struct doctor *d);

/* The same of libraries that are CUDA or HIP under other names. doctor_shapes.c */
void doctor_check_shapes(struct doctor *d);
/* The same of Ascend's and Cambricon's. doctor_npu.c */
void doctor_check_npus(struct doctor *d);
/* Whether Level Zero's programs are metered here. doctor_levelzero.c */
void doctor_check_levelzero(struct doctor *d);

/* The devices that meted has, in its answer: those that are out of service. */
void doctor_check_devices(struct doctor *d, json_t *devices);
/* The drivers, in the same answer: those that have failed, or find no device. */
void doctor_check_drivers(struct doctor *d, json_t *drivers);

/* The same of a meted that answers; `hello` is its answer. */
void doctor_check_meted(struct doctor *d, const struct control *control, json_t *hello);
