/* device.c: names of accelerators. */
#include "model/device.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
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

size_t device_kind_prefix(const char *text)
{
	for (unsigned int kind = 1; kind < DEVICE_KINDS; kind++) {
		size_t length = strlen(kind_names[kind]);

		if (!strncmp(text, kind_names[kind], length) && text[length] == ':')
			return length + 1;
	}
	return 0;
}

static bool is_index(const char *text)
{
	return *text && strspn(text, "0123456789") == strlen(text);
}

/* It is in the place of vendors' cards, and not beside them. */
static bool soft_yields(const struct device *list, size_t count, unsigned long index)
{
	for (unsigned int k = 0; device_kind_order[k] != DEVICE_SOFT; k++)
		for (size_t i = 0; i < count; i++)
			if (list[i].kind == device_kind_order[k] && list[i].index == index)
				return true;
	return false;
}

/* Whether the device is one that "0" or "hip:0" may mean. */
static bool has_index(const struct device *list, size_t count, const struct device *d, const char *spec)
{
	size_t prefix = device_kind_prefix(spec);
	unsigned long index;

	errno = 0;
	index = strtoul(spec + prefix, NULL, 10);
	if (errno || d->index != index)
		return false;
	if (prefix)
		return d->kind && strlen(kind_names[d->kind]) == prefix - 1 &&
		       !strncmp(kind_names[d->kind], spec, prefix - 1);
	return d->kind != DEVICE_SOFT || !soft_yields(list, count, index);
}

static int find_index(const struct device *list, size_t count, const char *spec)
{
	int found = DEVICE_NOT_FOUND;

	for (size_t i = 0; i < count; i++) {
		if (!has_index(list, count, &list[i], spec))
			continue;
		if (found >= 0)
			return DEVICE_AMBIGUOUS;
		found = (int)i;
	}
	return found;
}

const char *device_ambiguity(const struct device *list, size_t count, const char *spec,
			     char text[DEVICE_AMBIGUITY_BYTES])
{
	size_t used;

	if (!is_index(spec)) {
		snprintf(text, DEVICE_AMBIGUITY_BYTES, "several UUIDs begin like that: give more of it");
		return text;
	}
	used = (size_t)snprintf(text, DEVICE_AMBIGUITY_BYTES,
				"devices of several kinds have this index: name one by its UUID or as");
	for (size_t at = 0, n = 0; at < count * (DEVICE_KINDS - 1) && used < DEVICE_AMBIGUITY_BYTES; at++) {
		const struct device *d = &list[at % count];

		if (d->kind == device_kind_order[at / count] && has_index(list, count, d, spec))
			used += (size_t)snprintf(text + used, DEVICE_AMBIGUITY_BYTES - used, "%s %s:%u", n++ ? "," : "",
						 kind_names[d->kind], d->index);
	}
	return text;
}

int device_find(const struct device *list, size_t count, const char *spec)
{
	char text[DEVICE_UUID_TEXT];
	const char *prefix = without_prefix(spec);
	size_t length = strlen(prefix);
	int found = DEVICE_NOT_FOUND;

	if (!length)
		return found;
	if (is_index(spec + device_kind_prefix(spec)))
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
