/*
 * verbs.c: the table of mete's own verbs; see verb.h. Words here are what people read in help, manual and completion,
 * so: whole sentences, no abbreviations that are not explained, every option with its default.
 */
#include "verb/options.h"

/* clang-format off: a row is a line */
#define OPTION_WIDE SWITCH("wide", 'W', "Print all columns, however wide the output is.")
#define OPTION_PROOF                                                                                                   \
	{ "key", 'K', "FILE", KEY_WORDS, COMPLETE_FILE, false },                                                       \
		{ "cert", 0, "FILE", CERT_WORDS, COMPLETE_FILE, false },                                               \
		{ "cert-key", 0, "FILE", CERT_KEY_WORDS, COMPLETE_FILE, false },                                       \
		{ "ca", 0, "FILE", CA_WORDS, COMPLETE_FILE, false }, SWITCH("plain", 0, PLAIN_WORDS),                  \
		SWITCH("ucx", 0,                                                                                       \
		       "Carry calls and data by UCX where the network is fast (RDMA); not encrypted, so with "         \
		       "--plain.")
#define OPTION_PATIENCE                                                                                                \
	{                                                                                                              \
		"patience", 0, "SECONDS", PATIENCE_WORDS, COMPLETE_NOTHING, false                                      \
	}
#define OPTION_KEYS                                                                                                    \
	{                                                                                                              \
		"keys", 'K', "DIR", KEYS_WORDS, COMPLETE_FILE, false                                                   \
	}
/* clang-format on */

#define KEY_WORDS                                                                                                      \
	"The key that this side and the server have, made there with `mete key new`. Default: METE_KEY, else on "      \
	"loopback "                                                                                                    \
	"none."
#define CERT_WORDS                                                                                                     \
	"This side's certificate, in PEM, instead of a key; with --cert-key and --ca. The other side's is checked "    \
	"too."
#define CERT_KEY_WORDS "The private key of --cert, in PEM."
#define CA_WORDS "The authority that the other side's certificate must be of, in PEM."
#define PLAIN_WORDS                                                                                                    \
	"Without TLS: nobody proves who it is, and whoever is on the network can read and change everything."
#define PATIENCE_WORDS                                                                                                 \
	"After how long without a word from the other side the line counts as lost, 1 to 3600. Default: 10."
#define KEYS_WORDS "The folder of keys. Default: /etc/mete/keys for root, else ~/.config/mete/keys."

#define RUN_WALL_WORDS                                                                                                 \
	"Give the program neither the driver nor the device: a worker of meted executes its calls, in a sandbox of "   \
	"its own. With --grant, one made with --wall."
#define CREATE_WALL_WORDS                                                                                              \
	"Let programs of `mete run --wall` have the grant's devices through workers: without the driver, the "         \
	"device nodes, or a way around the quota."

#define WAIT_WORDS                                                                                                     \
	"Wait in a queue until there is room, instead of failing: for memory or time of the device that is promised "  \
	"to others, for a ceiling of one's own, or for a device that is out of service. Who waits is said what for, "  \
	"and how many are before; an interrupt leaves the queue."
#define OPTION_WAIT                                                                                                    \
	SWITCH("wait", 0, WAIT_WORDS),                                                                                 \
	{                                                                                                              \
		"timeout", 0, "TIME", "With --wait: give up after 90s, 10m, 2h. Default: never.", COMPLETE_NOTHING,    \
			false                                                                                          \
	}

static const struct option_spec run_options[] = {
	OPTION_MEM(
		"Device memory that the program may hold: 512M, 8G, 1.5GiB (powers of 1024), 8GB (powers of 1000), 25% "
		"of the device, or bytes. Given once it holds for every --device, else once for each. Default: all "
		"that is not promised to others."),
	OPTION_DEVICE("The device: its index, KIND:INDEX, its UUID or the beginning of it, several with commas, "
		      "\"all\", or DEVICE:SIZE. \"any\": one that meted chooses (--place). May be repeated. Default: "
		      "the first that CUDA_VISIBLE_DEVICES shows, or 0."),
	OPTION_PLACE OPTION_TERMS OPTION_SOFT,
	OPTION_OPENCL,
	OPTION_HIP,
	OPTION_SHAPES,
	OPTION_NPU,
	OPTION_LEVELZERO,
	OPTION_WAIT,
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
	OPTION_SPILL,
	SWITCH("wall", 0, RUN_WALL_WORDS),
	SWITCH("guard", 0, GUARD_WORDS),
	SWITCH("strict", 0,
	       "Do not start a program that the shim cannot reach: print why, and end with status 126. Default: start "
	       "it without a limit, with a warning. Calls of a newer driver that take memory or start work, and that "
	       "this release does not know, are refused too."),
	{ "remote", 'R', "HOST[:PORT]",
	  "Use what `mete serve` on this machine offers; several with commas: their devices are 0 and up, in that "
	  "order. Port: 7433.",
	  COMPLETE_NOTHING, false },
	{ "offer", 0, "NAME",
	  "With --remote: which of the server's offers. Default: the first that this client may have.",
	  COMPLETE_NOTHING, false },
	OPTION_PROOF,
	OPTION_PATIENCE,
	SWITCH("verbose", 'v',
	       "Say which driver, device and daemon are used, what is set in the program's environment, and at the "
	       "end what the program took."),
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
	"lists the ways of sharing, mete-policy(1) explains them. A kernel that is running is not interrupted.",
	"--remote HOST runs it on the devices of another machine, on which `mete serve` runs: the share is what that "
	"offers, and this machine needs neither a GPU nor a driver. The program must use the driver's interface, or "
	"the shared CUDA runtime library. docs/remote.md says how this works, what it protects and what it cannot do.",
	"Where no meted runs, one is started for this user; it ends by itself. Should it be killed, it is started "
	"again, and the program goes on with what it holds.",
	"The shim cannot reach a program that is statically linked, built for another C library than glibc, or that "
	"gains privileges when it starts. mete prints a warning and runs such a program without a limit; with --strict "
	"it does not start it. Only PROGRAM itself is examined (and the interpreter of a script), not what it starts.",
	NULL
};

static const struct example run_examples[] = {
	{ "mete run --mem 8G -- python train.py", "eight GiB of the first device" },
	{ "mete run -m 25% -d 1 -v ./solver input", "a quarter of device 1, and a report" },
	{ "mete run -m 4G --cores 30 --cores-limit 60 --policy elastic ./server",
	  "30 % of the time, up to 60 % when idle" },
	{ "mete run -d 0:4G,1:2G ./two-gpus", "two devices with different quotas" },
	{ "mete run --remote gpuserver --key alice.key ./program", "on the GPU of another machine" },
	{ "mete run --soft --mem 512M ./program", "on the software device, without a GPU" },
	{ "mete run --mem 4G --wall ./untrusted", "a program that gets no driver" },
	EXAMPLE_END
};

static const struct option_spec soft_run_options[] = {
	{ "devices", 'D', "N", "How many software devices there are, 0 to 16. Default: 2.", COMPLETE_NOTHING, false },
	{ "memory", 'm', "SIZE", "Memory of each: 16G; or a list with commas, one for each. Default: 16G.",
	  COMPLETE_NOTHING, false },
	{ "sms", 0, "N", "Multiprocessors that the devices show. Default: 80.", COMPLETE_NOTHING, false },
	{ "cc", 0, "X.Y", "Compute capability. Default: 12.0.", COMPLETE_NOTHING, false },
	{ "driver-version", 0, "X.Y", "CUDA version that the driver says it is of. Default: 13.5.", COMPLETE_NOTHING,
	  false },
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
	  "long as the CPU takes.",
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
	{ "compile", 0, "HOW",
	  "off: all kernels are interpreted; always: each is compiled before its first launch. Default: on, what runs "
	  "for long is compiled meanwhile, where the package mete-compile is installed.",
	  COMPLETE_NOTHING, false },
	SWITCH("profile", 'p',
	       "When the program has ended, print on standard error what each kernel did: its time on this machine's "
	       "cores, launches, instructions, active lanes and memory."),
	SWITCH("forms", 0, "Count each kernel's operations by form of instruction, too. Means --profile; costs time."),
	{ "trace", 0, "FILE", "Write the launches to this file, for Perfetto. Means --profile.", COMPLETE_FILE, false },
	SWITCH("json", 'j', "Print the profile as one line of JSON. Means --profile."),
	SWITCH("verbose", 'v', "Say which driver is used, and what is set in the program's environment."),
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
	{ "mete soft run --profile --trace launches.json ./program", "which kernel takes the time" },
	EXAMPLE_END
};

static const struct option_spec soft_cc_options[] = { OPTION_END };

static const char *const soft_cc_details[] = {
	"Runs the CUDA toolkit's nvcc with all words that follow, changed so that the program runs on the software "
	"device (and on GPUs): targets of machine code become PTX (sm_90 becomes compute_90; without one: what "
	"METE_SOFT_CC says, or 9.0), and the CUDA runtime is the shared library. Where a build asks for -cudart "
	"static, mete's own libcudart_static.a is found before NVIDIA's. It fits where a build system wants the name "
	"of a compiler, for example `make NVCC=\"mete soft cc\"`.",
	"nvcc is looked for in METE_NVCC, PATH, CUDA_HOME, CUDA_PATH, CONDA_PREFIX and /usr/local/cuda. Without one "
	"the exit status is 127; else it is nvcc's.",
	NULL
};

static const struct example soft_cc_examples[] = { { "mete soft cc -O2 -o program program.cu", "" },
						   { "cmake -DCMAKE_CUDA_COMPILER_LAUNCHER=\"mete;soft;cc\" ...",
						     "nvcc is the first word that follows" },
						   EXAMPLE_END };

static const struct option_spec soft_devices_options[] = { OPTION_JSON, OPTION_WIDE, OPTION_END };

static const char *const soft_devices_details[] = {
	"The software devices that a program of this user finds: those in use, or, when nobody uses any, those that "
	"the METE_SOFT_ variables describe. `mete soft run` makes its own.",
	"BUSY is the part of the time since the first kernel in which kernels were served. With --json, each device "
	"tells its time in nanoseconds: served + switch + idle = wall, and what each process on it was served.",
	"Without --wide the UUID is left out where the output is too narrow for it.", NULL
};

static const struct option_spec ps_options[] = {
	OPTION_JSON,
	OPTION_WIDE,
	SWITCH("quiet", 'q', "Print names only."),
	SWITCH("verbose", 'v', "Below, what the guard counts for each guarded tenant, beside what its programs say."),
	OPTION_END,
};

static const char *const ps_details[] = {
	"Prints one line for each process and device. NAME is the grant's name, USER its owner, DEV the device's "
	"number. HELD is the memory that the process holds, PEAK the most that it has held, QUOTA what the grant may "
	"hold. REQUESTED is the share of the device's time that the grant was made with, MEASURED the share that all "
	"its processes together had over the last ten seconds, WAIT the part of that time in which they waited at the "
	"gate. TIER says how the share is enforced; CONTAINER is the beginning of the container's identity. A grant "
	"without processes has one line for each of its devices, and says how long it waits for a program where it was "
	"made with --expires. Requests that wait for room (--wait) stand below.",
	"Columns that the terminal has no room for are left out, and long names are cut (they then end in +). Where "
	"the output is no terminal it has 80 columns, or as many as COLUMNS says. --wide prints everything, and so "
	"does --json, for programs.",
	NULL
};

static const struct option_spec top_options[] = {
	{ "delay", 'd', "SECONDS", "How often figures are taken anew, 0.1 to 3600. Default: 1.", COMPLETE_NOTHING,
	  false },
	{ "count", 'n', "N", "End after N times. Default: as long as it is not ended; 1 where there is no terminal.",
	  COMPLETE_NOTHING, false },
	SWITCH("once", '1', "Print one table and end; so it is where the output is no terminal."),
	OPTION_WIDE,
	SWITCH("json", 'j', "Print a JSON document a line, every interval: the time, the devices, the grants."),
	OPTION_END
};

static const char *const top_details[] = {
	"A live table on the whole terminal. Above, the devices: a bar of the time in which the compute engine was "
	"BUSY with tenants' work over the last second, in percent; the HISTORY of the last minute, a column for every "
	"two seconds; memory held of all; the sum of the guarantees (GUARANTEED), in percent; and WHO uses the device. "
	"Below, a line for each tenant and device: the policy, the class, the REQUESTED share, the share measured over "
	"1, 10 and 60 seconds (1S, 10S, 60S) in percent of the device's time, its history over the last minute, the "
	"memory held and the quota, the part of the time in which it waited at the gate (WAIT), the TIER, the number "
	"of processes (N) and the command. A dash stands for a figure that is not known. Columns that the terminal has "
	"no room for are left out.",
	"Keys: the arrows select and sort, / filters, c changes the tenant's guarantee, l its limit, w its weight, f "
	"freezes it and thaws it, e ends it after a confirmation, as `mete end` does; Enter shows its processes, h "
	"explains the keys and the columns, q ends.",
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

static const struct option_spec devices_options[] = { OPTION_JSON, OPTION_WIDE, OPTION_END };

static const char *const devices_details[] = {
	"Prints one line for each device: its number, the DRIVER that it belongs to (nvidia, another vendor's kind, "
	"opencl, or soft for the software device), its memory (TOTAL), the sum of the quotas of all grants on it "
	"(PROMISED), the memory that they hold "
	"(HELD), the memory in use by the driver's own account, whoever uses it (USED), the part of the last moments "
	"in which it was at work, whoever used it, by the same account (UTIL), STATE, UUID and NAME.",
	"Software devices are each user's own; of those the system's meted has no USED and no UTIL.",
	"Without --wide the UUID is left out where the output is too narrow for it.", NULL
};

static const struct option_spec show_options[] = { OPTION_JSON, OPTION_END };

static const char *const show_details[] = {
	"Prints everything about one grant. Of memory: each device's quota, what is held, the peak, and how many "
	"allocations were refused; of each process what it holds, and its CREDIT, the memory that it may take without "
	"asking meted.",
	"Of the device's time: the REQUESTED share; the share MEASURED over the last 1, 10 and 60 seconds; the part of "
	"ten seconds in which the grant had work (WANTED) and waited for its turn (WAIT); its LONGEST launch; the "
	"number of TURNS; the LAG, by which it is behind its share (below 0: ahead); the launches that PASSED a closed "
	"gate; the TIER that enforces the share, and what that cannot do.",
	"Of events: the last ones. The refusals of one process are one line, with their number; `mete show --json` "
	"lists each.",
	NULL
};

static const struct option_spec set_options[] = {
	OPTION_MEM("The new quota; written as for `mete run`. Given once it holds for every --device, else once for "
		   "each."),
	OPTION_DEVICE("The device of the grant. Default: its only one."),
	OPTION_TERMS SWITCH("freeze", 'f', "Hold its work up: nothing new starts until --thaw. Memory stays."),
	SWITCH("thaw", 'T', "Let it go on."),
	SWITCH("suspend", 0,
	       "Take its memory off the device (a grant with --spill): nothing new starts, what runs ends, all is "
	       "copied to the host's memory. Its programs wait until --resume."),
	SWITCH("resume", 0,
	       "Bring its memory back, to the same addresses. Where the device is full it waits for room."),
	SWITCH("now", 0, "With --resume: fail where there is no room at once."),
	{ "drain", 0, "SECONDS",
	  "With --suspend: how long work that runs may take to end; else the grant stays as it is. Default: 10.",
	  COMPLETE_NOTHING, false },
	SWITCH("soon", 'S', "Shrink below what is held too; it takes effect as memory is freed."),
	OPTION_JSON,
	OPTION_END
};

static const char *const set_details[] = {
	"Changes a grant while its programs run: its share of the device's time at once, a word that is not given "
	"stays as it was, unless a new --policy has no use for it.",
	"Growing the quota is at once, as far as the device has memory that "
	"is not promised. Shrinking below what is held is refused, unless --soon is given.",
	NULL
};

static const struct example set_examples[] = { { "mete set train-1 --mem 12G", "" },
					       { "mete set train-1 --policy burst --cores 40", "" },
					       { "mete set train-1 --freeze", "" },
					       { "mete set train-1 --device 1 --mem 2G --soon", "" },
					       EXAMPLE_END };

static const struct option_spec move_options[] = {
	OPTION_DEVICE("Where it is to go: a device of the same kind, with room for its quota."),
	{ "remote", 0, "HOST",
	  "The server to which the programs are to go: HOST[:PORT]. Programs of `mete run --remote` prove themselves "
	  "there as they did here, and call it by this name on their machines. Programs of this machine go by a relay "
	  "that is started for them: say how it proves itself.",
	  COMPLETE_NOTHING, false },
	{ "offer", 0, "NAME",
	  "With --remote: which of the server's offers. Default: the first that this client may have.",
	  COMPLETE_NOTHING, false },
	OPTION_PROOF,
	OPTION_PATIENCE,
	{ "drain", 0, "SECONDS", "How long work that runs may take to end; else the grant stays as it is. Default: 10.",
	  COMPLETE_NOTHING, false },
	OPTION_JSON,
	OPTION_END
};

static const char *const move_details[] = {
	"Sends a grant with --wall to another device of this machine while its programs run. Work in flight ends, "
	"everything is copied to the programs' own memory, and they go on with the other device, at the same "
	"addresses. A program sees one call that takes longer.",
	"With --remote its programs go to another machine's `mete serve`: those of another machine that this `mete "
	"serve` serves, or, with --key, --cert or --plain, those of this machine. They leave here when they are there; "
	"where the other server is lost on the way they stay.",
	"What cannot move is refused in one line, and the grant stays as it was: docs/memory.md lists it.", NULL
};

static const struct example move_examples[] = { { "mete move train-1 --device 1", "" },
						{ "mete move alice --remote gpuserver2", "" },
						{ "mete move train-1 --remote gpuserver --key alice.key", "" },
						{ "mete move train-1 --device 1 --drain 60", "" },
						EXAMPLE_END };

static const struct option_spec create_options[] = {
	OPTION_MEM("Device memory; written as for `mete run`. Default: all that is not promised to others."),
	OPTION_DEVICE("The device; written as for `mete run`."),
	OPTION_PLACE OPTION_TERMS OPTION_SOFT,
	OPTION_OPENCL,
	OPTION_HIP,
	OPTION_SHAPES,
	OPTION_NPU,
	OPTION_LEVELZERO,
	OPTION_OVERCOMMIT,
	OPTION_SPILL,
	SWITCH("wall", 0, CREATE_WALL_WORDS),
	OPTION_EXPIRES("Default: never."),
	OPTION_WAIT,
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

#define OPTION_NATIVE                                                                                                  \
	{                                                                                                              \
		"native", 0, "allow|hold",                                                                             \
			"Whether programs of policy native run unheld on the device. hold, the default: where its "    \
			"time is shared out, by a grant's policy or by the device's default, they get what "           \
			"guarantees leave, as policy fair does. allow: they are never held up, and no share can be "   \
			"guaranteed. Root and meted's owner may say it.",                                              \
			COMPLETE_NOTHING, false                                                                        \
	}

static const struct option_spec policy_options[] = { OPTION_NATIVE, OPTION_SOFT, OPTION_JSON, OPTION_END };

static const char *const policy_details[] = {
	"Without operands: the policies, ways of sharing a device's time, and each device's default, which holds for "
	"grants that name none. With DEVICE and NAME: sets the device's default; grants that are there keep theirs.",
	"A share is a part of the device's time in which there is work, measured. fixed never gives more than --cores; "
	"burst and elastic lend what is idle and take it back within milliseconds; fair and weighted divide; "
	"besteffort takes what is left; exclusive gives the whole device in long turns; native leaves time alone, but "
	"on a device whose time is shared out it gets what guarantees leave, as fair does.",
	NULL
};

static const struct example policy_examples[] = { { "mete policy", "" },
						  { "mete policy 0 fair", "grants on device 0 share its time equally" },
						  { "mete policy 0 --native allow",
						    "whoever asks for no share is not held up" },
						  EXAMPLE_END };

#define DEVICE_WORDS                                                                                                   \
	"DEVICE is an index, a UUID or its beginning, or KIND:INDEX (hip:0; `mete devices`: DRIVER). An index that "   \
	"devices of several kinds have is refused; the software device has one only where no vendor's card has it."

#define OPTION_REASON                                                                                                  \
	{                                                                                                              \
		"reason", 'r', "TEXT", "Why; shown to whoever is refused.", COMPLETE_NOTHING, false                    \
	}

static const struct option_spec cordon_options[] = { OPTION_REASON, OPTION_SOFT, OPTION_JSON, OPTION_END };

static const char *const cordon_details[] = {
	"The device takes no new grants from now on, also over a restart of meted. Grants that it has stay, and their "
	"programs go on and may start more. `mete devices` shows the state, `mete uncordon` ends it.",
	DEVICE_WORDS,
	NULL
};

static const struct example cordon_examples[] = { { "mete cordon 0 --reason 'new driver on Friday'", "" },
						  EXAMPLE_END };

static const struct option_spec drain_options[] = {
	{ "grace", 'g', "TIME", "How long to wait for tenants to leave: 90s, 5m, 1h. Default: 5m.", COMPLETE_NOTHING,
	  false },
	SWITCH("end", 'e', "End the programs that are left after that: SIGTERM, and SIGKILL ten seconds later."),
	OPTION_REASON,
	OPTION_SOFT,
	OPTION_JSON,
	OPTION_END
};

static const char *const drain_details[] = {
	"Cordons the device and waits until no tenant has a program on it. A grant without programs may stay, and "
	"cannot begin any on it before `mete uncordon`; one with programs may start more while it is waited for.",
	"A grant with --wall goes to another device of the same kind, if one has room for it, as with `mete move`.",
	"Exits 0 when the device is empty, and 1 when it is not in time: it stays cordoned, and those that are left "
	"are named. Interrupted, too, it leaves the device cordoned.",
	DEVICE_WORDS,
	NULL
};

static const struct example drain_examples[] = { { "mete drain 0", "wait, at most five minutes" },
						 { "mete drain 0 --grace 1h --end", "" },
						 EXAMPLE_END };

static const struct option_spec uncordon_options[] = { OPTION_SOFT, OPTION_JSON, OPTION_END };

static const char *const uncordon_details[] = {
	"The device takes grants again, and programs begin on it. Of a lost device the driver is asked first: it is "
	"back when the driver answers for it.",
	DEVICE_WORDS,
	NULL
};

static const struct option_spec release_options[] = { OPTION_JSON, OPTION_END };

static const char *const release_details[] = {
	"A tenant whose programs have faulted too often is quarantined: those that run go on, and no other may begin "
	"for a while (meted.yaml, faults.*). This ends it at once, and forgets the faults.",
	NULL
};

static const struct option_spec limits_options[] = { OPTION_JSON, OPTION_END };

static const char *const limits_details[] = {
	"What this user has (HAVE), and may have (MOST): grants, sockets that meted listens at for them, requests for "
	"memory that wait, processes of each grant, and of each device the memory that may be promised (mem) and the "
	"time that may be guaranteed (cores) to all grants of the user together. KEY is the setting of meted.yaml that "
	"the figure follows from: of this user, of a group of theirs, or of everybody.",
	NULL
};

static const struct option_spec soft_fault_options[] = {
	{ "xid", 'x', "NUMBER", "The error that the device reports, by its number in NVIDIA's list. Default: 31.",
	  COMPLETE_NOTHING, false },
	{ "pid", 'p', "PID",
	  "The process that it is about: its contexts on the device fail. Default: none, the device's own.",
	  COMPLETE_NOTHING, false },
	SWITCH("lost", 'l', "The device is lost: whoever has a context on it gets an error, until --back."),
	SWITCH("back", 'b', "The device is there again."),
	OPTION_END
};

static const char *const soft_fault_details[] = {
	"For tests, and for trying out what meted does about errors: the software device reports one, as a GPU would "
	"through NVML, or is lost. docs/faults.md says what follows.",
	NULL
};

static const struct example soft_fault_examples[] = { { "mete soft fault 0 --xid 31 --pid 4711", "" },
						      { "mete soft fault 0 --lost", "" },
						      EXAMPLE_END };

static const struct option_spec no_options[] = { OPTION_END };

static const char *const delete_details[] = { "Ends grants that were made with `mete create`. One under which "
					      "processes still hold memory is not deleted: end them first, or use "
					      "`mete end`.",
					      NULL };

static const struct option_spec end_options[] = {
	SWITCH("yes", 'y', "Do not ask whether it is meant."),
	SWITCH("no-wait", 0, "Begin it, and do not wait until nothing runs any more."), OPTION_JSON, OPTION_END
};

static const char *const end_details[] = {
	"Ends tenants as an operator does: their programs get SIGTERM, on this machine, in containers, behind a wall "
	"and over the network alike, and SIGKILL ten seconds later; when nothing of them runs any more, their grants "
	"are deleted and their memory is free. It returns when that is done.",
	"At a terminal it says whom it would end, and asks; anywhere else it wants --yes. One's own tenants may be "
	"ended, and by root all. It is in `mete events`; what root and the daemon's own user end is in `mete audit` as "
	"well, and is not done where it cannot be written down.",
	"Interrupted it goes on, unless meted is started anew before it is done; then ask again.", NULL
};

static const struct example end_examples[] = { { "mete end train", "after a question" },
					       { "mete end --yes train-1 train-2", "both at once, without one" },
					       EXAMPLE_END };

static const struct option_spec serve_options[] = {
	{ "config", 'f', "FILE",
	  "What is offered and to whom, as JSON. Default: /etc/mete/serve.json for root, else "
	  "~/.config/mete/serve.json, "
	  "where there is one and no option says what is offered.",
	  COMPLETE_FILE, false },
	{ "listen", 'l', "ADDRESS[:PORT]",
	  "Where to listen, several times for several. Default: all addresses, port 7433.", COMPLETE_NOTHING, true },
	OPTION_KEYS,
	{ "cert", 0, "FILE", CERT_WORDS, COMPLETE_FILE, false },
	{ "cert-key", 0, "FILE", CERT_KEY_WORDS, COMPLETE_FILE, false },
	{ "ca", 0, "FILE", CA_WORDS, COMPLETE_FILE, false },
	SWITCH("plain", 0, PLAIN_WORDS),
	OPTION_PATIENCE,
	SWITCH("ucx", 0, "Take clients by UCX as well, on fast networks (RDMA); not encrypted, so with --plain."),
	{ "name", 'n', "NAME", "The offer's name. Default: default.", COMPLETE_NOTHING, false },
	OPTION_MEM(
		"Device memory that each client may hold; written as for `mete run`. Default: all that is not promised "
		"when it comes."),
	OPTION_DEVICE("The device; written as for `mete run`."),
	OPTION_TERMS{ "clients", 'a', "NAMES",
		      "Who may have it: names of keys or of certificates, with commas. Default: whoever can prove to "
		      "be anybody.",
		      COMPLETE_NOTHING, true },
	{ "max-clients", 0, "N", "How many clients may use it at once. Default: as many as fit.", COMPLETE_NOTHING,
	  false },
	{ "max-programs", 0, "N", "How many processes one client may have on it at once. Default: 64.",
	  COMPLETE_NOTHING, false },
	OPTION_SOFT,
	OPTION_OVERCOMMIT,
	SWITCH("verbose", 'v', "Say who comes and who goes."),
	SWITCH("json", 'j', "Say what is offered, who comes and who goes as JSON, an object a line."),
	OPTION_END
};

static const char *const serve_details[] = {
	"Lets programs on other machines use devices of this one, with `mete run --remote`, until it is interrupted. "
	"Each client has a grant of its own, named after its key or certificate, while it has programs here: `mete "
	"ps`, `mete top` and `mete set` treat it as any other. Its programs' calls are executed by workers, a process "
	"for each of its processes, in which there is nothing else.",
	"What is offered is said with the options of `mete run`; several offers stand in a file, with the same words: "
	"{\"offers\": [{\"name\": \"half\", \"mem\": \"50%\", \"cores\": 50, \"clients\": [\"alice\", "
	"\"bob\"]}, ...]}. A client that asks for none by name gets the first that it may have.",
	"The line is TLS 1.3, and both sides prove who they are: with a key that both have (`mete key new`), or with "
	"certificates of one authority. docs/remote.md says what that protects and what not.",
	NULL
};

static const struct example serve_examples[] = {
	{ "mete key new alice", "a key, to be carried to alice's machine" },
	{ "mete serve --mem 8G --cores 30", "to everybody with a key, eight GiB and 30 % of the time of device 0" },
	{ "mete serve --config offers.json --listen 10.0.0.1", "" },
	EXAMPLE_END
};

static const struct option_spec key_options[] = { OPTION_KEYS, OPTION_JSON, OPTION_END };
static const struct option_spec key_remove_options[] = { OPTION_KEYS, OPTION_END };

static const char *const key_new_details[] = { "Makes a key for the client NAME: 32 random bytes, in a file that only "
					       "its owner may read. The client has a copy; "
					       "`mete serve` accepts it from then on, and calls the client NAME.",
					       NULL };

static const char *const key_list_details[] = { "The keys with which clients may come to a `mete serve` of this user, "
						"when each was made, and whether the file is "
						"as it must be.",
						NULL };

static const char *const key_remove_details[] = {
	"Removes keys: no program comes with them any more. Programs that are here stay until they end.", NULL
};

static const struct option_spec remote_options[] = { OPTION_PROOF, OPTION_JSON, OPTION_WIDE, OPTION_END };

static const char *const remote_details[] = { "Without HOST: who uses this machine by `mete serve`: a line for each "
					      "program, with the client's name, the offer, "
					      "the grant, from where and SINCE when, the ROUND TRIP as TCP measures "
					      "it, what flowed IN and OUT within the last "
					      "second and in all, how much memory the IMAGES of "
					      "its kernels take that are KEPT for its next programs, and how many "
					      "bytes these have SAVED.",
					      "With HOST[:PORT]: what that server offers to this client, the round "
					      "trip to it, and how much the line carries in "
					      "each direction, measured for half a second each.",
					      NULL };

static const struct example remote_examples[] = { { "mete remote", "" },
						  { "mete remote gpuserver --key alice.key", "" },
						  EXAMPLE_END };

static const struct option_spec events_options[] = {
	SWITCH("follow", 'f', "Go on printing what happens, until interrupted."),
	{ "limit", 'n', "N", "At most N events, the newest. Default: all that meted keeps, 1024.", COMPLETE_NOTHING,
	  false },
	{ "tenant", 't', "NAME", "Only those of this grant; it may have ended.", COMPLETE_GRANT, false },
	{ "device", 'd', "DEVICE", "Only those of this device: its index, KIND:INDEX or its UUID.", COMPLETE_DEVICE,
	  false },
	{ "kind", 'k', "WORD", "Only those of a kind: grant, refusal, fault, device, action or daemon.",
	  COMPLETE_NOTHING, false },
	SWITCH("json", 'j', "Print JSON; with --follow an object a line."),
	OPTION_END
};

static const char *const events_details[] = {
	"Prints what happened on this node, the oldest first: grants that were made, changed and ended, memory that "
	"was refused, faults, what happened to devices, what operators did, and starts of meted. Equal events are one "
	"line with their number, and so are the refusals of one process; --json does not fold these. Events outlive "
	"meted.",
	NULL
};

static const struct option_spec metrics_options[] = {
	{ "compat", 'c', "NAME", "Other names: dcgm, those of NVIDIA's exporter, with each tenant's own figures.",
	  COMPLETE_NOTHING, false },
	OPTION_END
};

static const char *const metrics_details[] = {
	"Prints what meted serves at /metrics, in Prometheus's text format: for a node exporter's textfile folder, or "
	"to look at. docs/metrics.md explains each metric.",
	NULL
};

static const struct example metrics_examples[] = { { "mete metrics", "" },
						   { "curl --unix-socket /run/mete/http.sock http://localhost/metrics",
						     "the same over HTTP" },
						   EXAMPLE_END };

static const struct example events_examples[] = { { "mete events -n 20", "" },
						  { "mete events --follow --kind refusal", "who runs against a quota" },
						  EXAMPLE_END };

static const struct option_spec audit_options[] = {
	{ "limit", 'n', "N", "At most N actions, the newest, 1 to 10000. Default: 10000.", COMPLETE_NOTHING, false },
	OPTION_JSON,
	OPTION_END
};

static const char *const audit_details[] = {
	"Prints what was done over HTTP with the token, as from the console, and with the token itself, the oldest "
	"first: when, from where, what was asked and what came of it. It is read from audit.log in meted's state "
	"directory, to which nothing but more is ever written. For root and meted's own user.",
	NULL
};

#define OPTION_READ                                                                                                    \
	{                                                                                                              \
		"read", 0, NULL, "The token that reads and does not act.", COMPLETE_NOTHING, false                     \
	}

static const struct option_spec token_options[] = { OPTION_READ, OPTION_JSON, OPTION_END };
static const struct option_spec token_revoke_options[] = { OPTION_READ, OPTION_END };

static const char *const token_new_details[] = {
	"Makes the secret that lets a page of the console, or a program, act over HTTP: resize, freeze and end "
	"tenants, take devices out; and read, where meted is reached over the network. There is one; another one that "
	"was there before is void from then on. For root and meted's own user.",
	"With --read it is another secret, which reads and never acts: for a server that collects metrics, and for who "
	"only looks at the console. The two are made and revoked one by one.",
	"They are kept in console.token and reader.token in meted's state directory, which nobody else can read. "
	"Programs send one as \"Authorization: Bearer TOKEN\".",
	NULL
};

static const char *const token_show_details[] = { "Prints the secret of `mete token new`. For root and meted's own "
						  "user.",
						  NULL };

static const char *const token_revoke_details[] = {
	"Makes the secret of `mete token new` void: nobody can act over HTTP until there is a new one. With --read "
	"it is the secret that reads alone. For root and meted's own user.",
	NULL
};

static const struct option_spec doctor_options[] = {
	{ "image", 'i', "DIR",
	  "Look at an unpacked root file system instead: whether containers of that image can have a share.",
	  COMPLETE_FILE, false },
	{ "program", 0, "PROGRAM",
	  "How this program or library will fare: on a GPU, on the software device, behind a wall, on another machine. "
	  "With --image: what containers of that image begin with, where it has no /bin/sh and no C library at a usual "
	  "place.",
	  COMPLETE_FILE, false },
	{ "seconds", 0, "N", "How long a command is observed at most. Default: 120.", COMPLETE_NOTHING, false },
	OPTION_JSON,
	OPTION_END
};

static const char *const doctor_details[] = {
	"Looks at this machine and at this copy of mete: the drivers, the shim, the daemon, folders, device nodes and "
	"limits; says what will be enforced and how; names what is missing and the remedy. Ends with 1 when something "
	"keeps `mete run` from working.",
	"With --program or a command: what that is made of, and how it will fare, before it runs. Its files are read: "
	"the libraries that it is linked against, NVIDIA's runtime inside of one of them, the images of kernels (PTX "
	"for what, machine code for which GPUs), the calls of CUDA's interfaces. A command whose files do not say what "
	"it will load (a script, an interpreter) is run once on the software device, with its output on standard "
	"error; what the dynamic linker loads in it (LD_DEBUG of ld.so(8)) is looked at. Ends with 1 when it can run "
	"in no way, or cannot be read.",
	NULL
};

static const struct example doctor_examples[] = {
	{ "mete doctor", "this machine" },
	{ "mete doctor --program ./app", "a program or a library, by its files" },
	{ "mete doctor --json -- python train.py", "a script, by what it loads" },
	EXAMPLE_END
};

static const struct option_spec upgrade_options[] = {
	{ "binary", 'b', "FILE", "The meted to upgrade to. Default: the file that the running one was started from.",
	  COMPLETE_FILE, false },
	SWITCH("check", 0, "Only ask whether it could take over; nothing happens."),
	OPTION_JSON,
	OPTION_END
};

static const char *const upgrade_details[] = {
	"Replaces the meted that runs by the one that is installed now, in the same process, while programs go on: "
	"their connections, accounts and turns are handed over, and no call of theirs fails. The next meted is "
	"asked first whether it can; when it cannot, or fails when it comes to it, the one that runs goes on and "
	"the reason is printed. A copy of the store is kept beside it (mete.db.vN) when its form changes; a meted "
	"that does not know the store's form is refused.",
	"Only root and meted's own user may do this. The same happens when meted gets SIGUSR2.", NULL
};

static const struct example upgrade_examples[] = { { "mete upgrade", "after a package has been installed" },
						   { "mete upgrade --check", "would it work?" },
						   EXAMPLE_END };

static const struct option_spec version_options[] = { OPTION_JSON, OPTION_END };

static const char *const version_details[] = { "The version of mete, and that of the meted that runs, if one does. "
					       "Where they differ, `mete upgrade` replaces the one that runs.",
					       NULL };

static const struct option_spec help_options[] = { SWITCH("man", 0, "Print the manual page in mdoc, for man(1)."),
						   SWITCH("completion", 0, "Print the completion for bash."),
						   OPTION_END };

static const char *const help_details[] = {
	"Without a VERB: what there is. With one: its options, as `mete VERB --help`.", NULL
};

/* Each is in a file of its own, most in src/cli/NAME.c. */
int verb_run(const struct command_line *line);
int verb_ps(const struct command_line *line);
int verb_devices(const struct command_line *line);
int verb_show(const struct command_line *line);
int verb_soft_run(const struct command_line *line);
int verb_soft_cc(const struct command_line *line);
int verb_soft_devices(const struct command_line *line);
int verb_set(const struct command_line *line);
int verb_move(const struct command_line *line);
int verb_create(const struct command_line *line);
int verb_cordon(const struct command_line *line);
int verb_uncordon(const struct command_line *line);
int verb_drain(const struct command_line *line);
int verb_release(const struct command_line *line);
int verb_limits(const struct command_line *line);
int verb_soft_fault(const struct command_line *line);
int verb_policy(const struct command_line *line);
int verb_end(const struct command_line *line);
int verb_delete(const struct command_line *line);
int verb_top(const struct command_line *line);
int verb_metrics(const struct command_line *line);
int verb_events(const struct command_line *line);
int verb_audit(const struct command_line *line);
int verb_token_new(const struct command_line *line);
int verb_token_show(const struct command_line *line);
int verb_token_revoke(const struct command_line *line);
int verb_trace(const struct command_line *line);
int verb_serve(const struct command_line *line);
int verb_key_new(const struct command_line *line);
int verb_key_list(const struct command_line *line);
int verb_key_remove(const struct command_line *line);
int verb_remote(const struct command_line *line);
int verb_doctor(const struct command_line *line);
int verb_upgrade(const struct command_line *line);
int verb_version(const struct command_line *line);
int verb_help(const struct command_line *line);

const struct verb verbs[] = {
	{ "run", "run a program under a share of device memory", "PROGRAM [ARGUMENT...]", run_details, run_options,
	  run_examples, verb_run, 1, -1, true, COMPLETE_PROGRAM, EXIT_RUN_FAILED },
	{ "ps", "list tenants, their processes and what they hold", "", ps_details, ps_options, NULL, verb_ps, 0, 0,
	  false, COMPLETE_NOTHING, EXIT_USAGE },
	{ "top", "watch shares, memory and waiting times, and change them", "", top_details, top_options, top_examples,
	  verb_top, 0, 0, false, COMPLETE_NOTHING, EXIT_USAGE },
	{ "trace", "record launches and turns for Perfetto", "[NAME...]", trace_details, trace_options, trace_examples,
	  verb_trace, 0, -1, false, COMPLETE_GRANT, EXIT_USAGE },
	{ "events", "print what happened on this node", "", events_details, events_options, events_examples,
	  verb_events, 0, 0, false, COMPLETE_NOTHING, EXIT_USAGE },
	{ "metrics", "print the metrics of this node for Prometheus", "", metrics_details, metrics_options,
	  metrics_examples, verb_metrics, 0, 0, false, COMPLETE_NOTHING, EXIT_USAGE },
	{ "audit", "print what was done from the console", "", audit_details, audit_options, NULL, verb_audit, 0, 0,
	  false, COMPLETE_NOTHING, EXIT_USAGE },
	{ "token new", "make the secret that lets the console act", "", token_new_details, token_options, NULL,
	  verb_token_new, 0, 0, false, COMPLETE_NOTHING, EXIT_USAGE },
	{ "token show", "print it", "", token_show_details, token_options, NULL, verb_token_show, 0, 0, false,
	  COMPLETE_NOTHING, EXIT_USAGE },
	{ "token revoke", "make it void", "", token_revoke_details, token_revoke_options, NULL, verb_token_revoke, 0, 0,
	  false, COMPLETE_NOTHING, EXIT_USAGE },
	{ "devices", "list the devices, what is promised and what is held", "", devices_details, devices_options, NULL,
	  verb_devices, 0, 0, false, COMPLETE_NOTHING, EXIT_USAGE },
	{ "show", "show everything about one grant", "NAME", show_details, show_options, NULL, verb_show, 1, 1, false,
	  COMPLETE_GRANT, EXIT_USAGE },
	{ "set", "change a running grant's share", "NAME", set_details, set_options, set_examples, verb_set, 1, 1,
	  false, COMPLETE_GRANT, EXIT_USAGE },
	{ "move", "send a running grant to another device or server", "NAME", move_details, move_options, move_examples,
	  verb_move, 1, 1, false, COMPLETE_GRANT, EXIT_USAGE },
	{ "create", "make a grant that outlives commands", "NAME", create_details, create_options, create_examples,
	  verb_create, 1, 1, false, COMPLETE_NOTHING, EXIT_USAGE },
	{ "policy", "list the ways of sharing a device's time, set a device's", "[DEVICE NAME]", policy_details,
	  policy_options, policy_examples, verb_policy, 0, 2, false, COMPLETE_POLICY, EXIT_USAGE },
	{ "cordon", "let no new grant onto a device", "DEVICE", cordon_details, cordon_options, cordon_examples,
	  verb_cordon, 1, 1, false, COMPLETE_DEVICE, EXIT_USAGE },
	{ "drain", "take a device out of service when its tenants have left", "DEVICE", drain_details, drain_options,
	  drain_examples, verb_drain, 1, 1, false, COMPLETE_DEVICE, EXIT_USAGE },
	{ "uncordon", "bring a device back into service", "DEVICE", uncordon_details, uncordon_options, NULL,
	  verb_uncordon, 1, 1, false, COMPLETE_DEVICE, EXIT_USAGE },
	{ "release", "end a quarantine", "NAME...", release_details, release_options, NULL, verb_release, 1, -1, false,
	  COMPLETE_GRANT, EXIT_USAGE },
	{ "limits", "list what this user may take, and has taken", "", limits_details, limits_options, NULL,
	  verb_limits, 0, 0, false, COMPLETE_NOTHING, EXIT_USAGE },
	{ "end", "end tenants: their programs and their grants", "NAME...", end_details, end_options, end_examples,
	  verb_end, 1, -1, false, COMPLETE_GRANT, EXIT_USAGE },
	{ "delete", "end a grant", "NAME...", delete_details, no_options, NULL, verb_delete, 1, -1, false,
	  COMPLETE_GRANT, EXIT_USAGE },
	{ "soft run", "run a program on software devices, without a quota", "PROGRAM [ARGUMENT...]", soft_run_details,
	  soft_run_options, soft_run_examples, verb_soft_run, 1, -1, true, COMPLETE_PROGRAM, EXIT_RUN_FAILED },
	{ "soft cc", "compile for the software device: nvcc, with PTX and a runtime that runs there",
	  "NVCC-ARGUMENT...", soft_cc_details, soft_cc_options, soft_cc_examples, verb_soft_cc, 1, -1, false,
	  COMPLETE_FILE, EXIT_RUN_FAILED, true },
	{ "soft devices", "list the software devices", "", soft_devices_details, soft_devices_options, NULL,
	  verb_soft_devices, 0, 0, false, COMPLETE_NOTHING, EXIT_USAGE },
	{ "soft fault", "bring an error of a software device about", "DEVICE", soft_fault_details, soft_fault_options,
	  soft_fault_examples, verb_soft_fault, 1, 1, false, COMPLETE_NOTHING, EXIT_USAGE },
	{ "serve", "let other machines use devices of this one", "", serve_details, serve_options, serve_examples,
	  verb_serve, 0, 0, false, COMPLETE_NOTHING, EXIT_USAGE },
	{ "key new", "make a key for a client of `mete serve`", "NAME", key_new_details, key_options, NULL,
	  verb_key_new, 1, 1, false, COMPLETE_NOTHING, EXIT_USAGE },
	{ "key list", "list the keys of clients", "", key_list_details, key_options, NULL, verb_key_list, 0, 0, false,
	  COMPLETE_NOTHING, EXIT_USAGE },
	{ "key remove", "remove keys of clients", "NAME...", key_remove_details, key_remove_options, NULL,
	  verb_key_remove, 1, -1, false, COMPLETE_KEY, EXIT_USAGE },
	{ "remote", "list who uses this machine; measure the line to another", "[HOST[:PORT]]", remote_details,
	  remote_options, remote_examples, verb_remote, 0, 1, false, COMPLETE_NOTHING, EXIT_USAGE },
	{ "doctor", "say what works here, or how a program will fare, and the remedy", "[PROGRAM [ARGUMENT...]]",
	  doctor_details, doctor_options, doctor_examples, verb_doctor, 0, -1, true, COMPLETE_PROGRAM, EXIT_USAGE },
	{ "upgrade", "replace the meted that runs, while programs go on", "", upgrade_details, upgrade_options,
	  upgrade_examples, verb_upgrade, 0, 0, false, COMPLETE_NOTHING, EXIT_USAGE },
	{ "version", "print versions", "", version_details, version_options, NULL, verb_version, 0, 0, false,
	  COMPLETE_NOTHING, EXIT_USAGE },
	{ "help", "explain a verb", "[VERB]", help_details, help_options, NULL, verb_help, 0, 2, false, COMPLETE_VERB,
	  EXIT_USAGE },
	{ 0 },
};
