/*
 * options.h: the options of meted, from the command line and from meted.yaml.
 *
 * Every setting is a row of the table in settings.c, both as an option and as a key; the command line has precedence
 * over the file. Parts of meted read their settings from daemon->options when they need them. SIGHUP reads the file
 * again and changes in place what may change while meted runs (settings.h, `reload`).
 */
#pragma once

#include "daemon/http/http.h"
#include "daemon/health/probe.h"
#include "daemon/tenants/residence.h"
#include "daemon/workers/fence.h"
#include "model/limits.h"
#include "model/quarantine.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OPTIONS_CONFIG "/etc/mete/meted.yaml" /* read with --system if it exists and no other file is named */
#define SETTINGS_MAX 64u
#define OPTIONS_NEVER_NS UINT64_MAX
#define OPTIONS_CONTAINER_EXPIRES_NS UINT64_C(600000000000)

/* Defaults of the system's meted. */
#define OPTIONS_SYSTEM_RUNTIME_DIR "/run/mete"
#define OPTIONS_SYSTEM_STATE_DIR "/var/lib/mete"

/* Exit status that tells the service manager not to restart: settings or the store must be repaired first. */
#define OPTIONS_EXIT_MEND 3

struct trial_known;

enum options_action {
	ACTION_SERVE,
	ACTION_CHECK_CONFIG,
	ACTION_PRINT_CONFIG,
	ACTION_NEW_TOKEN,
};

struct options {
	/* Only on the command line. */
	enum options_action action;
	const char *config; /* NULL: OPTIONS_CONFIG with --system, else METE_CONFIG; "": none */
	bool foreground;
	int ready_fd;
	int handover_fd, check_fd; /* between two meteds, see upgrade.h; -1: none */

	/* Settings: one row each in settings.c. Texts are owned by `text` below. NULL: not given. */
	bool system;
	const char *runtime_dir;
	const char *state_dir;
	const char *log;
	uint64_t exit_when_idle_ns;
	struct machine_options machine;
	struct http_options http;
	struct quarantine_rule faults;
	uint64_t images_bytes;
	struct residence_options memory;
	struct fence_options fence;
	uint64_t container_expires_ns;
	const char *guard; /* a word of model/guarding.h; NULL: the default */
	const char *placement; /* a rule of placement.h, or "first"; NULL: "first" */
	struct limits limits;

	/* Bit i stands for row i of the table. */
	uint64_t on_command_line; /* given on the command line, which has precedence over the file */
	uint64_t in_file;
	char *text[SETTINGS_MAX]; /* the value as written; NULL: default */
	unsigned int line[SETTINGS_MAX]; /* the line of the file that gives it */
};

/*
 * Reads the command line, then the file that it names. Each error is a line on standard error. Value: -1 to continue,
 * else the exit status (also for --help and --version, which it prints).
 */
int options_read(struct options *o, int argc, char **argv);

/*
 * Reads the file again, with the same command line, into *ret. Value: 0, or -errno with the first error in `error`;
 * *ret then holds nothing.
 */
int options_read_again(const struct options *o, struct options *ret, char *error, size_t size);
/* Checks the settings (trial.h). Value as above; after an error `now` holds nothing. */
int options_try_again(struct options *now, const struct trial_known *known, char *error, size_t size);

/*
 * Takes over from `from` what may change at run time, and logs what needs a restart. Frees `from`. Value: true if a
 * setting has changed.
 */
bool options_take(struct options *o, struct options *from);

void options_deinit(struct options *o);

/* The runtime directory, and the directory of what outlives a reboot. */
void options_runtime_dir(const struct options *o, char *dir, size_t size);
void options_state_dir(const struct options *o, char *dir, size_t size);

/* How long meted stays without a task; 0: for ever. */
uint64_t options_idle_exit_ns(const struct options *o);

/* The path of the settings file; NULL: none. */
const char *options_config(const struct options *o);
