/* room_test.c: how many shares fit, by a table. */
#include "base/tap.h"
#include "connect/kubernetes/room.h"

#include <string.h>

#define DEVICES(promised, cores, more)                                                                                 \
	"[{\"uuid\":\"GPU-a\",\"state\":\"active\",\"total_bytes\":17179869184,\"promised_bytes\":" promised           \
	",\"promised_cores\":" cores more "},"                                                                         \
	"{\"uuid\":\"GPU-b\",\"state\":\"active\",\"total_bytes\":8192,\"promised_bytes\":0,\"promised_cores\":0}]"

static const struct {
	const char *what, *share, *devices;
	bool overcommit;
	unsigned int fit;
	bool leaves;
	uint64_t stays_bytes;
} rows[] = {
	{ "a quarter fits four times", "[{\"device\":\"GPU-a\",\"mem_pct\":25}]", DEVICES("0", "0", ""), false, 4 },
	{ "a third, rounded down, three times", "[{\"device\":\"GPU-a\",\"mem_pct\":33.4}]", DEVICES("0", "0", ""),
	  false, 2 },
	{ "what is promised is gone", "[{\"device\":\"GPU-a\",\"mem_bytes\":4294967296}]",
	  DEVICES("4294967297", "0", ""), false, 2 },
	{ "one byte too little is too little", "[{\"device\":\"GPU-a\",\"mem_bytes\":4294967296}]",
	  DEVICES("12884901889", "0", ""), false, 0 },
	{ "time counts too", "[{\"device\":\"GPU-a\",\"mem_bytes\":512,\"cores\":30}]", DEVICES("0", "25", ""), false,
	  2 },
	{ "time exactly", "[{\"device\":\"GPU-a\",\"mem_bytes\":512,\"cores\":33.3}]", DEVICES("0", "0.1", ""), false,
	  3 },
	{ "no size is all that is left, once", "[{\"device\":\"GPU-a\"}]", DEVICES("1024", "0", ""), false, 1 },
	{ "nothing is left", "[{\"device\":\"GPU-a\"}]", DEVICES("17179869184", "0", ""), false, 0 },
	{ "more than the device has", "[{\"device\":\"GPU-b\",\"mem_bytes\":8704}]", DEVICES("0", "0", ""), true, 0 },
	{ "overcommitted: as many as are allowed", "[{\"device\":\"GPU-a\",\"mem_pct\":100,\"cores\":100}]",
	  DEVICES("17179869184", "100", ""), true, 9 },
	{ "at most so many", "[{\"device\":\"GPU-a\",\"mem_bytes\":512}]", DEVICES("0", "0", ""), false, 9 },
	{ "two devices: the scarcer counts",
	  "[{\"device\":\"GPU-a\",\"mem_bytes\":4096},{\"device\":\"GPU-b\",\"mem_bytes\":4096}]",
	  DEVICES("0", "0", ""), false, 2 },
	{ "a device that is gone", "[{\"device\":\"GPU-c\",\"mem_bytes\":4096}]", DEVICES("0", "0", ""), false, 0 },
	{ "native programs run unheld", "[{\"device\":\"GPU-a\",\"mem_bytes\":512,\"cores\":10}]",
	  DEVICES("0", "0", ",\"native\":\"allow\""), false, 0 },
	{ "no device", "[]", DEVICES("0", "0", ""), false, 0 },
	{ "memory that leaves: promises to others do not count", "[{\"device\":\"GPU-a\",\"mem_pct\":100}]",
	  DEVICES("17179869184", "0", ""), false, 9, true, 0 },
	{ "memory that leaves: what stays does", "[{\"device\":\"GPU-a\",\"mem_pct\":100}]",
	  DEVICES("12884901888", "0", ""), false, 2, true, UINT64_C(2147483648) },
	{ "memory that leaves: time does", "[{\"device\":\"GPU-a\",\"mem_pct\":100,\"cores\":30}]",
	  DEVICES("0", "25", ""), false, 2, true, 0 },
	{ "memory that leaves: more than the device has", "[{\"device\":\"GPU-b\",\"mem_bytes\":8704}]",
	  DEVICES("0", "0", ""), false, 0, true, 0 },
};

/* GPU-a has room for three of these, GPU-b for one, GPU-c for two; GPU-d is of another driver. */
static const char any_devices[] =
	"[{\"driver\":\"nvidia\",\"uuid\":\"GPU-a\",\"state\":\"active\",\"total_bytes\":8192,\"promised_bytes\":2048},"
	"{\"driver\":\"nvidia\",\"uuid\":\"GPU-b\",\"state\":\"active\",\"total_bytes\":8192,\"promised_bytes\":6144},"
	"{\"driver\":\"nvidia\",\"uuid\":\"GPU-c\",\"state\":\"active\",\"total_bytes\":8192,\"promised_bytes\":4096},"
	"{\"driver\":\"soft\",\"uuid\":\"GPU-d\",\"state\":\"active\",\"total_bytes\":8192,\"promised_bytes\":0}]";

static void test_any(void)
{
	json_t *devices = json_loads(any_devices, 0, NULL);
	struct room_share share = { json_loads("[{\"device\":\"GPU-a\",\"mem_bytes\":2048}]", 0, NULL) };
	struct room_share large = { json_loads("[{\"device\":\"GPU-a\",\"mem_bytes\":8192}]", 0, NULL) };
	struct room_share two = { json_loads("[{\"device\":\"GPU-a\"},{\"device\":\"GPU-b\"}]", 0, NULL) };
	const char *picked;

	tap_ok(room_count_any(&share, devices, "nvidia", 9) == 6, "any device: all of the driver's together");
	tap_ok(room_count_any(&share, devices, "nvidia", 5) == 5, "at most so many on all of them");
	tap_ok(room_count_any(&share, devices, "soft", 9) == 4, "another driver's are its own");
	tap_ok(!room_count_any(&two, devices, "nvidia", 9), "a share of two devices is not of any");
	picked = room_pick(&share, devices, "nvidia", false);
	tap_ok(picked && !strcmp(picked, "GPU-b"), "packed: the fullest that has room");
	picked = room_pick(&share, devices, "nvidia", true);
	tap_ok(picked && !strcmp(picked, "GPU-a"), "spread: the emptiest");
	tap_ok(!room_pick(&large, devices, "nvidia", false), "it fits nowhere");
	json_object_set_new(json_array_get(devices, 1), "state", json_string("cordoned"));
	picked = room_pick(&share, devices, "nvidia", false);
	tap_ok(picked && !strcmp(picked, "GPU-c"), "not on one that is out of service");
	large.overcommit = true;
	picked = room_pick(&large, devices, "nvidia", false);
	tap_ok(picked && !strcmp(picked, "GPU-a"), "overcommitted: the first in service");
	large.overcommit = false;
	large.leaves = true;
	picked = room_pick(&large, devices, "nvidia", false);
	tap_ok(picked && !strcmp(picked, "GPU-c"), "memory that leaves: the fullest in service");
	json_decref(devices);
	json_decref(share.rows);
	json_decref(large.rows);
	json_decref(two.rows);
}

int main(void)
{
	json_t *drained = json_loads("[{\"uuid\":\"GPU-a\",\"state\":\"drained\",\"total_bytes\":8192}]", 0, NULL);
	struct room_share share = { json_loads("[{\"device\":\"GPU-a\",\"mem_bytes\":512}]", 0, NULL), true };

	tap_begin();
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		json_t *devices = json_loads(rows[i].devices, 0, NULL);
		struct room_share asked = { .rows = json_loads(rows[i].share, 0, NULL),
					    .overcommit = rows[i].overcommit,
					    .leaves = rows[i].leaves,
					    .stays_bytes = rows[i].stays_bytes };
		unsigned int fit = room_count(&asked, devices, 9);

		tap_ok(asked.rows && devices && fit == rows[i].fit, "%s: %u", rows[i].what, fit);
		json_decref(asked.rows);
		json_decref(devices);
	}
	tap_ok(!room_count(&share, drained, 9), "a drained device has no room, overcommitted or not");
	json_decref(drained);
	json_decref(share.rows);
	test_any();
	return tap_end();
}
