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

#define OPTIONS_CONFIG "/etc/mete/meted.yaml" /* read with --system when it is there and no other is named */
#define SETTINGS_MAX 64u
#define OPTIONS_NEVER_NS UINT64_MAX
#define OPTIONS_CONTAINER_EXPIRES_NS UINT64_C(600000000000)

/* The system's meted, where no other folder is named. */
#define OPTIONS_SYSTEM_RUNTIME_DIR "/run/mete"
#define OPTIONS_SYSTEM_STATE_DIR "/var/lib/mete"

/* Exit status of a meted that no further start will help until somebody has mended its settings or its store. */
#define OPTIONS_EXIT_MEND 3

struct trial_known;

enum options_action {
	ACTION_SERVE,
	ACTION_CHECK_CONFIG,
	ACTION_PRINT_CONFIG,
	ACTION_NEW_TOKEN,
};

struct options {
	/* Of the command line alone. */
	enum options_action action;
	const char *config; /* NULL: OPTIONS_CONFIG with --system, else METE_CONFIG; "": none */
	bool foreground;
	int ready_fd;
	int handover_fd, check_fd; /* of meted for meted, see upgrade.h; -1: none */

	/* Settings: one row each in settings.c. Texts are owned by `text` below. NULL: not said. */
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
	const char *guard; /* a word of model/guarding.h; NULL: asked */
	const char *placement; /* a rule of placement.h, or "first"; NULL: that */
	struct limits limits;

	/* By the row's number in the table. */
	uint64_t on_command_line; /* bit i: setting i is, and wins over the file */
	uint64_t in_file;
	char *text[SETTINGS_MAX]; /* the setting as it was written; NULL: default */
	unsigned int line[SETTINGS_MAX]; /* of the file, where it was given there */
};

/*
 * Reads the command line, then the file that it names. What is wrong is a line on standard error each. Value: -1 to go
 * on, else the exit status (also of --help and --version, which it prints).
 */
int options_read(struct options *o, int argc, char **argv);

/*
 * Reads the file once more, under the same command line, into *ret. Value: 0, or -errno with the first line of what is
 * wrong in `error`; then *ret holds nothing.
 */
int options_read_again(const struct options *o, struct options *ret, char *error, size_t size);
/* Tries what it says (trial.h), with the same values; after an error `now` holds nothing. */
int options_try_again(struct options *now, const struct trial_known *known, char *error, size_t size);

/*
 * Takes over from `from` what may change at run time, and says in the log what would need a restart. Ends `from`.
 * Value: whether anything has changed.
 */
bool options_take(struct options *o, struct options *from);

void options_deinit(struct options *o);

/* Where this meted lives, and where it keeps what outlives a start of the machine. */
void options_runtime_dir(const struct options *o, char *dir, size_t size);
void options_state_dir(const struct options *o, char *dir, size_t size);

/* How long meted stays without anything to do; 0: for ever. */
uint64_t options_idle_exit_ns(const struct options *o);

/* The path of the file that is read; NULL: none. */
const char *options_config(const struct options *o);
