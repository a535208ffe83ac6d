/*
 * dra_publish.c: see dra_state.h: this node's ResourceSlices.
 *
 * The slices are watched, so that one that somebody changed or deleted is written again, and so that nothing need be
 * asked while nothing changes. The pool is written whole: every slice of it has the same generation, one above the
 * last, by which the scheduler knows a pool that is being written. What was written is kept with the version that the
 * API server gave it: an older server drops fields that it does not know, and what comes back is never compared with
 * what was meant.
 */
#include "connect/kubernetes/dra_state.h"

#include "base/clock.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SECOND 1000000000ull
#define PAUSE (2 * SECOND)	    /* between two writings: pods that come and go change what is free */
#define AWAY_PATIENCE (60 * SECOND) /* a meted that is away for longer has no devices for anybody */

struct publisher {
	struct dra *dra;
	struct api_watch *watch;
	struct api_call *call;
	bool listed;
	json_t *known;	 /* name to slice, as the API server has them */
	uint64_t seen;	 /* the version up to which the watch told */
	json_t *written; /* name to { "version", "devices", "count" } */
	json_t *devices; /* what is being written, or was */
	json_t *owner;	 /* reference to the node; NULL: not asked yet */
	json_int_t generation;
	size_t at, count; /* of the slices that are being written; at == count: none */
	uint64_t next_ns;
	unsigned int failed;
};

static const char *text_of(json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

static json_t *meta(json_t *object)
{
	return json_object_get(object, "metadata");
}

static bool is_ours(struct publisher *p, json_t *slice)
{
	json_t *spec = json_object_get(slice, "spec");

	return !strcmp(text_of(spec, "driver"), DRA_DRIVER) && !strcmp(text_of(spec, "nodeName"), p->dra->node);
}

static void on_list(void *owner, json_t *items)
{
	struct publisher *p = owner;
	json_t *slice;
	size_t i;

	json_object_clear(p->known);
	p->seen = 0;
	json_array_foreach (items, i, slice)
		json_object_set(p->known, text_of(meta(slice), "name"), slice);
	p->listed = true;
	p->failed = 0;
	p->next_ns = 0;
	p->dra->fresh = true;
}

static uint64_t version_of(json_t *slice)
{
	return strtoull(text_of(meta(slice), "resourceVersion"), NULL, 10);
}

/* Of what a watch tells late, the later is known already. */
static bool is_late(struct publisher *p, json_t *slice)
{
	json_t *known = json_object_get(p->known, text_of(meta(slice), "name"));

	return known && version_of(known) > version_of(slice);
}

static void on_event(void *owner, const char *type, json_t *slice)
{
	struct publisher *p = owner;

	if (!is_ours(p, slice) || is_late(p, slice))
		return;
	p->seen = version_of(slice);
	if (!strcmp(type, "DELETED"))
		json_object_del(p->known, text_of(meta(slice), "name"));
	else
		json_object_set(p->known, text_of(meta(slice), "name"), slice);
	p->dra->fresh = true;
}

static void on_trouble(void *owner, const char *line)
{
	struct publisher *p = owner;

	dra_say(p->dra, line);
	if (line && strstr(line, ": 404 ")) /* another version, after an upgrade of the cluster */
		*p->dra->version = 0;
}

static bool wants(void *owner, json_t *slice)
{
	return is_ours(owner, slice);
}

static const struct api_events events = { wants, on_list, on_event, on_trouble };

static void slice_name(struct publisher *p, size_t i, char name[300])
{
	snprintf(name, 300, "%s-" DRA_DRIVER "-%zu", p->dra->node, i);
}

/* The devices of slice i; a new reference. */
static json_t *part(json_t *devices, size_t i)
{
	json_t *list = json_array(), *device;

	for (size_t k = i * DRA_SLICE_DEVICES; k < (i + 1) * DRA_SLICE_DEVICES; k++) {
		device = json_array_get(devices, k);
		if (device)
			json_array_append(list, device);
	}
	return list;
}

static size_t slices_of(json_t *devices)
{
	size_t n = json_array_size(devices);

	return n ? (n + DRA_SLICE_DEVICES - 1) / DRA_SLICE_DEVICES : 1;
}

/* What stands there is what was written, and that is what is wanted. */
static bool stands(struct publisher *p, size_t i, json_t *devices, size_t count)
{
	char name[300];
	json_t *known, *written, *list = part(devices, i);
	bool good;

	slice_name(p, i, name);
	known = json_object_get(p->known, name);
	written = json_object_get(p->written, name);
	good = known && written && !strcmp(text_of(meta(known), "resourceVersion"), text_of(written, "version")) &&
	       (size_t)json_integer_value(json_object_get(written, "count")) == count &&
	       json_equal(list, json_object_get(written, "devices"));
	json_decref(list);
	return good;
}

static bool all_stand(struct publisher *p, json_t *devices)
{
	size_t count = slices_of(devices);

	for (size_t i = 0; i < count; i++)
		if (!stands(p, i, devices, count))
			return false;
	return json_object_size(p->known) == count;
}

static void fail(struct publisher *p, const char *line)
{
	p->failed++;
	p->at = p->count;
	p->next_ns = clock_now_ns() + api_pause_ns(p->failed);
	p->dra->fresh = true;
	dra_say(p->dra, line);
}

static void write_next(struct publisher *p);

static json_t *slice_json(struct publisher *p, size_t i)
{
	json_t *slice, *devices = json_array(), *list = part(p->devices, i), *device;
	const char *version = p->dra->version;
	char name[300];
	size_t k;

	json_array_foreach (list, k, device)
		json_array_append_new(devices, dra_device_as(version, json_copy(device)));
	json_decref(list);
	slice_name(p, i, name);
	slice = json_pack("{s:o s:s s:{s:s} s:{s:s s:s s:{s:s s:I s:I} s:o}}", "apiVersion",
			  json_sprintf("resource.k8s.io/%s", version), "kind", "ResourceSlice", "metadata", "name",
			  name, "spec", "driver", DRA_DRIVER, "nodeName", p->dra->node, "pool", "name", p->dra->node,
			  "generation", p->generation, "resourceSliceCount", (json_int_t)p->count, "devices", devices);
	if (json_object_size(p->owner))
		json_object_set_new(meta(slice), "ownerReferences", json_pack("[O]", p->owner));
	return slice;
}

static void slice_written(void *owner, const struct api_answer *answer)
{
	struct publisher *p = owner;
	char name[300];

	p->call = NULL;
	slice_name(p, p->at, name);
	if (answer->status != 200 && answer->status != 201) {
		/* Somebody else was faster, or it is gone: the watch will tell, or has told. */
		if (answer->status == 404)
			json_object_del(p->known, name);
		fail(p, answer->line);
		if (answer->status == 404 || answer->status == 409)
			p->next_ns = clock_now_ns() + SECOND;
		return;
	}
	/* What happened to it since may have been told before this answer came. */
	if (version_of(answer->body) > p->seen)
		json_object_set(p->known, name, answer->body);
	json_object_set_new(p->written, name,
			    json_pack("{s:s s:o s:I}", "version", text_of(meta(answer->body), "resourceVersion"),
				      "devices", part(p->devices, p->at), "count", (json_int_t)p->count));
	p->at++;
	write_next(p);
}

static void slice_deleted(void *owner, const struct api_answer *answer)
{
	struct publisher *p = owner;

	p->call = NULL;
	if (answer->status >= 300 && answer->status != 404)
		fail(p, answer->line);
	else
		write_next(p);
}

/* One that is there and has no number any more; its name is taken out of `known`. */
static bool delete_one(struct publisher *p)
{
	char name[300], path[700];
	const char *other;
	bool wanted;
	json_t *slice;
	void *tmp;

	json_object_foreach_safe (p->known, tmp, other, slice) {
		wanted = false;
		for (size_t i = 0; i < p->count && !wanted; i++) {
			slice_name(p, i, name);
			wanted = !strcmp(name, other);
		}
		if (wanted)
			continue;
		snprintf(path, sizeof(path), DRA_GROUP "/%s/resourceslices/%.300s", p->dra->version, other);
		json_object_del(p->written, other);
		json_object_del(p->known, other);
		p->call = api_ask(p->dra->api, "DELETE", path, NULL, slice_deleted, p);
		return p->call;
	}
	return false;
}

static void write_next(struct publisher *p)
{
	char name[300], path[700];
	json_t *slice, *known;

	if (p->at == p->count) {
		if (!delete_one(p)) {
			p->failed = 0;
			dra_say(p->dra, NULL);
		}
		return;
	}
	slice_name(p, p->at, name);
	slice = slice_json(p, p->at);
	known = json_object_get(p->known, name);
	if (known)
		json_object_set(meta(slice), "resourceVersion", json_object_get(meta(known), "resourceVersion"));
	snprintf(path, sizeof(path), DRA_GROUP "/%s/resourceslices%s%s", p->dra->version, known ? "/" : "",
		 known ? name : "");
	p->call = api_ask(p->dra->api, known ? "PUT" : "POST", path, slice, slice_written, p);
	json_decref(slice);
	if (!p->call)
		fail(p, "no memory");
}

static json_int_t last_generation(struct publisher *p)
{
	json_int_t last = p->generation, one;
	json_t *slice;
	const char *name;

	json_object_foreach (p->known, name, slice) {
		json_t *pool = json_object_get(json_object_get(slice, "spec"), "pool");

		one = json_integer_value(json_object_get(pool, "generation"));
		last = one > last ? one : last;
	}
	return last;
}

static void begin_writing(struct publisher *p, json_t *devices)
{
	json_decref(p->devices);
	p->devices = json_incref(devices);
	p->generation = last_generation(p) + 1;
	p->count = slices_of(devices);
	p->at = 0;
	p->next_ns = clock_now_ns() + PAUSE;
	write_next(p);
}

/* The node owns its slices: with it they go. Without leave to read nodes they have no owner. */
static void node_came(void *owner, const struct api_answer *answer)
{
	struct publisher *p = owner;
	const char *uid = text_of(meta(answer->body), "uid");

	p->call = NULL;
	if (answer->status == 200 && *uid)
		p->owner = json_pack("{s:s s:s s:s s:s s:b}", "apiVersion", "v1", "kind", "Node", "name", p->dra->node,
				     "uid", uid, "controller", 1);
	else if (answer->status == 403)
		p->owner = json_object();
	else
		fail(p, answer->line);
}

static void ask_node(struct publisher *p)
{
	char path[512];

	snprintf(path, sizeof(path), "/api/v1/nodes/%s", p->dra->node);
	p->call = api_ask(p->dra->api, "GET", path, NULL, node_came, p);
}

/* The devices as they are to be published; NULL: that is not known now. */
static json_t *wanted(struct publisher *p, uint64_t now)
{
	struct agent *a = p->dra->agent;

	if (a->grants && a->edits.machine)
		return dra_pool_devices(a->edits.machine, a->grants, p->dra->counted, geteuid(), p->dra->pci);
	return a->away_ns && now - a->away_ns > AWAY_PATIENCE ? json_array() : NULL;
}

static void begin_watch(struct publisher *p)
{
	char path[128], selector[400];

	snprintf(path, sizeof(path), DRA_GROUP "/%s/resourceslices", p->dra->version);
	snprintf(selector, sizeof(selector), "fieldSelector=spec.nodeName%%3D%s", p->dra->node);
	p->listed = false;
	p->watch = api_watch_begin(p->dra->api, path, selector, &events, p);
}

void publisher_tend(struct publisher *p)
{
	uint64_t now = clock_now_ns();
	json_t *devices;

	if (!*p->dra->version) {
		if (p->watch)
			api_watch_end(p->watch);
		p->watch = NULL;
		return;
	}
	if (!p->watch)
		begin_watch(p);
	if (!p->listed || p->call || now < p->next_ns || !p->dra->fresh)
		return;
	if (!p->owner) {
		ask_node(p);
		return;
	}
	p->dra->fresh = false;
	devices = wanted(p, now);
	if (devices && !all_stand(p, devices))
		begin_writing(p, devices);
	json_decref(devices);
}

struct publisher *publisher_new(struct dra *d)
{
	struct publisher *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->dra = d;
	p->known = json_object();
	p->written = json_object();
	return p;
}

void publisher_free(struct publisher *p)
{
	if (!p)
		return;
	if (p->watch)
		api_watch_end(p->watch);
	if (p->call)
		api_cancel(p->call);
	json_decref(p->known);
	json_decref(p->written);
	json_decref(p->devices);
	json_decref(p->owner);
	free(p);
}
