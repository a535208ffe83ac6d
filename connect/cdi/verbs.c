/* verbs.c: the table of the verbs of containers; see src/verb/verb.h and the words about words in src/cli/verbs.c. */
#include "connect/cdi/connector.h"
#include "verb/options.h"

/* clang-format off: a row is a line */
#define OPTION_SHARES                                                                                                  \
	{                                                                                                              \
		"shares", 0, "FILE", SHARES_WORDS, COMPLETE_FILE, false                                                \
	}
#define OPTION_CDI_DIR(words)                                                                                          \
	{                                                                                                              \
		"dir", 0, "DIR", words, COMPLETE_FILE, false                                                           \
	}
/* clang-format on */

#define CONTAINER_WALL_WORDS                                                                                           \
	"Behind a wall: no driver and no device node is in the container; workers of meted execute its calls."
#define SHARES_WORDS                                                                                                   \
	"The named shares, as JSON: {\"shares\": [{\"name\": \"small\", \"mem\": \"4G\", \"cores\": 25}, ...]}, with " \
	"the words of "                                                                                                \
	"`mete create`. Default: /etc/mete/shares.json, where there is one."

static const struct option_spec cdi_generate_options[] = {
	OPTION_SHARES, OPTION_CDI_DIR("Where the files are written. Default: /etc/cdi."), OPTION_SOFT,
	SWITCH("json", 'j', "Print the files' contents, and write nothing."), OPTION_END
};

static const char *const cdi_generate_details[] = {
	"Writes CDI files for this node. mete.io/device=0, by index or UUID, or all: what is not promised of the "
	"device when the container begins. mete.io/share=NAME: the shares of the file, each container with one of its "
	"own; without a file small, medium and large: a quarter, half and all of device 0.",
	"Docker, podman, containerd and CRI-O take them with --device; docs/containers.md says how. The container gets "
	"its share mounted, whatever its environment says: `exec` and ssh into it find the same. The grant ends with "
	"the container. On a GPU, what NVIDIA's own CDI file lists goes along.",
	NULL
};

static const struct example cdi_generate_examples[] = { { "mete cdi generate", "" },
							{ "podman run --device mete.io/share=small IMAGE PROGRAM", "" },
							EXAMPLE_END };

static const struct option_spec cdi_create_options[] = {
	OPTION_MEM("Device memory; written as for `mete run`. Default: all that is not promised to others."),
	OPTION_DEVICE("The device; written as for `mete run`."),
	OPTION_TERMS
	OPTION_KINDS,
	OPTION_OVERCOMMIT,
	OPTION_SPILL,
	SWITCH("wall", 0, CONTAINER_WALL_WORDS),
	SWITCH("guard", 0, GUARD_WORDS),
	{ "name", 'n', "NAME", "The grant's name. Default: one is made up.", COMPLETE_NOTHING, false },
	SWITCH("keep", 0,
	       "The grant outlives containers, and several may use it together, until `mete cdi remove`. Default: it "
	       "is for one container and ends with it."),
	OPTION_EXPIRES("Default: 10m, or what containers.expires of meted.yaml says; with --keep never."),
	OPTION_CDI_DIR("Where the CDI file is written. Default: /var/run/cdi; without root ~/.config/cdi, which podman "
		       "reads with its option cdi-spec-dir."),
	OPTION_JSON,
	OPTION_END
};

static const char *const cdi_create_details[] = {
	"Creates a grant for a container and prints the name by which the container gets it: mete.io/grant=NAME. "
	"The share is promised from now on. When the container exits for any reason, the grant and its CDI file "
	"are removed.",
	NULL
};

static const struct example cdi_create_examples[] = {
	{ "podman run --device $(mete cdi create --mem 4G --cores 25) IMAGE PROGRAM", "" },
	{ "mete cdi create --name team --mem 8G --keep", "for several containers, one after the other or together" },
	EXAMPLE_END
};

static const struct option_spec cdi_list_options[] = {
	OPTION_CDI_DIR("The folder to look at. Default: /etc/cdi and /var/run/cdi, and without root ~/.config/cdi."),
	OPTION_JSON, OPTION_END
};

static const char *const cdi_list_details[] = { "Lists the names that containers can use with --device, and the "
						"share of each. The exit status is 1 if a CDI file is broken or two "
						"files define the same name: runtimes then find "
						"neither definition.",
						NULL };

static const struct option_spec cdi_remove_options[] = {
	OPTION_CDI_DIR("The folder to look at. Default: /etc/cdi and /var/run/cdi, and without root ~/.config/cdi."),
	OPTION_END
};

static const char *const cdi_remove_details[] = {
	"Ends grants of `mete cdi create`, except those that a container uses. A full name, mete.io/share=NAME, "
	"removes a device or share from its CDI file; running containers are not affected.",
	NULL
};

static const struct option_spec cdi_hook_options[] = {
	{ "share", 0, "NAME", "The named share: the container gets a separate grant.", COMPLETE_NOTHING, false },
	{ "grant", 0, "NAME", "The grant, created with `mete cdi create`.", COMPLETE_GRANT, false },
	{ "runtime-dir", 0, "DIR", "The runtime directory of the meted that serves. Default: as for all verbs.",
	  COMPLETE_FILE, false },
	OPTION_MEM("Device memory; written as for `mete run`."),
	OPTION_DEVICE("The device; written as for `mete run`."),
	OPTION_TERMS
	OPTION_KINDS,
	OPTION_OVERCOMMIT,
	OPTION_SPILL,
	SWITCH("wall", 0, CONTAINER_WALL_WORDS),
	SWITCH("guard", 0, GUARD_WORDS),
	OPTION_END
};

static const char *const cdi_hook_details[] = {
	"Container runtimes call this, as the CDI files specify; it is not meant for users. create: a container is "
	"about to start; it gets its share, or it does not start. end: the container has exited. Standard input: "
	"the container's state.",
	NULL
};

static const struct option_spec oci_options[] = {
	{ "share", 0, "NAME", "A named share, as for `mete cdi generate`, instead of --mem and the like.",
	  COMPLETE_NOTHING, false },
	OPTION_SHARES,
	OPTION_MEM("Device memory; written as for `mete run`. Default: all that is not promised when the container "
		   "begins."),
	OPTION_DEVICE("The device; written as for `mete run`."),
	OPTION_TERMS
	OPTION_KINDS,
	OPTION_OVERCOMMIT,
	OPTION_SPILL,
	SWITCH("wall", 0, CONTAINER_WALL_WORDS),
	SWITCH("remove", 0, "Revert the edit of an earlier `mete oci`, and add nothing."),
	OPTION_END
};

static const char *const oci_details[] = {
	"Edits the config.json of an OCI bundle, for runtimes without CDI: the "
	"container gets its share whenever it is started. A second run replaces the earlier edit.",
	NULL
};

static const struct example oci_examples[] = {
	{ "mete oci /srv/bundle --mem 4G --cores 25 && runc run -b /srv/bundle c1", "" }, EXAMPLE_END
};

/* Each is in a file of its own. */
int verb_cdi_generate(const struct command_line *line);
int verb_cdi_create(const struct command_line *line);
int verb_cdi_list(const struct command_line *line);
int verb_cdi_remove(const struct command_line *line);
int verb_cdi_hook(const struct command_line *line);
int verb_oci(const struct command_line *line);

static const struct verb cdi_verbs[] = {
	{ "cdi generate", "write CDI files: shares for containers", "", cdi_generate_details, cdi_generate_options,
	  cdi_generate_examples, verb_cdi_generate, 0, 0, false, COMPLETE_NOTHING, EXIT_USAGE },
	{ "cdi create", "create a grant for one container", "", cdi_create_details, cdi_create_options,
	  cdi_create_examples, verb_cdi_create, 0, 0, false, COMPLETE_NOTHING, EXIT_USAGE },
	{ "cdi list", "list the names for containers", "", cdi_list_details, cdi_list_options, NULL, verb_cdi_list, 0,
	  0, false, COMPLETE_NOTHING, EXIT_USAGE },
	{ "cdi remove", "end containers' grants, remove shares", "NAME...", cdi_remove_details, cdi_remove_options,
	  NULL, verb_cdi_remove, 1, -1, false, COMPLETE_GRANT, EXIT_USAGE },
	{ "cdi hook", "give a container its share; called by runtimes", "create|end", cdi_hook_details,
	  cdi_hook_options, NULL, verb_cdi_hook, 1, 1, false, COMPLETE_NOTHING, EXIT_USAGE },
	{ "oci", "put a share into an OCI bundle", "BUNDLE", oci_details, oci_options, oci_examples, verb_oci, 1, 1,
	  false, COMPLETE_FILE, EXIT_USAGE },
	{ 0 },
};

const struct connector cdi_connector = {
	.verbs = cdi_verbs,
	.check_grants = doctor_check_containers,
	.check_machine = doctor_check_runtimes,
	.check_image = verb_doctor_image,
};
