/* npu_card.c: see npu_card.h. Linked into injected libraries: libc alone. */
#include "base/npu_card.h"
#include "base/hip_card.h"

#include <string.h>

int npu_card_uuid(const uint8_t *told, const char *address, int chip, const char vendor[4], uint8_t ret_uuid[16])
{
	static const uint8_t none[16];

	if (told && memcmp(told, none, sizeof none)) {
		memcpy(ret_uuid, told, 16);
		return 0;
	}
	if (!hip_card_uuid(NULL, address, ret_uuid))
		return 0;
	if (chip < 0)
		return -1;
	memset(ret_uuid, 0, 16);
	memcpy(ret_uuid, vendor, 4);
	for (int i = 0; i < 4; i++)
		ret_uuid[12 + i] = (uint8_t)((unsigned int)chip >> 8 * (3 - i));
	return 0;
}
