/*
 * hook.c: `mete cdi hook`: what container runtimes call when a container with a share begins and when it has ended.
 *
 * create (OCI's createRuntime: the container's namespaces and mounts are there, its program does not run yet): looks at
 * the image, makes the grant or takes the one that was made with `mete cdi create`, ties it to the container's first
 * process, and mounts what inside.h says. A container that cannot have its share does not begin, and says why.
 * end (poststop): waits until the grant is gone, so that who comes next finds the device free. meted does not need to
 * be told: it sees the death of the process itself, whatever killed it.
 */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/setting.h"
#include "verb/choose.h"
#include "verb/guarded.h"
#include "client/control.h"
#include "client/grants.h"
#include "client/place.h"
#include "client/requests.h"
#include "verb/say.h"
#include "verb/spill.h"
#include "verb/verb.h"
#include "connect/cdi/deadline.h"
#include "connect/cdi/edits.h"
#include "connect/cdi/image.h"
#include "connect/cdi/inside.h"
#include "connect/cdi/mounts.h"
#include "connect/cdi/state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME_BYTES 64
#define SECONDS_MOST (EDITS_HOOK_SECONDS - 10) /* for all of it; then the runtime would kill it without a word */
#define RESTART_NS UINT64_C(5000000000) /* so long a meted that restarts is waited for */
#define RESTART_PAUSE_US 50000
#define END_TRIES 400
#define END_PAUSE_US 5000
#define END_SECONDS 5 /* to give back what a hook that was killed had made */

struct hook {
	const struct command_line *line;
	struct state state;
	struct place place;
	struct control control;
	struct image image;
	enum inside_way way;
	struct inside_parts parts;
	char name[NAME_BYTES]; /* of the grant */
	json_t *grant;	       /* meted's row; owned */
	char preload[8192];
};

static const char *folder_path(struct hook *h, const char *name, char path[PATH_MAX])
{
	path_join(path, "%s%s%s", device_text(json_object_get(h->grant, "container"), "folder"), *name ? "/" : "",
		  name);
	return path;
}

static int open_image(struct hook *h, struct fault *f)
{
	struct state_program program;
	int r = state_root(h->state.bundle, h->state.root, &program, f);

	return r ? r : image_open(&h->image, h->state.root, &(struct image_program){ program.name, program.path }, f);
}

/* Judges the image before anything is asked of anybody. */
static int look(struct hook *h, struct fault *f)
{
	int r = open_image(h, f);

	if (!r)
		r = inside_judge(&h->place, h->way, &h->image, &h->parts.runtime, f);
	return r;
}

/* What programs get preloaded, once it is known which kind of device it is. */
static int write_preload(struct hook *h, const char *driver, struct fault *f)
{
	h->parts.soft = !strcmp(driver, "soft");
	if (!inside_preload(&h->place, h->way, &h->parts, h->image.preload, h->preload, sizeof(h->preload)))
		return fault_set(f, -E2BIG, "%s%s is too long", h->state.root, h->image.library[0].preload_file);
	return 0;
}

/* A grant of the container's own, for a named share. */
static int make_grant(struct hook *h, struct choice *ch, struct fault *f)
{
	json_t *answer, *request;
	struct spill spill;
	int r = choose_parse(ch, h->line, f);

	if (!r)
		r = spill_parse(&spill, h->line, f);
	if (r)
		return r;
	r = control_ask(&h->control, request_devices_known(), &answer, NULL, f);
	if (!r)
		r = choose_devices(ch, h->line, answer, f);
	if (!r)
		r = write_preload(h, ch->driver, f);
	if (r)
		return r;
	request = request_create(&(struct request_create){
		.name = h->name,
		.driver = ch->driver,
		.devices = choose_request(ch),
		.labels = state_labels(&h->state),
		.container = json_pack("{s:{s:o s:s}}", "files", "settings", inside_settings(h->way, spill.is),
				       "preload", h->preload),
		.overcommit = option_given(h->line, "overcommit"),
		.wall = h->way == INSIDE_WALL,
		.known = true,
		.runner_pid = h->state.pid });
	spill_request(&spill, request);
	r = control_ask(&h->control, request, &answer, NULL, f);
	if (r)
		return r;
	h->grant = json_incref(json_object_get(answer, "grant"));
	json_decref(answer);
	return 0;
}

static int take_grant(struct hook *h, struct fault *f)
{
	json_t *answer, *grants, *driver;
	int r = grants_get(&h->control, h->name, &grants, f);

	if (r)
		return r;
	driver = json_object_get(json_array_get(grants, 0), "driver");
	r = write_preload(h, device_text(driver, "kind"), f);
	json_decref(grants);
	if (r)
		return r;
	r = control_ask(&h->control,
			json_pack("{s:s s:s s:o s:i s:{s:s}}", "op", "grant_bind", "name", h->name, "labels",
				  state_labels(&h->state), "runner_pid", (int)h->state.pid, "files", "preload",
				  h->preload),
			&answer, NULL, f);

	if (r)
		return r;
	h->grant = json_incref(json_object_get(answer, "grant"));
	json_decref(answer);
	return 0;
}

/* The container's file system has a share already; looked for within its root, whatever links it has. */
static int check_alone(const struct hook *h, struct fault *f)
{
	struct image root = IMAGE_CLOSED;
	_cleanup_close_ int fd = -1, found = -1;
	char path[PATH_MAX];

	if (!path_join(path, "/proc/%d/root%s", (int)h->state.pid, h->state.root))
		return 0;
	fd = root.fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	found = fd < 0 ? fd : image_open_at(&root, SETTING_DIR "/settings", O_PATH);
	if (found < 0)
		return 0;
	return fault_set(
		f, -EEXIST,
		"this container has a share of mete already: give it one, of several devices where it needs them");
}

#define WISHES_MOST (3 + 3 * IMAGE_LIBRARIES)

/* What is to be mounted; the paths are its own. */
struct wishes {
	struct mount_wish wish[WISHES_MOST];
	char source[WISHES_MOST][PATH_MAX], target[WISHES_MOST][IMAGE_PATH_BYTES + 32];
	size_t count;
};

static void wish(struct wishes *w, const char *source, const char *target, bool writable)
{
	snprintf(w->source[w->count], PATH_MAX, "%s", source);
	snprintf(w->target[w->count], sizeof(*w->target), "%s", target);
	w->wish[w->count] = (struct mount_wish){ w->source[w->count], w->target[w->count], writable };
	w->count++;
}

/*
 * The names of the driver in the loader's folder, where the driver is not NVIDIA's: programs that open or preload it by
 * its path find mete's library there. One that the image brings along itself is covered.
 */
static void wish_driver(struct hook *h, const struct image_library *l, const char *library, struct wishes *w)
{
	char path[IMAGE_PATH_BYTES + 32];
	int own;

	snprintf(path, sizeof(path), "%s/libcuda.so", l->libdir);
	wish(w, library, path, false);
	snprintf(path, sizeof(path), "%s/libcuda.so.1", l->libdir);
	own = image_open_at(&h->image, path, O_PATH);
	if (own < 0)
		return;
	close(own);
	wish(w, library, path, false);
}

static int mount_all(struct hook *h, struct fault *f)
{
	const char *soft = device_text(json_object_get(h->grant, "container"), "soft_dir"), *file, *before = "";
	static struct wishes w; /* of tens of KiB */
	char path[PATH_MAX];

	w.count = 0;
	wish(&w, folder_path(h, "", path), SETTING_DIR, false);
	if (*soft)
		wish(&w, soft, SETTING_DIR "/soft", true);
	for (unsigned int i = 0; i < h->image.library_count; i++) {
		file = h->image.library[i].preload_file;
		if (strcmp(file, before))
			wish(&w, folder_path(h, "preload", path), file, false);
		before = file;
		if (h->way != INSIDE_SHIM && path_join(path, "%s/libcuda.so.1", inside_library_dir(&h->place, h->way)))
			wish_driver(h, &h->image.library[i], path, &w);
	}
	return mounts_make(h->state.pid, h->state.root, w.wish, w.count, f);
}

/* As meted knows this user: in a user namespace it has another number. */
static bool is_own(struct hook *h, json_t *row)
{
	json_t *answer = NULL;
	struct fault f;
	bool is;

	if (control_ask(&h->control, json_pack("{s:s}", "op", "limits"), &answer, NULL, &f))
		return false;
	is = json_equal(json_object_get(answer, "uid"), json_object_get(row, "uid"));
	json_decref(answer);
	return is;
}

/*
 * The container does not begin: a grant that was made for it alone goes with it. meted refuses where another container
 * has it.
 */
static void give_up(struct hook *h)
{
	json_t *grants = NULL, *answer = NULL, *row;
	struct fault f;

	if (!option_given(h->line, "grant") || (h->control.fd < 0 && control_open(&h->control, CONTROL_FIND, &f)) ||
	    grants_get(&h->control, h->name, &grants, &f))
		return;
	row = json_array_get(grants, 0);
	if (is_own(h, row) && json_is_false(json_object_get(json_object_get(row, "container"), "keep")) &&
	    !control_ask(&h->control, request_grant("grant_delete", h->name), &answer, NULL, &f))
		json_decref(answer);
	json_decref(grants);
}

/* `mete run` would start one that ends with its program: no container can rely on that. */
static int open_control(struct hook *h, struct fault *f)
{
	int r = control_open(&h->control, CONTROL_FIND, f);

	if (r == CONTROL_NOBODY)
		return fault_set(f, r,
				 "no meted serves in %s, so the container cannot have its share: %s, and start the "
				 "container again",
				 h->control.dir,
				 strcmp(h->control.dir, CONTROL_SYSTEM_DIR)
					 ? "start meted for this user (`meted &`, or a user unit)"
					 : "`systemctl start meted.socket meted`");
	return r;
}

/* It went away, or was away: its socket's file stays when it is killed, and with a service manager that starts it. */
static bool meted_restarts(const struct hook *h, int r)
{
	char path[PATH_MAX];

	return (r == CONTROL_NOBODY || r == CONTROL_LOST || r == -EHOSTDOWN) &&
	       path_join(path, "%s/control.sock", h->control.dir) && !access(path, F_OK);
}

/* What was made for the container alone is asked for again; a grant that is made here might be made twice. */
static int ask_share(struct hook *h, struct choice *choice, struct fault *f)
{
	uint64_t until_ns = clock_now_ns() + RESTART_NS;
	bool grant = option_given(h->line, "grant"), opened;
	int r;

	for (;;) {
		r = open_control(h, f);
		opened = !r;
		if (!r)
			r = grant ? take_grant(h, f) : make_grant(h, choice, f);
		if (!meted_restarts(h, r) || (opened && !grant) || clock_now_ns() >= until_ns)
			return r;
		control_close(&h->control);
		usleep(RESTART_PAUSE_US);
	}
}

/* Nobody but the container's first process is in it: what else is there would be the tenant's too. */
static bool cgroup_own(const char *path, pid_t pid)
{
	char name[PATH_MAX + 48];
	int is = 0, other;

	snprintf(name, sizeof(name), "%s/cgroup.procs", path);
	_cleanup_fclose_ FILE *file = fopen(name, "re");

	return file && fscanf(file, "%d", &is) == 1 && is == (int)pid && fscanf(file, "%d", &other) != 1;
}

/* "": its first process is in no cgroup of its own. */
static void cgroup_of(pid_t pid, char path[PATH_MAX + 32])
{
	char name[64], line[PATH_MAX];

	*path = 0;
	snprintf(name, sizeof(name), "/proc/%d/cgroup", (int)pid);
	_cleanup_fclose_ FILE *file = fopen(name, "re");

	while (file && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = 0;
		if (!strncmp(line, "0::/", 4) && line[4])
			snprintf(path, PATH_MAX + 32, "/sys/fs/cgroup%s", line + 3);
	}
	if (*path && !cgroup_own(path, pid))
		*path = 0;
}

/*
 * The container's cgroup becomes the tenant: what the runtime starts in it later (exec) is the tenant's as well. It is
 * forgotten when the cgroup is gone. Other containers of the grant are the same tenant.
 */
static int guard_begin(struct hook *h, struct guarded *ret, struct fault *f)
{
	char path[PATH_MAX + 32];

	if (h->way == INSIDE_WALL)
		return fault_set(
			f, -EINVAL,
			"--wall with --guard: behind a wall the container has no device node; leave --guard away");
	cgroup_of(h->state.pid, path);
	if (!*path)
		return fault_set(f, -ENOTSUP,
				 "--guard: the container's first process %d is in no cgroup (version 2) of its own",
				 (int)h->state.pid);
	return guarded_begin(&h->place, h->grant, true, h->state.pid, path, ret, f);
}

/* By --guard, or by the node's rule. */
static int guard(struct hook *h, struct fault *f)
{
	bool asked = option_given(h->line, "guard");
	enum guarding_wish wish = guarded_wish(h->grant, asked, h->way == INSIDE_WALL);
	struct guarded held = GUARDED_NONE;
	int r;

	if (wish == GUARDING_NONE)
		return 0;
	r = guard_begin(h, &held, f);
	if (r)
		r = guarded_unheld(wish, asked, r, held.note, f);
	if (!r && *held.note)
		say_note("%s", held.note);
	return r;
}

static int create(struct hook *h, struct fault *f)
{
	struct choice choice = { 0 };
	int r;

	if (h->state.pid <= 0)
		return fault_set(f, -EINVAL, "the container's state names no process; this is for createRuntime");
	r = look(h, f);
	if (!r)
		r = check_alone(h, f);
	if (!r)
		r = ask_share(h, &choice, f);
	choose_deinit(&choice);
	if (!r)
		r = guard(h, f);
	if (r)
		give_up(h);
	return r ? r : mount_all(h, f);
}

/* What the mounts stood on, where the root stays. From the innermost on. */
static void sweep(struct hook *h, struct fault *f)
{
	static const char *const targets[] = { SETTING_DIR,	     INSIDE_LIB "/shim",
					       INSIDE_LIB "/soft",   INSIDE_LIB "/runtime",
					       INSIDE_LIB "/fronts", INSIDE_LIB "/remote",
					       INSIDE_LIB "/driver", INSIDE_LIB };
	char path[IMAGE_PATH_BYTES + 16];
	const char *library = path, *preload;

	if (open_image(h, f))
		return;
	mounts_sweep(h->state.root, targets, sizeof(targets) / sizeof(*targets));
	for (unsigned int i = 0; i < h->image.library_count; i++) {
		preload = h->image.library[i].preload_file;
		snprintf(path, sizeof(path), "%s/libcuda.so", h->image.library[i].libdir);
		mounts_sweep(h->state.root, &preload, 1);
		mounts_sweep(h->state.root, &library, 1);
	}
}

static int end(struct hook *h, struct fault *f)
{
	json_t *grants, *container;
	bool keep;
	int r;

	sweep(h, f);
	if (control_open(&h->control, CONTROL_FIND, f))
		return 0; /* nobody holds anything */
	for (int i = 0; i < END_TRIES; i++) {
		r = grants_get(&h->control, h->name, &grants, f);
		if (r)
			return 0; /* it is gone */
		container = json_object_get(json_array_get(grants, 0), "container");
		keep = json_is_true(json_object_get(container, "keep"));
		json_decref(grants);
		if (keep)
			return 0;
		usleep(END_PAUSE_US);
	}
	return fault_set(f, -EBUSY,
			 "grant %s has not ended with its container: processes of it still run (`mete show %s`)",
			 h->name, h->name);
}

static int prepare(struct hook *h, struct fault *f)
{
	const char *share = option_value(h->line, "share"), *grant = option_value(h->line, "grant");
	int r;

	if (!share == !grant)
		return fault_set(f, -EINVAL, "give either --share or --grant");
	r = place_find(&h->place, f);
	if (!r)
		r = state_read(&h->state, f);
	if (r)
		return r;
	if (grant)
		snprintf(h->name, sizeof(h->name), "%s", grant);
	else
		state_grant_name(&h->state, share, h->name, sizeof(h->name));
	h->way = option_given(h->line, "wall") ? INSIDE_WALL : INSIDE_SHIM;
	for (unsigned int way = 0; h->way == INSIDE_SHIM && way < INSIDE_WAYS; way++)
		if (inside_driver(way) && option_given(h->line, inside_driver(way)))
			h->way = (enum inside_way)way;
	return 0;
}

static int run(void *owner)
{
	struct hook *h = owner;
	struct fault f = { .text = "" };
	bool begins = !strcmp(h->line->args[0], "create");
	int r = prepare(h, &f) ?: begins ? create(h, &f) : end(h, &f);

	control_close(&h->control);
	image_close(&h->image);
	json_decref(h->grant);
	if (r)
		say_error("%s", f.text);
	return r ? EXIT_FAILED : EXIT_DONE;
}

/* The child was ended in the middle: what it had made for this container goes, as far as it is known by name. */
static int ended(struct hook *h, enum deadline why)
{
	snprintf(h->name, sizeof(h->name), "%s", option_given(h->line, "grant") ? option_value(h->line, "grant") : "");
	if (why == DEADLINE_PASSED)
		say_error("cdi hook %s: not done after %d s, and given up: is the container's image on a file system "
			  "that answers (ls its root), and does meted answer (mete ps)?",
			  h->line->args[0], SECONDS_MOST);
	else
		say_error("cdi hook %s: was killed, or there is no memory for a process: see the kernel's log (dmesg)",
			  h->line->args[0]);
	alarm(END_SECONDS);
	if (!strcmp(h->line->args[0], "create"))
		give_up(h);
	control_close(&h->control);
	return EXIT_FAILED;
}

VERB(cdi_hook)
{
	struct hook h = { .line = line, .control = CONTROL_CLOSED, .image = IMAGE_CLOSED };
	const char *dir = option_value(line, "runtime-dir");
	enum deadline kept;
	int r = 0;

	if (strcmp(line->args[0], "create") && strcmp(line->args[0], "end")) {
		say_error("cdi hook %s: no such hook; there are create and end", line->args[0]);
		return EXIT_FAILED;
	}
	if (dir)
		setenv("METE_RUNTIME_DIR", dir, 1);
	kept = deadline_do(run, &h, SECONDS_MOST, &r);
	return kept == DEADLINE_KEPT ? r : ended(&h, kept);
}
