/*
 * doctor_runtimes.c: the checks of `mete doctor` that are about container runtimes: which are here, whether these
 * releases take CDI devices as they are set, and whether they look where mete writes.
 */
#include "base/cleanup.h"
#include "verb/choose.h"
#include "connect/cdi/connector.h"
#include "connect/cdi/spec.h"

#include <ctype.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OCI_REMEDY "`mete oci BUNDLE` puts a share into a container's bundle"

struct runtime {
	const char *program, *name;
	unsigned int first;	     /* the first release that knows CDI, as RELEASE() */
	unsigned int usual;	     /* from this one on it is on without a word in its settings */
	bool (*asked)(bool *ret_no); /* its settings switch CDI on; *ret_no: they switch it off */
	const char *switch_on;
	const char *old_remedy;
};

#define RELEASE(major, minor) ((major) * 1000u + (minor))

/* A setting's line, without what "#" begins; false at the end of the file. */
static bool next_line(FILE *file, char line[512])
{
	if (!fgets(line, 512, file))
		return false;
	line[strcspn(line, "#\n")] = 0;
	return true;
}

static bool docker_asked(bool *ret_no)
{
	json_t *settings = json_load_file("/etc/docker/daemon.json", 0, NULL),
	       *cdi = json_object_get(json_object_get(settings, "features"), "cdi");
	bool yes = json_is_true(cdi);

	*ret_no = json_is_false(cdi);
	json_decref(settings);
	return yes;
}

static bool containerd_asked(bool *ret_no)
{
	_cleanup_fclose_ FILE *file = fopen("/etc/containerd/config.toml", "re");
	char line[512];
	bool yes = false;

	*ret_no = false;
	while (file && next_line(file, line))
		if (strstr(line, "enable_cdi")) {
			yes = strstr(line, "true");
			*ret_no = strstr(line, "false");
		}
	return yes;
}

static const struct runtime runtimes[] = {
	{ "podman", "podman", RELEASE(4, 1), RELEASE(4, 1), NULL, NULL, "install podman 4.1 or later" },
	{ "dockerd", "Docker", RELEASE(25, 0), RELEASE(28, 2), docker_asked,
	  "put \"features\": {\"cdi\": true} into /etc/docker/daemon.json and restart docker",
	  "install Docker 25 or later, or run containers with podman" },
	{ "containerd", "containerd", RELEASE(1, 7), RELEASE(2, 0), containerd_asked,
	  "set enable_cdi = true in the CRI plugin's part of /etc/containerd/config.toml and restart containerd; for "
	  "ctr `mete oci BUNDLE` and `ctr run --config BUNDLE/config.json`",
	  OCI_REMEDY },
	{ "crio", "CRI-O", RELEASE(1, 23), RELEASE(1, 23), NULL, NULL, OCI_REMEDY },
};

/* The first "N.N" or "vN.N" in what a program says of its version; 0: none. */
static unsigned int release_in(const char *said)
{
	unsigned int major, minor;

	for (const char *p = said; *p; p++)
		if (isdigit((unsigned char)*p) && (p == said || strchr(" /v", p[-1])) &&
		    sscanf(p, "%u.%u", &major, &minor) == 2)
			return RELEASE(major, minor);
	return 0;
}

static void check_runtime(struct doctor *d, const struct runtime *r)
{
	const char *const argv[] = { r->program, "--version", NULL };
	bool off = false, asked = r->asked && r->asked(&off);
	unsigned int release;
	char said[256];

	if (doctor_ask_program(argv, said, sizeof(said)))
		return;
	said[strcspn(said, "\n")] = 0;
	release = release_in(said);
	if (release < r->first)
		doctor_add(d, "runtime", STATUS_NOTE, r->old_remedy, "%s (%s) knows no CDI devices", r->name, said);
	else if (off || (release < r->usual && !asked))
		doctor_add(d, "runtime", STATUS_NOTE, r->switch_on,
			   "%s (%s) does not look for CDI devices, as it is set", r->name, said);
	else
		doctor_add(d, "runtime", STATUS_OK, NULL, "%s (%s) takes CDI devices", r->name, said);
}

/* Folders that containers.conf names in place of the usual ones; a list over several lines is read as one. */
static void check_conf(struct doctor *d, const char *path)
{
	_cleanup_fclose_ FILE *file = fopen(path, "re");
	char line[512], text[2048] = "";
	bool inside = false;

	while (file && next_line(file, line)) {
		inside |= !strncmp(line + strspn(line, " \t"), "cdi_spec_dirs", 13);
		if (!inside)
			continue;
		strncat(text, line, sizeof(text) - strlen(text) - 1);
		if (strchr(line, ']'))
			break;
	}
	if (*text && !(strstr(text, "\"" SPEC_STATIC_DIR "\"") && strstr(text, "run/cdi\"")))
		doctor_add(d, "runtime", STATUS_WARNING,
			   "add " SPEC_STATIC_DIR " and " SPEC_DYNAMIC_DIR
			   " to it, or give --dir to `mete cdi generate` and `create`",
			   "podman looks for CDI files elsewhere: %s has %s", path, text);
}

static void check_confs(struct doctor *d)
{
	glob_t found = { 0 };

	check_conf(d, "/usr/share/containers/containers.conf");
	check_conf(d, "/etc/containers/containers.conf");
	if (!glob("/etc/containers/containers.conf.d/*.conf", 0, NULL, &found))
		for (size_t i = 0; i < found.gl_pathc; i++)
			check_conf(d, found.gl_pathv[i]);
	globfree(&found);
}

void doctor_check_runtimes(struct doctor *d)
{
	for (size_t i = 0; i < sizeof(runtimes) / sizeof(*runtimes); i++)
		check_runtime(d, &runtimes[i]);
	check_confs(d);
}
