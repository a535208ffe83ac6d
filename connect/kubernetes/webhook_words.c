/* webhook_words.c: see webhook_words.h. */
#include "connect/kubernetes/webhook_words.h"

#include "base/size.h"
#include "connect/kubernetes/quantity.h"
#include "connect/kubernetes/webhook_pick.h"
#include "connect/kubernetes/webhook_place.h"
#include "connect/kubernetes/webhook_table.h"
#include "connect/kubernetes/webhook_work.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MIB (UINT64_C(1) << 20)

static const struct {
	const char *fraction, *memory, *devices, *container;
} kai = { "gpu-fraction", "gpu-memory", "gpu-fraction-num-devices", "gpu-fraction-container-name" };

/* Reading. */

/* A quantity as it stands there: a text, or a number. `text`: for what is said of it. */
static bool read_number(json_t *value, uint64_t *ret, char text[40])
{
	bool exact = false;

	if (json_is_integer(value)) {
		snprintf(text, 40, "%lld", (long long)json_integer_value(value));
		*ret = (uint64_t)json_integer_value(value);
		return json_integer_value(value) >= 0;
	}
	snprintf(text, 40, "%.38s", json_is_string(value) ? json_string_value(value) : "?");
	return json_is_string(value) && !quantity_units(json_string_value(value), ret, &exact) && exact;
}

static void note(struct ask *a, const char *name, const char *text)
{
	size_t used = strlen(a->text);

	snprintf(a->text + used, sizeof(a->text) - used, "%s%s=%s", used ? "," : "", name, text);
}

/* 100 of these units are a device. */
static bool take_units(struct work *w, struct ask *a, const char *field, uint64_t n)
{
	if (n > 100 && n % 100)
		return work_refuse(
			w, "%s: %llu is neither a part of a device (below 100) nor whole devices (a multiple of 100)",
			field, (unsigned long long)n);
	a->cards = n > 100 ? (unsigned int)(n / 100) : 1;
	a->cards_said = true;
	a->part_said |= n < 100;
	a->cores_pct = n < 100 ? (double)n : 0;
	snprintf(a->cores_field, sizeof(a->cores_field), "%s: %llu", field, (unsigned long long)n);
	return true;
}

static bool take_percent(struct work *w, const char *field, const char *text, uint64_t n, double *ret)
{
	if (n > 100)
		return work_refuse(w, "%s: %s is more than 100 percent", field, text);
	*ret = (double)n;
	return true;
}

/* Of a device that has so many parts; 0: percent. */
static bool take_cores(struct work *w, struct ask *a, const char *field, const char *text, uint64_t n, uint64_t parts)
{
	snprintf(a->cores_field, sizeof(a->cores_field), "%.160s: %s", field, text);
	if (!parts)
		return take_percent(w, field, text, n, &a->cores_pct);
	if (n > parts)
		return work_refuse(w, "%s: %s is more than a device has (%llu)", field, text,
				   (unsigned long long)parts);
	a->cores_pct = (double)n * 100 / (double)parts;
	return true;
}

static bool has_suffix(const char *text)
{
	char last = *text ? text[strlen(text) - 1] : 0;

	return (last >= 'A' && last <= 'Z') || (last >= 'a' && last <= 'z');
}

static bool take_memory(struct work *w, struct ask *a, const struct word *word, const char *field, const char *text,
			uint64_t n)
{
	uint64_t unit = word->meaning == MEMORY_OR_BYTES && has_suffix(text) ? 1 : word->unit;

	if (__builtin_mul_overflow(n, unit, &a->bytes) || a->bytes >= SIZE_LIMIT_BYTES)
		return work_refuse(w, "%s: %s is more than any device has", field, text);
	snprintf(a->memory_field, sizeof(a->memory_field), "%.160s: %s", field, text);
	return true;
}

static bool take_word(struct work *w, struct ask *a, const struct word *word, const char *field, json_t *value)
{
	char text[40];
	uint64_t n = 0;

	if (!read_number(value, &n, text))
		return work_refuse(w, "%s: %s is not a whole number", field, text);
	if (!n && word->meaning != PRIORITY && word->meaning != CORES)
		return work_refuse(w, "%s: 0 asks for nothing; leave it away", field);
	if (a->family && strcmp(a->family, word->family))
		return work_refuse(w, "%s: a word of %s beside words of %s (%s); give those of one", field,
				   word->family, a->family, a->text);
	a->family = word->family;
	a->vendor = word->vendor;
	a->whole = word->whole;
	note(a, word->name, text);
	a->part_said |= word->meaning != CARDS && word->meaning != UNITS_OF_A_CARD;
	switch (word->meaning) {
	case CARDS:
		if (n > 16)
			return work_refuse(w, "%s: %s devices in one container are more than a share can have (16)",
					   field, text);
		a->cards = (unsigned int)n;
		a->cards_said = true;
		snprintf(a->cards_field, sizeof(a->cards_field), "%s: %s", field, text);
		return true;
	case MEMORY:
	case MEMORY_OR_BYTES:
		return take_memory(w, a, word, field, text, n);
	case MEMORY_PCT:
		snprintf(a->memory_field, sizeof(a->memory_field), "%.160s: %s", field, text);
		return take_percent(w, field, text, n, &a->memory_pct);
	case CORES:
		return take_cores(w, a, field, text, n, word->unit);
	case UNITS_OF_A_CARD:
		return take_units(w, a, field, n);
	case PRIORITY:
		if (n > 1)
			return work_refuse(w, "%s: %s is neither 0 (high) nor 1 (low)", field, text);
		a->priority = (int)n;
		return true;
	}
	return true;
}

static json_t *limits_of(json_t *container, const char *kind)
{
	return json_object_get(json_object_get(container, "resources"), kind);
}

/* A name of ours among the container's resources; NULL: none. */
static const char *own_in(json_t *container)
{
	static const char *const kinds[] = { "limits", "requests" };
	const char *name;
	json_t *value;

	for (size_t i = 0; i < 2; i++)
		json_object_foreach(limits_of(container, kinds[i]), name,
				    value) if (!strncmp(name, OWN, strlen(OWN))) return name;
	return NULL;
}

static bool read_container(struct work *w, json_t *container, const char *where, struct ask *a)
{
	json_t *limits = limits_of(container, "limits"), *requests = limits_of(container, "requests");
	char field[160];

	*a = (struct ask){ .priority = -1 };
	for (size_t i = 0; i < table_count; i++) {
		json_t *limit = json_object_get(limits, table_words[i].name),
		       *request = json_object_get(requests, table_words[i].name);
		uint64_t one, other;
		char text[40], asked[40];

		if ((!limit && !request) ||
		    (table_words[i].vendor && !(w->options->vendors >> table_words[i].vendor & 1)))
			continue;
		snprintf(field, sizeof(field), "%s.resources.limits[%s]", where, table_words[i].name);
		if (!limit)
			return work_refuse(w, "%s: it stands in requests alone; give it as a limit", field);
		if (request &&
		    (!read_number(limit, &one, text) || !read_number(request, &other, asked) || one != other))
			return work_refuse(w, "%s: the request is another than the limit; give one figure", field);
		if (!take_word(w, a, &table_words[i], field, limit))
			return false;
	}
	return true;
}

/* A share for these. */

static bool judge(struct work *w, struct ask *a, const char *where)
{
	if (a->bytes && a->memory_pct > 0)
		return work_refuse(w, "%s: %s besides a part of the memory; give one of them", where, a->memory_field);
	if (!a->cards_said && !w->options->memory_alone &&
	    (!strncmp(a->family, "HAMi", 4) || !strcmp(a->family, "Volcano")))
		return work_refuse(w, "%s.resources.limits: %s without a number of devices; add %s: 1", where, a->text,
				   table_name_for(a->family, CARDS));
	if (!strcmp(a->family, "Tencent") && !a->cards_said)
		return work_refuse(w,
				   "%s.resources.limits: %s without tencent.com/vcuda-core; say how much of a device",
				   where, a->text);
	a->cards = a->cards_said ? a->cards : 1;
	if (a->whole && a->part_said && a->cards > 1)
		return work_refuse(
			w,
			"%s: with several devices of this kind the words of %s ask for whole ones; ask for a "
			"part of one device, or for the devices alone",
			a->cards_field, a->family);
	return true;
}

/* Changes. */

/* Whoever forges a review can write anything there. */
static json_t *object_copy(json_t *object)
{
	return json_is_object(object) ? json_deep_copy(object) : json_object();
}

static json_t *without_words(json_t *resources)
{
	json_t *copy = object_copy(resources);

	for (size_t i = 0; i < table_count; i++)
		json_object_del(copy, table_words[i].name);
	return copy;
}

static void change(struct work *w, json_t *container, const char *path, const struct words_share *s)
{
	json_t *resources = object_copy(json_object_get(container, "resources"));
	json_t *limits = without_words(limits_of(container, "limits"));
	json_t *requests = limits_of(container, "requests") ? without_words(limits_of(container, "requests")) : NULL;
	char name[64];

	snprintf(name, sizeof(name), OWN "%s", s->name);
	json_object_set_new(limits, name, json_string("1"));
	json_object_set_new(resources, "limits", limits);
	if (requests)
		json_object_set_new(requests, name, json_string("1"));
	if (requests)
		json_object_set_new(resources, "requests", requests);
	if (!w->answer->patch)
		w->answer->patch = json_array();
	json_array_append_new(w->answer->patch, json_pack("{s:s s:o s:o}", "op", "add", "path",
							  json_sprintf("%s/resources", path), "value", resources));
}

/* A share that is larger than what was asked for is said. */
static void tell(struct work *w, json_t *container, const char *asked, const char *is)
{
	const char *name = json_string_value(json_object_get(container, "name"));

	work_warn(w, "container %.63s: %s is %s", name ? name : "?", asked, is);
	json_object_set_new(w->asked, name ? name : "?", json_string(asked));
}

/* Claims. */

/* The container's resources without words, and with a claim of this pod's. */
static json_t *claiming(json_t *container, const char *claim)
{
	static const char *const kinds[] = { "limits", "requests" };
	json_t *resources = object_copy(json_object_get(container, "resources")), *list, *value;
	const char *name;
	void *next;

	for (size_t i = 0; i < 2; i++) {
		list = limits_of(container, kinds[i]);
		list = list ? without_words(list) : NULL;
		json_object_foreach_safe(list, next, name, value) if (!strncmp(name, OWN, strlen(OWN)))
			json_object_del(list, name);
		if (list)
			json_object_set_new(resources, kinds[i], list);
	}
	list = json_object_get(resources, "claims");
	list = json_is_array(list) ? json_incref(list) : json_array();
	json_array_append_new(list, json_pack("{s:s}", "name", claim));
	json_object_set_new(resources, "claims", list);
	return resources;
}

static bool give_claim(struct work *w, json_t *container, const char *path, const struct claims_ask *ask,
		       const char *asked)
{
	json_t *already = json_object_get(json_object_get(w->pod, "spec"), "resourceClaims"), *template;
	char name[CLAIMS_NAME], claim[32], is[CLAIMS_NAME + 32];

	template = claims_template(ask, name);
	if (!template)
		return work_refuse(w, "the webhook has no memory for a claim; try again");
	if (!w->claims)
		w->claims = json_is_array(already) ? json_copy(already) : json_array();
	snprintf(claim, sizeof(claim), "mete-%zu", json_array_size(w->claims));
	json_array_append_new(w->claims, json_pack("{s:s s:s}", "name", claim, "resourceClaimTemplateName", name));
	if (!w->answer->templates)
		w->answer->templates = json_object();
	json_object_set_new(w->answer->templates, name, template);
	if (!w->answer->patch)
		w->answer->patch = json_array();
	json_array_append_new(w->answer->patch,
			      json_pack("{s:s s:o s:o}", "op", "add", "path", json_sprintf("%s/resources", path),
					"value", claiming(container, claim)));
	snprintf(is, sizeof(is), "a claim by template %s", name);
	tell(w, container, asked, is);
	return true;
}

/* Bytes of a part of a card. Value: false: refused. */
static bool claim_bytes(struct work *w, const char *field, uint64_t bytes, double pct, uint64_t *ret)
{
	*ret = bytes;
	if (bytes || pct <= 0 || pct >= 100)
		return true;
	if (!w->options->card_bytes)
		return work_refuse(
			w, "%s: a claim needs a size; the operator says with --card-memory how much a card has", field);
	*ret = (uint64_t)ceil((double)w->options->card_bytes * pct / 100);
	return true;
}

/* Exactly what was asked for. */
static bool claim_words(struct work *w, json_t *container, const char *path, const struct ask *a)
{
	struct claims_ask ask = { .cards = a->cards,
				  .cores_pct = a->cores_pct,
				  .parameters = a->priority == 1 ? "{\"class\":\"low\"}" : "" };

	return claim_bytes(w, a->memory_field, a->bytes, a->memory_pct, &ask.bytes) &&
	       give_claim(w, container, path, &ask, a->text);
}

/* A named share of ours. One that a claim cannot say stays for the device plugin. */
static bool claim_share(struct work *w, json_t *container, const char *where, const char *path, const char *own)
{
	json_t *value = json_object_get(limits_of(container, "limits"), own);
	const struct words_share *s = NULL;
	char text[40], asked[96], field[160];
	struct claims_ask ask;
	uint64_t n = 0;

	for (unsigned int i = 0; i < w->options->count; i++)
		if (!strcmp(w->options->share[i].name, own + strlen(OWN)))
			s = &w->options->share[i];
	if (!s || !s->claimable || !value)
		return true;
	snprintf(field, sizeof(field), "%s.resources.limits[%.60s]", where, own);
	if (!read_number(value, &n, text) || n != 1)
		return work_refuse(w, "%s: %s: a container gets one share: ask for 1", field, text);
	ask = (struct claims_ask){ .cards = s->cards, .cores_pct = s->cores_pct, .parameters = s->parameters };
	snprintf(asked, sizeof(asked), "%.60s=1", own);
	return claim_bytes(w, field, s->bytes, s->memory_pct, &ask.bytes) &&
	       give_claim(w, container, path, &ask, asked);
}

static bool give(struct work *w, json_t *container, const char *where, const char *path, struct ask *a)
{
	const struct words_share *s;
	char is[104] = "share ";

	if (!judge(w, a, where))
		return false;
	if (w->options->claims && !a->vendor)
		return claim_words(w, container, path, a);
	s = pick_share(w, a, where);
	if (!s)
		return false;
	change(w, container, path, s);
	pick_say(s, is + strlen(is));
	tell(w, container, a->text, is);
	return true;
}

/* A number of devices and no more. */
static bool give_whole(struct work *w, json_t *container, const char *where, const char *path, struct ask *a)
{
	switch (w->options->whole) {
	case WORDS_WHOLE_PASS:
		return true;
	case WORDS_WHOLE_REFUSE:
		return work_refuse(
			w,
			"%s.resources.limits: %s asks for whole devices, which are not given here; ask for a part, "
			"such as %s",
			where, a->text, a->vendor ? table_name_for(a->family, MEMORY) : "nvidia.com/gpumem");
	default:
		a->memory_pct = a->cores_pct = 100;
		snprintf(a->memory_field, sizeof(a->memory_field), "%s.resources.limits: %s", where, a->text);
		return give(w, container, where, path, a);
	}
}

/* One share, once: what the agent or the runtime would refuse after the pod was placed is refused here. */
static bool judge_own(struct work *w, json_t *container, const char *where)
{
	const char *name, *first = NULL;
	json_t *value;
	char text[40];
	uint64_t n;

	json_object_foreach(limits_of(container, "limits"), name, value)
	{
		if (strncmp(name, OWN, strlen(OWN)))
			continue;
		if (!read_number(value, &n, text) || n > 1)
			return work_refuse(
				w,
				"%s.resources.limits[%s]: %s: a container gets one share: ask for 1, or for a larger "
				"share",
				where, name, text);
		if (first && n)
			return work_refuse(
				w, "%s.resources.limits[%s]: beside it stands %s, and a container gets one share",
				where, name, first);
		/* 0 asks for nothing, as with every resource. */
		first = n ? name : first;
	}
	return true;
}

static bool treat(struct work *w, const char *list, size_t at, json_t *container)
{
	char where[64], path[64];
	const char *own = own_in(container);
	struct ask a;

	snprintf(where, sizeof(where), "spec.%s[%zu]", list, at);
	snprintf(path, sizeof(path), "/spec/%s/%zu", list, at);
	if (!read_container(w, container, where, &a) || (own && !judge_own(w, container, where)))
		return false;
	if (!a.family)
		return !own || !w->options->claims || claim_share(w, container, where, path, own);
	if (own)
		return work_refuse(w, "%s.resources.limits[%s]: beside it stands %s; give one of them", where, own,
				   a.text);
	return a.part_said ? give(w, container, where, path, &a) : give_whole(w, container, where, path, &a);
}

/* Annotations. */

/* More than 0, less than or equal to 1. */
static bool read_fraction(const char *text, double *ret)
{
	char *end;
	size_t plain = strspn(text, "0123456789.");

	*ret = strtod(text, &end);
	return *text && !text[plain] && !*end && *ret > 0 && *ret <= 1;
}

static bool read_kai(struct work *w, struct ask *a)
{
	const char *fraction = work_annotation(w->pod, kai.fraction), *memory = work_annotation(w->pod, kai.memory),
		   *devices = work_annotation(w->pod, kai.devices);
	uint64_t n = 0;
	double part;

	*a = (struct ask){ .family = "KAI", .cards = 1, .cards_said = true, .priority = -1 };
	if (fraction && memory)
		return work_refuse(w, "metadata.annotations[%s]: beside %s; give one of them", kai.fraction,
				   kai.memory);
	if (fraction && !read_fraction(fraction, &part))
		return work_refuse(
			w, "metadata.annotations[%s]: \"%.40s\" is not a part of a device, above 0 and at most 1",
			kai.fraction, fraction);
	if (fraction) {
		a->memory_pct = a->cores_pct = part * 100;
		snprintf(a->memory_field, sizeof(a->memory_field), "metadata.annotations[%s]: %.40s", kai.fraction,
			 fraction);
		snprintf(a->cores_field, sizeof(a->cores_field), "%s", a->memory_field);
		note(a, kai.fraction, fraction);
	}
	if (memory && (quantity_units(memory, &n, NULL) || !n || n > SIZE_LIMIT_BYTES / MIB))
		return work_refuse(w, "metadata.annotations[%s]: \"%.40s\" is not a number of MiB", kai.memory, memory);
	if (memory) {
		a->bytes = n * MIB;
		snprintf(a->memory_field, sizeof(a->memory_field), "metadata.annotations[%s]: %.40s", kai.memory,
			 memory);
		note(a, kai.memory, memory);
	}
	if (devices && (quantity_units(devices, &n, NULL) || !n || n > 16))
		return work_refuse(w, "metadata.annotations[%s]: \"%.40s\" is not a number from 1 to 16", kai.devices,
				   devices);
	if (devices) {
		a->cards = (unsigned int)n;
		snprintf(a->cards_field, sizeof(a->cards_field), "metadata.annotations[%s]: %s", kai.devices, devices);
		note(a, kai.devices, devices);
	}
	return true;
}

/* The container that is named, else the first one. NULL: none is called so. */
static json_t *find_container(json_t *spec, const char *name, const char **ret_list, size_t *ret_at)
{
	static const char *const lists[] = { "containers", "initContainers" };
	json_t *container;
	size_t i;

	for (size_t k = 0; k < 2; k++) {
		json_array_foreach(json_object_get(spec, lists[k]), i, container)
		{
			const char *own = json_string_value(json_object_get(container, "name"));

			*ret_list = lists[k];
			*ret_at = i;
			if (!name || (own && !strcmp(own, name)))
				return container;
		}
	}
	return NULL;
}

static bool treat_annotations(struct work *w, json_t *spec)
{
	const char *name = work_annotation(w->pod, kai.container), *list;
	struct ask a;
	json_t *container;
	size_t at;
	char where[64], path[64];

	if (!work_annotation(w->pod, kai.fraction) && !work_annotation(w->pod, kai.memory))
		return true;
	/* A pod that came through here before, and is shown once more. */
	if (work_annotation(w->pod, WORDS_ASKED))
		return true;
	if (!read_kai(w, &a))
		return false;
	container = find_container(spec, name, &list, &at);
	if (!container)
		return work_refuse(w, "metadata.annotations[%s]: no container is called %.63s", kai.container,
				   name ? name : "");
	snprintf(where, sizeof(where), "spec.%s[%zu]", list, at);
	snprintf(path, sizeof(path), "/spec/%s/%zu", list, at);
	if (own_in(container) || json_object_get(w->asked, json_string_value(json_object_get(container, "name"))))
		return work_refuse(w, "metadata.annotations: %s beside resources of %s; give one of them", a.text,
				   where);
	return give(w, container, where, path, &a);
}

/* What was asked for stays to be read. */
static void annotate(struct work *w)
{
	json_t *annotations = json_object_get(json_object_get(w->pod, "metadata"), "annotations");
	json_t *text = json_null(), *value;
	char *asked = json_dumps(w->asked, JSON_COMPACT | JSON_SORT_KEYS);

	if (asked)
		text = json_string(asked);
	free(asked);
	value = json_is_object(annotations) ? text : json_pack("{s:o}", WORDS_ASKED, text);
	json_array_append_new(w->answer->patch,
			      json_pack("{s:s s:s s:o}", "op", "add", "path",
					json_is_object(annotations) ? "/metadata/annotations/mete.io~1asked"
								    : "/metadata/annotations",
					"value", value));
}

static void claim(struct work *w)
{
	if (w->claims)
		json_array_append_new(w->answer->patch, json_pack("{s:s s:s s:O}", "op", "add", "path",
								  "/spec/resourceClaims", "value", w->claims));
}

static bool treat_list(struct work *w, json_t *spec, const char *list)
{
	json_t *container;
	size_t i;

	json_array_foreach(json_object_get(spec, list), i, container) if (!treat(w, list, i, container)) return false;
	return true;
}

enum words_result words_pod(const struct words_options *o, json_t *pod, struct words_answer *ret)
{
	json_t *spec = json_object_get(pod, "spec");
	struct work w = { .options = o, .pod = pod, .answer = ret, .asked = json_object() };
	bool good;

	*ret = (struct words_answer){ .patch = NULL };
	good = treat_list(&w, spec, "initContainers") && treat_list(&w, spec, "containers") &&
	       treat_annotations(&w, spec) && (!ret->patch || place_pod(&w));
	if (good && ret->patch) {
		claim(&w);
		annotate(&w);
	}
	json_decref(w.claims);
	json_decref(w.asked);
	if (good)
		return ret->patch ? WORDS_CHANGED : WORDS_NOTHING;
	words_answer_free(ret);
	return WORDS_REFUSED;
}

void words_answer_free(struct words_answer *a)
{
	json_decref(a->patch);
	json_decref(a->warnings);
	json_decref(a->templates);
	a->patch = a->warnings = a->templates = NULL;
}
