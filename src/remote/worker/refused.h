/*
 * refused.h: what the driver's kernel module refuses to a worker behind its fence, for `workers.observe_devices`.
 *
 * libcuda turns such a refusal into a CUDA error that says little. The class or command and the module's status word
 * (nvstatuscodes.h of NVIDIA's open kernel modules) say what went wrong.
 */
#pragma once

/* From now on each refusal is one line on standard error, up to a number of lines. */
void refused_begin(void);
/* After each ioctl(): `result` is its value. */
void refused_note(unsigned long request, const void *argument, int result);
