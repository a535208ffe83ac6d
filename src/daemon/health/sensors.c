/* sensors.c: meted's side of sensors.h. */
#include "daemon/health/sensors.h"

#include "base/clock.h"
#include "daemon/daemon.h"

#include <stdlib.h>
#include <string.h>

#define STALE_NS 65000000000ull
#define RECENT_NS 15000000000ull

struct sensors {
	struct sensors *next;
	uint8_t uuid[DEVICE_UUID_BYTES];
	struct sensor_reading reading;
	uint64_t at_ns;
};

static struct sensors *find(const struct daemon *daemon, const uint8_t *uuid)
{
	struct sensors *s = daemon->sensors;

	while (s && memcmp(s->uuid, uuid, DEVICE_UUID_BYTES))
		s = s->next;
	return s;
}

static struct sensors *add(struct daemon *daemon, const uint8_t *uuid)
{
	struct sensors *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	memcpy(s->uuid, uuid, DEVICE_UUID_BYTES);
	s->next = daemon->sensors;
	daemon->sensors = s;
	return s;
}

void sensors_take(struct daemon *daemon, const uint8_t uuid[DEVICE_UUID_BYTES], const json_t *said)
{
	struct sensor_reading reading = { 0 };
	struct sensors *s = find(daemon, uuid);
	bool any = false;

	for (unsigned int i = 0; i < SENSORS; i++) {
		json_t *value = json_object_get(said, sensor_key((enum sensor)i));

		reading.known[i] = json_is_integer(value) && json_integer_value(value) >= 0 &&
				   json_integer_value(value) <= INT32_MAX;
		reading.value[i] = reading.known[i] ? (unsigned int)json_integer_value(value) : 0;
		any |= reading.known[i];
	}
	if (any && !s)
		s = add(daemon, uuid);
	if (!any || !s)
		return;
	s->reading = reading;
	s->at_ns = clock_now_ns();
}

bool sensors_get(const struct daemon *daemon, const uint8_t uuid[DEVICE_UUID_BYTES], enum sensor sensor,
		 unsigned int *ret)
{
	const struct sensors *s = find(daemon, uuid);

	if (!s || !s->reading.known[sensor] || clock_now_ns() - s->at_ns > STALE_NS)
		return false;
	*ret = s->reading.value[sensor];
	return true;
}

bool sensors_are_recent(const struct daemon *daemon, const uint8_t uuid[DEVICE_UUID_BYTES])
{
	const struct sensors *s = find(daemon, uuid);

	return s && clock_now_ns() - s->at_ns < RECENT_NS;
}

void sensors_free(struct daemon *daemon)
{
	while (daemon->sensors) {
		struct sensors *s = daemon->sensors;

		daemon->sensors = s->next;
		free(s);
	}
}
