/* programs.c: see programs.h. */
#include "guard/bpf/programs.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "guard/bpf/pins.h"
#include "guard/bpf/sites.h"
#ifdef GUARD_FLOOR
#include "guard_floor_object.h"
#else
#include "guard_object.h" /* the compiled programs */
#endif

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#define BPF_MAGIC 0xcafe4a11
#define MAPS GUARD_PINS "/maps"

/*
 * Of the tests' own helper, which shows what the places cost: its programs of a call do nothing, and of all programs
 * those alone are attached that METE_FLOOR names.
 */
#ifdef GUARD_FLOOR
#define IDLE 1
#define LEFT_OUT(name) (!strstr(getenv("METE_FLOOR"), name))
#else
#define IDLE 0
#define LEFT_OUT(name) false
#endif

static char last_line[GUARD_WHY];

__attribute__((format(printf, 3, 4))) static int say(char *why, int r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, GUARD_WHY, fmt, ap);
	va_end(ap);
	return r;
}

/* libbpf's warnings: the last line is kept for the message, all are shown where METE_GUARD_DEBUG asks for it. */
static int note(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	va_list again;

	if (level != LIBBPF_WARN)
		return 0;
	va_copy(again, ap);
	vsnprintf(last_line, sizeof last_line, fmt, again);
	va_end(again);
	last_line[strcspn(last_line, "\n")] = 0;
	return secure_getenv("METE_GUARD_DEBUG") ? vfprintf(stderr, fmt, ap) : 0;
}

static int pins_begin(char *why)
{
	struct statfs s;

	if (!statfs("/sys/fs/bpf", &s) && (unsigned int)s.f_type != BPF_MAGIC &&
	    mount("bpf", "/sys/fs/bpf", "bpf", 0, "mode=0700"))
		return say(why, -errno, "/sys/fs/bpf cannot be mounted (%s)", strerror(errno));
	return pins_make(GUARD_PINS, why);
}

bool programs_there(void)
{
	return !pins_check(GUARD_PINS, NULL) &&
	       (!access(GUARD_PINS "/links_a", F_OK) || !access(GUARD_PINS "/links_b", F_OK));
}

static int map_open(const char *name)
{
	char path[128];

	snprintf(path, sizeof path, MAPS "/%s", name);
	return bpf_obj_get(path);
}

int config_get(struct guard_config *ret)
{
	uint32_t zero = 0;
	int fd = map_open("guard_config"), r;

	if (fd < 0)
		return -errno;
	r = bpf_map_lookup_elem(fd, &zero, ret) ? -errno : 0;
	close(fd);
	return r;
}

static bool kernel_has(const char *function)
{
	struct btf *btf = btf__load_vmlinux_btf();
	bool has = btf && btf__find_by_name_kind(btf, function, BTF_KIND_FUNC) > 0;

	btf__free(btf);
	return has;
}

/*
 * Programs of which a kernel gets one kind: at the hooks of its security modules, or at the functions that call those.
 * The others are loaded always.
 */
static const struct {
	const char *name;
	bool traced;
	const char *function; /* without which there is no such hook; NULL: it is always there */
} entries[] = {
	{ "guard_task_alloc", false, NULL },
	{ "guard_exec", false, NULL },
	{ "guard_open", false, NULL },
	{ "guard_file_free", false, NULL },
	{ "guard_ioctl", false, NULL },
	{ "guard_ioctl_compat", false, "bpf_lsm_file_ioctl_compat" },
	{ "guard_exec_traced", true, NULL },
	{ "guard_task_free", true, NULL },
	{ "guard_open_traced", true, NULL },
	{ "guard_free_traced", true, NULL },
	{ "guard_ioctl_traced", true, NULL },
	{ "guard_ioctl_compat_traced", true, "security_file_ioctl_compat" },
};

static void entries_choose(struct bpf_object *object, bool traced)
{
	for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
		bpf_program__set_autoload(bpf_object__find_program_by_name(object, entries[i].name),
					  entries[i].traced == traced &&
						  (!entries[i].function || kernel_has(entries[i].function)));
}

#ifdef GUARD_FLOOR
/* Other kinds of a look, and the one that is of a cgroup's processes: of a tenant's of the tests. */
#define FLOOR_CGROUP "/sys/fs/cgroup/c"

static void floor_choose(struct bpf_object *object)
{
	static const char *const kinds[] = { "guard_plain", "guard_bound" };

	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		bpf_program__set_autoload(bpf_object__find_program_by_name(object, kinds[i]), !LEFT_OUT(kinds[i]));
}

static struct bpf_link *attach_usual(struct bpf_program *p)
{
	_cleanup_close_ int fd = -1;

	if (strcmp(bpf_program__name(p), "guard_bound"))
		return bpf_program__attach(p);
	fd = open(FLOOR_CGROUP, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? NULL : bpf_program__attach_cgroup(p, fd);
}
#else
#define floor_choose(object)
#define attach_usual bpf_program__attach
#endif

static struct bpf_object *object_load(const struct guard_kernel *k, bool rewrites, char *why, int *ret)
{
	LIBBPF_OPTS(bpf_object_open_opts, o, .object_name = "guard");
	struct guard_options options = { .rewrites = rewrites,
					 .set = (uint32_t)(clock_now_ns() >> 10),
					 .traced = !k->lsm,
					 .major = k->major,
					 .idle = IDLE };
	struct bpf_object *object = bpf_object__open_mem(guard_object, sizeof guard_object, &o);
	struct bpf_map *m;
	char path[128];

	snprintf(options.graphics, sizeof options.graphics, "%s", k->driver->graphics);
	*ret = -EINVAL;
	if (!object) {
		say(why, 0, "the programs cannot be read (%s)", last_line);
		return NULL;
	}
	bpf_object__for_each_map(m, object)
	{
		const char *name = bpf_map__name(m);

		/* By the whole name; what libbpf makes of sections has a dot in it. */
		if (strchr(name, '.')) {
			if (strstr(name, "rodata") && bpf_map__value_size(m) == sizeof options)
				bpf_map__set_initial_value(m, &options, sizeof options);
			continue;
		}
		snprintf(path, sizeof path, MAPS "/%s", name);
		bpf_map__set_pin_path(m, path);
	}
	entries_choose(object, !k->lsm);
	floor_choose(object);
	*ret = bpf_object__load(object);
	if (!*ret)
		return object;
	say(why, 0, "the kernel refuses the programs (%s): %s", strerror(-*ret), last_line);
	bpf_object__close(object);
	return NULL;
}

/* The functions of the driver's core, and where they are called. */
enum callee { CALLEE_CALL, CALLEE_CLEANUP, CALLEE_DUP, CALLEE_FREE_DUP, CALLEES };

struct sites {
	struct {
		struct site site[SITES_MOST];
		int count;
	} of[CALLEES];
};

struct reader {
	int program;
	struct guard_text *text;
};

/* The kernel's memory, by guard_read. */
static int text_read(void *of, uint64_t at, void *to, size_t size)
{
	LIBBPF_OPTS(bpf_test_run_opts, o);
	struct reader *reader = of;

	if (size > sizeof reader->text->bytes)
		return -E2BIG;
	reader->text->at = at;
	reader->text->size = (uint32_t)size;
	if (bpf_prog_test_run_opts(reader->program, &o))
		return -errno;
	if (reader->text->result)
		return -EFAULT;
	memcpy(to, reader->text->bytes, size);
	return 0;
}

/* The programs' one variable, in memory that they share with this process. NULL: there is none. */
static struct guard_text *text_map(struct bpf_object *object)
{
	struct bpf_map *m;

	bpf_object__for_each_map(m, object)
	{
		void *at;

		if (!strstr(bpf_map__name(m), ".bss") || bpf_map__value_size(m) < sizeof(struct guard_text))
			continue;
		at = mmap(NULL, sizeof(struct guard_text), PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(m), 0);
		return at == MAP_FAILED ? NULL : at;
	}
	return NULL;
}

static int sites_look(struct bpf_object *object, const struct guard_driver *d, struct sites *ret, char *why)
{
	static const char names[] = "/proc/kallsyms";
	struct reader reader = {
		bpf_program__fd(bpf_object__find_program_by_name(object, "guard_read")), text_map(object)
	};
	const char *const callees[CALLEES] = { d->call, d->cleanup, d->dup, d->free_dup };
	int r = 0;

	if (!reader.text)
		return say(why, -ENOMEM, "what is read of the kernel cannot be mapped");
	for (int i = 0; i < CALLEES && r >= 0; i++) {
		r = sites_find(names, d->module, callees[i], text_read, &reader, ret->of[i].site, why);
		ret->of[i].count = r;
	}
	munmap(reader.text, sizeof *reader.text);
	return r < 0 ? r : 0;
}

/* A kprobe at an instruction; by its address, for a name may be several functions'. */
static struct bpf_link *attach_at(struct bpf_program *p, uint64_t at)
{
	struct perf_event_attr attr = { .size = sizeof attr, .kprobe_addr = at };
	_cleanup_fclose_ FILE *type = fopen("/sys/bus/event_source/devices/kprobe/type", "re");
	struct bpf_link *link;
	int fd;

	if (!type || fscanf(type, "%u", &attr.type) != 1) {
		errno = ENOENT;
		return NULL;
	}
	fd = (int)syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return NULL;
	link = bpf_program__attach_perf_event(p, fd);
	if (!link)
		close(fd);
	return link;
}

/* Programs that are attached where the driver's core is called. */
static const struct {
	const char *name;
	enum callee callee;
	bool behind;
} probes[] = {
	{ "guard_call", CALLEE_CALL, false },	    { "guard_answer", CALLEE_CALL, true },
	{ "guard_release", CALLEE_CLEANUP, false }, { "guard_released", CALLEE_CLEANUP, true },
	{ "guard_dup", CALLEE_DUP, false },	    { "guard_duped", CALLEE_DUP, true },
	{ "guard_undup", CALLEE_FREE_DUP, false },  { "guard_unduped", CALLEE_FREE_DUP, true },
};

/* Value: how many places it has; 0: it is attached by what it is. */
static int places_of(const char *name, const struct sites *sites, uint64_t ret[SITES_MOST])
{
	for (size_t i = 0; i < sizeof probes / sizeof *probes; i++) {
		const struct site *site = sites->of[probes[i].callee].site;
		int count = sites->of[probes[i].callee].count;

		if (strcmp(name, probes[i].name))
			continue;
		for (int k = 0; k < count; k++)
			ret[k] = probes[i].behind ? site[k].next : site[k].call;
		return count;
	}
	return 0;
}

/* The pin keeps what is attached. */
static int link_pin(struct bpf_link *link, const char *name, const char *folder, int number, char *why)
{
	char path[160];
	int r;

	if (!link)
		return say(why, -errno, "%s cannot be attached (%s): %s", name, strerror(errno), last_line);
	snprintf(path, sizeof path, "%s/%s_%d", folder, name, number);
	r = bpf_link__pin(link, path);
	if (r)
		return say(why, r, "%s cannot be pinned (%s)", path, strerror(-r));
	bpf_link__disconnect(link);
	bpf_link__destroy(link);
	return 0;
}

static int attach(struct bpf_program *p, const struct guard_driver *d, const struct sites *sites, const char *folder,
		  char *why)
{
	const char *name = bpf_program__name(p);
	uint64_t place[SITES_MOST];
	int count = places_of(name, sites, place), r = 0;

	if (!strcmp(name, "guard_copy_out"))
		return link_pin(bpf_program__attach_kprobe(p, false, d->copy_out), name, folder, 0, why);
	if (!count)
		return link_pin(attach_usual(p), name, folder, 0, why);
	for (int i = 0; !r && i < count; i++)
		r = link_pin(attach_at(p, place[i]), name, folder, i, why);
	return r;
}

/*
 * In the order in which they stand in the file, but for the calls last: when the first call is judged, whose file and
 * whose process it is has been noted.
 */
static int attach_all(struct bpf_object *object, const struct guard_driver *d, const char *folder, char *why)
{
	struct bpf_program *p;
	struct sites sites;
	int r = sites_look(object, d, &sites, why);

	if (r)
		return r;
	if (mkdir(folder, 0700))
		return say(why, -errno, "%s cannot be made (%s)", folder, strerror(errno));
	for (int calls = 0; calls < 2; calls++)
		bpf_object__for_each_program(p, object)
		{
			const char *name = bpf_program__name(p);
			bool is_call = !strncmp(name, "guard_ioctl", 11);

			if (!bpf_program__autoload(p) || is_call != calls || !strcmp(name, "guard_read") ||
			    LEFT_OUT(name))
				continue;
			r = attach(p, d, &sites, folder, why);
			if (r)
				return r;
		}
	return 0;
}

/* The right to change tables, until it is closed. -errno */
static int tables_lock(void)
{
	_cleanup_close_ int fd = open(GUARD_PINS, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 || flock(fd, LOCK_EX) ? -errno : steal_fd(&fd);
}

/* What else is there of tenants stays, whoever makes one meanwhile. */
static int config_put(struct bpf_object *object, const struct guard_kernel *k, uint32_t flags)
{
	int fd = bpf_object__find_map_fd_by_name(object, "guard_config");
	_cleanup_close_ int lock = tables_lock();
	struct guard_config c;
	uint32_t zero = 0;

	if (lock < 0)
		return lock;
	if (bpf_map_lookup_elem(fd, &zero, &c))
		return -errno;
	c.version = GUARD_MAPS_VERSION;
	c.branch = k->branch;
	c.major = k->major;
	c.uvm_major = k->uvm_major;
	c.flags = flags;
	return bpf_map_update_elem(fd, &zero, &c, BPF_ANY) ? -errno : 0;
}

int programs_load(const struct guard_kernel *k, uint32_t flags, struct guard_loaded *ret, char *why)
{
	const char *old = !access(GUARD_PINS "/links_a", F_OK) ? "links_a" : "links_b";
	const char *new = !strcmp(old, "links_a") ? "links_b" : "links_a";
	char folder[64];
	struct guard_config was;
	struct bpf_object *object;
	int r;

	libbpf_set_print(note);
	r = pins_begin(why);
	if (r)
		return r;
	*ret = (struct guard_loaded){ .rewrites = !k->locked, .replaced = programs_there() };
	if (ret->replaced && (config_get(&was) || was.version != GUARD_MAPS_VERSION))
		return say(
			why, -EPROTO,
			"the programs that are loaded are of another version: unload them first (mete-guard unload)");
	r = pins_remove(GUARD_PINS, new, why); /* of a helper that was killed */
	if (r)
		return r;
	object = object_load(k, ret->rewrites, why, &r);
	if (!object && ret->rewrites) {
		ret->rewrites = false;
		object = object_load(k, false, why, &r);
	}
	if (!object)
		return r;
	r = config_put(object, k, flags);
	if (r)
		say(why, r, "the configuration cannot be written (%s)", strerror(-r));
	snprintf(folder, sizeof folder, GUARD_PINS "/%s", new);
	if (!r)
		r = attach_all(object, k->driver, folder, why);
	bpf_object__close(object);
	pins_remove(GUARD_PINS, r ? new : old, NULL);
	return r;
}

int programs_unload(char *why)
{
	static const char *const folders[] = { "links_a", "links_b", "maps" };
	int r = 0;

	if (access(GUARD_PINS, F_OK))
		return say(why, -ENOENT, "the guard is not loaded");
	for (size_t i = 0; !r && i < sizeof folders / sizeof *folders; i++)
		r = pins_remove(GUARD_PINS, folders[i], why);
	if (!r)
		rmdir(GUARD_PINS);
	return r;
}

/* The tables of tenants, and the right to change them; closed by tables_close(). */
struct tables {
	int names, limits, tenants, config, lock;
};

#define TABLES_CLOSED { -1, -1, -1, -1, -1 }

static void tables_close(struct tables *t)
{
	int *const fds[] = { &t->names, &t->limits, &t->tenants, &t->config, &t->lock };

	for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
		if (*fds[i] >= 0)
			close(*fds[i]);
}

#define _cleanup_tables_ __attribute__((cleanup(tables_close)))

static int tables_open(struct tables *t, bool changes, char *why)
{
	bool there = programs_there();

	t->names = there ? map_open("guard_names") : -1;
	t->limits = there ? map_open("guard_limits") : -1;
	t->tenants = there ? map_open("guard_tenants") : -1;
	t->config = there ? map_open("guard_config") : -1;
	if (t->names < 0 || t->limits < 0 || t->tenants < 0 || t->config < 0)
		return why ? say(why, -ENOENT, "the guard is not loaded (mete-guard load)") : -ENOENT;
	if (!changes)
		return 0;
	t->lock = tables_lock();
	if (t->lock >= 0)
		return 0;
	return why ? say(why, t->lock, GUARD_PINS " cannot be locked (%s)", strerror(-t->lock)) : t->lock;
}

static uint64_t account_find(const struct tables *t, uint64_t id)
{
	uint64_t account = 0;

	return bpf_map_lookup_elem(t->names, &id, &account) ? 0 : account;
}

static bool row_get(const struct tables *t, uint32_t row, struct guard_limits *ret_limits, struct guard_tenant *ret)
{
	return !bpf_map_lookup_elem(t->limits, &row, ret_limits) && ret_limits->account &&
	       !bpf_map_lookup_elem(t->tenants, &row, ret);
}

/* The account of a grant, under whatever names; 0: it has none. */
static uint64_t account_of_grant(const struct tables *t, uint64_t grant)
{
	struct guard_limits l;
	struct guard_tenant n;

	for (uint32_t row = 0; grant && row < GUARD_TENANTS_MOST; row++)
		if (row_get(t, row, &l, &n) && l.grant == grant)
			return l.account;
	return 0;
}

/* An account that no tenant had before, in a free row. 0: there is none. */
static uint64_t account_new(const struct tables *t)
{
	const struct guard_tenant none = { 0 };
	struct guard_config c;
	struct guard_limits l;
	struct guard_tenant n;
	uint32_t zero = 0;

	if (bpf_map_lookup_elem(t->config, &zero, &c))
		return 0;
	for (uint32_t i = 0; i < GUARD_TENANTS_MOST; i++) {
		uint64_t account = (uint64_t)++c.accounts * GUARD_TENANTS_MOST;
		uint32_t row = c.accounts % GUARD_TENANTS_MOST;

		if (row_get(t, row, &l, &n))
			continue;
		if (bpf_map_update_elem(t->config, &zero, &c, BPF_ANY) ||
		    bpf_map_update_elem(t->tenants, &row, &none, BPF_ANY))
			return 0;
		return account | row;
	}
	return 0;
}

static int row_put(const struct tables *t, uint64_t account, const struct guard_limits *limits)
{
	struct guard_limits l = *limits;
	uint32_t row = GUARD_ROW(account);

	l.account = account;
	return bpf_map_update_elem(t->limits, &row, &l, BPF_ANY) ? -errno : 0;
}

static void row_free(const struct tables *t, uint64_t account)
{
	const struct guard_limits none = { 0 };
	uint32_t row = GUARD_ROW(account);

	bpf_map_update_elem(t->limits, &row, &none, BPF_ANY);
}

/* What the programs remember of cgroups that were nobody's is of before. */
static int names_changed(const struct tables *t)
{
	struct guard_config c;
	uint32_t zero = 0;

	if (bpf_map_lookup_elem(t->config, &zero, &c))
		return -errno;
	if (c.changed < GUARD_CHANGES_MOST)
		c.changed++;
	return bpf_map_update_elem(t->config, &zero, &c, BPF_ANY) ? -errno : 0;
}

static int tenant_make(const struct tables *t, uint64_t id, const struct guard_limits *limits)
{
	uint64_t account = account_of_grant(t, limits->grant);
	bool is_new = !account;
	int r;

	if (is_new)
		account = account_new(t);
	if (!account)
		return -E2BIG;
	/* The limits first: from the name on it is a tenant. */
	r = row_put(t, account, limits);
	if (!r && bpf_map_update_elem(t->names, &id, &account, BPF_NOEXIST))
		r = -errno;
	if (!r)
		r = names_changed(t);
	if (r && is_new)
		row_free(t, account);
	return r;
}

int tenants_set(uint64_t id, const struct guard_limits *limits, char *why)
{
	_cleanup_tables_ struct tables t = TABLES_CLOSED;
	int r = tables_open(&t, true, why);
	uint64_t account;

	if (r)
		return r;
	account = account_find(&t, id);
	r = account ? row_put(&t, account, limits) : tenant_make(&t, id, limits);
	if (r == -E2BIG)
		return say(why, r, "there are %u tenants already, which is the most", GUARD_TENANTS_MOST);
	return r ? say(why, r, "the tenant cannot be written (%s)", strerror(-r)) : 0;
}

int tenants_get(uint64_t id, struct guard_limits *ret_limits, struct guard_tenant *ret)
{
	_cleanup_tables_ struct tables t = TABLES_CLOSED;
	int r = tables_open(&t, false, NULL);
	uint64_t account = r ? 0 : account_find(&t, id);

	if (r)
		return r;
	return account && row_get(&t, GUARD_ROW(account), ret_limits, ret) ? 0 : -ENOENT;
}

void tenants_each(void (*each)(const struct guard_limits *limits, const struct guard_tenant *t))
{
	_cleanup_tables_ struct tables t = TABLES_CLOSED;
	struct guard_limits l;
	struct guard_tenant n;

	if (tables_open(&t, false, NULL))
		return;
	for (uint32_t row = 0; row < GUARD_TENANTS_MOST; row++)
		if (row_get(&t, row, &l, &n))
			each(&l, &n);
}

/* Any name of the account behind *id. */
static bool name_next(const struct tables *t, uint64_t account, uint64_t *id, bool first)
{
	while (!bpf_map_get_next_key(t->names, first ? NULL : id, id)) {
		if (account_find(t, *id) == account)
			return true;
		first = false;
	}
	return false;
}

int tenants_drop(uint64_t id, char *why)
{
	_cleanup_tables_ struct tables t = TABLES_CLOSED;
	int r = tables_open(&t, true, why);
	uint64_t account = r ? 0 : account_find(&t, id);

	if (r)
		return r;
	if (!account)
		return say(why, -ENOENT, "there is no such tenant");
	/* The row first: what the tenant has left is refused from now on, and is nobody's afterwards. */
	row_free(&t, account);
	while (name_next(&t, account, &id, true))
		bpf_map_delete_elem(t.names, &id);
	return 0;
}

int tenants_forget(uint64_t id, bool *ret_last)
{
	_cleanup_tables_ struct tables t = TABLES_CLOSED;
	int r = tables_open(&t, true, NULL);
	uint64_t account = r ? 0 : account_find(&t, id);

	*ret_last = false;
	if (r || !account)
		return r ? r : -ENOENT;
	bpf_map_delete_elem(t.names, &id);
	*ret_last = !name_next(&t, account, &id, true);
	if (*ret_last)
		row_free(&t, account);
	return 0;
}

int tenants_join(uint64_t id, int pid, char *why)
{
	_cleanup_tables_ struct tables t = TABLES_CLOSED;
	_cleanup_close_ int fd = -1, pidfd = -1;
	struct bpf_map_info info = { 0 };
	uint32_t length = sizeof info;
	uint64_t work[128] = { 0 };
	int r = tables_open(&t, false, why);

	if (r)
		return r;
	work[0] = account_find(&t, id);
	fd = map_open("guard_work");
	pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (pidfd < 0)
		return say(why, -errno, "there is no process %d", pid);
	if (!work[0] || bpf_obj_get_info_by_fd(fd, &info, &length) || info.value_size > sizeof work)
		r = -EPROTO;
	else
		r = bpf_map_update_elem(fd, &pidfd, work, BPF_NOEXIST) ? -errno : 0;
	return r ? say(why, r, "process %d cannot become the tenant's (%s)", pid, strerror(-r)) : 0;
}

bool tenants_next(uint64_t *id, bool first)
{
	_cleanup_tables_ struct tables t = TABLES_CLOSED;

	return !tables_open(&t, false, NULL) && !bpf_map_get_next_key(t.names, first ? NULL : id, id);
}
