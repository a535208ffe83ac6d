/*
 * soft_capability.h: which compute capabilities the software device can have, and what to say to who needs another one.
 *
 * METE_SOFT_CC sets the capability. What names it as a remedy asks here first whether mete takes that value.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define SOFT_CAPABILITY_LEAST 50u /* 5.0 */
#define SOFT_CAPABILITY_MOST 129u /* 12.9 */

/* `arch` is 90 for 9.0. */
static inline bool soft_capability_can_be(uint32_t arch)
{
	return arch >= SOFT_CAPABILITY_LEAST && arch <= SOFT_CAPABILITY_MOST;
}

/* Is there a chip of this number? Those below 10.0 are all known; later ones may come that are not known yet. */
static inline bool soft_target_known(uint32_t arch)
{
	static const uint8_t chips[] = { 10, 11, 12, 13, 20, 21, 30, 32, 35, 37, 50, 52, 53,
					 60, 61, 62, 70, 72, 75, 80, 82, 86, 87, 88, 89, 90 };

	for (size_t i = 0; i < sizeof(chips) / sizeof(*chips); i++)
		if (chips[i] == arch)
			return true;
	return arch >= 100;
}

#define SOFT_REMEDY_BYTES 128u

/* The remedy for code that needs a device of capability `arch`, to stand behind a colon. */
static inline const char *soft_capability_remedy(uint32_t arch, char ret[SOFT_REMEDY_BYTES])
{
	if (soft_capability_can_be(arch))
		snprintf(ret, SOFT_REMEDY_BYTES, "build for an older target, or set METE_SOFT_CC=%u.%u", arch / 10,
			 arch % 10);
	else
		snprintf(ret, SOFT_REMEDY_BYTES,
			 "build for another target, because a software device is of %u.%u to %u.%u",
			 SOFT_CAPABILITY_LEAST / 10, SOFT_CAPABILITY_LEAST % 10, SOFT_CAPABILITY_MOST / 10,
			 SOFT_CAPABILITY_MOST % 10);
	return ret;
}

/* The same where the program has chosen the target of an assembler or a linker: METE_SOFT_CC would not change it. */
static inline const char *soft_target_remedy(uint32_t arch, char ret[SOFT_REMEDY_BYTES])
{
	if (!soft_capability_can_be(arch))
		return soft_capability_remedy(arch, ret);
	snprintf(ret, SOFT_REMEDY_BYTES, "build for an older target, or assemble and link for sm_%u", arch);
	return ret;
}
