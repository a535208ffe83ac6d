/* options.c: the command line, and what it and the file say together. */
#include "daemon/settings/options.h"

#include "base/fallback_dir.h"
#include "daemon/http/token.h"
#include "daemon/settings/config.h"
#include "daemon/log.h"
#include "daemon/settings/refusal.h"
#include "daemon/settings/settings.h"
#include "daemon/settings/trial.h"
#include "daemon/upgrade/upgrade.h"
#include "daemon/upgrade/version.h"
#include "daemon/workers/images.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { EXIT_TROUBLE = 1, EXIT_USAGE = 2 }; /* and OPTIONS_EXIT_MEND */

/* Options that are no settings. Settings are numbered from SETTING_BASE. */
enum {
	CONFIG = 256,
	CHECK_CONFIG,
	PRINT_CONFIG,
	NEW_TOKEN,
	FOREGROUND,
	READY_FD,
	HANDOVER,
	CHECK_UPGRADE,
	VERSION,
	HELP,
	SETTING_BASE
};

static const struct option own_options[] = {
	{ "config", required_argument, NULL, CONFIG },
	{ "check-config", no_argument, NULL, CHECK_CONFIG },
	{ "print-config", no_argument, NULL, PRINT_CONFIG },
	{ "new-token", no_argument, NULL, NEW_TOKEN },
	{ "foreground", no_argument, NULL, FOREGROUND },
	{ "ready-fd", required_argument, NULL, READY_FD },
	{ "handover", required_argument, NULL, HANDOVER },
	{ "check-upgrade", required_argument, NULL, CHECK_UPGRADE },
	{ "version", no_argument, NULL, VERSION },
	{ "help", no_argument, NULL, HELP },
};

#define OWN_OPTIONS (sizeof(own_options) / sizeof(*own_options))

static const struct options nothing_said = { .ready_fd = -1,
					     .handover_fd = -1,
					     .check_fd = -1,
					     .exit_when_idle_ns = OPTIONS_NEVER_NS,
					     .faults = QUARANTINE_DEFAULT,
					     .images_bytes = IMAGES_MOST_BYTES,
					     .memory = RESIDENCE_OPTIONS,
					     .fence = FENCE_DEFAULT,
					     .container_expires_ns = OPTIONS_CONTAINER_EXPIRES_NS,
					     .limits = LIMITS_DEFAULT };

static void print_help(void)
{
	fputs("Usage: meted [OPTION]...\n"
	      "Serves grants of device memory and time to the programs of `mete run`;\n"
	      "see meted(8), meted.yaml(5).\n"
	      "\n"
	      "  --config FILE          read settings from FILE (\"\": from none); default:\n"
	      "                         " OPTIONS_CONFIG " with --system, if it is there.\n"
	      "                         Options win over it.\n"
	      "  --check-config         say what is wrong with it and with what it\n"
	      "                         names, and end\n"
	      "  --print-config         print all settings as they are, in its form, and end\n"
	      "  --new-token            make the console's token, print it, and end; the one\n"
	      "                         before is void\n"
	      "  --foreground           write the log to standard error (meted never puts\n"
	      "                         itself into the background)\n"
	      "  --ready-fd N           write one byte to descriptor N, and close it, when the\n"
	      "                         sockets listen\n"
	      "  --probe LIBNVML LIBCUDA  ask these libraries for devices, print them as JSON,\n"
	      "                         and end (\"\": where the loader looks)\n"
	      "  --probe-opencl LIBOPENCL  the same of an OpenCL loader\n"
	      "  --probe-hip LIBAMDHIP64   the same of AMD's library\n"
	      "  --probe-levelzero LIBZE   the same of Level Zero's loader\n"
	      "  --probe-shape NAME LIBRARY  the same of one with CUDA's or HIP's calls under\n"
	      "                         other names (musa, maca; corex has CUDA's own:\n"
	      "                         --probe asks it)\n"
	      "  --probe-ascend LIBASCENDCL   the same of Ascend's runtime\n"
	      "  --probe-cambricon LIBCNDRV   the same of Cambricon's driver library\n"
	      "  --version, --help\n"
	      "\n"
	      "Settings, each a key of the file as well:\n",
	      stdout);
	settings_help(stdout);
}

static int usage(const char *what)
{
	fprintf(stderr, "meted: %s (meted --help)\n", what);
	return EXIT_USAGE;
}

/* Value: -1 to go on, else the exit status. */
static int take_setting(struct options *o, unsigned int i, const char *value)
{
	char why[400], text[500];

	if (!setting_set(o, &settings[i], value ? value : "true", false, why, sizeof(why)))
		return -1;
	snprintf(text, sizeof(text), "--%s %s", settings[i].option, why);
	return usage(text);
}

static int take_descriptor(int *to, const char *name, const char *value)
{
	char *end, text[64];
	long n;

	errno = 0;
	n = strtol(value, &end, 10);
	if (*value < '0' || *value > '9' || *end || errno || n > INT_MAX || fcntl((int)n, F_GETFD) < 0) {
		snprintf(text, sizeof(text), "--%s wants the number of an open descriptor", name);
		return usage(text);
	}
	*to = (int)n;
	fcntl(*to, F_SETFD, FD_CLOEXEC);
	return -1;
}

/* Value: as above. */
static int take_option(struct options *o, int option)
{
	switch (option) {
	case CONFIG:
		o->config = optarg;
		return -1;
	case CHECK_CONFIG:
		o->action = ACTION_CHECK_CONFIG;
		return -1;
	case PRINT_CONFIG:
		o->action = ACTION_PRINT_CONFIG;
		return -1;
	case NEW_TOKEN:
		o->action = ACTION_NEW_TOKEN;
		return -1;
	case FOREGROUND:
		o->foreground = true;
		return -1;
	case READY_FD:
		return take_descriptor(&o->ready_fd, "ready-fd", optarg);
	case HANDOVER:
		return take_descriptor(&o->handover_fd, "handover", optarg);
	case CHECK_UPGRADE:
		return take_descriptor(&o->check_fd, "check-upgrade", optarg);
	case VERSION:
		printf("meted %s\n", daemon_version());
		return 0;
	case HELP:
		print_help();
		return 0;
	default:
		return option >= SETTING_BASE ? take_setting(o, (unsigned int)(option - SETTING_BASE), optarg)
					      : EXIT_USAGE;
	}
}

static int read_command_line(struct options *o, int argc, char **argv)
{
	struct option all[OWN_OPTIONS + SETTINGS_MAX + 1] = { 0 };
	unsigned int n = OWN_OPTIONS;
	int option, r, from = optind;

	memcpy(all, own_options, sizeof(own_options));
	for (unsigned int i = 0; i < setting_count; i++)
		if (settings[i].option)
			all[n++] = (struct option){ settings[i].option,
						    settings[i].operand ? required_argument : no_argument, NULL,
						    (int)(SETTING_BASE + i) };
	while ((option = getopt_long(argc, argv, "", all, NULL)) >= 0) {
		r = take_option(o, option);
		if (r >= 0)
			return r;
		/* The others are for this start alone. */
		if (option != READY_FD && option != HANDOVER && option != CHECK_UPGRADE)
			upgrade_keep_options(argv + from, optind - from);
		from = optind;
	}
	if (optind < argc)
		return usage("it takes options only");
	if (o->log && o->foreground)
		return usage("--log and --foreground exclude each other");
	return -1;
}

const char *options_config(const struct options *o)
{
	const char *config = o->config || o->system ? o->config : getenv("METE_CONFIG");

	if (config)
		return *config ? config : NULL;
	return o->system && !access(OPTIONS_CONFIG, F_OK) ? OPTIONS_CONFIG : NULL;
}

void options_runtime_dir(const struct options *o, char *dir, size_t size)
{
	const char *env = getenv("METE_RUNTIME_DIR"), *xdg = getenv("XDG_RUNTIME_DIR");

	if (o->runtime_dir)
		snprintf(dir, size, "%s", o->runtime_dir);
	else if (env && *env)
		snprintf(dir, size, "%s", env);
	else if (o->system)
		snprintf(dir, size, OPTIONS_SYSTEM_RUNTIME_DIR);
	else if (xdg && *xdg == '/')
		snprintf(dir, size, "%s/mete", xdg);
	else
		fallback_dir(dir, size);
}

/* The system's service has a folder of its own, which is there when it is installed. */
void options_state_dir(const struct options *o, char *dir, size_t size)
{
	options_runtime_dir(o, dir, size);
	if (o->state_dir)
		snprintf(dir, size, "%s", o->state_dir);
	else if (o->system && !strcmp(dir, OPTIONS_SYSTEM_RUNTIME_DIR) && !access(OPTIONS_SYSTEM_STATE_DIR, F_OK))
		snprintf(dir, size, "%s", OPTIONS_SYSTEM_STATE_DIR);
}

uint64_t options_idle_exit_ns(const struct options *o)
{
	if (o->exit_when_idle_ns == OPTIONS_NEVER_NS)
		return 0;
	return o->exit_when_idle_ns ? o->exit_when_idle_ns : 1;
}

/* What keeps it from starting, line by line: on standard error, and the first for whoever asks. */
struct said {
	char first[CONFIG_LINE_BYTES * 3];
};

static void say_fault(void *user, const char *line)
{
	struct said *said = user;

	if (!*said->first)
		snprintf(said->first, sizeof(said->first), "%s", line);
	fprintf(stderr, "meted: %s\n", line);
}

static int refuse_to_start(const struct options *o, const struct said *said)
{
	refusal_tell(o, said->first);
	return OPTIONS_EXIT_MEND;
}

static int make_token(const struct options *o)
{
	char dir[PATH_MAX], token[TOKEN_BYTES], error[PATH_MAX + 256];

	options_state_dir(o, dir, sizeof(dir));
	if (token_new(dir, TOKEN_ACTS, token, error, sizeof(error))) {
		fprintf(stderr, "meted: %s\n", error);
		return EXIT_TROUBLE;
	}
	puts(token);
	explicit_bzero(token, sizeof(token));
	return 0;
}

static int say_good(const struct options *o, const char *path)
{
	if (path)
		printf("%s: nothing wrong; %d of %u settings are given in it\n", path,
		       __builtin_popcountll(o->in_file), setting_count);
	else
		printf("no file is read: everything has its default (%s is read with --system, --config names "
		       "another)\n",
		       OPTIONS_CONFIG);
	return 0;
}

/* After the file was read without a fault. Value: -1 to go on, else the exit status. */
static int act(struct options *o, const char *path)
{
	const struct trial_known nothing = { NULL }, no_other = { "" };
	struct said said = { "" };

	switch (o->action) {
	case ACTION_PRINT_CONFIG:
		settings_print(o, stdout);
		return 0;
	case ACTION_NEW_TOKEN:
		return make_token(o);
	case ACTION_CHECK_CONFIG:
		return trial_run(o, TRIAL_CHECK, &nothing, say_fault, &said) ? EXIT_TROUBLE : say_good(o, path);
	case ACTION_SERVE:
		break;
	}
	/* Who takes over has the sockets already, and programs matter more than what has become of a file. */
	if (o->handover_fd < 0 && o->check_fd < 0 && trial_run(o, TRIAL_START, &no_other, say_fault, &said))
		return refuse_to_start(o, &said);
	return -1;
}

struct first_fault {
	char *text;
	size_t size;
};

static void keep_first(void *user, const char *line)
{
	struct first_fault *first = user;

	if (!*first->text)
		snprintf(first->text, first->size, "%s", line);
}

int options_read(struct options *o, int argc, char **argv)
{
	struct said said = { "" };
	unsigned int faults = 0;
	const char *path;
	int r;

	*o = nothing_said;
	r = read_command_line(o, argc, argv);
	if (r >= 0)
		return r;
	path = options_config(o);
	if (path)
		faults = config_read(o, path, say_fault, &said);
	if (!faults || (o->action == ACTION_NEW_TOKEN))
		return act(o, path);
	return o->action == ACTION_SERVE ? refuse_to_start(o, &said) : EXIT_TROUBLE;
}

int options_read_again(const struct options *o, struct options *ret, char *error, size_t size)
{
	const char *path = options_config(o);
	struct first_fault first = { error, size };
	char why[400];

	*ret = nothing_said;
	ret->config = o->config;
	ret->foreground = o->foreground;
	*error = 0;
	for (unsigned int i = 0; i < setting_count; i++)
		if (o->on_command_line >> i & 1 && setting_set(ret, &settings[i], o->text[i], false, why, sizeof(why)))
			snprintf(error, size, "%s %s", settings[i].key, why);
	if (!*error && path && config_read(ret, path, keep_first, &first) && !*error)
		snprintf(error, size, "%s: cannot be read", path);
	if (!*error)
		return 0;
	options_deinit(ret);
	return -EINVAL;
}

int options_try_again(struct options *now, const struct trial_known *known, char *error, size_t size)
{
	struct first_fault first = { error, size };

	*error = 0;
	if (!trial_run(now, TRIAL_RELOAD, known, keep_first, &first))
		return 0;
	options_deinit(now);
	return -EINVAL;
}

static bool same(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

static size_t field_bytes(const struct setting *s)
{
	switch (s->type) {
	case SETTING_SWITCH:
		return sizeof(bool);
	case SETTING_PATH:
	case SETTING_TEXT:
		return sizeof(char *);
	default:
		return sizeof(uint64_t);
	}
}

bool options_take(struct options *o, struct options *from)
{
	bool changed = false;

	for (unsigned int i = 0; i < setting_count; i++) {
		const struct setting *s = &settings[i];
		char *text = o->text[i];

		if (same(text, from->text[i]))
			continue;
		if (!s->reload) {
			log_line("%s has changed from %s to %s: restart meted to make it so", s->key,
				 text ? text : "its default", from->text[i] ? from->text[i] : "its default");
			continue;
		}
		log_line("%s is %s now", s->key, from->text[i] ? from->text[i] : "as by default");
		memcpy((char *)o + s->offset, (char *)from + s->offset, field_bytes(s));
		o->text[i] = from->text[i];
		o->line[i] = from->line[i];
		from->text[i] = text;
		o->in_file = (o->in_file & ~(UINT64_C(1) << i)) | (from->in_file & UINT64_C(1) << i);
		changed = true;
	}
	if (!limits_same_entries(&o->limits, &from->limits)) {
		struct limits_entry *entry = o->limits.entry;
		unsigned int count = o->limits.count;

		log_line("limits.users and limits.groups have changed");
		o->limits.entry = from->limits.entry;
		o->limits.count = from->limits.count;
		from->limits.entry = entry;
		from->limits.count = count;
		changed = true;
	}
	options_deinit(from);
	return changed;
}

void options_deinit(struct options *o)
{
	for (unsigned int i = 0; i < SETTINGS_MAX; i++)
		free(o->text[i]);
	limits_deinit(&o->limits);
	*o = nothing_said;
}
