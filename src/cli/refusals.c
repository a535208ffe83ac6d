/* refusals.c: see refusals.h. Whose refusal an event is: what stands before the words that meted puts into each. */
#include "cli/refusals.h"
#include "verb/choose.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char REFUSED[] = " was refused ";

/* "TENANT/DEVICE/pid 4711 (program)". Value: false: no refusal of a process. */
static bool origin(json_t *event, char *text, size_t size)
{
	const char *words = device_text(event, "text"), *end = strstr(words, REFUSED);

	if (!end)
		return false;
	snprintf(text, size, "%s/%s/%.*s", device_text(event, "tenant"), device_text(event, "device"),
		 (int)(end - words), words);
	return true;
}

static json_int_t first_time(json_t *event)
{
	json_int_t first = device_number(event, "first_time");

	return first ? first : device_number(event, "time");
}

static json_int_t times(json_t *event)
{
	json_int_t count = device_number(event, "count");

	return count > 0 ? count : 1;
}

/* `newest` is a copy of the list's own; what is known of the older one goes into it. */
static void fold(json_t *newest, json_t *older)
{
	json_object_set_new(newest, "count", json_integer(times(newest) + times(older)));
	if (first_time(older) < first_time(newest))
		json_object_set_new(newest, "first_time", json_integer(first_time(older)));
}

json_t *refusals_fold(json_t *events)
{
	json_t *list = json_array(), *seen = json_object(), *event;
	char key[512];

	/* From the newest to the oldest, so that the newest one of each origin is the one that is met first. */
	for (size_t i = json_array_size(events); list && seen && i--;) {
		event = json_array_get(events, i);
		if (json_is_object(event) && origin(event, key, sizeof(key))) {
			json_t *newest = json_object_get(seen, key);

			if (newest) {
				fold(newest, event);
				continue;
			}
			newest = json_copy(event);
			json_object_set_new(newest, "first_time", json_integer(first_time(event)));
			json_object_set(seen, key, newest);
			json_array_insert_new(list, 0, newest);
		} else {
			json_array_insert(list, 0, event);
		}
	}
	json_decref(seen);
	return list;
}

const char *refusals_times(json_t *event, char text[64])
{
	time_t first = (time_t)first_time(event), last = (time_t)device_number(event, "time");
	char since[32] = "";
	struct tm tm;

	*text = 0;
	if (times(event) < 2)
		return text;
	if (first && first != last && localtime_r(&first, &tm))
		strftime(since, sizeof(since), last - first < 86400 ? " since %H:%M:%S" : " since %F %H:%M", &tm);
	snprintf(text, 64, " (%lld times%s)", (long long)times(event), since);
	return text;
}
