/*
 * refused.h: reports what the driver's kernel module refuses to a worker behind its fence, for
 * `workers.observe_devices`.
 *
 * libcuda turns such a refusal into a CUDA error with little information. The class or command and the module's status
 * word (nvstatuscodes.h of NVIDIA's open kernel modules) identify the cause.
 */
#pragma once

/* Writes each refusal as one line on standard error from now on, up to a number of lines. */
void refused_begin(void);
/* Called after each ioctl(); `result` is its value. */
void refused_note(unsigned long request, const void *argument, int result);
