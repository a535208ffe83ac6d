/* identity.c: see identity.h. */
#include "connect/kubernetes/identity.h"

#include "base/clock.h"
#include "connect/kubernetes/agent.h"
#include "connect/kubernetes/messages.h"

#include <string.h>

#define SECOND 1000000000ull
#define PAUSE (2 * SECOND)
#define PATIENCE (10 * SECOND)
#define BEGINS (SECOND / 2) /* by then the container has begun, and its runtime has named it: there is less to say */
#define UNTAKEN_S 30 /* a runtime on a busy machine takes some seconds */
#define MISSING_S 15 /* a kubelet that has just begun lists no pods for some seconds */

static const struct grpc_method list_method = { "/v1.PodResourcesLister/List", message_empty, message_pods, NULL,
						false };

/* Of an id: k8s-SHARE-NUMBER, made by an agent. */
static bool is_of_id(const char *name, json_t *row)
{
	const char *number = strrchr(name, '-');

	return !strncmp(name, AGENT_PREFIX, strlen(AGENT_PREFIX)) && number > name + strlen(AGENT_PREFIX) &&
	       number[1] && strspn(number + 1, "0123456789") == strlen(number + 1) && grant_is_ours(row);
}

/* A grant of an id waits for its container, or it is not known whose it is. */
static bool unsettled(struct agent *a)
{
	const char *name;
	json_t *row;

	json_object_foreach (a->grants, name, row)
		if (is_of_id(name, row) &&
		    (grant_waits(row) || !*device_text(json_object_get(row, "labels"), "pod")))
			return true;
	return false;
}

static void label(struct agent *a, const char *id, json_t *labels)
{
	json_t *row = grant_row(a, id), *answer = NULL;
	struct fault f = { .text = "" };

	if (!row || !grant_is_ours(row) || json_equal(json_object_get(row, "labels"), labels))
		return;
	if (agent_ask(a, json_pack("{s:s s:s s:O}", "op", "grant_label", "name", id, "labels", labels), &answer, NULL,
		      &f)) {
		program_log("%s has no labels: %s", id, f.text);
		return;
	}
	json_decref(answer);
	json_object_set(row, "labels", labels);
	program_log("%s is for %s/%s, container %s", id, device_text(labels, "namespace"), device_text(labels, "pod"),
		  device_text(labels, "container"));
}

/* `ids`: those that kubelet lists. */
static void label_container(struct agent *a, json_t *pod, json_t *container, json_t *ids)
{
	json_t *labels = json_pack("{s:s s:s s:s}", "container", device_text(container, "name"), "pod",
				   device_text(pod, "name"), "namespace", device_text(pod, "namespace"));
	json_t *device, *id;
	size_t i, j;

	json_array_foreach (json_object_get(container, "devices"), i, device)
		if (!strncmp(device_text(device, "resource_name"), AGENT_RESOURCES, strlen(AGENT_RESOURCES)))
			json_array_foreach (json_object_get(device, "device_ids"), j, id) {
				label(a, json_string_value(id), labels);
				json_object_set_new(ids, json_string_value(id), json_true());
			}
	json_decref(labels);
}

/* Gives back what waits in vain. */
static void sweep(struct identity *i, json_t *ids)
{
	json_t *missing = json_object(), *row;
	json_int_t now = (json_int_t)(clock_now_ns() / SECOND), since;
	const char *name;

	json_object_foreach (i->agent->grants, name, row) {
		if (!is_of_id(name, row) || !grant_waits(row) || json_object_get(ids, name))
			continue;
		row = json_object_get(i->missing, name);
		since = row ? json_integer_value(row) : now;
		if (now - since < MISSING_S) {
			json_object_set_new(missing, name, json_integer(since));
			continue;
		}
		program_log("%s waited for a container that kubelet does not know: ended", name);
		grant_give_back(i->agent, name);
		agent_refresh_soon(i->agent);
	}
	json_decref(i->missing);
	i->missing = missing;
}

void identity_begins(struct identity *i, const char *id)
{
	if (!i->begun)
		i->begun = json_object();
	json_object_set_new(i->begun, id, json_integer((json_int_t)(clock_now_ns() / SECOND)));
}

/* Whether those whose containers were to begin have been taken. */
static void look_for_untaken(struct identity *i)
{
	json_int_t now = (json_int_t)(clock_now_ns() / SECOND);
	json_t *since, *row;
	const char *name;
	bool taken = false;
	char line[256];
	void *next;

	*line = 0;
	json_object_foreach_safe (i->begun, next, name, since) {
		row = grant_row(i->agent, name);
		if (!row || !grant_waits(row)) {
			taken |= row != NULL;
			json_object_del(i->begun, name);
		} else if (now - json_integer_value(since) >= UNTAKEN_S) {
			snprintf(line, sizeof(line),
				 "%.80s: no container has taken it %d s after kubelet began one; has the container "
				 "runtime CDI (`mete doctor`)? The pod's events say whether it begins",
				 name, UNTAKEN_S);
		}
	}
	if (*line)
		agent_trouble(i->agent, AGENT_RUNTIME, line, NULL);
	else
		agent_trouble(i->agent, AGENT_RUNTIME, NULL, taken ? "containers take their shares" : NULL);
}

static void listed(void *owner, int status, const char *line, json_t *answer)
{
	struct identity *i = owner;
	json_t *pod, *container, *ids;
	size_t j, k;

	i->asking = NULL;
	i->next_ns = clock_now_ns() + (i->wanted ? BEGINS : PAUSE);
	look_for_untaken(i);
	if (status != GRPC_OK) {
		if (!i->said)
			program_log("kubelet does not say whose the grants are: %s (gRPC status %d, %s); the container "
				  "runtime may",
				  line, status, i->agent->options.pods_socket);
		i->said = true;
		return;
	}
	i->said = false;
	ids = json_object();
	json_array_foreach (json_object_get(answer, "pod_resources"), j, pod)
		json_array_foreach (json_object_get(pod, "containers"), k, container)
			label_container(i->agent, pod, container, ids);
	sweep(i, ids);
	json_decref(ids);
}

void identity_want(struct identity *i)
{
	uint64_t now = clock_now_ns();

	i->wanted = true;
	if (i->next_ns <= now || i->next_ns > now + BEGINS)
		i->next_ns = now + BEGINS;
}

void identity_tend(struct identity *i)
{
	uint64_t now = clock_now_ns();
	json_t *empty;
	int r;

	if (i->asking && now - i->since_ns > PATIENCE) {
		grpc_call_cancel(i->asking);
		listed(i, GRPC_UNAVAILABLE, "no answer within 10 s", NULL);
	}
	if (i->asking || now < i->next_ns || (!i->wanted && !unsettled(i->agent)))
		return;
	i->wanted = false;
	i->since_ns = now;
	empty = json_object();
	r = grpc_call_begin(&i->asking, &i->agent->loop, i->agent->options.pods_socket, &list_method, empty, listed, i);
	json_decref(empty);
	if (r)
		listed(i, GRPC_UNAVAILABLE, strerror(-r), NULL);
}

void identity_end(struct identity *i)
{
	if (i->asking)
		grpc_call_cancel(i->asking);
	i->asking = NULL;
	json_decref(i->missing);
	json_decref(i->begun);
	i->missing = i->begun = NULL;
}
