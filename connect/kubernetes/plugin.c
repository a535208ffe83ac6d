/*
 * plugin.c: see plugin.h.
 *
 * The list has the ids of its grants, and the lowest other numbers that no grant of somebody else has, as many as fit.
 * All are unhealthy while meted does not answer for longer than Allocate would wait for it. What kubelet calls free is
 * so never more than what meted would grant at the moment of the list; who promises something else in the same second
 * may still come first.
 */
#include "connect/kubernetes/plugin.h"

#include "base/clock.h"
#include "connect/kubernetes/messages.h"
#include "connect/kubernetes/owed.h"
#include "connect/kubernetes/room.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SERVICE "/" PLUGIN_API ".DevicePlugin/"
#define SECOND 1000000000ull
#define NUMBERS 10000		    /* of ids: id_number() takes four digits */
#define UNHEALTHY 0x8000	    /* beside a number */
/* Kubelet refuses pods until it knows the resource: soon, at once where it is new and does not listen yet. */
#define REGISTER_PAUSE (SECOND / 4)
#define REGISTER_PAUSE_FIRST (SECOND / 100)
#define REGISTER_PATIENCE (15 * SECOND)
#define STREAM_PATIENCE (10 * SECOND) /* a kubelet that registered it asks for the list at once */

/* The number behind an id of this share's. -1: it is none. */
static int id_number(const struct plugin *p, const char *id)
{
	char again[AGENT_NAME_BYTES];
	size_t prefix = strlen(AGENT_PREFIX), n = prefix + strlen(p->share) + 1;
	int number;

	/* Most names are those of other shares: they are told apart by their letters alone. */
	if (strncmp(id, AGENT_PREFIX, prefix) || strncmp(id + prefix, p->share, n - 1 - prefix) ||
	    strlen(id) <= n || strlen(id) > n + 4)
		return -1;
	number = atoi(id + n);
	snprintf(again, sizeof(again), AGENT_PREFIX "%s-%d", p->share, number);
	return strcmp(again, id) ? -1 : number;
}

static int get_options(void *owner, json_t *request, json_t **ret, struct fault *f)
{
	*ret = json_pack("{s:b s:b}", "pre_start_required", 1, "get_preferred_allocation_available", 1);
	return GRPC_OK;
}

/* The list that kubelet was told, encoded; the caller frees it. */
static struct bytes told(const struct plugin *p)
{
	struct bytes list = { 0 };
	char id[AGENT_NAME_BYTES];

	for (size_t i = 0; i < p->ids_count; i++) {
		snprintf(id, sizeof(id), AGENT_PREFIX "%s-%d", p->share, p->ids[i] & ~UNHEALTHY);
		message_list_add(&list, id, p->ids[i] & UNHEALTHY ? PLUGIN_UNHEALTHY : PLUGIN_HEALTHY);
	}
	return list;
}

static int list_and_watch(void *owner, json_t *request, json_t **ret, struct fault *f)
{
	struct bytes list = told(owner);

	*ret = list.bad ? NULL : proto_decode(message_list, list.data, list.size);
	bytes_free(&list);
	return *ret ? GRPC_OK : GRPC_INTERNAL;
}

/* 0: waits for a container already, so it takes nothing more; 1: free; 2: still another container's. */
static int rank(struct plugin *p, const char *id)
{
	json_t *row = grant_row(p->agent, id);

	return !row ? 1 : grant_waits(row) ? 0 : 2;
}

static bool has(json_t *list, const char *id)
{
	json_t *one;
	size_t i;

	json_array_foreach (list, i, one)
		if (!strcmp(json_string_value(one), id))
			return true;
	return false;
}

/* The best of those that are available and not chosen yet. NULL: none. */
static json_t *prefer_one(struct plugin *p, json_t *available, json_t *chosen)
{
	json_t *one, *best = NULL;
	size_t i;

	json_array_foreach (available, i, one) {
		const char *id = json_string_value(one), *other = json_string_value(best);

		if (has(chosen, id))
			continue;
		if (!best || rank(p, id) < rank(p, other) ||
		    (rank(p, id) == rank(p, other) && id_number(p, id) < id_number(p, other)))
			best = one;
	}
	return best;
}

static json_t *prefer(struct plugin *p, json_t *request)
{
	json_t *must = json_object_get(request, "must_include_deviceIDs"),
	       *chosen = must ? json_copy(must) : json_array();
	json_t *available = json_object_get(request, "available_deviceIDs"), *one;
	json_int_t size = json_integer_value(json_object_get(request, "allocation_size"));

	while ((json_int_t)json_array_size(chosen) < size && (one = prefer_one(p, available, chosen)))
		json_array_append(chosen, one);
	return json_pack("{s:o}", "deviceIDs", chosen);
}

static int get_preferred(void *owner, json_t *request, json_t **ret, struct fault *f)
{
	json_t *answers = json_array(), *one;
	size_t i;

	json_array_foreach (json_object_get(request, "container_requests"), i, one)
		json_array_append_new(answers, prefer(owner, one));
	*ret = json_pack("{s:o}", "container_responses", answers);
	return GRPC_OK;
}

static int status_of(int r)
{
	switch (r) {
	case CONTROL_REFUSED:
	case -ENOSPC:
		return GRPC_EXHAUSTED;
	case CONTROL_NOBODY:
	case CONTROL_LOST:
	case -EHOSTDOWN:
		return GRPC_UNAVAILABLE;
	default:
		return GRPC_PRECONDITION;
	}
}

/* The one id of a container's request. NULL: a fault. */
static const char *one_id(struct plugin *p, json_t *request, struct fault *f)
{
	json_t *ids = json_object_get(request, "devices_ids");
	const char *id = json_string_value(json_array_get(ids, 0));

	if (json_array_size(ids) != 1) {
		fault_set(f, 0,
			  AGENT_RESOURCES
			  "%s: %zu: a container gets one share: ask for 1, and define a larger share in "
			  "shares.json where it needs more",
			  p->share, json_array_size(ids));
		return NULL;
	}
	if (id_number(p, id) >= 0)
		return id;
	fault_set(f, 0, AGENT_RESOURCES "%s has no device \"%.70s\"; its ids are " AGENT_PREFIX "%s-NUMBER", p->share,
		  id, p->share);
	return NULL;
}

static json_t *answer_of(struct plugin *p, const char *id)
{
	char key[AGENT_NAME_BYTES + 24];

	if (p->agent->options.cdi_field)
		return json_pack("{s:[{s:o}]}", "cdi_devices", "name", json_sprintf(SPEC_GRANT_KIND "=%s", id));
	/* A key of its own: two shares in one container are then seen, and refused by the hook. */
	snprintf(key, sizeof(key), "cdi.k8s.io/mete_%s", id);
	return json_pack("{s:{s:o}}", "annotations", key, json_sprintf(SPEC_GRANT_KIND "=%s", id));
}

/* One container's grant, at once or later. Value: an enum grpc_status. */
static int promise(struct plugin *p, const char *id, struct fault *f)
{
	int r = grant_take(p->agent, p->share, id, f);

	if (!r) {
		owed_drop(p->agent, id);
		program_log("%s is promised, for a container that begins", id);
		return GRPC_OK;
	}
	if (!grant_comes(r) || (r == -ENOSPC && grant_taken_outside(p->agent, p->share, f)))
		return status_of(r);
	owed_add(p, id, NULL, f->text);
	return GRPC_OK;
}

static int allocate(void *owner, json_t *request, json_t **ret, struct fault *f)
{
	struct plugin *p = owner;
	json_t *answers = json_array(), *taken = json_array(), *one;
	int status = GRPC_OK;
	size_t i;

	json_array_foreach (json_object_get(request, "container_requests"), i, one) {
		const char *id = one_id(p, one, f);

		status = id ? promise(p, id, f) : GRPC_INVALID;
		if (status != GRPC_OK)
			break;
		json_array_append_new(taken, json_string(id));
		json_array_append_new(answers, answer_of(p, id));
	}
	if (status != GRPC_OK) {
		program_log("kubelet was refused: %s", f->text);
		json_array_foreach (taken, i, one) {
			owed_drop(p->agent, json_string_value(one));
			grant_give_back(p->agent, json_string_value(one));
		}
	}
	json_decref(taken);
	agent_refresh_soon(p->agent);
	if (status == GRPC_OK)
		*ret = json_pack("{s:O}", "container_responses", answers);
	json_decref(answers);
	return status;
}

/*
 * Before a container begins, also one that begins again: its grant ended with the last one, and kubelet does not ask
 * for another.
 */
static int pre_start(void *owner, json_t *request, json_t **ret, struct fault *f)
{
	struct plugin *p = owner;
	const char *id = one_id(p, request, f);
	bool made;
	int r;

	if (!id)
		return GRPC_INVALID;
	identity_want(&p->agent->identity);
	r = grant_take_again(p->agent, p->share, id, &made, f);
	if (grant_comes(r)) {
		owed_add(p, id, grpc_later(&p->server), f->text);
		return GRPC_LATER;
	}
	if (r) {
		program_log("a container cannot begin: %s", f->text);
		return status_of(r);
	}
	owed_drop(p->agent, id);
	identity_begins(&p->agent->identity, id);
	if (made)
		program_log("%s is promised again, for a container that begins again", id);
	agent_refresh_soon(p->agent);
	*ret = json_object();
	return GRPC_OK;
}

/* clang-format off: a row is a method */
static const struct grpc_method methods[] = {
	{ SERVICE "GetDevicePluginOptions", message_empty, message_options, get_options, false },
	{ SERVICE "GetPreferredAllocation", message_preferred_request, message_preferred_answer, get_preferred, false },
	{ SERVICE "Allocate", message_allocate_request, message_allocate_answer, allocate, false },
	{ SERVICE "PreStartContainer", message_pre_start_request, message_empty, pre_start, false },
	{ SERVICE "ListAndWatch", message_empty, message_list, list_and_watch, true },
	{ NULL },
};
static const struct grpc_method register_method =
	{ "/" PLUGIN_API ".Registration/Register", message_register, message_empty, NULL, false };
/* clang-format on */

static const struct grpc_method *list_method(void)
{
	const struct grpc_method *m = methods;

	while (!m->stream)
		m++;
	return m;
}

struct plugin *plugin_new(struct agent *a, const char *share)
{
	struct plugin *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->agent = a;
	p->server.watch.fd = -1;
	p->pause_ns = REGISTER_PAUSE_FIRST;
	snprintf(p->share, sizeof(p->share), "%s", share);
	return p;
}

void plugin_forget(struct plugin *p)
{
	if (p->registering)
		grpc_call_cancel(p->registering);
	p->registering = NULL;
	p->registered = false;
	p->next_ns = 0;
	p->pause_ns = REGISTER_PAUSE_FIRST;
}

void plugin_free(struct plugin *p)
{
	plugin_forget(p);
	owed_end(p);
	grpc_server_remove(&p->server);
	free(p->ids);
	free(p);
}

/* Kubelet refuses pods for a resource with an empty list: a meted that restarts beside the agent is waited for. */
static bool may_register(const struct plugin *p)
{
	return p->server.watch.fd >= 0 && (p->listed || agent_is_away(p->agent));
}

uint64_t plugin_next_ns(const struct plugin *p)
{
	return p->registered || p->registering || !may_register(p) ? UINT64_MAX : p->next_ns;
}

/* A line about this plugin, once. */
static void say(struct plugin *p, const char *line)
{
	if (strcmp(p->said, line))
		program_log(AGENT_RESOURCES "%s: %s", p->share, line);
	snprintf(p->said, sizeof(p->said), "%s", line);
}

bool plugin_listen(struct plugin *p)
{
	char path[PATH_MAX], line[256];
	int r;

	if (grpc_server_there(&p->server))
		return true;
	if (p->server.watch.fd >= 0) {
		grpc_server_close(&p->server);
		plugin_forget(p);
	}
	r = path_join(path, "%s/mete-%s.sock", p->agent->options.kubelet_dir, p->share) ? 0 : -ENAMETOOLONG;
	if (!r)
		r = grpc_server_open(&p->server, &p->agent->loop, path, methods, p);
	if (!r)
		return true;
	snprintf(line, sizeof(line), "cannot listen in %.100s: %s; %s", p->agent->options.kubelet_dir,
		 r == -EADDRINUSE ? "another mete-agent serves there" : strerror(-r),
		 r == -ENAMETOOLONG ? "give a shorter --kubelet-dir"
		 : r == -EADDRINUSE ? "end one of the two: this one waits"
				    : "run mete-agent as root");
	say(p, line);
	return false;
}

static void registered(void *owner, int status, const char *line, json_t *answer)
{
	struct plugin *p = owner;
	char text[512];

	p->registering = NULL;
	p->registered = status == GRPC_OK;
	p->since_ns = clock_now_ns();
	p->next_ns = p->since_ns + p->pause_ns;
	p->pause_ns = p->pause_ns * 2 < REGISTER_PAUSE ? p->pause_ns * 2 : REGISTER_PAUSE;
	if (p->registered) {
		say(p, "registered with kubelet");
		return;
	}
	snprintf(text, sizeof(text), "kubelet does not register it: %.300s (gRPC status %d); tried again and again",
		 line, status);
	say(p, text);
}

/* A call without an answer, and a registration after which kubelet did not ask for the list, are begun again. */
static void give_up_waiting(struct plugin *p, uint64_t now)
{
	if (p->registering && now - p->since_ns > REGISTER_PATIENCE) {
		plugin_forget(p);
		registered(p, GRPC_UNAVAILABLE, "no answer within 15 s", NULL);
	}
	if (!p->registered)
		return;
	if (grpc_server_streams(&p->server, list_method()))
		p->since_ns = now;
	else if (now - p->since_ns > STREAM_PATIENCE)
		p->registered = false;
}

void plugin_register(struct plugin *p)
{
	uint64_t now = clock_now_ns();
	char path[PATH_MAX], resource[64];
	json_t *request;
	int r;

	give_up_waiting(p, now);
	if (p->registered || p->registering || now < p->next_ns || !may_register(p) ||
	    !path_join(path, "%s/kubelet.sock", p->agent->options.kubelet_dir))
		return;
	snprintf(resource, sizeof(resource), AGENT_RESOURCES "%s", p->share);
	request = json_pack("{s:s s:s s:s s:{s:b s:b}}", "version", PLUGIN_API, "endpoint",
			    strrchr(p->server.path, '/') + 1, "resource_name", resource, "options",
			    "pre_start_required", 1, "get_preferred_allocation_available", 1);
	p->since_ns = now;
	r = grpc_call_begin(&p->registering, &p->agent->loop, path, &register_method, request, registered, p);
	json_decref(request);
	if (r)
		registered(p, GRPC_UNAVAILABLE, strerror(-r), NULL);
}

/* How many more the file lets it offer. */
static unsigned int count_left(const struct plugin *p, unsigned int taken)
{
	json_t *count = json_object_get(p->agent->counts, p->share);
	unsigned int most = (unsigned int)json_integer_value(count);

	if (!count)
		return AGENT_IDS_MOST;
	return most > taken ? most - taken : 0;
}

static int count_fit(struct plugin *p, unsigned int taken, unsigned int *ret_fit, struct fault *f)
{
	unsigned int most = count_left(p, taken);
	json_t *devices = json_object_get(p->agent->edits.machine, "devices");
	struct room_share asked;
	struct edits_share share;
	int r = grant_share(p->agent, p->share, NULL, &share, f);

	*ret_fit = 0;
	if (!r) {
		asked = grant_share_room(&share);
		*ret_fit = grant_share_is_any(&share) ? room_count_any(&asked, devices, share.choice.driver, most)
						      : room_count(&asked, devices, most);
		json_decref(asked.rows);
	}
	edits_share_free(&share);
	return r;
}

/* What a number is, by the grant of its name. */
enum holder { HOLDER_NONE, HOLDER_OURS, HOLDER_OURS_ILL, HOLDER_OTHER };

static bool row_healthy(json_t *row)
{
	const char *state = device_text(row, "state");

	return strcmp(state, "lost") && strcmp(state, "quarantined");
}

/* Value: how many are ours. */
static unsigned int find_holders(struct plugin *p, uint8_t holders[NUMBERS])
{
	unsigned int ours = 0;
	const char *name;
	json_t *row;
	int number;

	memset(holders, HOLDER_NONE, NUMBERS);
	json_object_foreach (p->agent->grants, name, row) {
		number = id_number(p, name);
		if (number < 0)
			continue;
		holders[number] = !grant_is_ours(row) ? HOLDER_OTHER : row_healthy(row) ? HOLDER_OURS : HOLDER_OURS_ILL;
		ours += holders[number] != HOLDER_OTHER;
	}
	return ours;
}

int plugin_count(struct plugin *p, unsigned int *ret_fit, unsigned int *ret_taken, struct fault *f)
{
	uint8_t holders[NUMBERS];

	*ret_taken = find_holders(p, holders);
	return count_fit(p, *ret_taken, ret_fit, f);
}

/* Ids in the order of their numbers: those of grants, and as many others as fit. Value: how many. */
static size_t list_now(struct plugin *p, uint16_t ids[NUMBERS])
{
	struct fault f = { .text = "" };
	uint8_t holders[NUMBERS];
	unsigned int fit, taken = find_holders(p, holders);
	size_t count = 0;

	if (count_fit(p, taken, &fit, &f))
		say(p, f.text);
	for (unsigned int number = 0; (fit || taken) && number < NUMBERS; number++) {
		bool ours = holders[number] == HOLDER_OURS || holders[number] == HOLDER_OURS_ILL;

		if (holders[number] == HOLDER_OTHER || (!ours && !fit))
			continue;
		ids[count++] = (uint16_t)(number | (holders[number] == HOLDER_OURS_ILL ? UNHEALTHY : 0));
		if (ours)
			taken--;
		else
			fit--;
	}
	return count;
}

/* Those that there were: none can be given while meted is away. */
static size_t list_away(const struct plugin *p, uint16_t ids[NUMBERS])
{
	for (size_t i = 0; i < p->ids_count; i++)
		ids[i] = p->ids[i] | UNHEALTHY;
	return p->ids_count;
}

/* Keeps the list. Value: false where it is the one that kubelet was told, or where there is no memory. */
static bool keep(struct plugin *p, const uint16_t *ids, size_t count)
{
	size_t bytes = count * sizeof(*ids);
	uint16_t *kept;

	if (count == p->ids_count && (!count || !memcmp(ids, p->ids, bytes)))
		return false;
	kept = malloc(bytes ? bytes : 1);
	if (!kept)
		return false;
	memcpy(kept, ids, bytes);
	free(p->ids);
	p->ids = kept;
	p->ids_count = count;
	return true;
}

void plugin_refresh(struct plugin *p)
{
	uint16_t ids[NUMBERS];
	size_t count = p->agent->grants ? list_now(p, ids) : list_away(p, ids);
	struct bytes list;

	p->stale = false;
	p->listed = p->listed || p->agent->grants;
	if (!keep(p, ids, count) || p->server.watch.fd < 0)
		return;
	list = told(p);
	grpc_server_push_encoded(&p->server, list_method(), &list);
	bytes_free(&list);
}
