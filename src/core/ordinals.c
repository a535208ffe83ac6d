/* ordinals.c: see ordinals.h. */
#include "core/ordinals.h"
#include "core/attach.h"

#include <limits.h>
#include <string.h>

static int grant_index(const uint8_t uuid[16])
{
	const struct wire_welcome *welcome = attach_welcome();

	for (unsigned int i = 0; i < welcome->device_count; i++)
		if (!memcmp(welcome->device[i].uuid, uuid, sizeof welcome->device[i].uuid))
			return (int)i;
	return -1;
}

static bool is_before(const struct ordinals *ordinals, int real, int index)
{
	for (int i = 0; i < real; i++)
		if (ordinals->index[i] == index)
			return true;
	return false;
}

void ordinals_match(struct ordinals *ordinals, int count, bool (*uuid)(int real, uint8_t ret_uuid[16]))
{
	int seen = 0;

	ordinals->real_count = count < ORDINALS_MAX ? count : ORDINALS_MAX;
	for (int i = 0; i < ordinals->real_count; i++) {
		uint8_t bytes[16];
		int index = uuid(i, bytes) ? grant_index(bytes) : -1;

		/* Of devices that are called the same the program sees the first, the one that meted shares. */
		if (index >= 0 && is_before(ordinals, i, index))
			index = -1;

		ordinals->index[i] = (int8_t)index;
		ordinals->seen[i] = (int8_t)(index < 0 ? -1 : seen);
		if (index >= 0)
			ordinals->real[seen++] = (int8_t)i;
	}
	ordinals->seen_count = seen;
	/* What lies behind the table is hidden, and so refused; so is what a driver without a device may show later. */
	ordinals->same = count && seen == count;
}

bool ordinals_find(const struct ordinals *ordinals, int real, unsigned int *ret_device)
{
	if (real < 0 || real >= ordinals->real_count || ordinals->index[real] < 0)
		return false;
	*ret_device = (unsigned int)ordinals->index[real];
	return true;
}

bool ordinals_real(const struct ordinals *ordinals, unsigned int device, int *ret_real)
{
	for (int i = 0; i < ordinals->real_count; i++)
		if (ordinals->index[i] == (int)device) {
			*ret_real = i;
			return true;
		}
	return false;
}

int ordinals_in(const struct ordinals *ordinals, int seen)
{
	if (ordinals->same || seen < 0)
		return seen;
	return seen < ordinals->seen_count ? ordinals->real[seen] : INT_MAX;
}

int ordinals_out(const struct ordinals *ordinals, int real, int none)
{
	if (ordinals->same || real < 0)
		return real;
	return real < ordinals->real_count && ordinals->seen[real] >= 0 ? ordinals->seen[real] : none;
}
