/* terms.c: shares of a device's time in requests and answers. */
#include "daemon/turns/terms.h"

#include "daemon/tenants/client.h"
#include "daemon/daemon.h"
#include "daemon/journal.h"
#include "daemon/log.h"
#include "daemon/store/store.h"
#include "daemon/tenants/limit.h"
#include "daemon/tenants/tenant.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *const words[] = { "policy", "cores", "cores_limit", "weight", "class", "turn_ms", "frozen" };

bool terms_given(json_t *entry)
{
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (json_object_get(entry, words[i]))
			return true;
	return false;
}

/* The words. Value: false when they were refused. */

static bool read_number(struct ask *ask, json_t *entry, const char *key, double *ret)
{
	json_t *value = json_object_get(entry, key);

	if (!value)
		return true;
	if (!json_is_number(value) || !(json_number_value(value) > 0)) {
		refuse(ask, "bad-share", "\"%s\" must be a number above 0", key);
		return false;
	}
	*ret = json_number_value(value);
	return true;
}

static bool read_policy(struct ask *ask, json_t *entry, int *ret)
{
	json_t *value = json_object_get(entry, "policy");
	const char *name = json_string_value(value), *nearest = NULL;

	if (!value)
		return true;
	*ret = name ? policy_parse(name, &nearest) : -1;
	if (*ret >= 0)
		return true;
	if (nearest)
		refuse(ask, "bad-share", "policy %.32s: there is none of that name: did you mean %s?", name, nearest);
	else
		refuse(ask, "bad-share", "policy %.32s: there is none of that name: `mete policy` lists them",
		       name ? name : "?");
	return false;
}

static bool read_class(struct ask *ask, json_t *entry, int *ret)
{
	json_t *value = json_object_get(entry, "class");
	const char *name = json_string_value(value);

	if (!value)
		return true;
	*ret = name ? policy_class_parse(name) : -1;
	if (*ret >= 0)
		return true;
	refuse(ask, "bad-share", "class %.32s: it must be high, normal or low", name ? name : "?");
	return false;
}

static bool read_words(struct ask *ask, json_t *entry, struct policy_wish *w)
{
	double weight = w->weight, turn_ms = (double)w->turn_ns / 1e6;

	if (!read_policy(ask, entry, &w->policy) || !read_class(ask, entry, &w->class) ||
	    !read_number(ask, entry, "cores", &w->cores_pct) ||
	    !read_number(ask, entry, "cores_limit", &w->limit_pct) || !read_number(ask, entry, "weight", &weight) ||
	    !read_number(ask, entry, "turn_ms", &turn_ms))
		return false;
	w->weight = weight < 1e6 ? (uint32_t)weight : 1000000;
	if (weight > 0 && !w->weight) {
		refuse(ask, "bad-share", "\"weight\" must be a whole number from 1");
		return false;
	}
	w->turn_ns = turn_ms < 1e9 ? (uint64_t)(turn_ms * 1e6) : 1000000000000000;
	return true;
}

static bool nothing_asked(const struct policy_wish *w)
{
	return w->policy < 0 && w->cores_pct == 0 && w->limit_pct == 0 && !w->weight && w->class < 0 && !w->turn_ns;
}

/* An entry that names no policy: the device's default where it takes the words, else what they imply. */
static int resolve_new(struct daemon *daemon, const struct device *device, struct policy_wish *w,
		       struct arbiter_terms *ret, char *error, size_t size)
{
	struct policy_wish with_default = *w;
	enum policy policy;
	int r;

	with_default.policy = terms_default(daemon, device->uuid);
	if (w->policy < 0 && (!policy_terms(&with_default, &policy, ret, error, size) || nothing_asked(w))) {
		*w = with_default;
		return policy_terms(w, &policy, ret, error, size);
	}
	r = policy_terms(w, &policy, ret, error, size);
	w->policy = (int)policy;
	return r;
}

/* What was said before and is not said now goes where the policy is another that has no use for it. */
static int resolve_changed(json_t *entry, struct policy_wish *w, struct arbiter_terms *ret, char *error, size_t size)
{
	struct policy_wish said = *w;
	const bool may_drop[] = { !json_object_get(entry, "turn_ms"), !json_object_get(entry, "weight"),
				  !json_object_get(entry, "cores_limit"), !json_object_get(entry, "cores"),
				  !json_object_get(entry, "class") };
	unsigned int choices = json_object_get(entry, "policy") ? 1u << 5 : 1;
	enum policy policy;
	char first[512] = "";

	if (w->policy == POLICY_NATIVE && !json_object_get(entry, "policy"))
		said.policy = -1; /* it follows from the words */
	for (unsigned int drop = 0; drop < choices; drop++) {
		char *to = drop ? error : first;

		for (unsigned int i = 0; i < 5; i++)
			if ((drop >> i & 1) && !may_drop[i])
				goto next;
		*w = said;
		w->turn_ns = drop & 1 ? 0 : w->turn_ns;
		w->weight = drop & 2 ? 0 : w->weight;
		w->limit_pct = drop & 4 ? 0 : w->limit_pct;
		w->cores_pct = drop & 8 ? 0 : w->cores_pct;
		w->class = drop & 16 ? -1 : w->class;
		if (!policy_terms(w, &policy, ret, to, drop ? size : sizeof(first))) {
			w->policy = (int)policy;
			return 0;
		}
	next:;
	}
	snprintf(error, size, "%s", first);
	return -1;
}

static bool fits(struct ask *ask, const struct device *device, const struct grant_compute *c, bool overcommit,
		 const struct tenant *self)
{
	uint32_t others = daemon_promised_ppm(ask->daemon, device->uuid, self), left;

	if (policy_fits(others, c->terms.guarantee_ppm, overcommit, &left))
		return true;
	refuse(ask, "over-promised",
	       "device %u (%s): %.4g %% of its time is not guaranteed to others yet, asked were %.4g %%: ask for less, "
	       "lower or delete a grant (`mete ps`), or overcommit",
	       device->index, device->name, left / 1e4, c->terms.guarantee_ppm / 1e4);
	return false;
}

/* Where programs without a share run unheld nobody's share can be held, so none is promised. */
static bool native_runs(struct ask *ask, const struct device *device, bool overcommit)
{
	if (overcommit || !store_native(ask->daemon->store, device->uuid))
		return false;
	refuse(ask, "native-runs",
	       "device %u (%s): programs of policy native run unheld here (`mete policy`), so no share of its time can "
	       "be guaranteed: have the operator say `mete policy %u --native hold`, use another device, or ask for "
	       "no --cores",
	       device->index, device->name, device->index);
	return true;
}

static bool may_class(struct ask *ask, enum arbiter_class class)
{
	if (class != ARBITER_HIGH || ask_is_owner(ask))
		return true;
	refuse(ask, "not-yours", "class high: %s may give it: ask them, or use class normal with --cores",
	       ask_owners());
	return false;
}

bool terms_read(struct ask *ask, json_t *entry, const struct device *device, const struct grant_compute *old,
		bool overcommit, const struct tenant *self, struct grant_compute *ret)
{
	struct grant_compute c = { .wish = { .policy = -1, .class = -1 } };
	json_t *frozen = json_object_get(entry, "frozen");
	char error[512];
	int r;

	if (old)
		c = *old;
	if (!read_words(ask, entry, &c.wish))
		return false;
	if (frozen && (!json_is_boolean(frozen) || !old)) {
		refuse(ask, "malformed", "\"frozen\" must be true or false, and of a grant that is there");
		return false;
	}
	r = old ? resolve_changed(entry, &c.wish, &c.terms, error, sizeof(error))
		: resolve_new(ask->daemon, device, &c.wish, &c.terms, error, sizeof(error));
	if (r) {
		refuse(ask, "bad-share", "device %u: %s", device->index, error);
		return false;
	}
	c.terms.frozen = frozen ? json_is_true(frozen) : old && old->terms.frozen;
	if (c.terms.frozen && !c.terms.gated) {
		refuse(ask, "bad-share",
		       "device %u: policy native holds nothing up: give another one (--policy fair), "
		       "then freeze",
		       device->index);
		return false;
	}
	/* What it has it may keep, whoever asks and whatever others were guaranteed on top of it. */
	if ((!old || c.terms.class != old->terms.class) && !may_class(ask, c.terms.class))
		return false;
	if (c.terms.guarantee_ppm > (old ? old->terms.guarantee_ppm : 0) &&
	    (native_runs(ask, device, overcommit) || !limit_check_ppm(ask, device, c.terms.guarantee_ppm, self) ||
	     !fits(ask, device, &c, overcommit, self)))
		return false;
	*ret = c;
	return true;
}

/* Answers. */

static json_t *percent(double part)
{
	return part < 0 ? json_null() : json_real(part * 100);
}

/* What the tier in force cannot do for this tenant. */
static const char *tier_note(const struct engine_reading *r, bool native)
{
	if (native)
		return "policy native, but this device's time is shared out: it gets what guarantees leave, as policy "
		       "fair does";
	if (r->bypassed)
		return "some launches passed a closed gate: work that others wait for is not held up for ever";
	if (r->sliced && r->sliced == r->seats)
		return "hardware time slices, accepted by the driver; their effect is not proven (docs/tiers.md)";
	if (r->is_long)
		return "kernels longer than a turn run to their end: the share holds over longer times";
	return "a kernel that runs is not interrupted; work that bypasses the shim (static linking, direct ioctl) is "
	       "not "
	       "seen";
}

static void got_json(struct tenant *tenant, unsigned int i, json_t *json)
{
	struct engine_reading r;
	json_t *got;

	if (!arbitrate_read(tenant, i, WIRE_COMPUTE, &r)) {
		json_object_set_new(json, "tier", json_string("none"));
		json_object_set_new(json, "tier_note",
				    json_string("policy native: the device's time is not shared out"));
		return;
	}
	got = json_pack("{s:s s:s s:o s:o s:o s:o s:o s:f s:f s:f s:I s:f s:I}", "tier",
			r.sliced && r.sliced == r.seats ? "T3" : "T2", "tier_note",
			tier_note(&r, arbitrate_holds_native(tenant, i)), "share_1s", percent(r.share_1s), "share_10s",
			percent(r.share_10s), "share_60s", percent(r.share_60s), "wanted_10s", percent(r.wanted_10s),
			"wait_10s", percent(r.waited_10s), "wait_ms_total", (double)r.total.waited_ns / 1e6,
			"charged_ms", (double)r.total.charged_ns / 1e6, "longest_ms", (double)r.longest_ns / 1e6,
			"bypassed", (json_int_t)r.bypassed, "lag_ms", (double)r.total.lag_ns / 1e6, "turns",
			(json_int_t)r.total.turns);
	if (got)
		json_object_update(json, got);
	json_decref(got);
}

void terms_json(struct tenant *tenant, unsigned int i, json_t *json)
{
	const struct grant_compute *c = &tenant->grant.share[i].compute;
	json_t *said = json_pack(
		"{s:s s:o s:f s:o s:s s:o s:b s:b}", "policy", policy_name((enum policy)c->wish.policy), "cores",
		c->terms.guarantee_ppm ? json_real(c->terms.guarantee_ppm / 1e4) : json_null(), "cores_limit",
		c->terms.limit_ppm / 1e4, "weight", c->terms.weight ? json_integer(c->terms.weight) : json_null(),
		"class", policy_class_name(c->terms.class), "turn_ms",
		c->terms.turn_ns ? json_real((double)c->terms.turn_ns / 1e6) : json_null(), "frozen", c->terms.frozen,
		"held_back", arbitrate_holds_native(tenant, i));

	if (said)
		json_object_update(json, said);
	json_decref(said);
	got_json(tenant, i, json);
}

void terms_client_json(struct client *client, unsigned int i, json_t *json)
{
	json_object_set_new(json, "share_10s", percent(arbitrate_client_share(client, i)));
}

/* Defaults. */

enum policy terms_default(struct daemon *daemon, const uint8_t uuid[DEVICE_UUID_BYTES])
{
	int policy = store_policy(daemon->store, uuid);

	return policy < 0 ? POLICY_NATIVE : (enum policy)policy;
}

void terms_set_default(struct ask *ask, const struct device *device)
{
	char error[512];
	int policy = -1;

	if (!json_object_get(ask->request, "policy")) {
		refuse(ask, "malformed", "the request names no \"policy\"");
		return;
	}
	if (!read_policy(ask, ask->request, &policy))
		return;
	if (store_set_policy(ask->daemon->store, device->uuid, (enum policy)policy, error, sizeof(error))) {
		refuse(ask, "store", "%s", error);
		return;
	}
	arbitrate_natives(ask->daemon, NULL);
	log_line("device %u: policy %s for grants that name none, by uid %u", device->index,
		 policy_name((enum policy)policy), (unsigned int)ask->asker->uid);
	journal_add(ask->daemon, JOURNAL_ACTION, NULL, device->uuid, "policy %s for grants that name none, by uid %u",
		    policy_name((enum policy)policy), (unsigned int)ask->asker->uid);
}

void terms_set_native(struct ask *ask, const struct device *device)
{
	const char *word = json_string_value(json_object_get(ask->request, "native"));
	uint32_t promised = daemon_promised_ppm(ask->daemon, device->uuid, NULL);
	bool allow = word && !strcmp(word, "allow");
	char error[512];

	if (!allow && (!word || strcmp(word, "hold"))) {
		refuse(ask, "malformed", "\"native\" must be \"allow\" or \"hold\"");
		return;
	}
	if (allow && promised) {
		refuse(ask, "over-promised",
		       "device %u (%s): %.4g %% of its time is guaranteed to grants, which nobody could hold if native "
		       "ran unheld: end or change those first (`mete ps`)",
		       device->index, device->name, promised / 1e4);
		return;
	}
	if (store_set_native(ask->daemon->store, device->uuid, allow, error, sizeof(error))) {
		refuse(ask, "store", "%s", error);
		return;
	}
	arbitrate_natives(ask->daemon, NULL);
	journal_add(ask->daemon, JOURNAL_ACTION, NULL, device->uuid, "programs of policy native %s, by uid %u",
		    allow ? "run unheld" : "are held back", (unsigned int)ask->asker->uid);
	log_line("device %u: programs of policy native %s, by uid %u", device->index,
		 allow ? "run unheld, and no share can be guaranteed" : "are held back where time is shared out",
		 (unsigned int)ask->asker->uid);
}
