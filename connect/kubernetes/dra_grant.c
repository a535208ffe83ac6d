/*
 * dra_grant.c: see dra_state.h: the grant of a claim.
 *
 * It is kept (`keep`): it outlives containers that begin again, and ends when kubelet gives the claim back. Admin
 * access takes nothing of a device: its container gets the folder of meted's control socket, and what NVIDIA's own CDI
 * file gives for the device.
 */
#include "connect/kubernetes/dra_state.h"

#include "client/requests.h"
#include "connect/cdi/vendor.h"
#include "verb/expires.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define METED_TRIES 10 /* while it restarts; kubelet asks again by itself */
#define METED_PAUSE_US 50000
#define ADMIN_KIND "mete.io/admin"
#define ADMIN_FOLDER "/run/mete-admin"

void dra_grant_name(const char *uid, char name[AGENT_NAME_BYTES])
{
	snprintf(name, AGENT_NAME_BYTES, DRA_GRANT_PREFIX "%.*s", DRA_UID_MOST, uid);
}

static bool file_path(struct dra *d, const char *kind, const char *uid, char path[PATH_MAX])
{
	char name[AGENT_NAME_BYTES];

	dra_grant_name(uid, name);
	return spec_path(path, d->agent->options.cdi_dir, kind, name);
}

json_t *dra_cdi_ids(const char *uid, const struct dra_claim *claim)
{
	json_t *ids = json_array();
	char name[AGENT_NAME_BYTES];

	dra_grant_name(uid, name);
	if (json_array_size(claim->rows))
		json_array_append_new(ids, json_sprintf(SPEC_GRANT_KIND "=%s", name));
	if (json_array_size(claim->admin))
		json_array_append_new(ids, json_sprintf(ADMIN_KIND "=%s", name));
	return ids;
}

/* The words by which connect/cdi knows the devices; their sizes and terms are in the claim's rows. */
static int read_share(struct agent *a, const struct dra_claim *claim, struct edits_share *ret, struct fault *f)
{
	const char *words[EDITS_WORDS_MOST + 1];
	json_t *row;
	size_t n = 0, i;

	json_array_foreach (claim->rows, i, row) {
		words[n++] = "--device";
		words[n++] = device_text(row, "device");
	}
	if (claim->soft)
		words[n++] = "--soft";
	if (claim->wall)
		words[n++] = "--wall";
	words[n] = NULL;
	return edits_share_read(&a->edits, ret, words, f);
}

static int ask_grant(struct agent *a, const struct dra_claim *claim, const struct edits_share *share, const char *name,
		     const char *path, json_t *labels, struct fault *f)
{
	json_t *request = request_create(&(struct request_create){
		.name = name,
		.driver = share->choice.driver,
		.devices = json_incref(claim->rows),
		.labels = json_incref(labels),
		.container = json_pack("{s:b s:{s:o}}", "keep", 1, "files", "settings",
				       inside_settings(share->way, false)),
		.wall = claim->wall,
		.known = true });

	expires_request(request, 0);
	return grant_create(a, request, path, f);
}

/* The grant, unless it is there, and its CDI file. */
static int make(struct dra *d, const char *name, const char *path, const struct dra_claim *claim, json_t *labels,
		bool there, struct fault *f)
{
	struct agent *a = d->agent;
	const char *version = NULL;
	struct edits_share share;
	json_t *edits = NULL;
	int r = read_share(a, claim, &share, f);

	if (!r)
		r = grant_read_vendors(a, f);
	if (!r) {
		edits = edits_make(&a->edits, &share, "grant", name, &version, f);
		r = edits ? 0 : -ENOENT;
	}
	if (!r && !there)
		r = ask_grant(a, claim, &share, name, path, labels, f);
	if (!r) {
		r = spec_write_device(path, SPEC_GRANT_KIND, name, version, edits, f);
		edits = NULL;
		if (r && !there)
			grant_give_back(a, name);
	}
	json_decref(edits);
	edits_share_free(&share);
	return r;
}

static json_t *share_of(json_t *row, const char *uuid)
{
	json_t *share;
	size_t i;

	json_array_foreach (json_object_get(row, "devices"), i,
			   share) if (!strcmp(device_text(share, "uuid"), uuid)) return share;
	return NULL;
}

/* It has the devices of the claim. Its sizes may be others: `mete set` changes them, and that is how it is meant. */
static bool is_claims(json_t *row, const struct dra_claim *claim)
{
	json_t *one;
	size_t i;

	json_array_foreach (claim->rows, i, one)
		if (!share_of(row, device_text(one, "device")))
			return false;
	return json_array_size(json_object_get(row, "devices")) == json_array_size(claim->rows);
}

/* What there is already. Value: 0, or a fault. */
static int judge(json_t *row, const char *name, const struct dra_claim *claim, struct fault *f)
{
	if (!grant_is_ours(row))
		return fault_set(f, -EEXIST, "grant %s was made by somebody else (`mete show %s`): end it", name, name);
	if (!strcmp(device_text(row, "state"), "ending"))
		return fault_set(f, -EBUSY, "grant %s is ending; it is made anew when it is gone", name);
	if (!is_claims(row, claim))
		return fault_set(f, -EEXIST, "grant %s is on other devices than the claim (`mete show %s`)", name,
				 name);
	return 0;
}

static int take_once(struct dra *d, const char *uid, const struct dra_claim *claim, json_t *labels, struct fault *f)
{
	char name[AGENT_NAME_BYTES], path[PATH_MAX];
	json_t *row;
	int r;

	dra_grant_name(uid, name);
	if (!file_path(d, SPEC_GRANT_KIND, uid, path))
		return fault_set(f, -ENAMETOOLONG, "--cdi-dir %s: the path is too long", d->agent->options.cdi_dir);
	r = grant_look(d->agent, name, &row, f);
	if (!r && row)
		r = judge(row, name, claim, f);
	if (!r && (!row || access(path, R_OK)))
		r = make(d, name, path, claim, labels, row, f);
	json_decref(row);
	return r;
}

static int take_admin(struct dra *d, const char *uid, const struct dra_claim *claim, struct fault *f)
{
	struct edits *e = &d->agent->edits;
	const char *version = NULL, *needs;
	json_t *edits = json_object(), *ours, *one, *vendor, *device;
	char name[AGENT_NAME_BYTES], path[PATH_MAX], index[24];
	int r = grant_read_vendors(d->agent, f);
	size_t i;

	json_array_foreach (claim->admin, i, one) {
		device = device_listed(json_object_get(e->machine, "devices"), "nvidia", json_string_value(one),
				     json_string_length(one));
		if (r || !device)
			continue;
		snprintf(index, sizeof(index), "%lld", (long long)device_number(device, "index"));
		vendor = vendor_edits(&e->vendors, &e->place,
				      &(struct vendor_gpu){ json_string_value(one), index, false }, &needs, f);
		r = vendor ? 0 : -ENOENT;
		if (r)
			continue;
		vendor_merge(edits, vendor);
		json_decref(vendor);
		version = spec_version_later(needs, version ? version : SPEC_VERSION);
	}
	ours = json_pack("{s:[{s:s s:s s:[s,s,s,s]}]}", "mounts", "hostPath", e->control.dir, "containerPath",
			 ADMIN_FOLDER, "options", "ro", "nosuid", "nodev", "bind");
	vendor_merge(edits, ours);
	json_decref(ours);
	dra_grant_name(uid, name);
	if (!r && !file_path(d, ADMIN_KIND, uid, path))
		r = fault_set(f, -ENAMETOOLONG, "--cdi-dir %s: the path is too long", d->agent->options.cdi_dir);
	if (!r)
		return spec_write_device(path, ADMIN_KIND, name, version, edits, f);
	json_decref(edits);
	return r;
}

int dra_grant_take(struct dra *d, const char *uid, const struct dra_claim *claim, json_t *labels, struct fault *f)
{
	int r = json_array_size(claim->rows) ? CONTROL_LOST : 0;

	for (int i = 0; i < METED_TRIES && (r == CONTROL_LOST || r == CONTROL_NOBODY || r == -EHOSTDOWN); i++) {
		if (i)
			usleep(METED_PAUSE_US);
		r = take_once(d, uid, claim, labels, f);
	}
	if (!r)
		dra_grant_counted(d, uid, claim);
	if (!r && json_array_size(claim->admin))
		r = take_admin(d, uid, claim, f);
	return r;
}

void dra_grant_counted(struct dra *d, const char *uid, const struct dra_claim *claim)
{
	char name[AGENT_NAME_BYTES];

	dra_grant_name(uid, name);
	json_object_set(d->counted, name, claim->rows);
	d->fresh = true;
}

static int ask_end(struct agent *a, const char *op, const char *name, char code[64], struct fault *f)
{
	json_t *answer;
	int r = agent_ask(a, request_grant(op, name), &answer, code, f);

	if (!r)
		json_decref(answer);
	return r;
}

static void remove_file(struct dra *d, const char *kind, const char *uid)
{
	char path[PATH_MAX];

	if (file_path(d, kind, uid, path))
		unlink(path);
}

/* One that is ours. Value: 0: it is gone. */
static int end(struct dra *d, json_t *row, const char *name, bool programs_too, struct fault *f)
{
	char code[64] = "";
	int r;

	/* meted would end one whose container has no program just now. */
	if (!programs_too && !grant_waits(row))
		return fault_set(f, -EBUSY, "a program of grant %s runs", name);
	r = ask_end(d->agent, "grant_delete", name, code, f);
	if (r != CONTROL_REFUSED)
		return r;
	if (!strcmp(code, "unknown-grant"))
		return 0;
	if (!strcmp(code, "busy") && programs_too && !ask_end(d->agent, "grant_end", name, code, f))
		return fault_set(f, -EBUSY, "programs of grant %s still ran; they are being ended", name);
	return r;
}

int dra_grant_end(struct dra *d, const char *uid, bool programs_too, struct fault *f)
{
	char name[AGENT_NAME_BYTES];
	json_t *row;
	int r;

	dra_grant_name(uid, name);
	r = grant_look(d->agent, name, &row, f);
	if (!r && row && grant_is_ours(row))
		r = end(d, row, name, programs_too, f);
	json_decref(row);
	if (r)
		return r;
	json_object_del(d->counted, name);
	remove_file(d, ADMIN_KIND, uid);
	remove_file(d, SPEC_GRANT_KIND, uid); /* a meted that is not root's left it */
	return 0;
}

json_t *dra_grant_devices(struct dra *d, const char *uid)
{
	char name[AGENT_NAME_BYTES], path[PATH_MAX], device_name[64];
	json_t *row = NULL, *share, *devices = NULL;
	struct fault f;
	size_t i;

	dra_grant_name(uid, name);
	if (!grant_look(d->agent, name, &row, &f) && row && grant_is_ours(row) &&
	    file_path(d, SPEC_GRANT_KIND, uid, path) && !access(path, R_OK))
		devices = json_array();
	json_array_foreach (devices ? json_object_get(row, "devices") : NULL, i, share) {
		dra_device_name(share, device_name);
		json_array_append_new(devices, json_pack("{s:s s:s s:[o]}", "pool_name", d->node, "device_name",
							 device_name, "cdi_device_ids",
							 json_sprintf(SPEC_GRANT_KIND "=%s", name)));
	}
	json_decref(row);
	return devices;
}
