/* grant.c: see agent.h: the grants behind kubelet's ids, each with the CDI file by which a container gets it. */
#include "connect/kubernetes/agent.h"
#include "client/requests.h"

#include "connect/kubernetes/dra_pool.h"
#include "verb/expires.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define METED_TRIES 40 /* while it restarts: kubelet does not ask twice */
#define METED_PAUSE_US 50000
#define MEANWHILE_S 10 /* an id that was offered: kubelet's list is younger */

json_t *grant_row(struct agent *a, const char *name)
{
	return json_object_get(a->grants, name);
}

bool grant_is_ours(json_t *row)
{
	return json_is_object(json_object_get(row, "container")) &&
	       json_integer_value(json_object_get(row, "uid")) == (json_int_t)geteuid();
}

bool grant_waits(json_t *row)
{
	return json_is_null(json_object_get(row, "runner_pid")) &&
	       !json_array_size(json_object_get(row, "processes")) && strcmp(device_text(row, "state"), "ending");
}

int grant_share(struct agent *a, const char *share, const char *device, struct edits_share *ret, struct fault *f)
{
	const char *words[EDITS_WORDS_MOST + 4];
	json_t *list = json_object_get(a->shares, share);
	bool named = device;
	size_t n = 0;
	int r;

	*ret = (struct edits_share){ 0 };
	if (!list)
		return fault_set(f, -ENOENT, "there is no share %s any more; see `mete-agent --check`", share);
	shares_words(list, words, EDITS_WORDS_MOST + 1);
	while (words[n])
		named |= !strcmp(words[n++], "--device");
	if (a->options.soft)
		words[n++] = "--soft";
	if (device || !named) {
		words[n++] = "--device";
		words[n++] = device ? device : "any";
	}
	words[n] = NULL;
	r = edits_share_read(&a->edits, ret, words, f);
	return r ? shares_fault(a->options.shares, share, r, f) : 0;
}

bool grant_share_is_any(const struct edits_share *share)
{
	return share->choice.count == 1 && !share->choice.share[0].chosen;
}

struct room_share grant_share_room(const struct edits_share *share)
{
	return (struct room_share){ .rows = choose_request(&share->choice),
				    .overcommit = option_given(&share->line, "overcommit"),
				    .leaves = share->spill.is,
				    .stays_bytes = share->spill.resident_bytes };
}

bool grant_comes(int r)
{
	return r == -ENOSPC || r == -EBUSY;
}

/* A device of the share's driver is in service: it is room that is wanting. */
static bool any_serves(json_t *devices, const char *driver)
{
	json_t *device;
	size_t i;

	json_array_foreach (devices, i, device)
		if (!strcmp(device_text(device, "driver"), driver) && !strcmp(device_text(device, "state"), "active"))
			return true;
	return false;
}

/* meted's devices: as it said them last, or as they are now. *ret: owned. */
static int find_machine(struct agent *a, bool fresh, json_t **ret, struct fault *f)
{
	if (fresh || !a->edits.machine)
		return agent_ask(a, request_devices_known(), ret, NULL, f);
	*ret = json_incref(a->edits.machine);
	return 0;
}

/* The share on the device that it should have. `fresh`: meted is asked what the devices have. */
static int place_share(struct agent *a, const char *name, bool fresh, struct edits_share *share, struct fault *f)
{
	struct room_share asked;
	json_t *machine = NULL;
	const char *uuid;
	bool serves;
	int r = grant_share(a, name, NULL, share, f);

	if (r || !grant_share_is_any(share))
		return r;
	r = find_machine(a, fresh, &machine, f);
	if (r)
		return r;
	asked = grant_share_room(share);
	uuid = room_pick(&asked, json_object_get(machine, "devices"), share->choice.driver, a->options.spread);
	serves = any_serves(json_object_get(machine, "devices"), share->choice.driver);
	json_decref(asked.rows);
	edits_share_free(share);
	*share = (struct edits_share){ 0 };
	r = uuid ? grant_share(a, name, uuid, share, f)
		 : fault_set(f, serves ? -ENOSPC : CONTROL_REFUSED,
			     AGENT_RESOURCES "%s: no device of this node has room for one more; `mete devices` says "
					     "what is promised on each",
			     name);
	json_decref(machine);
	return r;
}

int grant_create(struct agent *a, json_t *take_request, const char *path, struct fault *f)
{
	json_t *answer;
	char code[64] = "";
	int r;

	/* The system's meted removes files for root alone. */
	if (!a->edits.control.system || !geteuid())
		json_object_set_new(json_object_get(take_request, "container"), "spec", json_string(path));
	r = agent_ask(a, take_request, &answer, code, f);
	if (!r)
		json_decref(answer);
	if (r != CONTROL_REFUSED)
		return r;
	return !strcmp(code, "over-promised") || !strcmp(code, "queued") ? -ENOSPC
	       : !strcmp(code, "name-taken")				 ? -EEXIST
									 : r;
}

/* An agent's: for a pod, or for a claim. */
static bool is_of_kubernetes(json_t *row)
{
	const char *name = device_text(row, "name");

	return grant_is_ours(row) && (!strncmp(name, AGENT_PREFIX, strlen(AGENT_PREFIX)) ||
				      !strncmp(name, DRA_GRANT_PREFIX, strlen(DRA_GRANT_PREFIX)));
}

/* It holds a part of a device that the share might have had. */
static bool is_in_the_way(json_t *row, const struct edits_share *share, json_t *asked)
{
	json_t *part, *one;
	size_t i, j;

	if (grant_share_is_any(share))
		return !strcmp(device_text(json_object_get(row, "driver"), "kind"), share->choice.driver);
	json_array_foreach (json_object_get(row, "devices"), i, part)
		json_array_foreach (asked, j, one)
			if (!strcmp(device_text(part, "uuid"), device_text(one, "device")))
				return true;
	return false;
}

bool grant_taken_outside(struct agent *a, const char *share_name, struct fault *f)
{
	struct edits_share share;
	struct fault other;
	json_t *answer = NULL, *row, *asked = NULL, *taker = NULL;
	json_int_t now = (json_int_t)time(NULL);
	char line[sizeof(f->text)];
	size_t i;

	if (!grant_share(a, share_name, NULL, &share, &other) &&
	    !agent_ask(a, request_plain("grants"), &answer, NULL, &other))
		asked = choose_request(&share.choice);
	json_array_foreach (asked ? json_object_get(answer, "grants") : NULL, i, row) {
		json_int_t age = now - json_integer_value(json_object_get(row, "created"));

		if (!is_of_kubernetes(row) && age <= MEANWHILE_S && is_in_the_way(row, &share, asked))
			taker = row;
	}
	if (taker) {
		snprintf(line, sizeof(line), "%s", f->text);
		fault_set(f, 0, "%.600s; grant %s of uid %lld, made outside Kubernetes meanwhile, has the room", line,
			  device_text(taker, "name"), (long long)json_integer_value(json_object_get(taker, "uid")));
	}
	json_decref(asked);
	json_decref(answer);
	edits_share_free(&share);
	return taker;
}

int grant_read_vendors(struct agent *a, struct fault *f)
{
	spec_list_free(&a->edits.vendors);
	a->edits.vendors = (struct spec_list){ 0 };
	return spec_list_read_vendors(&a->edits.vendors, f);
}

static int ask_grant(struct agent *a, const struct edits_share *share, const char *name, const char *path,
		     struct fault *f)
{
	json_t *request = request_create(&(struct request_create){
		.name = name,
		.driver = share->choice.driver,
		.devices = choose_request(&share->choice),
		.container = json_pack("{s:b s:{s:o}}", "keep", 0, "files", "settings",
				       inside_settings(share->way, share->spill.is)),
		.overcommit = option_given(&share->line, "overcommit"),
		.wall = share->way == INSIDE_WALL,
		.known = true });

	expires_request(request, a->options.expires_s);
	spill_request(&share->spill, request);
	return grant_create(a, request, path, f);
}

void grant_give_back(struct agent *a, const char *name)
{
	struct fault f;
	json_t *answer;

	if (!agent_ask(a, request_grant("grant_delete", name), &answer, NULL, &f))
		json_decref(answer);
}

static int make_on(struct agent *a, const char *share_name, const char *name, bool fresh, struct fault *f)
{
	const char *version = NULL;
	struct edits_share share;
	json_t *edits = NULL;
	char path[PATH_MAX];
	int r = agent_connect(a, f); /* the CDI file names its folder */

	if (r)
		return r;
	r = place_share(a, share_name, fresh, &share, f);
	if (!r)
		r = grant_read_vendors(a, f);
	if (!r && !spec_path(path, a->options.cdi_dir, SPEC_GRANT_KIND, name))
		r = fault_set(f, -ENAMETOOLONG, "--cdi-dir %s: the path is too long", a->options.cdi_dir);
	if (!r) {
		edits = edits_make(&a->edits, &share, "grant", name, &version, f);
		r = edits ? 0 : -ENOENT;
	}
	if (!r)
		r = ask_grant(a, &share, name, path, f);
	if (!r) {
		r = spec_write_device(path, SPEC_GRANT_KIND, name, version, edits, f);
		edits = NULL;
		if (r)
			grant_give_back(a, name);
	}
	json_decref(edits);
	edits_share_free(&share);
	return r;
}

/*
 * A share that packs is placed by what meted said last: each question less is a turn of two processes less before
 * kubelet has its answer, and meted alone says whether there is room. Where it says no, it is asked what has room now.
 */
static int make(struct agent *a, const char *share_name, const char *name, struct fault *f)
{
	int r = make_on(a, share_name, name, a->options.spread, f);

	return r == -ENOSPC || r == CONTROL_REFUSED ? make_on(a, share_name, name, true, f) : r;
}

/* What meted has now under this name; owned. *ret NULL: nothing. Value: 0 or a fault. */
int grant_look(struct agent *a, const char *name, json_t **ret, struct fault *f)
{
	json_t *answer = NULL;
	char code[64] = "";
	int r = agent_ask(a, request_grant("grants", name), &answer, code, f);

	*ret = NULL;
	if (r == CONTROL_REFUSED && !strcmp(code, "unknown-grant"))
		return 0;
	if (!r)
		*ret = json_incref(json_array_get(json_object_get(answer, "grants"), 0));
	json_decref(answer);
	return r;
}

/* Whether the row leaves the name to a container that begins. */
static int judge(json_t *row, const char *name, struct fault *f)
{
	if (row && !grant_is_ours(row))
		return fault_set(f, -EEXIST,
				 "grant %s was made by somebody else (`mete show %s`): end it, or have it renamed",
				 name, name);
	if (row && !grant_waits(row))
		return fault_set(f, -EBUSY, "grant %s is still another container's (`mete show %s`)", name, name);
	return 0;
}

/* Its CDI file is there. /run is empty after the machine was switched off and on, and the grant is in meted's store. */
static bool has_file(const struct agent *a, const char *name)
{
	char path[PATH_MAX];

	return spec_path(path, a->options.cdi_dir, SPEC_GRANT_KIND, name) && !access(path, F_OK);
}

/* `fresh`: one that nobody took is older than the share's words may be, and its time runs: a new one. */
static int take_seen(struct agent *a, const char *share, const char *name, bool fresh, bool *ret_made, struct fault *f)
{
	json_t *row;
	int r = grant_look(a, name, &row, f);

	if (r)
		return r;
	r = judge(row, name, f);
	fresh = fresh || (row && !has_file(a, name));
	if (!r && row && fresh)
		grant_give_back(a, name);
	*ret_made = !r && (fresh || !row);
	json_decref(row);
	return *ret_made ? make(a, share, name, f) : r;
}

/* A name that meted did not list is tried at once; where it is taken meanwhile, what it is decides. */
static int take_once(struct agent *a, const char *share, const char *name, bool fresh, bool *ret_made, struct fault *f)
{
	int r = -EEXIST;

	if (fresh && a->grants && !grant_row(a, name)) {
		*ret_made = true;
		r = make(a, share, name, f);
	}
	return r == -EEXIST ? take_seen(a, share, name, fresh, ret_made, f) : r;
}

static int take(struct agent *a, const char *share, const char *name, bool fresh, bool *ret_made, struct fault *f)
{
	int r = CONTROL_LOST;

	for (int i = 0; i < METED_TRIES && (r == CONTROL_LOST || r == CONTROL_NOBODY || r == -EHOSTDOWN); i++) {
		if (i)
			usleep(METED_PAUSE_US);
		r = take_once(a, share, name, fresh, ret_made, f);
	}
	return r;
}

int grant_take(struct agent *a, const char *share, const char *name, struct fault *f)
{
	bool made;

	return take(a, share, name, true, &made, f);
}

int grant_take_again(struct agent *a, const char *share, const char *name, bool *ret_made, struct fault *f)
{
	return take(a, share, name, false, ret_made, f);
}
