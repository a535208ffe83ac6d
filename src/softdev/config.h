/*
 * config.h: the configuration of the software device from the environment.
 *
 * METE_SOFT_DEVICES, _DRIVER_VERSION, _MEMORY, _SMS, _NAME, _CC, _CONTEXT_MEMORY, _LINGER, _TIME, _SHARING, _SLICE,
 * _SWITCH. Bad values are refused with a line that names the variable, the value and what is expected; nothing is
 * guessed.
 */
#pragma once

#include "softdev/segment.h"

/* Value: the number of devices written to `ret`, or -EINVAL with one line in `why`. */
int config_read(struct segment_config ret[SEGMENT_MAX_DEVICES], char *why, size_t why_bytes);

#define CONFIG_CC_MAJOR 12 /* compute capability, unless METE_SOFT_CC says otherwise */
#define CONFIG_CC_MINOR 0
#define CONFIG_DRIVER_VERSION 13050 /* CUDA 13.5 */

/*
 * The version that the driver reports: 12040 for METE_SOFT_DRIVER_VERSION=12.4. Value: 0, or -EINVAL with the reason.
 */
int config_driver_version(int *ret, char *why, size_t why_bytes);
