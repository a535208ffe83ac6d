/*
 * device.h: an accelerator as a value: which one it is, how much memory it has, and how people name it.
 *
 * Pure: what a driver reports comes in as an argument (src/daemon/health/probe.c asks for it).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define DEVICE_UUID_BYTES 16u
#define DEVICE_UUID_TEXT 41u /* "GPU-" and 36 characters, NUL */
#define DEVICE_NAME_BYTES 96u

enum device_kind {
	DEVICE_SOFT = 1, /* mete's software device */
	DEVICE_NVIDIA,
	DEVICE_OPENCL, /* what the ICD loader finds, and is no card of the kinds above */
};

struct device {
	enum device_kind kind;
	unsigned int index; /* the machine's, as the driver's tools count */
	uint8_t uuid[DEVICE_UUID_BYTES];
	char name[DEVICE_NAME_BYTES];
	uint64_t total_bytes;
	uint64_t used_bytes; /* the driver's own figure when it was asked */
	int used_known;
	uint32_t granule_bytes; /* plain allocations come from blocks of this size, aligned to it */
};

enum device_find_result {
	DEVICE_NOT_FOUND = -1,
	DEVICE_AMBIGUOUS = -2, /* a prefix of several UUIDs */
};

/* "soft", "nvidia" or "opencl". */
const char *device_kind_name(enum device_kind kind);

/*
 * The plain allocation granule of a kind of driver. Source for NVIDIA: blocks of 2 MiB, as cuMemGetInfo shows. OpenCL
 * tells no addresses: what is asked for counts.
 */
uint32_t device_kind_granule(enum device_kind kind);

/* "GPU-01234567-89ab-..." in `text`. Value: text. */
const char *device_uuid_format(const uint8_t uuid[DEVICE_UUID_BYTES], char text[DEVICE_UUID_TEXT]);

/* Reads "GPU-..." , "MIG-..." or the bare 36 characters. Value: 0, or -1 when it is no UUID. */
int device_uuid_parse(const char *text, uint8_t ret_uuid[DEVICE_UUID_BYTES]);

/*
 * The place in `list` of the device that people call `spec`: its index, its UUID, or a prefix of it with or without
 * "GPU-". Digits alone are an index and nothing else. Value: the place, or enum device_find_result.
 */
int device_find(const struct device *list, size_t count, const char *spec);
