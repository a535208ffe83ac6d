/* grant_ask.c: what is asked about grants that there are: showing, changing, binding, deleting, ending, releasing. */
#include "daemon/daemon.h"
#include "daemon/health/faults.h"
#include "daemon/journal.h"
#include "daemon/log.h"
#include "daemon/operator.h"
#include "daemon/store/store.h"
#include "daemon/tenants/client.h"
#include "daemon/tenants/container.h"
#include "daemon/tenants/end.h"
#include "daemon/tenants/grant_ask.h"
#include "daemon/tenants/limit.h"
#include "daemon/tenants/tenant.h"
#include "daemon/tenants/waiting.h"
#include "daemon/turns/terms.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#define NOTED "noted" /* in a request that is treated again: the entry of the log that it has */

enum verbs_result grants_ask(struct ask *ask)
{
	struct tenant *only = NULL;
	json_t *grants;

	if (json_is_string(json_object_get(ask->request, "name"))) {
		grant_asked(ask, &only);
		if (!only)
			return VERBS_ANSWERED;
	}
	grants = json_array();
	for (struct tenant *t = ask->daemon->tenants; t; t = t->next)
		if (!only || t == only)
			json_array_insert_new(grants, 0, grant_json(t)); /* the oldest first */
	return answer(ask, json_pack("{s:o s:o}", "grants", grants, "waiting", waiting_json(ask->daemon)));
}

/* What a request asks for a share of the grant that it names; quota 0: as it is. Value: false when it was refused. */
static bool read_quota(struct ask *ask, struct tenant *t, unsigned int i, json_t *entry, uint64_t *ret_units)
{
	const struct grant_share *share = &t->grant.share[i];
	uint64_t bytes, others = daemon_promised_bytes(ask->daemon, share->device.uuid, t) +
				 residence_occupied_bytes(ask->daemon, share->device.uuid, t->grant.uid);

	if (!grant_entry_bytes(ask, entry, &share->device, 0, &bytes))
		return false;
	/* What it has promised already it may keep, whatever others were promised on top of it. */
	if (bytes > share->ledger.quota_units * WIRE_UNIT_BYTES &&
	    (!limit_check_bytes(ask, &share->device, bytes, t) ||
	     !grant_check_fit(ask, &share->device, t->grant.spill ? 0 : others, bytes, t->grant.overcommit)))
		return false;
	*ret_units = bytes / WIRE_UNIT_BYTES;
	return true;
}

static bool read_changes(struct ask *ask, struct tenant *t, uint64_t quota_units[WIRE_MAX_DEVICES],
			 struct grant_compute compute[WIRE_MAX_DEVICES])
{
	json_t *entries = json_object_get(ask->request, "devices"), *entry;
	struct device list[WIRE_MAX_DEVICES];
	bool named[WIRE_MAX_DEVICES] = { 0 };
	size_t n;

	for (unsigned int i = 0; i < t->grant.share_count; i++)
		list[i] = t->grant.share[i].device;
	if (!json_is_array(entries) || !json_array_size(entries)) {
		refuse(ask, CODE_MALFORMED, "\"devices\" must be a list of at least one entry");
		return false;
	}
	json_array_foreach(entries, n, entry)
	{
		unsigned int i;

		if (!grant_entry_device(ask, entry, list, t->grant.share_count, "the grant", &i))
			return false;
		if (named[i]) {
			refuse(ask, CODE_MALFORMED, "device %u is named twice: name every device once", list[i].index);
			return false;
		}
		named[i] = true;
		if (!read_quota(ask, t, i, entry, &quota_units[i]) ||
		    !terms_read(ask, entry, &list[i], &compute[i], t->grant.overcommit, t, &compute[i]))
			return false;
		if (!quota_units[i] && !terms_given(entry)) {
			refuse(ask, CODE_MALFORMED,
			       "device %u: give \"mem_bytes\" or \"mem_pct\", or a share of its time", list[i].index);
			return false;
		}
	}
	return true;
}

bool grant_asked_to_change(struct ask *ask, struct tenant **ret)
{
	grant_asked(ask, ret);
	if (*ret && !grant_may_change(ask, *ret)) {
		grant_refuse_other(ask, *ret);
		return false;
	}
	return *ret;
}

/* Written down once, also when it is tried several times. */
static bool set_noted(struct ask *ask, const struct tenant *t, uint64_t *ret_id)
{
	bool good = true;

	if (ask->turn == VERBS_FIRST) {
		json_object_del(ask->request, NOTED);
		good = operator_begin_other(ask, "set", t, ret_id);
		json_object_set_new(ask->request, NOTED, json_integer((json_int_t)*ret_id));
	}
	*ret_id = (uint64_t)json_integer_value(json_object_get(ask->request, NOTED));
	return good;
}

enum verbs_result grant_set_ask(struct ask *ask)
{
	struct grant_compute compute[WIRE_MAX_DEVICES];
	uint64_t quota_units[WIRE_MAX_DEVICES] = { 0 };
	struct tenant *t = NULL;
	char error[512] = "";
	uint64_t id;
	int r;

	if (!grant_asked_to_change(ask, &t))
		return VERBS_ANSWERED;
	for (unsigned int i = 0; i < t->grant.share_count; i++)
		compute[i] = t->grant.share[i].compute;
	if (!read_changes(ask, t, quota_units, compute) || !set_noted(ask, t, &id))
		return VERBS_ANSWERED;
	r = tenant_change(t, quota_units, compute, json_is_true(json_object_get(ask->request, "soon")), error,
			  sizeof(error));
	if (r == -EAGAIN && ask->turn != VERBS_LAST)
		return VERBS_LATER;
	operator_end(ask, id, r == -EAGAIN ? "a program was taking memory" : r ? error : NULL);
	if (r == -EAGAIN)
		return refuse(ask, CODE_BUSY,
			      "grant %s: a program is taking memory right now: try again, or ask with --soon",
			      t->grant.name);
	if (r)
		return refuse(ask, r == -EBUSY ? CODE_BUSY : CODE_STORE, "%s", error);
	log_of(ask->asker->uid, "grant %s: changed by uid %u", t->grant.name, (unsigned int)ask->asker->uid);
	return answer(ask, json_pack("{s:o}", "grant", grant_json(t)));
}

bool grant_asked_drain(struct ask *ask, uint32_t *ret_s)
{
	json_t *drain = json_object_get(ask->request, "drain_s");

	*ret_s = (uint32_t)json_integer_value(drain);
	if (!drain || (json_is_integer(drain) && json_integer_value(drain) >= 1 &&
		       json_integer_value(drain) <= SUSPENSION_DRAIN_MOST_S))
		return true;
	refuse(ask, CODE_MALFORMED, "\"drain_s\" must be a whole number of seconds, 1 to %u", SUSPENSION_DRAIN_MOST_S);
	return false;
}

enum verbs_result grant_answer_moved(struct ask *ask, struct tenant *t, int r, uint64_t id, const char *error)
{
	operator_end(ask, id, r ? error : NULL);
	if (r)
		return refuse(ask,
			      r == -ENOTSUP ? CODE_NOT_MOVABLE
			      : r == -EBUSY ? CODE_BUSY
					    : CODE_STORE,
			      "%s", error);
	return answer(ask, json_pack("{s:o}", "grant", grant_json(t)));
}

enum verbs_result grant_suspend_ask(struct ask *ask)
{
	struct tenant *t = NULL;
	char error[512] = "";
	uint32_t drain_s;
	uint64_t id;
	int r;

	if (!grant_asked_to_change(ask, &t) || !grant_asked_drain(ask, &drain_s))
		return VERBS_ANSWERED;
	if (!operator_begin_other(ask, "suspend", t, &id))
		return VERBS_ANSWERED;
	r = suspension_begin(t, drain_s, error, sizeof(error));
	if (!r)
		log_of(ask->asker->uid, "grant %s: suspended by uid %u", t->grant.name, (unsigned int)ask->asker->uid);
	return grant_answer_moved(ask, t, r, id, error);
}

enum verbs_result grant_resume_ask(struct ask *ask)
{
	struct tenant *t = NULL;
	char error[512] = "";
	uint64_t id;
	int r;

	if (!grant_asked_to_change(ask, &t))
		return VERBS_ANSWERED;
	if (!operator_begin_other(ask, "resume", t, &id))
		return VERBS_ANSWERED;
	r = suspension_end(t, json_is_true(json_object_get(ask->request, "now")), error, sizeof(error));
	if (!r)
		log_of(ask->asker->uid, "grant %s: resumed by uid %u", t->grant.name, (unsigned int)ask->asker->uid);
	return grant_answer_moved(ask, t, r, id, error);
}

/* A container of the grant begins. */
enum verbs_result grant_bind_ask(struct ask *ask)
{
	struct tenant *t = NULL;

	if (!grant_asked_to_change(ask, &t))
		return VERBS_ANSWERED;
	return container_bind(ask, t) ? answer(ask, json_pack("{s:o}", "grant", grant_json(t))) : VERBS_ANSWERED;
}

/* Whose work it is, where that is known only after the grant was made. */
enum verbs_result grant_label_ask(struct ask *ask)
{
	struct tenant *t = NULL;

	if (!grant_asked_to_change(ask, &t))
		return VERBS_ANSWERED;
	if (!json_is_object(json_object_get(ask->request, "labels")))
		return refuse(ask, CODE_MALFORMED, "\"labels\" must be an object: container, pod and namespace");
	return container_label(ask, t) ? answer(ask, json_pack("{s:o}", "grant", grant_json(t))) : VERBS_ANSWERED;
}

enum verbs_result grant_delete_ask(struct ask *ask)
{
	struct tenant *t = NULL;
	char error[512];
	uint64_t id;

	if (!grant_asked_to_change(ask, &t))
		return VERBS_ANSWERED;
	if (t->clients || t->sessions)
		return refuse(ask, CODE_BUSY, "grant %s has running programs (%s is one): end them first",
			      t->grant.name, t->clients ? client_text(t->clients) : "one that is just starting");
	if (t->runner_fd >= 0 && ask->asker->pid != t->grant.runner_pid)
		return refuse(ask, CODE_BUSY, "grant %s belongs to the running command with pid %d: it ends with it",
			      t->grant.name, (int)t->grant.runner_pid);
	if (!operator_begin_other(ask, "delete", t, &id))
		return VERBS_ANSWERED;
	if (store_remove(ask->daemon->store, t->grant.id, error, sizeof(error))) {
		operator_end(ask, id, error);
		return refuse(ask, CODE_STORE, "%s", error);
	}
	operator_end(ask, id, NULL);
	log_of(ask->asker->uid, "grant %s deleted by uid %u", t->grant.name, (unsigned int)ask->asker->uid);
	journal_add_of(ask->daemon, ask->asker->uid, JOURNAL_GRANT, t->grant.name, NULL, "deleted by uid %u",
		       (unsigned int)ask->asker->uid);
	tenant_free(t, false);
	daemon_reap_soon(ask->daemon);
	return answer(ask, json_object());
}

enum verbs_result grant_end_ask(struct ask *ask)
{
	struct tenant *t = NULL;
	char who[ASK_WHO_BYTES + 32];
	uint64_t id;
	int r;

	if (!grant_asked_to_change(ask, &t))
		return VERBS_ANSWERED;
	if (ask->asker->who)
		ask_who(ask, who);
	else
		snprintf(who, sizeof(who), "uid %u, pid %d", (unsigned int)ask->asker->uid, (int)ask->asker->pid);
	if (!operator_begin(ask, "end", t->grant.name, &id))
		return VERBS_ANSWERED;
	r = end_begin(t, who);
	operator_end(ask, id, r ? "no memory" : NULL);
	return r ? refuse(ask, CODE_RUNTIME, "no memory") : answer(ask, json_object());
}

/* A quarantine protects others from the tenant, so it is not the tenant's to end. */
enum verbs_result grant_release_ask(struct ask *ask)
{
	struct tenant *t = NULL;
	uint64_t id;

	grant_asked(ask, &t);
	if (!t)
		return VERBS_ANSWERED;
	if (!ask_is_owner(ask))
		return refuse(ask, CODE_NOT_YOURS, "%s may end a quarantine", ask_owners());
	if (!operator_begin(ask, "release", t->grant.name, &id))
		return VERBS_ANSWERED;
	faults_release(t);
	operator_end(ask, id, NULL);
	log_line("grant %s: released by uid %u", t->grant.name, (unsigned int)ask->asker->uid);
	journal_add_of(ask->daemon, ask->asker->uid, JOURNAL_ACTION, t->grant.name, NULL,
		       "released by uid %u: programs may begin", (unsigned int)ask->asker->uid);
	return answer(ask, json_pack("{s:o}", "grant", grant_json(t)));
}
