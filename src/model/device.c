/* device.c: names of accelerators. */
#include "model/device.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *const kind_names[DEVICE_KINDS] = {
	[DEVICE_SOFT] = "soft",		  [DEVICE_NVIDIA] = "nvidia",
	[DEVICE_OPENCL] = "opencl",	  [DEVICE_HIP] = "hip",
	[DEVICE_LEVELZERO] = "levelzero", [DEVICE_MUSA] = "musa",
	[DEVICE_MACA] = "maca",		  [DEVICE_COREX] = "corex",
	[DEVICE_ASCEND] = "ascend",	  [DEVICE_CAMBRICON] = "cambricon",
};

const char *device_kind_name(enum device_kind kind)
{
	return kind_names[kind];
}

enum device_kind device_kind_named(const char *name)
{
	unsigned int kind = DEVICE_KINDS;

	while (--kind && strcmp(kind_names[kind], name) != 0)
		;
	return (enum device_kind)kind;
}

const enum device_kind device_kind_order[DEVICE_KINDS - 1] = {
	DEVICE_NVIDIA, DEVICE_HIP,	 DEVICE_MUSA,	   DEVICE_MACA, DEVICE_COREX,
	DEVICE_ASCEND, DEVICE_CAMBRICON, DEVICE_LEVELZERO, DEVICE_SOFT, DEVICE_OPENCL,
};

int device_kind_has_cuda(enum device_kind kind)
{
	return kind == DEVICE_NVIDIA || kind == DEVICE_SOFT || kind == DEVICE_COREX;
}

uint32_t device_kind_granule(enum device_kind kind)
{
	return kind == DEVICE_NVIDIA ? 2u << 20 : 512u;
}

const char *device_uuid_format(const uint8_t uuid[DEVICE_UUID_BYTES], char text[DEVICE_UUID_TEXT])
{
	char *out = text + snprintf(text, DEVICE_UUID_TEXT, "GPU-");

	for (unsigned int i = 0; i < DEVICE_UUID_BYTES; i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			*out++ = '-';
		out += snprintf(out, 3, "%02x", uuid[i]);
	}
	return text;
}

static const char *without_prefix(const char *text)
{
	return !strncasecmp(text, "GPU-", 4) || !strncasecmp(text, "MIG-", 4) ? text + 4 : text;
}

int device_uuid_parse(const char *text, uint8_t ret_uuid[DEVICE_UUID_BYTES])
{
	uint8_t uuid[DEVICE_UUID_BYTES];
	const char *at = without_prefix(text);

	for (unsigned int i = 0; i < DEVICE_UUID_BYTES; i++) {
		char pair[3] = { 0 };

		if ((i == 4 || i == 6 || i == 8 || i == 10) && *at++ != '-')
			return -1;
		if (!isxdigit((unsigned char)at[0]) || !isxdigit((unsigned char)at[1]))
			return -1;
		memcpy(pair, at, 2);
		uuid[i] = (uint8_t)strtoul(pair, NULL, 16);
		at += 2;
	}
	if (*at)
		return -1;
	memcpy(ret_uuid, uuid, sizeof(uuid));
	return 0;
}

static int find_index(const struct device *list, size_t count, const char *spec)
{
	unsigned long index;

	errno = 0;
	index = strtoul(spec, NULL, 10);
	for (size_t i = 0; i < count && !errno; i++)
		if (list[i].index == index)
			return (int)i;
	return DEVICE_NOT_FOUND;
}

int device_find(const struct device *list, size_t count, const char *spec)
{
	char text[DEVICE_UUID_TEXT];
	const char *prefix = without_prefix(spec);
	size_t length = strlen(prefix);
	int found = DEVICE_NOT_FOUND;

	if (!length)
		return found;
	if (strspn(spec, "0123456789") == strlen(spec))
		return find_index(list, count, spec);
	for (size_t i = 0; i < count; i++) {
		device_uuid_format(list[i].uuid, text);
		if (strncasecmp(text + 4, prefix, length))
			continue;
		if (found >= 0)
			return DEVICE_AMBIGUOUS;
		found = (int)i;
	}
	return found;
}
