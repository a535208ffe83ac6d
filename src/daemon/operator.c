/* operator.c: see operator.h. */
#include "daemon/operator.h"

#include "daemon/daemon.h"
#include "daemon/http/audit.h"
#include "daemon/tenants/tenant.h"

#include <stdio.h>

/* What was asked, but for what the entry says anyway. */
static json_t *words_of(const struct ask *ask)
{
	static const char *const said[] = { "op", "name", "device", "known" };
	json_t *words = json_copy(ask->request);

	for (size_t i = 0; i < sizeof(said) / sizeof(*said); i++)
		json_object_del(words, said[i]);
	return words;
}

bool operator_begin(struct ask *ask, const char *action, const char *target, uint64_t *ret_id)
{
	char who[64], error[512];
	struct audit_entry entry = { .who = who, .action = action, .target = target };
	json_t *words;
	int r;

	*ret_id = 0;
	if (!ask->asker->control || !ask_is_owner(ask))
		return true;
	snprintf(who, sizeof(who), "uid %u, pid %d", (unsigned int)ask->asker->uid, (int)ask->asker->pid);
	words = words_of(ask);
	if (json_object_size(words))
		entry.request = words;
	r = audit_begin(ask->daemon->state_dir, &entry, ret_id, error, sizeof(error));
	json_decref(words);
	if (r)
		refuse(ask, CODE_STORE, "%s", error);
	return !r;
}

bool operator_begin_other(struct ask *ask, const char *action, const struct tenant *t, uint64_t *ret_id)
{
	*ret_id = 0;
	return t->grant.uid == ask->asker->uid || operator_begin(ask, action, t->grant.name, ret_id);
}

void operator_end(struct ask *ask, uint64_t id, const char *error)
{
	if (id)
		audit_end(ask->daemon->state_dir, id, error ? error : "done");
}
