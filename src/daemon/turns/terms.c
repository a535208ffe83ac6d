/* terms.c: shares of a device's time in requests and answers. */
#include "daemon/turns/terms.h"

#include "daemon/tenants/client.h"
#include "daemon/daemon.h"
#include "daemon/journal.h"
#include "daemon/log.h"
#include "daemon/owner.h"
#include "daemon/store/store.h"
#include "daemon/tenants/limit.h"
#include "daemon/tenants/tenant.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PLACES_KEPT 32u /* of a device's, for grants of owners */
#define FROZEN "frozen" /* is no word of policies: any grant that is gated may be */

bool terms_given(json_t *entry)
{
	for (size_t i = 0; i < SHARE_WORD_COUNT; i++)
		if (json_object_get(entry, word_table[i].key))
			return true;
	return json_object_get(entry, FROZEN);
}

/* The words. Value: false when they were refused. */

static bool read_number(struct ask *ask, const struct share_word *word, json_t *value, struct policy_wish *w)
{
	if (!json_is_number(value) || !(json_number_value(value) > 0)) {
		refuse(ask, CODE_BAD_SHARE, "\"%s\" must be a number above 0", word->key);
		return false;
	}
	if (word_set_number(word, w, json_number_value(value)))
		return true;
	refuse(ask, CODE_BAD_SHARE, "\"%s\" must be a whole number from 1", word->key);
	return false;
}

static bool read_name(struct ask *ask, const struct share_word *word, json_t *value, struct policy_wish *w)
{
	const char *name = json_string_value(value), *nearest = NULL;

	if (name && word_set_name(word, w, name, &nearest))
		return true;
	if (word->type == WORD_CLASS)
		refuse(ask, CODE_BAD_SHARE, "class %.32s: it must be high, normal or low", name ? name : "?");
	else if (nearest)
		refuse(ask, CODE_BAD_SHARE, "policy %.32s: there is none of that name: did you mean %s?", name,
		       nearest);
	else
		refuse(ask, CODE_BAD_SHARE, "policy %.32s: there is none of that name: `mete policy` lists them",
		       name ? name : "?");
	return false;
}

static bool read_words(struct ask *ask, json_t *entry, struct policy_wish *w)
{
	for (size_t i = 0; i < SHARE_WORD_COUNT; i++) {
		const struct share_word *word = &word_table[i];
		json_t *value = json_object_get(entry, word->key);

		if (value && !(word_is_name(word) ? read_name(ask, word, value, w) : read_number(ask, word, value, w)))
			return false;
	}
	return true;
}

/* An entry that names no policy: the device's default where it takes the words, else what they imply. */
static int resolve_new(struct daemon *daemon, const struct device *device, struct policy_wish *w,
		       struct arbiter_terms *ret, char *error, size_t size)
{
	struct policy_wish with_default = *w;
	enum policy policy;
	int r;

	with_default.policy = terms_default(daemon, device->uuid);
	if (w->policy < 0 && (!policy_terms(&with_default, &policy, ret, error, size) || !words_given(w))) {
		*w = with_default;
		return policy_terms(w, &policy, ret, error, size);
	}
	r = policy_terms(w, &policy, ret, error, size);
	w->policy = (int)policy;
	return r;
}

/* The words that a set of bits stands for, the last of the table first, and the policy never. */
static void drop_words(struct policy_wish *w, unsigned int drop)
{
	for (size_t i = SHARE_WORD_COUNT; i--;) {
		if (word_table[i].type == WORD_POLICY)
			continue;
		if (drop & 1)
			word_drop(&word_table[i], w);
		drop >>= 1;
	}
}

/* The words that were said before and are not said now, as such bits. */
static unsigned int words_unsaid(json_t *entry)
{
	unsigned int bits = 0, bit = 1;

	for (size_t i = SHARE_WORD_COUNT; i--;) {
		if (word_table[i].type == WORD_POLICY)
			continue;
		bits |= json_object_get(entry, word_table[i].key) ? 0 : bit;
		bit <<= 1;
	}
	return bits;
}

/* What was said before and is not said now goes where the policy is another that has no use for it. */
static int resolve_changed(json_t *entry, struct policy_wish *w, struct arbiter_terms *ret, char *error, size_t size)
{
	const bool other = json_object_get(entry, "policy");
	const unsigned int unsaid = words_unsaid(entry), sets = other ? 1u << (SHARE_WORD_COUNT - 1) : 1;
	struct policy_wish said = *w;
	enum policy policy;
	char none[512];

	if (w->policy == POLICY_NATIVE && !other)
		said.policy = -1; /* it follows from the words */
	for (unsigned int drop = 0; drop < sets; drop++) {
		if (drop & ~unsaid)
			continue;
		*w = said;
		drop_words(w, drop);
		if (!policy_terms(w, &policy, ret, drop ? none : error, drop ? sizeof(none) : size)) {
			w->policy = (int)policy;
			return 0;
		}
	}
	return -1; /* by what was said of the whole */
}

static bool fits(struct ask *ask, const struct device *device, const struct grant_compute *c, bool overcommit,
		 const struct tenant *self)
{
	uint32_t others = daemon_promised_ppm(ask->daemon, device->uuid, self), left;

	if (policy_fits(others, c->terms.guarantee_ppm, overcommit, &left))
		return true;
	refuse(ask, CODE_OVER_PROMISED,
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
	refuse(ask, CODE_NATIVE_RUNS,
	       "device %u (%s): programs of policy native run unheld here (`mete policy`), so no share of its time can "
	       "be guaranteed: have the operator say `mete policy %u --native hold`, use another device, or ask for "
	       "no --cores",
	       device->index, device->name, device->index);
	return true;
}

static unsigned int count_grants(const struct daemon *daemon, const struct device *device, const struct tenant *self)
{
	unsigned int n = 0;

	for (struct tenant *t = daemon->tenants; t; t = t->next)
		n += t != self && grant_find_share(&t->grant, device->uuid);
	return n;
}

static unsigned int most_grants(bool owner)
{
	return owner ? ARBITER_TENANTS : ARBITER_TENANTS - PLACES_KEPT;
}

/*
 * Time is shared out among so many grants, native ones as well: one more would be held to nothing, and would have
 * nothing of what it is guaranteed. Where it is not shared out yet, users leave what places it would take.
 */
static bool place_is_left(struct daemon *daemon, const struct device *device, const struct tenant *self, bool gated,
			  bool owner)
{
	bool shared = gated || daemon_shares_time(daemon, device->uuid, self) ||
		      terms_default(daemon, device->uuid) != POLICY_NATIVE;

	return (owner && !shared) || count_grants(daemon, device, self) < most_grants(owner);
}

static bool has_place(struct ask *ask, const struct device *device, const struct tenant *self, bool gated)
{
	unsigned int most = most_grants(ask_is_owner(ask));

	if (place_is_left(ask->daemon, device, self, gated, ask_is_owner(ask)))
		return true;
	refuse(ask, CODE_OVER_LIMIT,
	       "device %u (%s) has %u grants, among no more than %u its time can be shared out%s: delete some (`mete "
	       "ps`, `mete delete`), or take another device",
	       device->index, device->name, count_grants(ask->daemon, device, self), most,
	       ask_is_owner(ask) ? "" : " for others than root");
	return false;
}

static bool may_class(struct ask *ask, enum arbiter_class class)
{
	if (class != ARBITER_HIGH || ask_is_owner(ask))
		return true;
	refuse(ask, CODE_NOT_YOURS, "class high: %s may give it: ask them, or use class normal with --cores",
	       ask_owners());
	return false;
}

bool terms_read(struct ask *ask, json_t *entry, const struct device *device, const struct grant_compute *old,
		bool overcommit, const struct tenant *self, struct grant_compute *ret)
{
	struct grant_compute c = { 0 };
	json_t *frozen = json_object_get(entry, FROZEN);
	char error[512];
	int r;

	words_clear(&c.wish);
	if (old)
		c = *old;
	if (!read_words(ask, entry, &c.wish))
		return false;
	if (frozen && (!json_is_boolean(frozen) || !old)) {
		refuse(ask, CODE_MALFORMED, "\"frozen\" must be true or false, and of a grant that is there");
		return false;
	}
	r = old ? resolve_changed(entry, &c.wish, &c.terms, error, sizeof(error))
		: resolve_new(ask->daemon, device, &c.wish, &c.terms, error, sizeof(error));
	if (r) {
		refuse(ask, CODE_BAD_SHARE, "device %u: %s", device->index, error);
		return false;
	}
	c.terms.frozen = frozen ? json_is_true(frozen) : old && old->terms.frozen;
	if (c.terms.frozen && !c.terms.gated) {
		refuse(ask, CODE_BAD_SHARE,
		       "device %u: policy native holds nothing up: give another one (--policy fair), "
		       "then freeze",
		       device->index);
		return false;
	}
	if ((!old || c.terms.gated > old->terms.gated) && !has_place(ask, device, self, c.terms.gated))
		return false;
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

bool terms_admit(struct ask *ask, const struct device *device, const struct tenant *tenant)
{
	const struct grant_compute *c = &tenant->grant.share[0].compute;

	return has_place(ask, device, tenant, c->terms.gated) &&
	       (!c->terms.guarantee_ppm || (!native_runs(ask, device, tenant->grant.overcommit) &&
					    limit_check_ppm(ask, device, c->terms.guarantee_ppm, tenant) &&
					    fits(ask, device, c, tenant->grant.overcommit, tenant)));
}

bool terms_fit(const struct tenant *tenant, const struct device *device)
{
	const struct arbiter_terms *terms = &tenant->grant.share[0].compute.terms;
	struct daemon *daemon = tenant->daemon;

	if (!place_is_left(daemon, device, tenant, terms->gated, owner_is(tenant->grant.uid)))
		return false;
	return !terms->guarantee_ppm || tenant->grant.overcommit ||
	       (!store_native(daemon->store, device->uuid) &&
		policy_fits(daemon_promised_ppm(daemon, device->uuid, tenant), terms->guarantee_ppm, false, NULL));
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
	       "not seen";
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

/* null: nothing of it. */
static json_t *word_json(const struct share_word *word, const struct grant_compute *c)
{
	double x;

	if (word_is_name(word))
		return json_string(word_term_name(word, &c->wish, &c->terms));
	x = word_term_number(word, &c->wish, &c->terms);
	if (x == 0)
		return json_null();
	return word->type == WORD_COUNT ? json_integer((json_int_t)x) : json_real(x);
}

void terms_json(struct tenant *tenant, unsigned int i, json_t *json)
{
	const struct grant_compute *c = &tenant->grant.share[i].compute;

	for (size_t n = 0; n < SHARE_WORD_COUNT; n++)
		json_object_set_new(json, word_table[n].key, word_json(&word_table[n], c));
	json_object_set_new(json, FROZEN, json_boolean(c->terms.frozen));
	json_object_set_new(json, "held_back", json_boolean(arbitrate_holds_native(tenant, i)));
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

static bool read_policy(struct ask *ask, struct policy_wish *w)
{
	const struct share_word *word = word_table;

	while (word->type != WORD_POLICY)
		word++;
	return read_name(ask, word, json_object_get(ask->request, word->key), w);
}

void terms_set_default(struct ask *ask, const struct device *device)
{
	char error[512];
	struct policy_wish wish;

	words_clear(&wish);
	if (!json_object_get(ask->request, "policy")) {
		refuse(ask, CODE_MALFORMED, "the request names no \"policy\"");
		return;
	}
	if (!read_policy(ask, &wish))
		return;
	if (store_set_policy(ask->daemon->store, device->uuid, (enum policy)wish.policy, error, sizeof(error))) {
		refuse(ask, CODE_STORE, "%s", error);
		return;
	}
	arbitrate_natives(ask->daemon, NULL);
	log_line("device %u: policy %s for grants that name none, by uid %u", device->index,
		 policy_name((enum policy)wish.policy), (unsigned int)ask->asker->uid);
	journal_add(ask->daemon, JOURNAL_ACTION, NULL, device->uuid, "policy %s for grants that name none, by uid %u",
		    policy_name((enum policy)wish.policy), (unsigned int)ask->asker->uid);
}

void terms_set_native(struct ask *ask, const struct device *device)
{
	const char *word = json_string_value(json_object_get(ask->request, "native"));
	uint32_t promised = daemon_promised_ppm(ask->daemon, device->uuid, NULL);
	bool allow = word && !strcmp(word, "allow");
	char error[512];

	if (!allow && (!word || strcmp(word, "hold"))) {
		refuse(ask, CODE_MALFORMED, "\"native\" must be \"allow\" or \"hold\"");
		return;
	}
	if (allow && promised) {
		refuse(ask, CODE_OVER_PROMISED,
		       "device %u (%s): %.4g %% of its time is guaranteed to grants, which nobody could hold if native "
		       "ran unheld: end or change those first (`mete ps`)",
		       device->index, device->name, promised / 1e4);
		return;
	}
	if (store_set_native(ask->daemon->store, device->uuid, allow, error, sizeof(error))) {
		refuse(ask, CODE_STORE, "%s", error);
		return;
	}
	arbitrate_natives(ask->daemon, NULL);
	journal_add(ask->daemon, JOURNAL_ACTION, NULL, device->uuid, "programs of policy native %s, by uid %u",
		    allow ? "run unheld" : "are held back", (unsigned int)ask->asker->uid);
	log_line("device %u: programs of policy native %s, by uid %u", device->index,
		 allow ? "run unheld, and no share can be guaranteed" : "are held back where time is shared out",
		 (unsigned int)ask->asker->uid);
}
