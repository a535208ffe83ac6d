/* config.c: see config.h. */
#include "softdev/config.h"

#include "base/setting.h"
#include "base/size.h"
#include "softdev/span.h"
#include "wire/soft_capability.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONFIG_PAGE_BYTES UINT64_C(2097152)
#define LINGER_MOST_MS 60000

/* A whole number of [least, most] in variable `name`, `standard` without it. Value: 0 or -EINVAL. */
static int config_number(const char *name, unsigned long standard, unsigned long least, unsigned long most,
			 unsigned long *ret, char *why, size_t why_bytes)
{
	const char *text = setting_get(name);
	char *end;

	*ret = standard;
	if (!text || !text[0])
		return 0;
	errno = 0;
	*ret = strtoul(text, &end, 10);
	if (errno || *end || text[0] < '0' || text[0] > '9' || *ret < least || *ret > most) {
		snprintf(why, why_bytes, "%s=%s: give a whole number from %lu to %lu", name, text, least, most);
		return -EINVAL;
	}
	return 0;
}

/* One size from a list such as "16G,8G"; the last one holds for all devices after it. `least` may be 0. */
static int config_size(const char *name, unsigned index, uint64_t standard, uint64_t least, uint64_t *ret, char *why,
		       size_t why_bytes)
{
	const char *text = setting_get(name), *comma;
	char item[64];
	struct size size;
	size_t n;
	int fault;

	*ret = standard;
	if (!text || !text[0])
		return 0;
	while (index-- && (comma = strchr(text, ',')))
		text = comma + 1;
	n = strcspn(text, ",");
	if (n >= sizeof(item))
		n = sizeof(item) - 1;
	memcpy(item, text, n);
	item[n] = 0;
	if (!least && !strcmp(item, "0")) {
		*ret = 0;
		return 0;
	}
	fault = size_parse(item, &size);
	if (fault || size.pct > 0) {
		snprintf(why, why_bytes, "%s=%s: %s", name, item,
			 fault ? size_fault_text(fault) : "give a size such as 16G, not a percentage");
		return -EINVAL;
	}
	if (size.bytes < least) {
		snprintf(why, why_bytes, "%s=%s: give at least %llu bytes", name, item, (unsigned long long)least);
		return -EINVAL;
	}
	*ret = size.bytes;
	return 0;
}

static bool capability_read(const char *text, unsigned *ret_major, unsigned *ret_minor)
{
	char rest;

	return sscanf(text, "%2u.%1u%c", ret_major, ret_minor, &rest) == 2 &&
	       soft_capability_can_be(*ret_major * 10 + *ret_minor);
}

static int config_capability(uint32_t *ret_major, uint32_t *ret_minor, char *why, size_t why_bytes)
{
	const char *text = setting_get("METE_SOFT_CC");
	unsigned major = CONFIG_CC_MAJOR, minor = CONFIG_CC_MINOR;
	if (text && text[0] && !capability_read(text, &major, &minor)) {
		snprintf(why, why_bytes, "METE_SOFT_CC=%s: give a compute capability from %u.%u to %u.%u, such as 12.0",
			 text, SOFT_CAPABILITY_LEAST / 10, SOFT_CAPABILITY_LEAST % 10, SOFT_CAPABILITY_MOST / 10,
			 SOFT_CAPABILITY_MOST % 10);
		return -EINVAL;
	}
	*ret_major = major;
	*ret_minor = minor;
	return 0;
}

int config_driver_version(int *ret, char *why, size_t why_bytes)
{
	const char *text = setting_get("METE_SOFT_DRIVER_VERSION");
	unsigned major = CONFIG_DRIVER_VERSION / 1000, minor = CONFIG_DRIVER_VERSION % 1000 / 10;
	bool good = true;
	char rest;

	if (text && text[0])
		good = sscanf(text, "%2u.%2u%c", &major, &minor, &rest) == 2 && major >= 12 && minor < 100 &&
		       major * 1000 + minor * 10 <= CONFIG_DRIVER_VERSION;
	*ret = good ? (int)(major * 1000 + minor * 10) : CONFIG_DRIVER_VERSION;
	if (good)
		return 0;
	snprintf(why, why_bytes, "METE_SOFT_DRIVER_VERSION=%s: give a version of CUDA from 12.0 to %d.%d, such as 12.4",
		 text, CONFIG_DRIVER_VERSION / 1000, CONFIG_DRIVER_VERSION % 1000 / 10);
	return -EINVAL;
}

/* A span of time in variable `name`. Value: 0 or -EINVAL. */
static int config_span(const char *name, uint64_t standard, uint64_t least, uint64_t *ret, char *why, size_t why_bytes)
{
	const char *text = setting_get(name);

	*ret = standard;
	if (!text || !text[0])
		return 0;
	if (!span_parse(text, strlen(text), ret) && *ret >= least)
		return 0;
	snprintf(why, why_bytes, "%s=%s: give a time such as 2ms or 75us%s", name, text, least ? ", at least 1us" : "");
	return -EINVAL;
}

/* How contexts share the device. */
static int config_sharing(struct segment_config *c, char *why, size_t why_bytes)
{
	const char *time = setting_get("METE_SOFT_TIME"), *sharing = setting_get("METE_SOFT_SHARING");

	c->sharing = TIMELINE_SLICES;
	if (sharing && !strcmp(sharing, "together")) {
		c->sharing = TIMELINE_TOGETHER;
	} else if (sharing && sharing[0] && strcmp(sharing, "slices")) {
		snprintf(why, why_bytes, "METE_SOFT_SHARING=%s: give slices or together", sharing);
		return -EINVAL;
	}
	if (time && !strcmp(time, "off")) {
		c->sharing = TIMELINE_APART;
	} else if (time && time[0] && strcmp(time, "on")) {
		snprintf(why, why_bytes, "METE_SOFT_TIME=%s: give on or off", time);
		return -EINVAL;
	}
	return 0;
}

static int config_time(struct segment_config *c, char *why, size_t why_bytes)
{
	int r = config_sharing(c, why, why_bytes);

	if (!r)
		r = config_span("METE_SOFT_SLICE", TIMELINE_SLICE_NS, 1000, &c->slice_ns, why, why_bytes);
	if (!r)
		r = config_span("METE_SOFT_SWITCH", TIMELINE_SWITCH_NS, 0, &c->switch_ns, why, why_bytes);
	return r;
}

static void config_uuid(uint8_t uuid[16], unsigned index)
{
	static const uint8_t base[16] = { 'm', 'e', 't', 'e', 0, 0, 0x40, 0, 0x80, 0, 0, 0, 0, 0, 0, 0 };

	memcpy(uuid, base, sizeof(base));
	uuid[15] = (uint8_t)index;
}

int config_read(struct segment_config ret[SEGMENT_MAX_DEVICES], char *why, size_t why_bytes)
{
	const char *name = setting_get("METE_SOFT_NAME");
	unsigned long count, sms, linger;
	char own[48] = "mete software device";
	uint32_t major, minor;
	int r;

	r = config_number("METE_SOFT_DEVICES", 2, 0, SEGMENT_MAX_DEVICES, &count, why, why_bytes);
	if (!r)
		r = config_number("METE_SOFT_SMS", 80, 1, 1024, &sms, why, why_bytes);
	if (!r)
		r = config_number("METE_SOFT_LINGER", 0, 0, LINGER_MOST_MS, &linger, why, why_bytes);
	if (!r)
		r = config_capability(&major, &minor, why, why_bytes);
	if (r)
		return r;
	/* Programs keep compiled code by a device's name: another instruction set has another one. */
	if (major != CONFIG_CC_MAJOR || minor != CONFIG_CC_MINOR)
		snprintf(own, sizeof(own), "mete software device %u.%u", major, minor);
	if (!name || !name[0])
		name = own;
	if (strlen(name) >= sizeof(ret->name)) {
		snprintf(why, why_bytes, "METE_SOFT_NAME: give a name of at most %zu bytes", sizeof(ret->name) - 1);
		return -EINVAL;
	}
	memset(ret, 0, sizeof(*ret) * SEGMENT_MAX_DEVICES);
	for (unsigned i = 0; i < count; i++) {
		struct segment_config *c = &ret[i];

		config_uuid(c->uuid, i);
		snprintf(c->name, sizeof(c->name), "%s", name);
		c->sm_count = (uint32_t)sms;
		c->linger_ms = (uint32_t)linger;
		c->cc_major = major;
		c->cc_minor = minor;
		c->pci_bus = i + 1;
		r = config_size("METE_SOFT_MEMORY", i, UINT64_C(16) << 30, CONFIG_PAGE_BYTES, &c->total_bytes, why,
				why_bytes);
		if (!r)
			r = config_size("METE_SOFT_CONTEXT_MEMORY", i, 0, 0, &c->context_bytes, why, why_bytes);
		if (!r)
			r = config_time(c, why, why_bytes);
		if (r)
			return r;
		c->total_bytes -= c->total_bytes % SEGMENT_UNIT_BYTES;
	}
	return (int)count;
}
