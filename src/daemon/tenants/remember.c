/* remember.c: see remember.h. */
#include "daemon/tenants/remember.h"

#include "daemon/daemon.h"
#include "daemon/journal.h"
#include "daemon/tenants/tenant.h"

#include <stdio.h>
#include <string.h>

/* A device is named as the tenant's own events name it. */
static void remember(struct tenant *t, const struct journal_line *line)
{
	const struct grant_share *share = line->has_device ? grant_find_share(&t->grant, line->uuid) : NULL;
	char text[JOURNAL_TEXT_BYTES + 32]; /* cut short where it is kept */

	if (share)
		snprintf(text, sizeof(text), "device %u: %s", share->device.index, line->text);
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
