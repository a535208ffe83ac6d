/* hip_card.c: see hip_card.h. Linked into an injected library: libc alone. */
#include "base/hip_card.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static bool is_serial(const uint8_t told[16])
{
	for (int i = 0; i < 16; i++)
		if (!isxdigit(told[i]))
			return false;
	return true;
}

static bool is_empty(const uint8_t told[16])
{
	static const uint8_t none[16];

	return !memcmp(told, none, sizeof none);
}

int hip_card_uuid(const uint8_t told[16], const char *address, uint8_t ret_uuid[16])
{
	unsigned int part[4];

	if (told && !is_serial(told) && !is_empty(told)) {
		memcpy(ret_uuid, told, 16);
		return 0;
	}
	if (!address || sscanf(address, "%x:%x:%x.%x", &part[0], &part[1], &part[2], &part[3]) != 4)
		return -1;
	for (int i = 0; i < 4; i++)
		for (int byte = 0; byte < 4; byte++)
			ret_uuid[4 * i + byte] = (uint8_t)(part[i] >> 8 * byte);
	return 0;
}
