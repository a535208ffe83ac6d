/* room.c: see room.h. The arithmetic is meted's own: sizes in units of 512 bytes, time in millionths. */
#include "connect/kubernetes/room.h"

#include "model/placement.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#define UNIT 512

static json_t *device_of(json_t *devices, const char *uuid)
{
	json_t *device;
	size_t i;

	json_array_foreach (devices, i, device) {
		const char *own = json_string_value(json_object_get(device, "uuid"));

		if (own && uuid && !strcmp(own, uuid))
			return device;
	}
	return NULL;
}

static uint64_t bytes_of(json_t *object, const char *key)
{
	json_int_t n = json_integer_value(json_object_get(object, key));

	return n > 0 ? (uint64_t)n : 0;
}

static uint64_t ppm_of(json_t *object, const char *key)
{
	double percent = json_number_value(json_object_get(object, key));

	return percent > 0 ? (uint64_t)llround(percent * 1e4) : 0;
}

/* What one share takes of the device's memory; 0: all that is left. */
static uint64_t need_bytes(json_t *row, uint64_t total)
{
	double part = json_number_value(json_object_get(row, "mem_pct"));

	if (json_object_get(row, "mem_pct"))
		return (uint64_t)((double)(total / UNIT) * (part / 100.0)) * UNIT;
	return bytes_of(row, "mem_bytes") / UNIT * UNIT;
}

static uint64_t less(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* How many find the memory that they are promised. */
static uint64_t count_memory(const struct room_share *share, uint64_t need, uint64_t left, uint64_t most)
{
	if (share->leaves)
		return share->stays_bytes ? left / share->stays_bytes : most;
	return need ? left / need : left >= UNIT;
}

static uint64_t count_one(const struct room_share *share, json_t *row, json_t *device, uint64_t most)
{
	uint64_t total = bytes_of(device, "total_bytes"), promised = bytes_of(device, "promised_bytes");
	uint64_t need = need_bytes(row, total), left = total > promised ? total - promised : 0;
	uint64_t time = ppm_of(row, "cores"), taken = ppm_of(device, "promised_cores");
	uint64_t time_left = taken < 1000000 ? 1000000 - taken : 0;
	const char *state = json_string_value(json_object_get(device, "state"));
	const char *native = json_string_value(json_object_get(device, "native"));

	if (!state || strcmp(state, "active") || need > total)
		return 0;
	if (share->overcommit)
		return most;
	if (time && native && !strcmp(native, "allow"))
		return 0;
	most = less(most, count_memory(share, need, left, most));
	return time ? less(most, time_left / time) : most;
}

unsigned int room_count(const struct room_share *share, json_t *devices, unsigned int most)
{
	uint64_t count = json_array_size(share->rows) ? most : 0;
	json_t *row;
	size_t i;

	json_array_foreach (share->rows, i, row) {
		json_t *device = device_of(devices, json_string_value(json_object_get(row, "device")));

		count = device ? less(count, count_one(share, row, device, most)) : 0;
	}
	return (unsigned int)count;
}

static unsigned int count_on(const struct room_share *share, json_t *device, const char *driver, unsigned int most)
{
	const char *own = json_string_value(json_object_get(device, "driver"));

	if (!own || strcmp(own, driver) || json_array_size(share->rows) != 1)
		return 0;
	return (unsigned int)count_one(share, json_array_get(share->rows, 0), device, most);
}

unsigned int room_count_any(const struct room_share *share, json_t *devices, const char *driver, unsigned int most)
{
	uint64_t count = 0;
	json_t *device;
	size_t i;

	json_array_foreach (devices, i, device)
		count += count_on(share, device, driver, most);
	return (unsigned int)less(count, most);
}

static struct placement_card card_of(json_t *device)
{
	uint64_t total = bytes_of(device, "total_bytes"), promised = bytes_of(device, "promised_bytes");
	uint64_t taken = ppm_of(device, "promised_cores");
	const char *state = json_string_value(json_object_get(device, "state"));
	const char *native = json_string_value(json_object_get(device, "native"));

	return (struct placement_card){
		.total_bytes = total,
		.left_bytes = total > promised ? total - promised : 0,
		.left_ppm = taken < PLACEMENT_WHOLE_PPM ? (uint32_t)(PLACEMENT_WHOLE_PPM - taken) : 0,
		.state = !state || strcmp(state, "active")    ? PLACEMENT_CORDONED
			 : native && !strcmp(native, "allow") ? PLACEMENT_NATIVE
							      : PLACEMENT_ACTIVE,
		.name = "",
		.uuid = "",
		.group = -1,
	};
}

const char *room_pick(const struct room_share *share, json_t *devices, const char *driver, bool spread)
{
	struct placement_card card[PLACEMENT_CARDS];
	const char *uuid[PLACEMENT_CARDS];
	struct placement_node node = { .card = card, .cpu_left_milli = -1 };
	json_t *row = json_array_get(share->rows, 0), *device;
	struct placement_ask ask = { .bytes = bytes_of(row, "mem_bytes"),
				     .bytes_ppm = (uint32_t)ppm_of(row, "mem_pct"),
				     .time_ppm = (uint32_t)ppm_of(row, "cores"),
				     .overcommit = share->overcommit,
				     .leaves = share->leaves,
				     .stays_bytes = share->stays_bytes };
	struct placement_choice choice;
	size_t i;

	json_array_foreach (devices, i, device) {
		const char *own = json_string_value(json_object_get(device, "driver"));

		if (!own || strcmp(own, driver) || node.count == PLACEMENT_CARDS)
			continue;
		uuid[node.count] = json_string_value(json_object_get(device, "uuid"));
		card[node.count++] = card_of(device);
	}
	if (json_array_size(share->rows) != 1 || !node.count)
		return NULL;
	placement_choose(&node, &ask, spread ? PLACEMENT_SPREAD : PLACEMENT_BINPACK, NULL, 0, &choice);
	return choice.verdict.why == PLACEMENT_FITS ? uuid[choice.card[0]] : NULL;
}
