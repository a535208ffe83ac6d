/* journal_ask.c: what is asked of the journal on the control socket. */
#include "daemon/ask.h"
#include "daemon/daemon.h"
#include "daemon/journal.h"

#include <string.h>

/* A whole number from 0 on; left alone when it is not given. Value: false when it was refused. */
static bool read_number(struct ask *ask, const char *key, uint64_t *ret)
{
	json_t *value = json_object_get(ask->request, key);

	if (!value)
		return true;
	if (!json_is_integer(value) || json_integer_value(value) < 0) {
		refuse(ask, CODE_MALFORMED, "\"%s\" must be a whole number from 0 on", key);
		return false;
	}
	*ret = (uint64_t)json_integer_value(value);
	return true;
}

static bool read_text(struct ask *ask, const char *key, const char **ret)
{
	json_t *value = json_object_get(ask->request, key);

	if (value && !json_is_string(value)) {
		refuse(ask, CODE_MALFORMED, "\"%s\" must be a text", key);
		return false;
	}
	*ret = json_string_value(value);
	return true;
}

/* A device of this machine; or one that it had, by its whole UUID. */
static bool find_device(struct ask *ask, const char *word, uint8_t uuid[DEVICE_UUID_BYTES])
{
	const struct machine *machine = &ask->daemon->machine;
	int found = device_find(machine->device, machine->device_count, word);
	char why[DEVICE_AMBIGUITY_BYTES];

	if (found >= 0)
		memcpy(uuid, machine->device[found].uuid, DEVICE_UUID_BYTES);
	else if (found == DEVICE_AMBIGUOUS)
		refuse(ask, CODE_AMBIGUOUS_DEVICE, "device %.64s: %s", word,
		       device_ambiguity(machine->device, machine->device_count, word, why));
	else if (device_uuid_parse(word, uuid))
		refuse(ask, CODE_UNKNOWN_DEVICE,
		       "device %.64s: this machine has none of that index or UUID: `mete devices` lists them", word);
	return !ask->answer;
}

enum verbs_result journal_ask(struct ask *ask)
{
	struct journal_query query = { .kind = -1 };
	const char *device = NULL, *kind = NULL;
	uint8_t uuid[DEVICE_UUID_BYTES];
	uint64_t limit = 0;

	if (!read_number(ask, "after", &query.after) || !read_number(ask, "limit", &limit) ||
	    !read_text(ask, "tenant", &query.tenant) || !read_text(ask, "device", &device) ||
	    !read_text(ask, "kind", &kind))
		return VERBS_ANSWERED;
	if (device) {
		if (!find_device(ask, device, uuid))
			return VERBS_ANSWERED;
		query.uuid = uuid;
	}
	if (kind) {
		query.kind = journal_kind_parse(kind);
		if (query.kind < 0)
			return refuse(ask, CODE_MALFORMED,
				      "kind %.32s: it must be grant, refusal, fault, device, action or daemon", kind);
	}
	query.limit = limit < JOURNAL_LINES ? (unsigned int)limit : JOURNAL_LINES;
	return answer(ask, journal_json(ask->daemon->journal, &query));
}
