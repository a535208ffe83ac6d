/* dra.c: see dra.h: sockets, registration, discovery and health. */
#include "connect/kubernetes/dra_state.h"

#include "base/clock.h"
#include "connect/kubernetes/dra_messages.h"
#include "connect/kubernetes/messages.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define SECOND 1000000000ull
#define HEALTH_TIMEOUT_S 30 /* after which kubelet believes no health any more */
#define HEALTH_EVERY (10 * SECOND)
#define PCI_EVERY (10 * SECOND)
#define MESSAGE_MOST 1024

#define SERVICE(version) "/k8s.io.kubelet.pkg.apis.dra." version ".DRAPlugin/"

void dra_say(struct dra *d, const char *line)
{
	if (line && strcmp(d->said, line))
		program_log("%s", line);
	if (!line && *d->said)
		program_log("the API server answers again");
	snprintf(d->said, sizeof(d->said), "%s", line ? line : "");
}

static int get_info(void *owner, json_t *request, json_t **ret, struct fault *f)
{
	struct dra *d = owner;

	*ret = json_pack("{s:s s:s s:s s:[s,s,s,s]}", "type", "DRAPlugin", "name", DRA_DRIVER, "endpoint",
			 d->plugin_path, "supported_versions", "v1.DRAPlugin", "v1beta1.DRAPlugin",
			 "v1.DRAResourceHealth", "v1alpha1.DRAResourceHealth");
	return GRPC_OK;
}

static int notify_status(void *owner, json_t *request, json_t **ret, struct fault *f)
{
	struct dra *d = owner;
	bool registered = json_is_true(json_object_get(request, "plugin_registered"));

	const char *error = registered ? "" : device_text(request, "error");

	if (!registered && strcmp(d->refused, error))
		program_log("kubelet does not take the driver " DRA_DRIVER ": %s; kubelet asks again and again", error);
	else if (registered && !d->registered)
		program_log("kubelet takes the driver " DRA_DRIVER);
	d->registered = registered;
	snprintf(d->refused, sizeof(d->refused), "%s", error);
	*ret = json_object();
	return GRPC_OK;
}

/* With the time at which it was looked at: now. */
static json_t *health_message(struct dra *d)
{
	json_t *devices = json_deep_copy(d->health), *device;
	size_t i;

	json_array_foreach (devices, i, device)
		json_object_set_new(device, "last_updated_time", json_integer((json_int_t)time(NULL)));
	return json_pack("{s:o}", "devices", devices);
}

static int watch_resources(void *owner, json_t *request, json_t **ret, struct fault *f)
{
	*ret = health_message(owner);
	return GRPC_OK;
}

/* clang-format off: a row is a method */
static const struct grpc_method registry_methods[] = {
	{ "/pluginregistration.Registration/GetInfo", message_empty, dra_message_info, get_info, false },
	{ "/pluginregistration.Registration/NotifyRegistrationStatus", dra_message_status, message_empty, notify_status,
	  false },
	{ NULL },
};

static const struct grpc_method methods[] = {
	{ "/v1.DRAResourceHealth/NodeWatchResources", message_empty, dra_message_health, watch_resources, true },
	{ "/v1alpha1.DRAResourceHealth/NodeWatchResources", message_empty, dra_message_health, watch_resources, true },
	{ SERVICE("v1") "NodePrepareResources", dra_message_claims, dra_message_prepared, dra_prepare, false },
	{ SERVICE("v1") "NodeUnprepareResources", dra_message_claims, dra_message_unprepared, dra_unprepare, false },
	{ SERVICE("v1beta1") "NodePrepareResources", dra_message_claims, dra_message_prepared, dra_prepare, false },
	{ SERVICE("v1beta1") "NodeUnprepareResources", dra_message_claims, dra_message_unprepared, dra_unprepare,
	  false },
	{ NULL },
};
/* clang-format on */

static int health_of(json_t *device, bool away, const char **ret_message)
{
	const char *state = device_text(device, "state");

	*ret_message = away ? "meted does not answer" : device_text(device, "reason");
	return away ? DRA_HEALTH_UNKNOWN : strcmp(state, "lost") ? DRA_HEALTH_GOOD : DRA_HEALTH_BAD;
}

static json_t *make_health(struct dra *d)
{
	json_t *list = json_array(), *device, *row;
	char name[64], part[MESSAGE_MOST + 1];
	const char *message;
	size_t i;

	json_array_foreach (json_object_get(d->agent->edits.machine, "devices"), i, device) {
		int health = health_of(device, !d->agent->grants, &message);

		dra_device_name(device, name);
		row = json_pack("{s:{s:s s:s} s:i s:i}", "device", "pool_name", d->node, "device_name", name, "health",
				health, "health_check_timeout_seconds", HEALTH_TIMEOUT_S);
		snprintf(part, sizeof(part), "%s", message);
		if (*part)
			json_object_set_new(row, "message", json_string(part));
		json_array_append_new(list, row);
	}
	return list;
}

static void tell_health(struct dra *d)
{
	json_t *now = make_health(d), *message;
	bool same = json_equal(now, d->health);

	json_decref(d->health);
	d->health = now;
	if (same && clock_now_ns() - d->health_ns < HEALTH_EVERY)
		return;
	d->health_ns = clock_now_ns();
	message = health_message(d);
	for (const struct grpc_method *m = methods; m->stream; m++)
		grpc_server_push(&d->plugin, m, message);
	json_decref(message);
}

/* The driver's files are read again where a GPU is not among them. */
static void find_pci(struct dra *d)
{
	uint64_t now = clock_now_ns();
	json_t *device;
	size_t i;

	json_array_foreach (json_object_get(d->agent->edits.machine, "devices"), i, device) {
		if (strcmp(device_text(device, "driver"), "nvidia") ||
		    json_object_get(d->pci, device_text(device, "uuid")) || now - d->pci_ns < PCI_EVERY)
			continue;
		json_decref(d->pci);
		d->pci = dra_pci_read("");
		d->pci_ns = now;
	}
}

void dra_refresh(struct dra *d)
{
	if (!d)
		return;
	d->fresh = true;
	find_pci(d);
	tell_health(d);
}

static bool has_version(json_t *group, const char *version)
{
	json_t *one;
	size_t i;

	json_array_foreach (json_object_get(group, "versions"), i,
			   one) if (!strcmp(device_text(one, "version"), version)) return true;
	return false;
}

/* The newest that the API server has and this driver speaks. NULL: none. */
static const char *choose_version(json_t *group)
{
	static const char *const versions[] = { "v1", "v1beta2", "v1beta1" };

	for (size_t i = 0; i < sizeof(versions) / sizeof(*versions); i++)
		if (has_version(group, versions[i]))
			return versions[i];
	return NULL;
}

static void discovered(void *owner, const struct api_answer *answer)
{
	struct dra *d = owner;
	const char *version = choose_version(answer->body);
	char line[512];

	d->discovering = NULL;
	if (answer->status == 200 && version) {
		snprintf(d->version, sizeof(d->version), "%s", version);
		d->discover_failed = 0;
		dra_say(d, NULL);
		dra_prepare_waiting(d);
		return;
	}
	snprintf(line, sizeof(line),
		 "API server %.200s has no resource.k8s.io of v1, v1beta2 or v1beta1: DRA needs "
		 "Kubernetes 1.32 with DynamicResourceAllocation, or 1.34",
		 api_url(d->api));
	dra_say(d, answer->status == 200 || answer->status == 404 ? line : answer->line);
	d->discover_failed++;
	d->discover_ns = clock_now_ns() + api_pause_ns(d->discover_failed);
	dra_prepare_waiting(d);
}

static void discover(struct dra *d)
{
	if (!*d->version && !d->discovering && clock_now_ns() >= d->discover_ns)
		d->discovering = api_ask(d->api, "GET", DRA_GROUP, NULL, discovered, d);
}

/* Value: true when it listens. */
static bool listen_at(struct dra *d, struct grpc_server *s, const char *path, const struct grpc_method *methods_of)
{
	if (grpc_server_there(s))
		return true;
	if (s->watch.fd >= 0)
		grpc_server_close(s);
	return !grpc_server_open(s, &d->agent->loop, path, methods_of, d);
}

/* The plugin's socket first: kubelet calls it as soon as it sees the other one. */
static void listen_all(struct dra *d)
{
	mkdir(d->plugin_dir, 0700);
	if (listen_at(d, &d->plugin, d->plugin_path, methods))
		listen_at(d, &d->registry, d->registry_path, registry_methods);
}

void dra_tend(struct dra *d)
{
	if (!d)
		return;
	listen_all(d);
	discover(d);
	publisher_tend(d->publisher);
	sweeper_tend(d->sweeper);
}

bool dra_check(struct dra *d)
{
	struct fault f = { .text = "" };
	json_t *group = NULL;
	const char *version;
	int status = api_ask_now(d->api, "GET", DRA_GROUP, NULL, &group, &f);

	version = status == 200 ? choose_version(group) : NULL;
	if (version)
		printf("ok       API server %s has resource.k8s.io %s; this node is %s\n", api_url(d->api), version,
		       d->node);
	else
		printf("missing  %s\n", *f.text ? f.text : "the API server has no resource.k8s.io that is known");
	json_decref(group);
	return version;
}

static int find_places(struct dra *d, const struct dra_options *o, struct fault *f)
{
	const char *root = o->kubelet_root ? o->kubelet_root : DRA_KUBELET_ROOT;
	const char *node = o->node ? o->node : getenv("NODE_NAME");

	if (node && *node)
		snprintf(d->node, sizeof(d->node), "%s", node);
	else if (gethostname(d->node, sizeof(d->node) - 1))
		return fault_set(f, -errno, "this machine has no name; give --node NAME");
	if (!dra_word_good(d->node, sizeof(d->node) - 1))
		return fault_set(f, -EINVAL, "--node \"%.100s\" is no name of a node; `kubectl get nodes` lists them",
				 d->node);
	if (!path_join(d->plugin_dir, "%s/plugins/" DRA_DRIVER, root) ||
	    !path_join(d->plugin_path, "%s/plugins/" DRA_DRIVER "/dra.sock", root) ||
	    !path_join(d->registry_path, "%s/plugins_registry/" DRA_DRIVER "-reg.sock", root) ||
	    strlen(d->plugin_path) > 107 || strlen(d->registry_path) > 107)
		return fault_set(f, -ENAMETOOLONG, "--kubelet-root %.100s: the path is too long for a socket", root);
	return 0;
}

int dra_open(struct dra **ret, struct agent *a, const struct dra_options *o, struct fault *f)
{
	struct dra *d = calloc(1, sizeof(*d));
	int r;

	*ret = NULL;
	if (!d)
		return fault_set(f, -ENOMEM, "no memory for DRA");
	d->agent = a;
	d->registry.watch.fd = d->plugin.watch.fd = -1;
	d->health = json_array();
	d->counted = json_object();
	d->pci = json_object();
	r = find_places(d, o, f);
	if (!r)
		r = api_open(&d->api, &a->loop, &(struct api_options){ .kubeconfig = o->kubeconfig }, f);
	if (!r) {
		d->publisher = publisher_new(d);
		d->sweeper = sweeper_new(d);
		r = d->publisher && d->sweeper ? 0 : fault_set(f, -ENOMEM, "no memory for DRA");
	}
	if (r) {
		dra_close(d);
		return r;
	}
	*ret = d;
	return 0;
}

void dra_close(struct dra *d)
{
	if (!d)
		return;
	/* Its slices stay: an agent that is replaced is no reason to take a node's devices away. */
	dra_prepare_close(d);
	publisher_free(d->publisher);
	sweeper_free(d->sweeper);
	if (d->discovering)
		api_cancel(d->discovering);
	api_close(d->api);
	grpc_server_remove(&d->registry);
	grpc_server_remove(&d->plugin);
	json_decref(d->health);
	json_decref(d->counted);
	json_decref(d->pci);
	free(d);
}
