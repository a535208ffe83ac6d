/*
 * verbs.c: the table of verbs; see verb.h. Words here are what people read in help, manual and completion, so: whole
 * sentences, no abbreviations that are not explained, every option with its default.
 */
#include "cli/verb.h"

/* clang-format off: a row is a line */
#define OPTION_END                                                                                                     \
	{                                                                                                              \
		NULL, 0, NULL, NULL, COMPLETE_NOTHING, false                                                           \
	}
#define EXAMPLE_END                                                                                                    \
	{                                                                                                              \
		NULL, NULL                                                                                             \
	}
#define SWITCH(name, letter, words)                                                                                    \
	{                                                                                                              \
		name, letter, NULL, words, COMPLETE_NOTHING, false                                                     \
	}
#define OPTION_JSON SWITCH("json", 'j', "Print JSON, sizes in bytes.")
#define OPTION_SOFT SWITCH("soft", 's', "Use the software device even where there is a GPU.")
#define OPTION_OVERCOMMIT SWITCH("overcommit", 'O', OVERCOMMIT_WORDS)
#define OPTION_MEM(words)                                                                                              \
	{                                                                                                              \
		"mem", 'm', "SIZE", words, COMPLETE_NOTHING, true                                                      \
	}
#define OPTION_DEVICE(words)                                                                                           \
	{                                                                                                              \
		"device", 'd', "DEVICE", words, COMPLETE_DEVICE, true                                                  \
	}
#define OPTION_TERMS                                                                                                   \
	{ "cores", 'c', "PERCENT", CORES_WORDS, COMPLETE_NOTHING, true },                                              \
		{ "cores-limit", 'C', "PERCENT", LIMIT_WORDS, COMPLETE_NOTHING, true },                                \
		{ "policy", 'p', "NAME", POLICY_WORDS, COMPLETE_POLICY, true },                                        \
		{ "class", 'k', "NAME", CLASS_WORDS, COMPLETE_CLASS, true },                                           \
		{ "weight", 'w', "N", WEIGHT_WORDS, COMPLETE_NOTHING, true },                                          \
	{                                                                                                              \
		"turn", 't', "MS", TURN_WORDS, COMPLETE_NOTHING, true                                                  \
	}
/* clang-format on */

/* Shares of the device's time: the same words wherever they may be said. */
#define CORES_WORDS                                                                                                    \
	"The percentage of the device's time that is guaranteed while there is work, 1 to 100: 30 or 12.5. With "      \
	"--policy fixed, which it means alone, also the most. Given once it holds for every --device, else once for "  \
	"each, as all that follows."
#define LIMIT_WORDS "The most of the device's time, in percent, also when it is idle. Default: 100."
#define POLICY_WORDS                                                                                                   \
	"How the device's time is shared; `mete policy` lists the names. Default: fixed with --cores alone, elastic "  \
	"with "                                                                                                        \
	"--cores-limit too, else the device's default."
#define CLASS_WORDS                                                                                                    \
	"high goes before low within one bounded batch, and needs root or the daemon's own user; low gets what the "   \
	"others "                                                                                                      \
	"leave. Default: normal."
#define WEIGHT_WORDS                                                                                                   \
	"The part of what is left after the guarantees, in proportion to others' weights, 1 to 10000. Default: 100."
#define TURN_WORDS "With --policy exclusive: how long a turn lasts, in milliseconds, 10 to 600000. Default: 10000."

#define OVERCOMMIT_WORDS                                                                                               \
	"Let the grants of a device promise more than it has; who comes late may then be refused memory that was "     \
	"promised."

static const struct option_spec run_options[] = {
	OPTION_MEM(
		"Device memory that the program may hold: 512M, 8G, 1.5GiB (powers of 1024), 8GB (powers of 1000), 25% "
		"of the device, or bytes. Given once it holds for every --device, else once for each. Default: all "
		"that is not promised to others."),
	OPTION_DEVICE("The device: its number, its UUID or the beginning of it, several with commas, \"all\", or "
		      "DEVICE:SIZE. May be repeated. Default: the first that CUDA_VISIBLE_DEVICES shows, or 0."),
	OPTION_TERMS,
	OPTION_SOFT,
	{ "name", 'n', "NAME", "The grant's name, as `mete ps` shows it. Default: meted makes one up.",
	  COMPLETE_NOTHING, false },
	{ "grant", 'g', "NAME", "Run under this grant, made with `mete create`, instead of a new one.", COMPLETE_GRANT,
	  false },
	OPTION_OVERCOMMIT,
	{ "tier", 0, "TIER",
	  "How compute shares are enforced: T2, work is let through in turns; T3, hardware time slices as well, and "
	  "channels are switched off at the end of a turn. T3 is not proven on hardware; where the driver refuses it, "
	  "T2 stays. Default: METE_TIER, else T2.",
	  COMPLETE_NOTHING, false },
	SWITCH("verbose", 'v', "Say which driver, device and daemon are used, and at the end what the program took."),
	OPTION_END
};

static const char *const run_details[] = {
	"Runs PROGRAM under an exact share of device memory. The program and all processes that it starts share the "
	"quota; what is above it is refused with the driver's own out-of-memory error. cuMemGetInfo, NVML and "
	"nvidia-smi show the share as if it were the device.",
	"Everything from the first word that is no option, or after --, is the program and its arguments, unchanged. "
	"Its input, output, terminal, signals and exit status are the program's own, as if mete were not there. Lines "
	"that begin with \"mete:\" on standard error come from mete.",
	"--cores gives it a share of the device's time as well, measured by the device's own clock: `mete policy` "
	"lists "
	"the ways of sharing, mete-policy(1) explains them. A kernel that is running is not interrupted.",
	"Where no meted runs, one is started for this user; it ends by itself. Should it be killed, it is started "
	"again, and the program goes on with what it holds.",
	"A program that is statically linked, built for another C library than glibc, or that gains privileges when it "
	"starts cannot be reached: mete warns and runs it without a limit.",
	NULL
};

static const struct example run_examples[] = {
	{ "mete run --mem 8G -- python train.py", "eight GiB of the first device" },
	{ "mete run -m 25% -d 1 -v ./solver input", "a quarter of device 1, and a report" },
	{ "mete run -m 4G --cores 30 --cores-limit 60 --policy elastic ./server",
	  "30 % of the time, up to 60 % when idle" },
	{ "mete run -d 0:4G,1:2G ./two-gpus", "two devices with different quotas" },
	{ "mete run --soft --mem 512M ./program", "on the software device, without a GPU" },
	EXAMPLE_END
};

static const struct option_spec soft_run_options[] = {
	{ "devices", 'D', "N", "How many software devices there are, 0 to 16. Default: 2.", COMPLETE_NOTHING, false },
	{ "memory", 'm', "SIZE", "Memory of each: 16G; or a list with commas, one for each. Default: 16G.",
	  COMPLETE_NOTHING, false },
	{ "sms", 0, "N", "Multiprocessors that the devices show. Default: 16.", COMPLETE_NOTHING, false },
	{ "cc", 0, "X.Y", "Compute capability. Default: 9.0.", COMPLETE_NOTHING, false },
	{ "name", 0, "TEXT", "The devices' name.", COMPLETE_NOTHING, false },
	{ "context-memory", 0, "SIZE", "What a context takes of a device's memory. Default: 0.", COMPLETE_NOTHING,
	  false },
	{ "threads", 0, "N", "Threads that execute kernels. Default: one for each core.", COMPLETE_NOTHING, false },
	{ "check", 'c', "MODE",
	  "How exactly accesses are checked: off, as hardware does; strict, to the byte; report, and faults are "
	  "described; report,leaks, and what was not freed. Default: off.",
	  COMPLETE_CHECK, false },
	{ "report", 'r', "FILE", "Append reports to this file, too. Means --check report.", COMPLETE_NOTHING, false },
	{ "error-exitcode", 'e', "N",
	  "End with this status, 1 to 255, when the checker reported anything. Means --check report.", COMPLETE_NOTHING,
	  false },
	{ "timeout", 't', "SECONDS", "End a kernel that runs for longer; 0: none. Default: 0.", COMPLETE_NOTHING,
	  false },
	{ "duration", 0, "LIST",
	  "How long kernels take: scale=5ms,tiny*=200us,*=1ms; names or patterns, the first that fits. Default: as "
	  "long "
	  "as the CPU takes.",
	  COMPLETE_NOTHING, false },
	{ "rate", 0, "N",
	  "How long kernels take: so many warp instructions per second of the whole device (96G), or reference.",
	  COMPLETE_NOTHING, false },
	{ "copy-rate", 0, "N", "Bytes per second of each copy engine, such as 12G. Default: as fast as the CPU.",
	  COMPLETE_NOTHING, false },
	{ "slice", 0, "TIME", "How long a process has a device while others wait. Default: 2ms.", COMPLETE_NOTHING,
	  false },
	{ "switch", 0, "TIME", "What it costs to go from one process to another. Default: 75us.", COMPLETE_NOTHING,
	  false },
	{ "sharing", 0, "HOW", "slices, by turns; or together, all at once. Default: slices.", COMPLETE_NOTHING,
	  false },
	{ "time", 0, "HOW", "off: without a model of time. Default: on.", COMPLETE_NOTHING, false },
	OPTION_END
};

static const char *const soft_run_details[] = {
	"Runs PROGRAM on software devices: this machine's cores, behind the driver's interface. No GPU, no daemon and "
	"no quota; for trying, for tests of CUDA programs where there is no GPU, and for finding wrong addresses. The "
	"devices are this command's own: the program and what it starts share them, and they end with it. "
	"METE_SOFT_DIR, when it is set, names devices to share with others.",
	"Programs are found by their libraries: those that use the driver's interface, and those built with the shared "
	"runtime library (nvcc --cudart shared), for which mete brings its own.",
	"Everything from the first word that is no option, or after --, is the program and its arguments, unchanged. "
	"Its input, output, terminal, signals and exit status are the program's own, as if mete were not there, but "
	"for --error-exitcode. Lines that begin with \"mete:\" on standard error come from mete; those of the checker "
	"with \"mete: check:\".",
	NULL
};

static const struct example soft_run_examples[] = {
	{ "mete soft run ./program", "" },
	{ "mete soft run --check report -e 99 -- ctest", "as a test: 99 when any program's kernel went wrong" },
	{ "mete soft run --devices 1 --memory 512M --timeout 60 ./program", "" },
	EXAMPLE_END
};

static const struct option_spec soft_devices_options[] = { OPTION_JSON, OPTION_END };

static const char *const soft_devices_details[] = {
	"The software devices that a program of this user finds: those in use, or, when nobody uses any, those that "
	"the METE_SOFT_ variables describe. `mete soft run` makes its own.",
	"BUSY is the part of the time since the first kernel in which kernels were served. With --json, each device "
	"tells "
	"its time in nanoseconds: served + switch + idle = wall, and what each process on it was served.",
	NULL
};

static const struct option_spec ps_options[] = {
	OPTION_JSON,
	SWITCH("quiet", 'q', "Print names only."),
	OPTION_END,
};

static const char *const ps_details[] = {
	"One line for each process and device: the grant's NAME, PID, DEVICE, what the process holds (HELD), what the "
	"grant may hold (QUOTA), the most that the process has held (PEAK), what the grant was promised of the "
	"device's "
	"time (ASKED) and has got of it over the last ten seconds (GOT), all its processes together, how much of them "
	"it "
	"stood waiting at the gate (WAIT), its CLASS and POLICY, how the share is enforced (TIER) and the process's "
	"COMMAND. A grant without processes has one line for each of its devices.",
	NULL
};

static const struct option_spec top_options[] = {
	{ "delay", 'd', "SECONDS", "How often figures are taken anew, 0.1 to 3600. Default: 1.", COMPLETE_NOTHING,
	  false },
	{ "count", 'n', "N", "End after N times. Default: as long as it is not ended; 1 where there is no terminal.",
	  COMPLETE_NOTHING, false },
	SWITCH("once", '1', "Print one table and end; so it is where the output is no terminal."),
	SWITCH("json", 'j', "Print a JSON document a line, every interval: the time, the devices, the grants."),
	OPTION_END
};

static const char *const top_details[] = {
	"A live table on the whole terminal. Above, the devices: memory held of all, guarantees promised, how BUSY the "
	"compute engine was over the last second, in percent, and with WHOSE work. Below, a line for each tenant and "
	"device: the policy, the class, the share ASKED for, the share that it got over 1, 10 and 60 seconds (1S, 10S, "
	"60S), in percent of the device's time, the memory held and its quota, the time that it stood waiting at the "
	"gate, how shares are enforced (TIER), processes (N) and the command. Where a figure is not known there is "
	"a dash.",
	"Keys: the arrows select and sort, / filters, c changes the tenant's guarantee, l its limit, w its weight, f "
	"freezes it and thaws it, Enter shows its processes, h explains, q ends. On a narrow terminal columns are left "
	"out.",
	NULL
};

static const struct example top_examples[] = { { "mete top", "" },
					       { "mete top --json -d 10 -n 6", "six documents, one every ten seconds" },
					       EXAMPLE_END };

static const struct option_spec trace_options[] = {
	{ "for", 'f', "TIME", "How long to record: 500ms, 10s, 2m; an hour at most. Default: 10s.", COMPLETE_NOTHING,
	  false },
	{ "output", 'o', "FILE", "Where to write it; - is standard output. Default: mete-trace.json.", COMPLETE_NOTHING,
	  false },
	{ "device", 'd', "DEVICE", "Only what is on this device. Default: all.", COMPLETE_DEVICE, false },
	OPTION_END
};

static const char *const trace_details[] = {
	"Records what happens for a while: the turns that tenants get, how long the engine of a device was busy with "
	"whose work, who stood at the gate, and every launch with its name, its stream, when it was called and when it "
	"passed. Without a NAME all grants of this user are recorded; root sees those of all.",
	"The file has the Chrome trace event format: open it in Perfetto (ui.perfetto.dev) or chrome://tracing. Every "
	"device is shown as a process with tracks for each tenant, every client with tracks for its threads and its "
	"streams. An interrupt ends the recording and the file is written all the same.",
	"Launches of tenants that are not gated (policy native) are not seen. When they come faster than they can be "
	"taken, some are lost: the end says how many. docs/tracing.md explains what is measured and what is predicted.",
	NULL
};

static const struct example trace_examples[] = { { "mete trace", "everything, for ten seconds" },
						 { "mete trace train-1 infer --for 2s -o both.json", "" },
						 EXAMPLE_END };

static const struct option_spec devices_options[] = { OPTION_JSON, OPTION_END };

static const char *const devices_details[] = {
	"One line for each device: its number, which DRIVER it belongs to (nvidia, or soft for the software device), "
	"its memory (TOTAL), what grants may take of it together (PROMISED), what they hold (HELD), what the driver "
	"itself says is in use, by whomever (USED), UUID and NAME.",
	NULL
};

static const struct option_spec show_options[] = { OPTION_JSON, OPTION_END };

static const char *const show_details[] = {
	"Everything about one grant: devices with quota, held, peak and refused allocations; processes with what they "
	"hold and their CREDIT (memory that they may take without asking meted); the last events. Of the device's "
	"time: "
	"what was ASKED for, what it GOT over the last 1, 10 and 60 seconds, how much of ten seconds it had work "
	"(WANTED) "
	"and stood waiting for its turn (WAIT), its LONGEST launch, the number of TURNS, by how much it is behind its "
	"share "
	"(LAG, below 0: ahead), launches that PASSED a closed gate, how the share is enforced (TIER) and what that "
	"cannot "
	"do.",
	NULL
};

static const struct option_spec set_options[] = {
	OPTION_MEM("The new quota; written as for `mete run`. Given once it holds for every --device, else once for "
		   "each."),
	OPTION_DEVICE("The device of the grant. Default: its only one."),
	OPTION_TERMS,
	SWITCH("freeze", 'f', "Hold its work up: nothing new starts until --thaw. Memory stays."),
	SWITCH("thaw", 'T', "Let it go on."),
	SWITCH("soon", 'S', "Shrink below what is held too; it takes effect as memory is freed."),
	OPTION_JSON,
	OPTION_END
};

static const char *const set_details[] = {
	"Changes a grant while its programs run: its share of the device's time at once, a word that is not given "
	"stays as "
	"it was, unless a new --policy has no use for it.",
	"Growing the quota is at once, as far as the device has memory that "
	"is not promised. Shrinking below what is held is refused, unless --soon is given.",
	NULL
};

static const struct example set_examples[] = { { "mete set train-1 --mem 12G", "" },
					       { "mete set train-1 --policy burst --cores 40", "" },
					       { "mete set train-1 --freeze", "" },
					       { "mete set train-1 --device 1 --mem 2G --soon", "" },
					       EXAMPLE_END };

static const struct option_spec create_options[] = {
	OPTION_MEM("Device memory; written as for `mete run`. Default: all that is not promised to others."),
	OPTION_DEVICE("The device; written as for `mete run`."),
	OPTION_TERMS,
	OPTION_SOFT,
	OPTION_OVERCOMMIT,
	OPTION_JSON,
	OPTION_END
};

static const char *const create_details[] = { "Makes a grant that stays until `mete delete`, also over a restart of "
					      "meted. `mete run --grant NAME` runs programs under it; all of them "
					      "together share its quota.",
					      NULL };

static const struct example create_examples[] = { { "mete create team-a --mem 50%", "" },
						  { "mete run --grant team-a -- python train.py", "" },
						  EXAMPLE_END };

static const struct option_spec policy_options[] = { OPTION_SOFT, OPTION_JSON, OPTION_END };

static const char *const policy_details[] = {
	"Without operands: the policies, ways of sharing a device's time, and each device's default, which holds for "
	"grants that name none. With DEVICE and NAME: sets the device's default; grants that are there keep theirs.",
	"A share is a part of the device's time in which there is work, measured. fixed never gives more than --cores; "
	"burst and elastic lend what is idle and take it back within milliseconds; fair and weighted divide; "
	"besteffort "
	"takes what is left; exclusive gives the whole device in long turns; native leaves time alone.",
	NULL
};

static const struct example policy_examples[] = { { "mete policy", "" },
						  { "mete policy 0 fair", "grants on device 0 share its time equally" },
						  EXAMPLE_END };

static const struct option_spec no_options[] = { OPTION_END };

static const char *const delete_details[] = { "Ends grants that were made with `mete create`. One under which "
					      "processes still hold memory is not deleted; end them first.",
					      NULL };

static const struct option_spec doctor_options[] = { OPTION_JSON, OPTION_END };

static const char *const doctor_details[] = {
	"Looks at this machine and at this copy of mete: the drivers, the shim, the daemon, folders, device nodes and "
	"limits; says what will be enforced and how; names what is missing and the remedy. Ends with 1 when something "
	"keeps `mete run` from working.",
	NULL
};

static const struct option_spec version_options[] = { OPTION_JSON, OPTION_END };

static const char *const version_details[] = { "The version of mete, and that of the meted that runs, if one does.",
					       NULL };

static const struct option_spec help_options[] = { SWITCH("man", 0, "Print the manual page in mdoc, for man(1)."),
						   SWITCH("completion", 0, "Print the completion for bash."),
						   OPTION_END };

static const char *const help_details[] = {
	"Without a VERB: what there is. With one: its options, as `mete VERB --help`.", NULL
};

const struct verb verbs[] = {
	{ "run", "run a program under a share of device memory", "PROGRAM [ARGUMENT...]", run_details, run_options,
	  run_examples, verb_run, 1, -1, true, COMPLETE_PROGRAM, EXIT_RUN_FAILED },
	{ "ps", "list tenants, their processes and what they hold", "", ps_details, ps_options, NULL, verb_ps, 0, 0,
	  false, COMPLETE_NOTHING, EXIT_USAGE },
	{ "top", "watch shares, memory and waiting times, and change them", "", top_details, top_options, top_examples,
	  verb_top, 0, 0, false, COMPLETE_NOTHING, EXIT_USAGE },
	{ "trace", "record launches and turns for Perfetto", "[NAME...]", trace_details, trace_options, trace_examples,
	  verb_trace, 0, -1, false, COMPLETE_GRANT, EXIT_USAGE },
	{ "devices", "list the devices, what is promised and what is held", "", devices_details, devices_options, NULL,
	  verb_devices, 0, 0, false, COMPLETE_NOTHING, EXIT_USAGE },
	{ "show", "show everything about one grant", "NAME", show_details, show_options, NULL, verb_show, 1, 1, false,
	  COMPLETE_GRANT, EXIT_USAGE },
	{ "set", "change a running grant's share", "NAME", set_details, set_options, set_examples, verb_set, 1, 1,
	  false, COMPLETE_GRANT, EXIT_USAGE },
	{ "create", "make a grant that outlives commands", "NAME", create_details, create_options, create_examples,
	  verb_create, 1, 1, false, COMPLETE_NOTHING, EXIT_USAGE },
	{ "policy", "list the ways of sharing a device's time, set a device's", "[DEVICE NAME]", policy_details,
	  policy_options, policy_examples, verb_policy, 0, 2, false, COMPLETE_POLICY, EXIT_USAGE },
	{ "delete", "end a grant", "NAME...", delete_details, no_options, NULL, verb_delete, 1, -1, false,
	  COMPLETE_GRANT, EXIT_USAGE },
	{ "soft run", "run a program on software devices, without a quota", "PROGRAM [ARGUMENT...]", soft_run_details,
	  soft_run_options, soft_run_examples, verb_soft_run, 1, -1, true, COMPLETE_PROGRAM, EXIT_RUN_FAILED },
	{ "soft devices", "list the software devices", "", soft_devices_details, soft_devices_options, NULL,
	  verb_soft_devices, 0, 0, false, COMPLETE_NOTHING, EXIT_USAGE },
	{ "doctor", "say what works here, what is missing and the remedy", "", doctor_details, doctor_options, NULL,
	  verb_doctor, 0, 0, false, COMPLETE_NOTHING, EXIT_USAGE },
	{ "version", "print versions", "", version_details, version_options, NULL, verb_version, 0, 0, false,
	  COMPLETE_NOTHING, EXIT_USAGE },
	{ "help", "explain a verb", "[VERB]", help_details, help_options, NULL, verb_help, 0, 2, false, COMPLETE_VERB,
	  EXIT_USAGE },
	{ 0 },
};
