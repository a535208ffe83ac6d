/* card_link_test.c: a card's link, from files as the kernel has them. */
#include "remote/worker/card_link.h"

#include "base/tap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static char root[64];
static const char *asked;

static CUresult no_table(const void **ret, const CUuuid *id)
{
	(void)ret;
	(void)id;
	return CUDA_ERROR_NOT_FOUND;
}

/* Drivers write hexadecimal digits in either case. */
static CUresult bus_id(char *ret, int bytes, CUdevice device)
{
	(void)device;
	snprintf(ret, (size_t)bytes, "%s", asked);
	return CUDA_SUCCESS;
}

static void put(const char *card, const char *file, const char *text)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", root, card);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/%s/%s", root, card, file);
	f = fopen(path, "w");
	tap_ok(f && fputs(text, f) >= 0 && !fclose(f), "%s", path);
}

static void put_card(const char *card, const char *vendor, const char *class, const char *speed, const char *most)
{
	put(card, "vendor", vendor);
	put(card, "class", class);
	put(card, "current_link_speed", speed);
	put(card, "current_link_width", "8\n");
	put(card, "max_link_speed", most);
	put(card, "max_link_width", "16\n");
}

static void is_link(const char *name, uint32_t generation, uint32_t lanes, uint32_t generation_most,
		    uint32_t lanes_most)
{
	const struct cuda_table driver = { .cuGetExportTable = no_table, .cuDeviceGetPCIBusId = bus_id };
	struct watch_link l;

	asked = name;
	card_link_read(&driver, 0, &l);
	tap_ok(l.generation == generation && l.lanes == lanes && l.generation_most == generation_most &&
		       l.lanes_most == lanes_most,
	       "%s: %u x%u of %u x%u", name, l.generation, l.lanes, l.generation_most, l.lanes_most);
}

int main(void)
{
	char command[128];

	tap_begin();
	snprintf(root, sizeof(root), "/tmp/mete-card-link-XXXXXX");
	tap_ok(mkdtemp(root) != NULL, "%s", root);
	put_card("0000:3b:00.0", "0x10de\n", "0x030200\n", "2.5 GT/s PCIe\n", "16.0 GT/s PCIe\n");
	put_card("0000:af:00.0", "0x10de\n", "0x030000\n", "32.0 GT/s PCIe\n", "32.0 GT/s PCIe\n");
	put_card("0000:b0:00.0", "0x10de\n", "0x030000\n", "Unknown\n", "Unknown\n");
	put_card("0000:3b:00.1", "0x10de\n", "0x040300\n", "8.0 GT/s PCIe\n", "8.0 GT/s PCIe\n"); /* its sound */
	put_card("0000:01:00.0", "0x8086\n", "0x030000\n", "8.0 GT/s PCIe\n", "8.0 GT/s PCIe\n");
	card_link_open(root);
	is_link("0000:3B:00.0", 1, 8, 4, 16);
	is_link("0000:af:00.0", 5, 8, 5, 16);
	is_link("0000:b0:00.0", 0, 8, 0, 16);
	is_link("0000:3b:00.1", 0, 0, 0, 0);
	is_link("0000:01:00.0", 0, 0, 0, 0);
	is_link("0000:99:00.0", 0, 0, 0, 0);
	put("0000:3b:00.0", "current_link_speed", "16.0 GT/s PCIe\n");
	is_link("0000:3b:00.0", 4, 8, 4, 16); /* it works now, and its link is faster */
	snprintf(command, sizeof(command), "rm -r %s", root);
	tap_ok(!system(command), "removed");
	card_link_open(root);
	is_link("0000:3b:00.0", 0, 0, 0, 0);
	return tap_end();
}
