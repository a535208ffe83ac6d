/*
 * device.h: an accelerator as a value: its identity, its memory, and the ways to name it.
 *
 * Pure: the caller supplies what a driver reports (src/daemon/health/probe.c).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define DEVICE_UUID_BYTES 16u
#define DEVICE_UUID_TEXT 41u /* "GPU-" and 36 characters, NUL */
#define DEVICE_NAME_BYTES 96u
#define DEVICE_PLACE_BYTES 24u
#define DEVICE_PART_BYTES 12u

enum device_kind {
	DEVICE_SOFT = 1, /* mete's software device */
	DEVICE_NVIDIA,
	DEVICE_OPENCL, /* a device of the ICD loader that is no card of the other kinds */
	DEVICE_HIP,    /* a device of AMD's libamdhip64 that is no card of the two kinds above */
	DEVICE_LEVELZERO, /* a device of Level Zero's loader that is no card of NVIDIA's, AMD's or in software */
	DEVICE_MUSA,   /* of the libraries of model/shapes.h: Moore Threads', MetaX' and Iluvatar's */
	DEVICE_MACA,
	DEVICE_COREX,
	DEVICE_ASCEND, /* a device of Ascend's runtime, in the same way */
	DEVICE_CAMBRICON,
	DEVICE_KINDS, /* one more than the last */
};

/* What a device is a part of, where its library shows a part of a card as a device. */
struct device_part {
	char of[DEVICE_PLACE_BYTES];  /* the card: "0000:03:00.0", "chip 2"; "": the device is a whole card */
	char mode[DEVICE_PART_BYTES]; /* how it is cut, in the vendor's word: CPX, vNPU */
	int number;		      /* among the parts; -1: not told */
};

struct device {
	enum device_kind kind;
	unsigned int index; /* on this machine, in the order of the driver's tools */
	uint8_t uuid[DEVICE_UUID_BYTES];
	char name[DEVICE_NAME_BYTES];
	uint64_t total_bytes;
	uint64_t used_bytes; /* the driver's figure at the last probe */
	int used_known;
	uint32_t granule_bytes; /* plain allocations use blocks of this size, aligned to it */
	struct device_part part;
};

enum device_find_result {
	DEVICE_NOT_FOUND = -1,
	DEVICE_AMBIGUOUS = -2, /* a prefix of several UUIDs, or an index that devices of several kinds have */
};

/* In the order in which they are taken. */
#define DEVICE_KIND_WORDS "nvidia, hip, musa, maca, corex, ascend, cambricon, levelzero, soft or opencl"

/* What a request may call a device, see device_find(). */
#define DEVICE_SPEC_WORDS "index, KIND:INDEX or UUID"

/* One of these words. */
const char *device_kind_name(enum device_kind kind);

/* The kind of that name; 0: there is none. */
enum device_kind device_kind_named(const char *name);

/*
 * The order in which kinds are taken where a request names none: the first one that has a device. Vendors' cards go
 * before the software device, which goes before what has OpenCL alone: most often that is a processor.
 */
extern const enum device_kind device_kind_order[DEVICE_KINDS - 1];

/* Whether programs use it by CUDA; then it can be behind a wall. */
int device_kind_has_cuda(enum device_kind kind);

/*
 * Returns the granule of plain allocations of a kind of driver. Source for NVIDIA: cuMemGetInfo changes in blocks of 2
 * MiB. The other APIs expose no blocks, so the requested size counts; so it does where nothing is known of blocks.
 */
uint32_t device_kind_granule(enum device_kind kind);

/* "GPU-01234567-89ab-..." in `text`. Value: text. */
const char *device_uuid_format(const uint8_t uuid[DEVICE_UUID_BYTES], char text[DEVICE_UUID_TEXT]);

/* Reads "GPU-..." , "MIG-..." or the bare 36 characters. Value: 0, or -1 when it is no UUID. */
int device_uuid_parse(const char *text, uint8_t ret_uuid[DEVICE_UUID_BYTES]);

/*
 * Finds the device that `spec` names: by index, by kind and index ("hip:0"), by UUID, or by a prefix of the UUID with
 * or without "GPU-". Digits alone are an index. The software device has an index only where no vendor's card has it.
 * An index that devices of several other kinds have is ambiguous. Returns the place in `list`, or an enum
 * device_find_result.
 */
int device_find(const struct device *list, size_t count, const char *spec);

#define DEVICE_AMBIGUITY_BYTES 256u

/* Why `spec` was DEVICE_AMBIGUOUS, and the remedy. Value: text. */
const char *device_ambiguity(const struct device *list, size_t count, const char *spec,
			     char text[DEVICE_AMBIGUITY_BYTES]);

/* The number of bytes of the kind's name with its colon at the begin of "hip:0"; 0: it begins with none. */
size_t device_kind_prefix(const char *text);
