/*
 * card_link.c: see card_link.h. The kernel has a link's state in files of the card's folder in sysfs (Linux:
 * Documentation/ABI/testing/sysfs-bus-pci): the speed as "16.0 GT/s PCIe", the width as a number. The software device
 * says its own (wire/soft_card.h).
 */
#include "remote/worker/card_link.h"

#include "wire/soft_card.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define CARDS_MOST 32
#define NAME_BYTES 16 /* "0000:3b:00.0" */
#define VENDOR_NVIDIA 0x10de
#define CLASS_DISPLAY 3 /* base class; a card is also a sound device and more */

enum file { SPEED, WIDTH, SPEED_MOST, WIDTH_MOST, FILES };

static const char *const names[FILES] = { "current_link_speed", "current_link_width", "max_link_speed",
					  "max_link_width" };

static struct card {
	char name[NAME_BYTES];
	int fd[FILES];
} cards[CARDS_MOST];
static unsigned int count;

static int open_below(int folder, const char *card, const char *file)
{
	char path[64];

	snprintf(path, sizeof(path), "%s/%s", card, file);
	return openat(folder, path, O_RDONLY | O_CLOEXEC);
}

/* The number with which the file begins, of base 16 behind "0x". 0: there is nothing to read, or no number. */
static double number_of(int fd)
{
	char text[32];
	ssize_t n = fd < 0 ? -1 : pread(fd, text, sizeof(text) - 1, 0);

	if (n <= 0)
		return 0;
	text[n] = 0;
	return strtod(text, NULL);
}

static unsigned int read_once(int folder, const char *card, const char *file)
{
	int fd = open_below(folder, card, file);
	unsigned int number = (unsigned int)number_of(fd);

	if (fd >= 0)
		close(fd);
	return number;
}

static bool is_card(int folder, const char *name)
{
	return read_once(folder, name, "vendor") == VENDOR_NVIDIA &&
	       read_once(folder, name, "class") >> 16 == CLASS_DISPLAY;
}

static void close_all(struct card *c)
{
	for (int i = 0; i < FILES; i++)
		if (c->fd[i] >= 0)
			close(c->fd[i]);
}

void card_link_open(const char *path)
{
	DIR *folder = opendir(path);
	struct dirent *e;

	while (count > 0)
		close_all(&cards[--count]);
	while (folder && count < CARDS_MOST && (e = readdir(folder)) != NULL) {
		struct card *c = &cards[count];

		if (strlen(e->d_name) >= NAME_BYTES || !is_card(dirfd(folder), e->d_name))
			continue;
		memcpy(c->name, e->d_name, strlen(e->d_name) + 1);
		for (int i = 0; i < FILES; i++)
			c->fd[i] = open_below(dirfd(folder), c->name, names[i]);
		count++;
	}
	if (folder)
		closedir(folder);
}

/* Transfers a second of one lane, in 10^9, by generation (PCI Express Base Specification, from 1 on). */
static uint32_t generation_of(double speed)
{
	static const double speeds[] = { 2.5, 5, 8, 16, 32, 64 };
	uint32_t generation = 0;

	while (generation < sizeof(speeds) / sizeof(*speeds) && speed >= speeds[generation])
		generation++;
	return generation;
}

static void of_software(const struct cuda_table *driver, struct watch_link *ret)
{
	static const CUuuid id = { SOFT_CARD_ID };
	const void *found = NULL;
	const struct soft_card_table *t;

	if (driver->cuGetExportTable(&found, &id) != CUDA_SUCCESS || !found)
		return;
	t = found;
	*ret = (struct watch_link){ t->link_generation, t->link_lanes, t->link_generation, t->link_lanes };
}

static bool of_card(const char *name, struct watch_link *ret)
{
	for (unsigned int i = 0; i < count; i++) {
		const int *fd = cards[i].fd;

		if (strcasecmp(cards[i].name, name))
			continue;
		*ret = (struct watch_link){ generation_of(number_of(fd[SPEED])), (uint32_t)number_of(fd[WIDTH]),
					    generation_of(number_of(fd[SPEED_MOST])),
					    (uint32_t)number_of(fd[WIDTH_MOST]) };
		return true;
	}
	return false;
}

void card_link_read(const struct cuda_table *driver, CUdevice device, struct watch_link *ret)
{
	char name[NAME_BYTES + 16] = "";

	*ret = (struct watch_link){ 0 };
	if (driver->cuDeviceGetPCIBusId(name, sizeof(name), device) != CUDA_SUCCESS || !of_card(name, ret))
		of_software(driver, ret);
}
