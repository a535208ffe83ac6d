/* partition.c: see partition.h. */
#include "daemon/health/partition.h"

#include <ctype.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "CPX" of the card at this place. False: it cannot be cut, or there is no such card. */
static bool read_mode(const char *card, char mode[DEVICE_PART_BYTES])
{
	const char *folder = getenv("METE_PCI_DIR");
	char path[PATH_MAX];
	bool good;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s/current_compute_partition",
		 folder && *folder ? folder : "/sys/bus/pci/devices", card);
	f = fopen(path, "re");
	if (!f)
		return false;
	good = fscanf(f, "%11s", mode) == 1 && isupper((unsigned char)*mode);
	fclose(f);
	return good && strcmp(mode, "SPX") && strcmp(mode, "UNKNOWN");
}

json_t *partition_at(const char *address)
{
	char card[DEVICE_PLACE_BYTES], mode[DEVICE_PART_BYTES] = "";
	unsigned int domain, bus, device, function;

	if (sscanf(address, "%8x:%2x:%2x.%1x", &domain, &bus, &device, &function) != 4)
		return NULL;
	snprintf(card, sizeof(card), "%04x:%02x:%02x.0", domain, bus, device);
	return read_mode(card, mode) ? partition_answer(card, mode, (int)function) : NULL;
}

json_t *partition_answer(const char *of, const char *mode, int number)
{
	return json_pack("{s:s s:s s:o}", "of", of, "mode", mode, "number",
			 number < 0 ? json_null() : json_integer(number));
}

void partition_take(struct device *d, json_t *answer)
{
	const char *of = json_string_value(json_object_get(answer, "of")),
		   *mode = json_string_value(json_object_get(answer, "mode"));
	json_t *number = json_object_get(answer, "number");

	snprintf(d->part.of, sizeof(d->part.of), "%s", of ? of : "");
	snprintf(d->part.mode, sizeof(d->part.mode), "%s", mode ? mode : "");
	d->part.number = json_is_integer(number) ? (int)json_integer_value(number) : -1;
}

json_t *partition_json(const struct device *d)
{
	return *d->part.of ? partition_answer(d->part.of, d->part.mode, d->part.number) : json_null();
}
