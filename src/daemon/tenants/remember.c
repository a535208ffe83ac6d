/* remember.c: see remember.h. */
#include "daemon/tenants/remember.h"

#include "daemon/daemon.h"
#include "daemon/journal.h"
#include "daemon/tenants/tenant.h"

#include <stdio.h>
#include <string.h>

/* As the tenant's own events name the device. Value: -1: the grant has no share of it. */
static int index_of(const struct tenant *t, const uint8_t uuid[DEVICE_UUID_BYTES])
{
	for (unsigned int i = 0; i < t->grant.share_count; i++)
		if (!memcmp(t->grant.share[i].device.uuid, uuid, DEVICE_UUID_BYTES))
			return (int)t->grant.share[i].device.index;
	return -1;
}

static void remember(struct tenant *t, const struct journal_line *line)
{
	int device = line->has_device ? index_of(t, line->uuid) : -1;
	char text[JOURNAL_TEXT_BYTES + 32]; /* cut short where it is kept */

	if (device >= 0)
		snprintf(text, sizeof(text), "device %d: %s", device, line->text);
	else
		snprintf(text, sizeof(text), "%s", line->text);
	event_restore(&t->events, line->time, line->count, text);
}

void remember_events(struct daemon *daemon)
{
	const struct journal_line *line = NULL;

	for (struct tenant *t = daemon->tenants; t; t = t->next) {
		if (event_get(&t->events, 0))
			continue; /* handed over */
		/* Another grant may have had the name before. */
		while ((line = journal_next(daemon->journal, line)))
			if (line->first_time >= t->grant.created && !strcmp(line->tenant, t->grant.name))
				remember(t, line);
	}
}
