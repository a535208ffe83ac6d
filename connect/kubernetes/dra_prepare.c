/*
 * dra_prepare.c: see dra_state.h: kubelet prepares claims, and gives them back.
 *
 * A claim is read from the API server each time, and its UID compared: kubelet names it by name, and a name may belong
 * to another claim by now. Where the API server is away, a claim that was prepared before is answered for all the same,
 * from meted's ledger, so that a node's pods begin again without it.
 */
#include "connect/kubernetes/dra_state.h"

#include "base/clean_text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CLAIMS_MOST 256u

/* One claim of a request that is under way. */
struct asked {
	struct preparation *preparation;
	struct api_call *call;
	bool waits; /* for discovery */
	char namespace[64], name[254], uid[DRA_UID_MOST + 1];
};

struct preparation {
	struct preparation *next;
	struct dra *dra;
	struct grpc_later *later;
	json_t *entries;
	size_t left, count;
	struct asked asked[];
};

static json_t *entry(const char *uid, json_t *take_value)
{
	return json_pack("{s:s s:o}", "key", uid, "value", take_value);
}

static json_t *error_value(const char *line)
{
	char text[1024];

	snprintf(text, sizeof(text), "%s", line);
	clean_text_line(text);
	return json_pack("{s:s}", "error", text);
}

static void unlink_preparation(struct preparation *p)
{
	for (struct preparation **at = &p->dra->preparations; *at; at = &(*at)->next)
		if (*at == p) {
			*at = p->next;
			return;
		}
}

static void preparation_end(struct preparation *p)
{
	json_t *answer = json_pack("{s:O}", "claims", p->entries);

	unlink_preparation(p);
	grpc_later_answer(p->later, GRPC_OK, answer, "");
	json_decref(answer);
	json_decref(p->entries);
	agent_refresh_soon(p->dra->agent);
	free(p);
}

/* What stands in the answer for a claim; takes the value. */
static void settle(struct asked *q, json_t *take_value)
{
	struct preparation *p = q->preparation;
	const char *error = json_string_value(json_object_get(take_value, "error"));

	if (error)
		program_log("claim %s/%s is not prepared: %s", q->namespace, q->name, error);
	json_array_append_new(p->entries, entry(q->uid, take_value));
	if (!--p->left)
		preparation_end(p);
}

static const char *text_at(json_t *object, const char *a, const char *b)
{
	const char *text = json_string_value(json_object_get(json_object_get(object, a), b));

	return text ? text : "";
}

/* The one pod that the claim is for; where there are several there is none to name. */
static json_t *labels_of(const struct asked *q, json_t *claim)
{
	json_t *pods = json_object_get(json_object_get(claim, "status"), "reservedFor"), *pod = json_array_get(pods, 0);
	json_t *labels = json_pack("{s:s}", "namespace", q->namespace);

	if (json_array_size(pods) == 1 && !strcmp(device_text(pod, "resource"), "pods"))
		json_object_set(labels, "pod", json_object_get(pod, "name"));
	return labels;
}

static json_t *grant_value(struct dra *d, const struct asked *q, const struct dra_claim *c, json_t *object)
{
	json_t *labels = labels_of(q, object), *ids, *device;
	struct fault f = { .text = "" };
	int r = dra_grant_take(d, q->uid, c, labels, &f);
	size_t i;

	json_decref(labels);
	if (r)
		return error_value(f.text);
	ids = dra_cdi_ids(q->uid, c);
	json_array_foreach (c->devices, i, device)
		json_object_set(device, "cdi_device_ids", ids);
	json_decref(ids);
	return json_pack("{s:O}", "devices", c->devices);
}

static json_t *claim_value(struct dra *d, const struct asked *q, json_t *object)
{
	const char *uid = text_at(object, "metadata", "uid");
	struct fault f = { .text = "" };
	struct dra_claim c;
	json_t *value;

	if (strcmp(uid, q->uid)) {
		fault_set(
			&f, 0,
			"claim %s/%s has UID %.48s now, kubelet asks for %s: it was deleted and made anew, and the pod "
			"that waits for the old one can only be deleted",
			q->namespace, q->name, uid, q->uid);
		return error_value(f.text);
	}
	if (!d->agent->edits.machine)
		return error_value(*d->agent->said[AGENT_METED] ? d->agent->said[AGENT_METED]
								: "meted does not answer");
	value = dra_claim_read(&c, object, json_object_get(d->agent->edits.machine, "devices"), d->node, &f)
			? error_value(f.text)
			: grant_value(d, q, &c, object);
	dra_claim_free(&c);
	return value;
}

static void claim_came(void *owner, const struct api_answer *answer)
{
	struct asked *q = owner;
	struct dra *d = q->preparation->dra;
	json_t *devices;
	char line[640];

	q->call = NULL;
	if (answer->status == 200 && answer->body) {
		settle(q, claim_value(d, q, answer->body));
		return;
	}
	if (answer->status == 404) {
		snprintf(line, sizeof(line), "claim %s/%s is not there any more", q->namespace, q->name);
		settle(q, error_value(line));
		return;
	}
	devices = dra_grant_devices(d, q->uid);
	snprintf(line, sizeof(line), "claim %s/%s cannot be read: the API server's answer is no JSON", q->namespace,
		 q->name);
	settle(q, devices ? json_pack("{s:o}", "devices", devices) : error_value(*answer->line ? answer->line : line));
}

static bool take_asked(struct asked *q, json_t *claim)
{
	snprintf(q->namespace, sizeof(q->namespace), "%s", device_text(claim, "namespace"));
	snprintf(q->name, sizeof(q->name), "%s", device_text(claim, "name"));
	snprintf(q->uid, sizeof(q->uid), "%s", device_text(claim, "uid"));
	return dra_word_good(device_text(claim, "namespace"), sizeof(q->namespace) - 1) &&
	       dra_word_good(device_text(claim, "name"), sizeof(q->name) - 1) &&
	       dra_word_good(device_text(claim, "uid"), DRA_UID_MOST);
}

static void begin_one(struct asked *q)
{
	struct dra *d = q->preparation->dra;
	char path[512];
	json_t *devices;

	if (*d->version) {
		snprintf(path, sizeof(path), DRA_GROUP "/%s/namespaces/%s/resourceclaims/%s", d->version, q->namespace,
			 q->name);
		q->call = api_ask(d->api, "GET", path, NULL, claim_came, q);
		if (!q->call)
			settle(q, error_value("no memory"));
		return;
	}
	if (d->discovering) {
		q->waits = true;
		return;
	}
	devices = dra_grant_devices(d, q->uid);
	settle(q, devices ? json_pack("{s:o}", "devices", devices)
			  : error_value(*d->said ? d->said : "the API server was not reached yet; kubelet asks again"));
}

static struct asked *find_waiting(struct dra *d)
{
	for (struct preparation *p = d->preparations; p; p = p->next)
		for (size_t i = 0; i < p->count; i++)
			if (p->asked[i].waits)
				return &p->asked[i];
	return NULL;
}

void dra_prepare_waiting(struct dra *d)
{
	struct asked *q;

	while ((q = find_waiting(d))) {
		q->waits = false;
		begin_one(q);
	}
}

int dra_prepare(void *owner, json_t *request, json_t **ret, struct fault *f)
{
	json_t *claims = json_object_get(request, "claims"), *claim;
	size_t count = json_array_size(claims), i;
	struct preparation *p;
	struct dra *d = owner;

	if (count > CLAIMS_MOST) {
		fault_set(f, 0, "%zu claims in one request; at most %u", count, CLAIMS_MOST);
		return GRPC_EXHAUSTED;
	}
	p = calloc(1, sizeof(*p) + count * sizeof(struct asked));
	if (p)
		p->later = grpc_later(&d->plugin);
	if (!p || !p->later) {
		free(p);
		fault_set(f, 0, "no memory");
		return GRPC_EXHAUSTED;
	}
	p->dra = d;
	p->next = d->preparations;
	d->preparations = p;
	p->entries = json_array();
	/* One more than there are, so that none of them ends it before all have begun. */
	p->left = count + 1;
	p->count = count;
	if (!d->agent->edits.machine)
		agent_refresh(d->agent);
	json_array_foreach (claims, i, claim) {
		p->asked[i].preparation = p;
		if (take_asked(&p->asked[i], claim))
			begin_one(&p->asked[i]);
		else
			settle(&p->asked[i], error_value("kubelet's request names no claim: namespace, name or UID are "
							 "no such words"));
	}
	if (!--p->left)
		preparation_end(p);
	return GRPC_LATER;
}

int dra_unprepare(void *owner, json_t *request, json_t **ret, struct fault *f)
{
	json_t *entries = json_array(), *claim, *value;
	struct dra *d = owner;
	size_t i;

	json_array_foreach (json_object_get(request, "claims"), i, claim) {
		const char *uid = device_text(claim, "uid");
		struct fault own = { .text = "" };
		int r = dra_word_good(uid, DRA_UID_MOST) ? dra_grant_end(d, uid, true, &own)
							 : fault_set(&own, -EINVAL, "the claim's UID is none");

		value = r ? error_value(own.text) : json_object();
		if (r)
			program_log("claim %s is not given back yet: %s", uid, own.text);
		json_array_append_new(entries, entry(uid, value));
	}
	agent_refresh_soon(d->agent);
	*ret = json_pack("{s:o}", "claims", entries);
	return GRPC_OK;
}

void dra_prepare_close(struct dra *d)
{
	struct preparation *p;

	while ((p = d->preparations)) {
		unlink_preparation(p);
		for (size_t i = 0; i < p->count; i++)
			if (p->asked[i].call)
				api_cancel(p->asked[i].call);
		grpc_later_answer(p->later, GRPC_UNAVAILABLE, NULL, "mete-agent ends");
		json_decref(p->entries);
		free(p);
	}
}
