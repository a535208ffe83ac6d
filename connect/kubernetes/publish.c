/* publish.c: see publish.h. */
#include "connect/kubernetes/publish.h"

#include "base/clock.h"
#include "connect/kubernetes/agent.h"
#include "connect/kubernetes/api.h"
#include "connect/kubernetes/node_events.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct publish {
	struct agent *agent;
	struct api *api;
	struct api_call *call; /* under way */
	struct node_events *events;
	char path[320];
	char *text; /* as it was sent; NULL: not yet */
	bool fresh; /* meted was asked since */
	uint64_t next_ns;
	unsigned int failed;
	char said[512];
};

static uint32_t ppm_of(json_t *object, const char *key)
{
	double percent = json_number_value(json_object_get(object, key));

	return percent > 0 ? (uint32_t)llround(percent * 1e4) : 0;
}

static json_int_t number(json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

static json_t *card_json(json_t *device, json_int_t tenants)
{
	json_int_t total = number(device, "total_bytes"), promised = number(device, "promised_bytes");
	uint32_t time = ppm_of(device, "promised_cores");

	return json_pack("{s:I s:s s:s s:I s:I s:i s:I s:s s:b}", "index", number(device, "index"), "uuid",
			 device_text(device, "uuid"), "name", device_text(device, "name"), "total", total, "left",
			 total > promised ? total - promised : 0, "time", time < 1000000 ? (int)(1000000 - time) : 0,
			 "tenants", tenants, "state", device_text(device, "state"), "native",
			 !strcmp(device_text(device, "native"), "allow"));
}

/* How many grants have a share of the device. */
static json_int_t tenants_of(struct agent *a, json_t *device)
{
	json_t *grant, *share;
	const char *name;
	json_int_t n = 0;
	size_t i;

	json_object_foreach(a->grants, name, grant) json_array_foreach(json_object_get(grant, "devices"), i, share) n +=
		!strcmp(device_text(share, "uuid"), device_text(device, "uuid"));
	return n;
}

static int card_number(json_t *cards, const char *uuid)
{
	json_t *card;
	size_t i;

	json_array_foreach(cards, i, card) if (!strcmp(device_text(card, "uuid"), uuid)) return (int)i;
	return -1;
}

/* card -1: whichever has room. What a share does not have is left out. */
static json_t *row_json(const struct room_share *share, json_t *row, int card)
{
	json_t *out = json_pack("{s:i s:i}", "card", card, "time", (int)ppm_of(row, "cores"));

	if (share->overcommit)
		json_object_set_new(out, "overcommit", json_true());
	if (share->leaves)
		json_object_set_new(out, "stays", json_integer((json_int_t)share->stays_bytes));
	if (json_object_get(row, "mem_bytes"))
		json_object_set(out, "bytes", json_object_get(row, "mem_bytes"));
	else if (json_object_get(row, "mem_pct"))
		json_object_set_new(out, "ppm", json_integer(ppm_of(row, "mem_pct")));
	return out;
}

/* A share that cannot be here is left out: then the node does not have it. */
static void add_share(struct agent *a, const char *name, json_t *cards, json_t *shares)
{
	struct edits_share share;
	struct room_share room;
	struct fault f;
	json_t *row, *out;
	size_t i;

	if (!grant_share(a, name, NULL, &share, &f)) {
		bool any = grant_share_is_any(&share);

		room = grant_share_room(&share);
		out = json_array();
		json_array_foreach(room.rows, i, row) json_array_append_new(
			out, row_json(&room, row, any ? -1 : card_number(cards, device_text(row, "device"))));
		json_object_set_new(shares, name, out);
		json_decref(room.rows);
	}
	edits_share_free(&share);
}

/* A device that has OpenCL alone is no GPU of the node: often it is the processor. */
static bool is_card(const struct agent *a, json_t *device)
{
	const char *driver = device_text(device, "driver");

	return a->options.soft ? !strcmp(driver, "soft") : strcmp(driver, "opencl") != 0;
}

static char *compose(struct agent *a)
{
	json_t *cards = json_array(), *shares = json_object(), *device, *words, *all;
	const char *name;
	char *text;
	size_t i;

	json_array_foreach(json_object_get(a->edits.machine, "devices"), i,
			   device) if (is_card(a, device))
		json_array_append_new(cards, card_json(device, tenants_of(a, device)));
	json_object_foreach(a->shares, name, words) add_share(a, name, cards, shares);
	all = json_pack("{s:o s:o}", "cards", cards, "shares", shares);
	text = json_dumps(all, JSON_COMPACT);
	json_decref(all);
	return text;
}

static void told(void *owner, const struct api_answer *answer)
{
	struct publish *p = owner;

	p->call = NULL;
	if (!*answer->line) {
		if (*p->said)
			program_log("the node is annotated again");
		p->failed = 0;
		*p->said = 0;
		return;
	}
	/* It is composed and sent once more, later each time. */
	free(p->text);
	p->text = NULL;
	p->fresh = true;
	p->next_ns = clock_now_ns() + api_pause_ns(++p->failed);
	if (strcmp(p->said, answer->line))
		program_log("%s", answer->line);
	snprintf(p->said, sizeof(p->said), "%s", answer->line);
}

static void send_text(struct publish *p, char *take_text, uint64_t now)
{
	json_t *body = json_pack("{s:{s:{s:s}}}", "metadata", "annotations", PUBLISH_ANNOTATION, take_text);

	p->next_ns = now + PUBLISH_PAUSE_NS;
	p->call = body ? api_ask(p->api, "PATCH", p->path, body, told, p) : NULL;
	json_decref(body);
	free(p->text);
	p->text = take_text;
	if (!p->call) {
		free(p->text);
		p->text = NULL;
		p->fresh = true;
	}
}

void publish_refresh(struct publish *p)
{
	if (p)
		p->fresh = true;
}

void publish_tend(struct publish *p)
{
	uint64_t now = clock_now_ns();
	char *text;

	if (!p || !p->fresh || p->call || now < p->next_ns || !p->agent->grants || !p->agent->edits.machine)
		return;
	p->fresh = false;
	text = compose(p->agent);
	if (!text || (p->text && !strcmp(text, p->text)))
		free(text);
	else
		send_text(p, text, now);
}

int publish_open(struct publish **ret, struct agent *a, const char *node, const char *kubeconfig, struct fault *f)
{
	struct publish *p = calloc(1, sizeof(*p));
	char own[256] = "";
	int r;

	*ret = NULL;
	if (!p)
		return fault_set(f, -ENOMEM, "no memory");
	node = node ? node : getenv("NODE_NAME");
	if (!node && !gethostname(own, sizeof(own) - 1))
		node = own;
	/* It becomes a part of a path. */
	if (!node || !*node || strlen(node) > 253 ||
	    strspn(node, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-") != strlen(node)) {
		free(p);
		return fault_set(f, -EINVAL, "--node %.60s: no name of a node; `kubectl get nodes` lists them",
				 node ? node : "\"\"");
	}
	snprintf(p->path, sizeof(p->path), "/api/v1/nodes/%s", node);
	p->agent = a;
	r = api_open(&p->api, &a->loop, &(struct api_options){ .kubeconfig = kubeconfig }, f);
	if (!r) {
		p->events = node_events_new(p->api, node);
		r = p->events ? 0 : fault_set(f, -ENOMEM, "no memory");
	}
	if (r)
		publish_close(p);
	else
		*ret = p;
	return r;
}

struct node_events *publish_events(struct publish *p)
{
	return p ? p->events : NULL;
}

void publish_close(struct publish *p)
{
	if (!p)
		return;
	node_events_free(p->events);
	api_close(p->api);
	free(p->text);
	free(p);
}
