/* grant.c: what a grant says and what grants promise. */
#include "model/grant.h"

#include <ctype.h>
#include <string.h>

bool grant_name_valid(const char *name)
{
	size_t length = strlen(name);

	if (!length || length >= GRANT_NAME_BYTES || *name == '.' || *name == '-')
		return false;
	for (const char *c = name; *c; c++)
		if (!isascii((unsigned char)*c) || (!isalnum((unsigned char)*c) && !strchr("._-", *c)))
			return false;
	return true;
}

const char *grant_label_name(enum grant_label label)
{
	static const char *const names[GRANT_LABELS] = { [GRANT_CONTAINER] = "container",
							 [GRANT_POD] = "pod",
							 [GRANT_NAMESPACE] = "namespace" };

	return names[label];
}

bool grant_label_valid(const char *text)
{
	static const char letters[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ._-";

	return *text && strlen(text) < GRANT_LABEL_BYTES && strspn(text, letters) == strlen(text);
}

struct grant_share *grant_find_share(struct grant *g, const uint8_t uuid[DEVICE_UUID_BYTES])
{
	for (unsigned int i = 0; i < g->share_count; i++)
		if (!memcmp(g->share[i].device.uuid, uuid, DEVICE_UUID_BYTES))
			return &g->share[i];
	return NULL;
}

uint64_t grant_promised_bytes(const struct grant *g, const uint8_t uuid[DEVICE_UUID_BYTES])
{
	const struct grant_share *share = grant_find_share((struct grant *)g, uuid);

	if (!share)
		return 0;
	return (g->spill ? g->resident_units : share->ledger.quota_units) * WIRE_UNIT_BYTES;
}

uint32_t grant_promised_ppm(const struct grant *g, const uint8_t uuid[DEVICE_UUID_BYTES])
{
	const struct grant_share *share = grant_find_share((struct grant *)g, uuid);

	return share ? share->compute.terms.guarantee_ppm : 0;
}

enum grant_fit grant_fits(const struct device *device, uint64_t others_bytes, uint64_t bytes, bool overcommit)
{
	if (bytes < WIRE_UNIT_BYTES)
		return GRANT_NOTHING;
	if (bytes > device->total_bytes)
		return GRANT_OVER_DEVICE;
	if (bytes > GRANT_MAX_BYTES)
		return GRANT_OVER_COUNTABLE;
	if (overcommit)
		return GRANT_FITS;
	if (others_bytes > device->total_bytes || bytes > device->total_bytes - others_bytes)
		return GRANT_OVER_PROMISED;
	return GRANT_FITS;
}

uint64_t grant_pct_bytes(const struct device *device, double pct)
{
	uint64_t units = (uint64_t)((double)(device->total_bytes / WIRE_UNIT_BYTES) * (pct / 100.0));

	return units * WIRE_UNIT_BYTES;
}
