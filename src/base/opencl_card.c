/* opencl_card.c: see opencl_card.h. Linked into an injected library: libc alone. */
#include "base/opencl_card.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* cl.h and cl_ext.h, which meted is built without. */
#define DEVICE_VENDOR_ID 0x1001u
#define DEVICE_NAME 0x102bu
#define DEVICE_VENDOR 0x102cu
#define DEVICE_EXTENSIONS 0x1030u
#define DEVICE_PLATFORM 0x1031u
#define DEVICE_PARENT 0x1042u
#define DEVICE_UUID 0x106au
#define DEVICE_PCI_BUS_INFO 0x410fu /* cl_khr_pci_bus_info: domain, bus, device, function; 32 bits each */
#define DEVICE_TOPOLOGY_AMD 0x4037u /* cl_amd_device_attribute_query */
#define DEVICE_ALL 0xffffffffull
#define TEXT_BYTES 8192u
#define PARENTS 8

static uint64_t mix(uint64_t hash, const void *bytes, size_t count)
{
	const unsigned char *at = bytes;

	for (size_t i = 0; i < count; i++)
		hash = (hash ^ at[i]) * 0x100000001b3u;
	return hash;
}

static bool text_of(const struct opencl_ask *ask, void *device, unsigned int what, char text[TEXT_BYTES])
{
	size_t size = 0;

	if (ask->device_info(device, what, TEXT_BYTES - 1, text, &size))
		return false;
	text[size < TEXT_BYTES ? size : TEXT_BYTES - 1] = 0;
	return true;
}

/* What devices that are alike have in common. */
static bool likeness(const struct opencl_ask *ask, void *device, uint64_t ret[2])
{
	char text[TEXT_BYTES];
	uint32_t vendor = 0;

	ask->device_info(device, DEVICE_VENDOR_ID, sizeof vendor, &vendor, NULL);
	if (!text_of(ask, device, DEVICE_NAME, text))
		return false;
	ret[0] = mix(mix(0xcbf29ce484222325u, text, strlen(text) + 1), &vendor, sizeof vendor);
	ret[1] = mix(mix(0x84222325cbf29ce4u, text, strlen(text) + 1), &vendor, sizeof vendor);
	if (!text_of(ask, device, DEVICE_VENDOR, text))
		return false;
	ret[0] = mix(ret[0], text, strlen(text));
	ret[1] = mix(ret[1], text, strlen(text));
	return true;
}

/* Its place among those of its platform that are alike. */
static uint32_t place_among(const struct opencl_ask *ask, void *device, const uint64_t like[2])
{
	void *ids[OPENCL_CARD_DEVICES], *platform = NULL;
	unsigned int count = 0;
	uint32_t place = 0;
	uint64_t other[2];

	if (ask->device_info(device, DEVICE_PLATFORM, sizeof platform, &platform, NULL) ||
	    ask->device_ids(platform, DEVICE_ALL, OPENCL_CARD_DEVICES, ids, &count))
		return 0;
	for (unsigned int i = 0; i < count && i < OPENCL_CARD_DEVICES && ids[i] != device; i++)
		place += likeness(ask, ids[i], other) && other[0] == like[0] && other[1] == like[1];
	return place;
}

static bool chosen(uint8_t ret_uuid[16])
{
	const char *at = getenv("METE_OPENCL_CARD");

	if (!at || strncmp(at, "GPU-", 4))
		return false;
	at += 4;
	for (int i = 0; i < 16; i++) {
		char pair[3] = { 0 }, *end;

		if (*at == '-')
			at++;
		if (!at[0] || !at[1])
			return false;
		memcpy(pair, at, 2);
		ret_uuid[i] = (uint8_t)strtoul(pair, &end, 16);
		if (*end)
			return false;
		at += 2;
	}
	return !*at;
}

bool opencl_card_is_misnamed(void)
{
	const char *at = getenv("METE_OPENCL_CARD");
	uint8_t uuid[16];

	return at && *at && !chosen(uuid);
}

/* What AMD's extension tells of a device on the PCI bus (type 1): bus, device and function are the last three bytes. */
struct topology {
	uint32_t type;
	uint8_t unused[17], bus, device, function;
};

_Static_assert(sizeof(struct topology) == 24, "as in cl_ext.h");

/* A card without a UUID is called by its place on the PCI bus, as in HIP and in Mesa's drivers (hip_card.h). */
static bool by_place(const struct opencl_ask *ask, void *device, const char *extensions, uint8_t ret_uuid[16])
{
	struct topology t = { 0 };
	uint32_t place[4] = { 0 };

	if (strstr(extensions, "cl_khr_pci_bus_info") &&
	    !ask->device_info(device, DEVICE_PCI_BUS_INFO, sizeof place, place, NULL)) {
		memcpy(ret_uuid, place, 16);
		return true;
	}
	if (!strstr(extensions, "cl_amd_device_attribute_query") ||
	    ask->device_info(device, DEVICE_TOPOLOGY_AMD, sizeof t, &t, NULL) || t.type != 1)
		return false;
	place[1] = t.bus;
	place[2] = t.device;
	place[3] = t.function;
	memcpy(ret_uuid, place, 16);
	return true;
}

int opencl_card_uuid(const struct opencl_ask *ask, void *device, uint8_t ret_uuid[16])
{
	char text[TEXT_BYTES];
	uint64_t like[2];
	uint32_t place;
	void *parent;

	for (int i = 0; i < PARENTS; i++) {
		parent = NULL;
		if (ask->device_info(device, DEVICE_PARENT, sizeof parent, &parent, NULL) || !parent)
			break;
		device = parent;
	}
	if (text_of(ask, device, DEVICE_EXTENSIONS, text) &&
	    ((strstr(text, "cl_khr_device_uuid") && !ask->device_info(device, DEVICE_UUID, 16, ret_uuid, NULL)) ||
	     by_place(ask, device, text, ret_uuid)))
		return 0;
	if (!likeness(ask, device, like))
		return -1;
	place = place_among(ask, device, like);
	if (!place && chosen(ret_uuid))
		return 0;
	like[0] = mix(like[0], &place, sizeof place);
	like[1] = mix(like[1], &place, sizeof place);
	memcpy(ret_uuid, like, 16);
	ret_uuid[6] = (uint8_t)((ret_uuid[6] & 0x0f) | 0x80); /* a UUID of version 8: the maker's own form */
	ret_uuid[8] = (uint8_t)((ret_uuid[8] & 0x3f) | 0x80);
	return 0;
}
