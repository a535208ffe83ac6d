/* agent.c: see agent.h: what the agent knows, and whom it asks. */
#include "connect/kubernetes/agent.h"
#include "client/requests.h"

#include "base/clock.h"
#include "connect/kubernetes/node_events.h"
#include "connect/kubernetes/owed.h"
#include "connect/kubernetes/plugin.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#define SOON_NS 30000000ull
#define SOON_MOST_NS 1000000000ull
#define SOON_TIMES 9 /* as long as the last look took: many pods at once leave the processor to kubelet */
#define LIST_MOST_NS 2000000ull /* between two looks at who asks: an Allocate does not wait for the lists of others */
#define FOLDER_NS 1000000000ull /* inotify says at once what happens in it, but not that it is another one */
#define FOLDER_MISSING_NS 100000000ull
#define AWAY_PATIENCE_NS 3000000000ull /* a restart of meted is no news for kubelet */

void agent_trouble(struct agent *a, enum agent_subject subject, const char *line, const char *over)
{
	static const char *const reasons[] = { "MetedAway", "SharesBroken", "KubeletAway", "ShareNotTaken" };
	char *said = a->said[subject];

	if (subject != AGENT_KUBELET)
		node_events_trouble(publish_events(a->publish), reasons[subject], line);
	if (line && strcmp(said, line))
		program_log("%s", line);
	if (!line && *said && over)
		program_log("%s", over);
	snprintf(said, sizeof(a->said[subject]), "%s", line ? line : "");
}

int agent_connect(struct agent *a, struct fault *f)
{
	struct control *c = &a->edits.control;
	int r;

	if (c->fd >= 0 && control_alive(c))
		return 0;
	control_close(c);
	*c = CONTROL_CLOSED;
	r = control_open(c, CONTROL_FIND, f);
	if (r == CONTROL_NOBODY)
		return fault_set(f, r, "no meted serves in %s: `systemctl start meted.socket meted`", c->dir);
	return r;
}

int agent_ask(struct agent *a, json_t *request, json_t **ret, char code[64], struct fault *f)
{
	int r = agent_connect(a, f);

	if (r) {
		json_decref(request);
		return r;
	}
	r = control_ask(&a->edits.control, request, ret, code, f);
	if (r && r != CONTROL_REFUSED) {
		control_close(&a->edits.control);
		a->edits.control = CONTROL_CLOSED;
	}
	return r;
}

static int ask_all(struct agent *a, struct fault *f)
{
	json_t *machine = NULL, *grants = NULL, *row;
	size_t i;
	int r = agent_ask(a, request_devices_known(), &machine, NULL, f);

	if (!r)
		r = agent_ask(a, request_plain("grants"), &grants, NULL, f);
	if (r) {
		json_decref(machine);
		return r;
	}
	json_decref(a->edits.machine);
	a->edits.machine = machine;
	json_decref(a->grants);
	a->grants = json_object();
	json_array_foreach (json_object_get(grants, "grants"), i, row)
		json_object_set(a->grants, device_text(row, "name"), row);
	json_decref(grants);
	return 0;
}

void agent_refresh(struct agent *a)
{
	struct fault f = { .text = "" };
	uint64_t now = clock_now_ns();

	if (!ask_all(a, &f)) {
		a->away_ns = 0;
		agent_trouble(a, AGENT_METED, NULL, "meted answers again");
		node_events_devices(publish_events(a->publish), json_object_get(a->edits.machine, "devices"));
	} else {
		a->away_ns = a->away_ns ? a->away_ns : now;
		if (now - a->away_ns > AWAY_PATIENCE_NS || !a->edits.machine) {
			agent_trouble(a, AGENT_METED, f.text, NULL);
			json_decref(a->grants);
			a->grants = NULL;
		}
	}
	/* Before their room is offered to others. */
	owed_make(a);
	for (struct plugin *p = a->plugins; p; p = p->next)
		p->stale = true;
	dra_refresh(a->dra);
	publish_refresh(a->publish);
	a->look_ns = clock_now_ns() - now;
}

bool agent_is_away(const struct agent *a)
{
	return a->away_ns && clock_now_ns() - a->away_ns > AWAY_PATIENCE_NS;
}

bool agent_list(struct agent *a)
{
	uint64_t began = clock_now_ns(), now = began;
	struct plugin *p = a->plugins;

	for (; p && now - began < LIST_MOST_NS; p = p->next)
		if (p->stale) {
			plugin_refresh(p);
			now = clock_now_ns();
		}
	a->look_ns += now - began;
	while (p && !p->stale)
		p = p->next;
	return p;
}

void agent_refresh_soon(struct agent *a)
{
	uint64_t pause = a->look_ns * SOON_TIMES, soon;

	pause = pause < SOON_NS ? SOON_NS : pause > SOON_MOST_NS ? SOON_MOST_NS : pause;
	soon = clock_now_ns() + pause;
	if (a->refresh_ns > soon)
		a->refresh_ns = soon;
}

static struct plugin *find(struct agent *a, const char *share)
{
	struct plugin *p = a->plugins;

	while (p && strcmp(p->share, share))
		p = p->next;
	return p;
}

/* Those of shares that are no more go; kubelet takes their ids for lost. */
static void drop_plugins(struct agent *a)
{
	struct plugin **at = &a->plugins, *p;

	while ((p = *at)) {
		if (json_object_get(a->shares, p->share)) {
			at = &p->next;
			continue;
		}
		*at = p->next;
		program_log(AGENT_RESOURCES "%s is no share any more", p->share);
		plugin_free(p);
	}
}

/* Of a file as it is now: another file, another size or another time is another one. */
static uint64_t identity_of(const struct stat *st)
{
	return (st->st_ino * 1000003u) ^ ((uint64_t)st->st_size << 20) ^
	       ((uint64_t)st->st_ctim.tv_sec * 1000000000u + (uint64_t)st->st_ctim.tv_nsec) ^ 1;
}

void agent_read_shares(struct agent *a)
{
	struct fault f = { .text = "" };
	struct stat st;
	uint64_t file = stat(a->options.shares ? a->options.shares : SHARES_FILE, &st) ? 0 : identity_of(&st);
	struct plugin *p;
	const char *name;
	json_t *words, *shares, *counts;

	if (a->shares && file == a->shares_file)
		return;
	a->shares_file = file;
	shares = shares_read(a->options.shares, &counts, &f);
	agent_trouble(a, AGENT_SHARES, shares ? NULL : f.text, "the shares can be read again");
	if (!shares)
		return;
	json_decref(a->counts);
	a->counts = counts;
	agent_refresh_soon(a);
	if (json_equal(shares, a->shares)) {
		json_decref(shares);
		return;
	}
	json_decref(a->shares);
	a->shares = shares;
	drop_plugins(a);
	json_object_foreach (shares, name, words) {
		p = find(a, name) ? NULL : plugin_new(a, name);
		if (p) {
			p->next = a->plugins;
			a->plugins = p;
		}
	}
	a->folder_ns = 0;
}

/* The identity of kubelet's socket: another one is another kubelet. */
static uint64_t socket_identity(const struct agent *a)
{
	char path[PATH_MAX];
	struct stat st;

	if (!path_join(path, "%s/kubelet.sock", a->options.kubelet_dir) || stat(path, &st) || !S_ISSOCK(st.st_mode))
		return 0;
	return identity_of(&st);
}

static void inotify_ready(struct watch *w, uint32_t events)
{
	char text[4096];

	struct agent *a = w->owner;

	/* That something happened is all there is to know: agent_tend() looks. */
	while (read(w->fd, text, sizeof(text)) > 0)
		;
	a->folder_ns = 0;
}

static void watch_folder(struct agent *a)
{
	if (a->inotify.fd < 0) {
		a->inotify = (struct watch){ .fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK),
					     .ready = inotify_ready,
					     .owner = a };
		if (a->inotify.fd < 0 || loop_add(&a->loop, &a->inotify, EPOLLIN))
			return;
	}
	/* A second time for the same folder changes nothing; a folder that is another is watched from now on. */
	inotify_add_watch(a->inotify.fd, a->options.kubelet_dir, IN_CREATE | IN_MOVED_TO | IN_DELETE | IN_ONLYDIR);
}

/* Whether kubelet is there, and each plugin's socket. */
static void look_at_folder(struct agent *a)
{
	uint64_t now = socket_identity(a);
	char line[512];

	watch_folder(a);
	a->folder_ns = clock_now_ns() + (now ? FOLDER_NS : FOLDER_MISSING_NS);
	if (!now) {
		snprintf(
			line, sizeof(line),
			"%.300s/kubelet.sock is not there: kubelet does not run, or give its folder with --kubelet-dir",
			a->options.kubelet_dir);
		agent_trouble(a, AGENT_KUBELET, line, NULL);
		a->kubelet_socket = 0;
		return;
	}
	agent_trouble(a, AGENT_KUBELET, NULL, "kubelet is there");
	for (struct plugin *p = a->plugins; p; p = p->next) {
		if (now != a->kubelet_socket)
			plugin_forget(p);
		plugin_listen(p);
	}
	a->kubelet_socket = now;
}

void agent_tend(struct agent *a)
{
	if (clock_now_ns() >= a->folder_ns)
		look_at_folder(a);
	if (!a->kubelet_socket)
		return;
	for (struct plugin *p = a->plugins; p; p = p->next)
		plugin_register(p);
	identity_tend(&a->identity);
	owed_tend(a);
}
