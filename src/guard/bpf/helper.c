/*
 * helper.c: mete-guard, the one program that loads and changes the guard.
 *
 * It does one thing and ends; what it did stays, pinned below /sys/fs/bpf. It keeps only the capabilities that loading
 * needs (CAP_BPF, CAP_PERFMON, CAP_SYS_ADMIN for bpf's file system and programs that write to processes), before it
 * reads an argument.
 */
#include "base/cleanup.h"
#include "base/size.h"
#include "guard/bpf/cgroups.h"
#include "guard/bpf/programs.h"
#include "guard/counts.h"

#include <errno.h>
#include <getopt.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#define CGROUP2_MAGIC 0x63677270
#define SLICE_USUAL_US 2048u
#define GROUPS_USUAL 64u
#define RELOADS_MOST 30u /* once a second */

static const char help[] =
	"Usage: mete-guard load [--strict]\n"
	"       mete-guard unload\n"
	"       mete-guard watch [--strict]\n"
	"       mete-guard set TENANT --memory SIZE [--devices 0,1,...] [--slice-us N] [--groups N] [--may-export] "
	"[--process PID] [--grant NUMBER]\n"
	"       mete-guard drop TENANT\n"
	"       mete-guard show [--json]\n"
	"       mete-guard check\n"
	"\n"
	"Limits device memory at the kernel's boundary, by programs in the kernel (eBPF). See mete-guard(8).\n"
	"TENANT is the folder of a cgroup below /sys/fs/cgroup, or grant:NUMBER with --process: that process and what "
	"it starts.\n"
	"watch loads, and then writes every second what each grant has, for meted to compare, until it is ended.\n"
	"--strict: who is no tenant and not root opens no device.\n";

static int fail(int code, const char *fmt, const char *a, const char *b)
{
	fprintf(stderr, "mete-guard: ");
	fprintf(stderr, fmt, a, b);
	fprintf(stderr, "\n");
	return code;
}

/* Everything else goes, from the bounding set too. Who is not root keeps what it was given. */
static void capabilities_keep(void)
{
	static const unsigned int keep[] = { CAP_SYS_ADMIN, CAP_PERFMON, CAP_BPF, CAP_DAC_READ_SEARCH, CAP_SYSLOG };
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct now[2] = { 0 }, then[2] = { 0 };

	if (syscall(SYS_capget, &head, now))
		return;
	for (size_t i = 0; i < sizeof keep / sizeof *keep; i++)
		then[keep[i] / 32].effective |= 1u << keep[i] % 32;
	for (unsigned int c = 0; c <= CAP_LAST_CAP; c++)
		if (!(then[c / 32].effective >> c % 32 & 1))
			prctl(PR_CAPBSET_DROP, c, 0, 0, 0);
	for (int i = 0; i < 2; i++) {
		then[i].effective &= now[i].permitted;
		then[i].permitted = then[i].effective;
	}
	syscall(SYS_capset, &head, then);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

/* 0: not a cgroup of version 2; the message is written. */
static uint64_t cgroup_id(const char *path)
{
	struct statfs fs;
	struct stat st;

	if (stat(path, &st) || statfs(path, &fs)) {
		fail(0, "%s: %s", path, strerror(errno));
		return 0;
	}
	if ((unsigned int)fs.f_type != CGROUP2_MAGIC || !S_ISDIR(st.st_mode)) {
		fail(0, "%s: not the folder of a cgroup (version 2)%s", path, "");
		return 0;
	}
	return st.st_ino;
}

/* 0: no tenant; the message is written. A cgroup that is gone is named by its number. */
static uint64_t tenant_id(const char *name)
{
	bool grant = !strncmp(name, "grant:", 6);
	const char *digits = grant ? name + 6 : name;
	char *end;
	uint64_t id = strtoull(digits, &end, 10);

	if (*digits < '0' || *digits > '9' || *end || !id || id >= GUARD_BY_GRANT)
		return grant ? (uint64_t)fail(0, "%s: not the number of a grant%s", name, "") : cgroup_id(name);
	return grant ? id | GUARD_BY_GRANT : id;
}

/* NULL: it is gone, or nobody can tell. */
static const char *cgroup_path(uint64_t id)
{
	static char path[4096];

	return cgroups_find(cgroups_root(), id, path, sizeof path) ? NULL : path;
}

static bool cgroup_gone(uint64_t id)
{
	char path[4096];

	return cgroups_find(cgroups_root(), id, path, sizeof path) == -ENOENT;
}

static void publish_one(const struct guard_limits *l, const struct guard_tenant *t)
{
	struct guard_count c = { .front = GUARD_FRONT_BPF,
				 .grant = l->grant,
				 .quota = l->quota,
				 .used = t->used,
				 .peak = t->peak,
				 .channel_groups = t->groups,
				 .refused = t->refused,
				 .killed = t->killed,
				 .last_reason = t->last_reason,
				 .last_pid = t->last_pid };

	if (l->grant)
		counts_put(&c);
}

/* What every grant has, for meted. */
static void publish(void)
{
	if (!counts_begin())
		tenants_each(publish_one);
}

/* Names whose cgroup is gone, or whose first process is and that have no file open, are forgotten. */
static void sweep(void)
{
	struct guard_limits l;
	struct guard_tenant t;
	char path[32];
	uint64_t id = 0, gone[GUARD_TENANTS_MOST];
	size_t count = 0;
	bool last;

	for (bool first = true; count < GUARD_TENANTS_MOST && tenants_next(&id, first); first = false) {
		if (tenants_get(id, &l, &t))
			continue;
		snprintf(path, sizeof path, "/proc/%u", l.runner);
		if (id & GUARD_BY_GRANT ? !t.files && access(path, F_OK) : cgroup_gone(id))
			gone[count++] = id;
	}
	while (count) {
		id = gone[--count];
		if (!tenants_get(id, &l, &t) && !tenants_forget(id, &last) && last && l.grant)
			counts_drop(l.grant);
	}
}

static int load(bool strict)
{
	char why[GUARD_WHY] = "";
	struct guard_loaded loaded;
	struct guard_kernel k;
	int r;

	guard_kernel_look(&k);
	if (!k.capable)
		return fail(1, "load: not allowed%s%s", " (it needs root, or CAP_BPF and CAP_PERFMON)", "");
	if (guard_kernel_doubt(&k, why, sizeof why))
		return fail(1, "load: %s%s", why, "");
	r = programs_load(&k, strict ? GUARD_STRICT : 0, &loaded, why);
	if (r)
		return fail(1, "load: %s%s", why, "");
	printf("the guard is loaded for %s, branch %u%s\n", k.driver->module, k.branch,
	       loaded.replaced ? "; it took over" : "");
	if (!loaded.rewrites)
		printf("replies of memory information are not rewritten: this kernel is locked down\n");
	return 0;
}

/* The driver's module as it is now; another number when it is loaded anew. 0: there is none. */
static ino_t driver_now(void)
{
	const struct guard_driver *d = guard_driver_loaded();
	char path[64];
	struct stat s;

	snprintf(path, sizeof path, "/sys/module/%s", d ? d->module : "");
	return d && !stat(path, &s) ? s.st_ino : 0;
}

/*
 * With the driver's module its probes go: when it is loaded anew, so are the programs. A module that is about to come
 * or to go is tried again. 0: they are loaded for the driver that is there, or will be tried.
 */
static int reload(bool strict, ino_t *driver, unsigned int *tries)
{
	ino_t now = driver_now();
	int r;

	if (now == *driver)
		return 0;
	r = load(strict);
	fflush(stdout);
	if (r)
		return ++*tries < RELOADS_MOST ? 0 : r;
	*tries = 0;
	*driver = now;
	return 0;
}

/* What is loaded stays when this ends. */
static int watch(bool strict)
{
	ino_t driver = driver_now();
	unsigned int tries = 0;
	int r = load(strict);

	fflush(stdout);
	for (unsigned int second = 0; !r; second++) {
		r = reload(strict, &driver, &tries);
		if (r)
			return r;
		if (second % 16 == 0)
			sweep();
		publish();
		sleep(1);
		if (!programs_there())
			return fail(1, "watch: the guard was unloaded%s%s", "", "");
	}
	return r;
}

static int parse_devices(char *text, uint64_t *ret)
{
	*ret = 0;
	for (char *word = strtok(text, ","); word; word = strtok(NULL, ",")) {
		char *end;
		unsigned long n = strtoul(word, &end, 10);

		if (!*word || *end || n > 63)
			return fail(2, "--devices: \"%s\" is not the number of a device (0 to 63)%s", word, "");
		*ret |= 1ull << n;
	}
	return 0;
}

static int parse_number(const char *option, const char *text, uint64_t *ret)
{
	char *end;

	errno = 0;
	*ret = strtoull(text, &end, 10);
	if (!*text || *end || errno || *text == '-')
		return fail(2, "%s: \"%s\" is not a number", option, text);
	return 0;
}

/*
 * What is in a cgroup when it becomes a tenant's stays the tenant's, also where it leaves before it calls. Who is
 * another tenant's already stays that one's. What they start is the tenant's from the moment that the name was there.
 */
static void take_in(int pid, void *owner)
{
	char why[GUARD_WHY];

	tenants_join(*(uint64_t *)owner, pid, why);
}

static int set(int argc, char **argv)
{
	static const struct option options[] = { { "memory", 1, NULL, 'm' },	 { "devices", 1, NULL, 'd' },
						 { "slice-us", 1, NULL, 's' },	 { "groups", 1, NULL, 'g' },
						 { "may-export", 0, NULL, 'e' }, { "process", 1, NULL, 'p' },
						 { "grant", 1, NULL, 'n' },	 { 0 } };
	struct guard_limits l = { .devices = 0, .slice_most_us = SLICE_USUAL_US, .groups_most = GROUPS_USUAL };
	char why[GUARD_WHY] = "";
	struct size size = { 0 };
	bool devices = false;
	uint64_t id, n = 0;
	int c, r = 0;

	while (!r && (c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (c) {
		case 'm':
			r = size_parse(optarg, &size);
			if (r || size.pct)
				return fail(2, "--memory: %s%s",
					    r ? size_fault_text(r) : "a percentage is of no device here", "");
			break;
		case 'd':
			devices = true;
			r = parse_devices(optarg, &l.devices);
			break;
		case 's':
			r = parse_number("--slice-us", optarg, &l.slice_most_us);
			break;
		case 'g':
			r = parse_number("--groups", optarg, &n);
			l.groups_most = n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
			break;
		case 'p':
			r = parse_number("--process", optarg, &n);
			l.runner = n > INT32_MAX ? 0 : (uint32_t)n;
			break;
		case 'n':
			r = parse_number("--grant", optarg, &l.grant);
			break;
		case 'e':
			l.flags |= GUARD_MAY_EXPORT;
			break;
		default:
			return 2;
		}
	}
	if (r)
		return r;
	if (argc - optind != 1 || !size.bytes)
		return fail(2, "set: needs a TENANT and --memory%s%s", "", "");
	if (!devices)
		l.devices = UINT64_MAX;
	l.quota = size.bytes;
	id = tenant_id(argv[optind]);
	if (!id)
		return 1;
	if (id & GUARD_BY_GRANT && !l.runner)
		return fail(2, "set %s: a grant's first process is named by --process%s", argv[optind], "");
	if (id & GUARD_BY_GRANT)
		l.grant = id & ~GUARD_BY_GRANT;
	sweep();
	if (tenants_set(id, &l, why))
		return fail(1, "set: %s%s", why, "");
	if (l.runner && tenants_join(id, (int)l.runner, why)) {
		tenants_drop(id, why + strlen(why));
		return fail(1, "set: %s%s", why, "");
	}
	if (!(id & GUARD_BY_GRANT))
		cgroups_processes(argv[optind], GUARD_DEPTH, take_in, &id);
	publish();
	return 0;
}

static int drop(const char *name)
{
	uint64_t id = tenant_id(name);
	char why[GUARD_WHY] = "";
	struct guard_limits l;
	struct guard_tenant t;

	if (!id)
		return 1;
	if (!tenants_get(id, &l, &t) && l.grant)
		counts_drop(l.grant);
	return tenants_drop(id, why) ? fail(1, "drop: %s%s", why, "") : 0;
}

static void show_one(uint64_t id, const struct guard_limits *l, const struct guard_tenant *t, bool json, bool first)
{
	char grant[32];
	const char *path = grant;

	if (id & GUARD_BY_GRANT)
		snprintf(grant, sizeof grant, "grant:%llu", (unsigned long long)(id & ~GUARD_BY_GRANT));
	else
		path = cgroup_path(id);

	if (json)
		printf("%s{\"id\":%llu,\"account\":%llu,\"path\":\"%s\",\"quota_bytes\":%llu,\"used_bytes\":%llu,"
		       "\"peak_bytes\":%llu,"
		       "\"files\":%llu,\"objects\":%llu,\"groups\":%llu,\"refused\":%llu,\"killed\":%llu,\"last_"
		       "reason\":\"%s\","
		       "\"last_pid\":%u}",
		       first ? "" : ",", (unsigned long long)(id & ~GUARD_BY_GRANT), (unsigned long long)l->account,
		       path ? path : "", (unsigned long long)l->quota, (unsigned long long)t->used,
		       (unsigned long long)t->peak, (unsigned long long)t->files, (unsigned long long)t->objects,
		       (unsigned long long)t->groups, (unsigned long long)t->refused, (unsigned long long)t->killed,
		       t->last_reason ? guard_reason_text(t->last_reason) : "", t->last_pid);
	else
		printf("%s (%llu): %llu of %llu bytes, peak %llu; %llu refused, %llu killed%s%s\n",
		       path ? path : "a cgroup that is gone", (unsigned long long)(id & ~GUARD_BY_GRANT),
		       (unsigned long long)t->used, (unsigned long long)l->quota, (unsigned long long)t->peak,
		       (unsigned long long)t->refused, (unsigned long long)t->killed,
		       t->last_reason ? ", the last for: " : "",
		       t->last_reason ? guard_reason_text(t->last_reason) : "");
}

static int show(bool json)
{
	struct guard_limits l;
	struct guard_tenant t;
	bool first = true;
	uint64_t id = 0;

	if (!programs_there())
		return fail(1, "show: the guard is not loaded%s%s", " (mete-guard load)", "");
	if (json)
		printf("{\"tenants\":[");
	for (bool at_start = true; tenants_next(&id, at_start); at_start = false)
		if (!tenants_get(id, &l, &t)) {
			show_one(id, &l, &t, json, first);
			first = false;
		}
	if (json)
		printf("]}\n");
	return 0;
}

static int check(void)
{
	char why[GUARD_WHY];
	struct guard_kernel k;

	guard_kernel_look(&k);
	if (guard_kernel_doubt(&k, why, sizeof why)) {
		printf("the guard does not hold here: %s\n", why);
		return 1;
	}
	printf("the guard can hold here (%s, branch %u)%s; it is %s\n", k.driver->module, k.branch,
	       k.locked ? ", without rewriting replies (lockdown)" : "", programs_there() ? "loaded" : "not loaded");
	return 0;
}

int main(int argc, char **argv)
{
	const char *verb = argc > 1 ? argv[1] : "";
	bool option = argc == 3;
	char why[GUARD_WHY] = "";

	capabilities_keep();
	if (!strcmp(verb, "--help") || !strcmp(verb, "-h"))
		return fputs(help, stdout) < 0;
	if (!strcmp(verb, "load") && (argc == 2 || (option && !strcmp(argv[2], "--strict"))))
		return load(option);
	if (!strcmp(verb, "watch") && (argc == 2 || (option && !strcmp(argv[2], "--strict"))))
		return watch(option);
	if (!strcmp(verb, "unload") && argc == 2)
		return programs_unload(why) ? fail(1, "unload: %s%s", why, "") : 0;
	if (!strcmp(verb, "set"))
		return set(argc - 1, argv + 1);
	if (!strcmp(verb, "drop") && option)
		return drop(argv[2]);
	if (!strcmp(verb, "show") && (argc == 2 || (option && !strcmp(argv[2], "--json"))))
		return show(option);
	if (!strcmp(verb, "check") && argc == 2)
		return check();
	fputs(help, stderr);
	return 2;
}
