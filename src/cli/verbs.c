/*
 * verbs.c: the table of mete's own verbs; see verb.h. Words here are what people read in help, manual and completion,
 * so: whole sentences, no abbreviations that are not explained, every option with its default.
 */
#include "cli/verbs_soft.h"
#include "verb/options.h"

/* clang-format off: a row is a line */
#define OPTION_PROOF                                                                                                   \
	{ "key", 'K', "FILE", KEY_WORDS, COMPLETE_FILE, false },                                                       \
		{ "cert", 0, "FILE", CERT_WORDS, COMPLETE_FILE, false },                                               \
		{ "cert-key", 0, "FILE", CERT_KEY_WORDS, COMPLETE_FILE, false },                                       \
		{ "ca", 0, "FILE", CA_WORDS, COMPLETE_FILE, false }, SWITCH("plain", 0, PLAIN_WORDS),                  \
		SWITCH("ucx", 0,                                                                                       \
		       "Use UCX for calls and data, on fast networks (RDMA); not encrypted, so --plain is "            \
		       "required.")
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
	"The key that this side shares with the server, created there with `mete key new`. Default: METE_KEY; "        \
	"on loopback otherwise none."
#define CERT_WORDS                                                                                                     \
	"This side's certificate, in PEM, instead of a key; with --cert-key and --ca. mete also checks the "           \
	"other side's certificate."
#define CERT_KEY_WORDS "The private key of --cert, in PEM."
#define CA_WORDS "The authority that must have issued the other side's certificate, in PEM."
#define PLAIN_WORDS                                                                                                    \
	"Do not use TLS: no side authenticates, and everybody on the network can read and change everything."
#define PATIENCE_WORDS                                                                                                 \
	"Consider the connection lost after so long without a message from the other side, 1 to 3600. Default: 10."
#define KEYS_WORDS "The folder of keys. Default: /etc/mete/keys for root, else ~/.config/mete/keys."

#define RUN_WALL_WORDS                                                                                                 \
	"Give the program neither the driver nor the device: a worker process of meted executes its calls in a "       \
	"sandbox. With --grant, the grant must have been created with --wall."
#define CREATE_WALL_WORDS                                                                                              \
	"Let programs of `mete run --wall` use the grant through worker processes: without the driver, the "           \
	"device nodes, or a way to bypass the quota."

#define WAIT_WORDS                                                                                                     \
	"Wait in a queue instead of failing, until memory or time of the device is no longer promised to "             \
	"others, until a limit of the user allows it, or until a device is back in service. mete prints the "          \
	"reason and the position in the queue; an interrupt leaves the queue."
#define OPTION_WAIT                                                                                                    \
	SWITCH("wait", 0, WAIT_WORDS),                                                                                 \
	{                                                                                                              \
		"timeout", 0, "TIME", "With --wait: give up after 90s, 10m, 2h. Default: never.", COMPLETE_NOTHING,    \
			false                                                                                          \
	}

static const struct option_spec run_options[] = {
	OPTION_MEM(
		"Device memory that the program may hold: 512M, 8G, 1.5GiB (powers of 1024), 8GB (powers of 1000), 25% "
		"of the device, or bytes. Given once, it applies to every --device; otherwise give it for each. "
		"Default: all memory that is not promised to others."),
	OPTION_DEVICE("The device: its index, KIND:INDEX, its UUID or the beginning of it, several with commas, "
		      "\"all\", or DEVICE:SIZE. \"any\": one that meted chooses (--place). May be repeated. Default: "
		      "the first that CUDA_VISIBLE_DEVICES shows, or 0."),
	OPTION_PLACE OPTION_TERMS OPTION_KINDS,
	OPTION_OPENCL,
	OPTION_WAIT,
	{ "name", 'n', "NAME", "The grant's name, as `mete ps` shows it. Default: meted chooses a name.",
	  COMPLETE_NOTHING, false },
	{ "grant", 'g', "NAME", "Run under this grant, created with `mete create`, instead of a new one.",
	  COMPLETE_GRANT, false },
	OPTION_OVERCOMMIT,
	{ "tier", 0, "TIER",
	  "How shares of time are enforced. T2: work is admitted in turns. T3: hardware time slices as well, and "
	  "channels are disabled at the end of a turn. T3 is not proven on hardware; if the driver refuses it, T2 is "
	  "used. Default: METE_TIER, else T2.",
	  COMPLETE_NOTHING, false },
	OPTION_SPILL,
	SWITCH("wall", 0, RUN_WALL_WORDS),
	SWITCH("guard", 0, GUARD_WORDS),
	SWITCH("strict", 0,
	       "Do not start a program into which the shim cannot be loaded: print the reason, and exit with "
	       "status 126. Default: start it without a limit, with a warning. Also refuse calls of a newer driver "
	       "that "
	       "allocate memory or start work and that this release does not know."),
	{ "remote", 'R', "HOST[:PORT]",
	  "Use the devices that `mete serve` offers on HOST. Several hosts, separated by commas: their devices are "
	  "numbered from 0 in that order. Default port: 7433.",
	  COMPLETE_NOTHING, false },
	{ "offer", 0, "NAME",
	  "With --remote: which of the server's offers. Default: the first that this client may have.",
	  COMPLETE_NOTHING, false },
	OPTION_PROOF,
	OPTION_PATIENCE,
	SWITCH("verbose", 'v',
	       "Print the driver, device and daemon that are used, the variables that are set in the program's "
	       "environment, and at the end the resources that the program used."),
	OPTION_END
};

static const char *const run_details[] = {
	"Runs PROGRAM under an exact share of device memory. The program and all processes that it starts share "
	"the quota. An allocation beyond it fails with the driver's own out-of-memory error. cuMemGetInfo, NVML "
	"and nvidia-smi report the share as if it were the whole device.",
	"Everything from the first word that is no option, or after --, is the program and its arguments, unchanged. "
	"Its input, output, terminal, signals and exit status are the program's own, as if mete were not there. Lines "
	"that begin with \"mete:\" on standard error come from mete.",
	"--cores also gives it a share of the device's time, measured by the device's own clock. `mete policy` "
	"lists the policies; mete-policy(1) explains them. A running kernel is not interrupted.",
	"--remote HOST runs it on the devices of another machine on which `mete serve` runs. The server's offer "
	"determines the share. This machine needs neither a GPU nor a driver. The program must use the driver API "
	"or the shared CUDA runtime library. docs/remote.md describes the mechanism, its protection and its limits.",
	"If no meted runs, mete starts one for this user; it exits when it is no longer needed. If it is killed, "
	"mete starts it again, and the program keeps its memory.",
	"The shim cannot be loaded into a program that is statically linked, uses another C library than glibc, or "
	"gains privileges when it starts. mete prints a warning and runs such a program without a limit; with "
	"--strict it does not start it. mete examines only PROGRAM itself (and the interpreter of a script), not "
	"its child processes.",
	NULL
};

static const struct example run_examples[] = {
	{ "mete run --mem 8G -- python train.py", "8 GiB of the first device" },
	{ "mete run -m 25% -d 1 -v ./solver input", "a quarter of device 1, and a report" },
	{ "mete run -m 4G --cores 30 --cores-limit 60 --policy elastic ./server",
	  "30 % of the time, up to 60 % when idle" },
	{ "mete run -d 0:4G,1:2G ./two-gpus", "two devices with different quotas" },
	{ "mete run --remote gpuserver --key alice.key ./program", "on the GPU of another machine" },
	{ "mete run --soft --mem 512M ./program", "on the software device, without a GPU" },
	{ "mete run --mem 4G --wall ./untrusted", "a program without access to the driver" },
	EXAMPLE_END
};

static const struct option_spec ps_options[] = {
	OPTION_JSON,
	OPTION_WIDE,
	SWITCH("quiet", 'q', "Print names only."),
	SWITCH("verbose", 'v', "Also print, for each guarded tenant, the guard's figures and those of its programs."),
	OPTION_END,
};

static const char *const ps_details[] = {
	"Prints one line for each process and device. NAME is the grant's name, USER its owner, DEV the device's "
	"index, DRIVER its kind, where the grants have devices of several kinds. HELD is the memory that the process "
	"holds, PEAK the most that it has held, QUOTA what the grant may hold. REQUESTED is the share of the device's "
	"time that the grant was made with, MEASURED the share that all its processes together had over the last ten "
	"seconds, WAIT the part of that time in which they waited at the gate. TIER says how the share is enforced; "
	"CONTAINER is the beginning of the container's identity. A grant without processes has one line for each of "
	"its devices, and says how long it waits for a program where it was made with --expires. Requests that wait "
	"for room (--wait) stand below.",
	"Columns that the terminal has no room for are left out, and long names are cut (they then end in +). Where "
	"the output is no terminal it has 80 columns, or as many as COLUMNS says. --wide prints everything, and so "
	"does --json, for programs.",
	NULL
};

static const struct option_spec top_options[] = {
	{ "delay", 'd', "SECONDS", "The interval between updates, 0.1 to 3600. Default: 1.", COMPLETE_NOTHING, false },
	{ "count", 'n', "N", "Exit after N updates. Default: no limit; 1 if the output is no terminal.",
	  COMPLETE_NOTHING, false },
	SWITCH("once", '1', "Print one table and exit; the default if the output is no terminal."),
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
	{ "output", 'o', "FILE", "The output file; - is standard output. Default: mete-trace.json.", COMPLETE_NOTHING,
	  false },
	{ "device", 'd', "DEVICE", "Record only this device. Default: all.", COMPLETE_DEVICE, false },
	OPTION_END
};

static const char *const trace_details[] = {
	"Records for a limited time: the turns of tenants, the times in which each tenant's work occupied an "
	"engine of a device, the times in which threads waited at the gate, and every launch with its name, its "
	"stream, the time of the call and the time at which it was admitted. Without a NAME all grants of this "
	"user are recorded; for root, the grants of all users.",
	"The file has the Chrome trace event format: open it in Perfetto (ui.perfetto.dev) or chrome://tracing. It "
	"shows every device as a process with tracks for each tenant, and every client with tracks for its threads "
	"and its streams. An interrupt ends the recording; the file is then written with the data so far.",
	"Launches of tenants with policy native are not recorded, because these tenants are not limited. At very "
	"high launch rates some launches are lost; mete prints their number at the end. docs/tracing.md explains "
	"which figures are measured and which are predicted.",
	NULL
};

static const struct example trace_examples[] = { { "mete trace", "everything, for ten seconds" },
						 { "mete trace train-1 infer --for 2s -o both.json", "" },
						 EXAMPLE_END };

static const struct option_spec devices_options[] = { OPTION_JSON, OPTION_WIDE, OPTION_END };

static const char *const devices_details[] = {
	"Prints one line for each device: its number; its DRIVER (nvidia, another vendor's kind, opencl, or soft "
	"for the software device); its memory (TOTAL); the sum of the quotas of all grants on it (PROMISED); the "
	"memory that their programs hold (HELD); the memory in use by any program, by the driver's own figure "
	"(USED); its recent utilisation by any program, by the driver's own figure (UTIL); its STATE, UUID and "
	"NAME.",
	"Each user has separate software devices; for these the system's meted reports no USED and no UTIL.",
	"Without --wide the UUID is left out where the output is too narrow for it.", NULL
};

static const struct option_spec show_options[] = { OPTION_JSON, OPTION_END };

static const char *const show_details[] = {
	"Prints all data of one grant. Memory: each device's quota, the memory held, the peak, and the number of "
	"refused allocations; for each process the memory that it holds, and its CREDIT, which it may allocate "
	"without a request to meted.",
	"Time: the REQUESTED share; the share MEASURED over the last 1, 10 and 60 seconds; the fraction of the "
	"last ten seconds in which the grant had work (WANTED) and waited for its turn (WAIT); its LONGEST launch; "
	"the number of TURNS; the LAG, by which it is behind its share (below 0: ahead); the number of launches "
	"that PASSED a closed gate; the TIER that enforces the share, and its limitations.",
	"Events: the last ones. The refusals of one process are one line with their number; `mete show --json` "
	"lists each.",
	NULL
};

static const struct option_spec set_options[] = {
	OPTION_MEM("The new quota; written as for `mete run`. Given once it holds for every --device, else once for "
		   "each."),
	OPTION_DEVICE("The device of the grant. Default: its only one."),
	OPTION_TERMS SWITCH("freeze", 'f', "Start no new work of the grant until --thaw. Its memory stays."),
	SWITCH("thaw", 'T', "End --freeze."),
	SWITCH("suspend", 0,
	       "Move its memory off the device (a grant with --spill, --wall, or a driver with checkpoints): no "
	       "new work starts, running work completes, and the contents are copied to the host's memory. Its "
	       "programs "
	       "wait until --resume."),
	SWITCH("resume", 0, "Move its memory back to the same addresses. If the device is full, wait for room."),
	SWITCH("now", 0, "With --resume: fail if there is no room at once."),
	{ "drain", 0, "SECONDS",
	  "With --suspend: the time in which running work must complete; otherwise the grant does not change. "
	  "Default: 10.",
	  COMPLETE_NOTHING, false },
	SWITCH("soon", 'S', "Allow a quota below the memory in use; it takes effect as memory is freed."),
	OPTION_JSON,
	OPTION_END
};

static const char *const set_details[] = {
	"Changes a grant while its programs run. A new share of the device's time applies at once. Terms that are "
	"not given stay the same, unless a new --policy does not use them.",
	"A larger quota applies at once if the device has enough memory that is not promised. A quota below the "
	"memory in use is refused unless --soon is given.",
	NULL
};

static const struct example set_examples[] = { { "mete set train-1 --mem 12G", "" },
					       { "mete set train-1 --policy burst --cores 40", "" },
					       { "mete set train-1 --freeze", "" },
					       { "mete set train-1 --device 1 --mem 2G --soon", "" },
					       EXAMPLE_END };

static const struct option_spec move_options[] = {
	OPTION_DEVICE("The destination: a device of the same kind, with room for the quota."),
	{ "remote", 0, "HOST",
	  "The destination server: HOST[:PORT]. Programs of `mete run --remote` authenticate there with their "
	  "present key or certificate, and resolve this name on their own machines. For programs of this machine "
	  "mete starts a relay; its authentication must be given (--key, --cert or --plain).",
	  COMPLETE_NOTHING, false },
	{ "offer", 0, "NAME",
	  "With --remote: which of the server's offers. Default: the first that this client may have.",
	  COMPLETE_NOTHING, false },
	OPTION_PROOF,
	OPTION_PATIENCE,
	{ "drain", 0, "SECONDS",
	  "The time in which running work must complete; otherwise the grant does not move. "
	  "Default: 10.",
	  COMPLETE_NOTHING, false },
	OPTION_JSON,
	OPTION_END
};

static const char *const move_details[] = {
	"Moves a grant with --wall to another device of this machine while its programs run. Running work "
	"completes, the contents of the device's memory are copied to the programs' own memory, and the programs "
	"continue on the other device with the same addresses. A program notices one call that takes longer.",
	"With --remote its programs move to `mete serve` on another machine: programs of clients that this "
	"machine's `mete serve` serves, or, with --key, --cert or --plain, programs of this machine. They leave "
	"this machine only when they run on the other one. If the other server is lost during the move, they stay.",
	"If a program cannot move, mete prints the reason, and the grant does not change. docs/memory.md lists the "
	"reasons.",
	NULL
};

static const struct example move_examples[] = { { "mete move train-1 --device 1", "" },
						{ "mete move alice --remote gpuserver2", "" },
						{ "mete move train-1 --remote gpuserver --key alice.key", "" },
						{ "mete move train-1 --device 1 --drain 60", "" },
						EXAMPLE_END };

static const struct option_spec create_options[] = {
	OPTION_MEM("Device memory; written as for `mete run`. Default: all that is not promised to others."),
	OPTION_DEVICE("The device; written as for `mete run`."),
	OPTION_PLACE OPTION_TERMS OPTION_KINDS,
	OPTION_OPENCL,
	OPTION_OVERCOMMIT,
	OPTION_SPILL,
	SWITCH("wall", 0, CREATE_WALL_WORDS),
	OPTION_EXPIRES("Default: never."),
	OPTION_WAIT,
	OPTION_JSON,
	OPTION_END
};

static const char *const create_details[] = {
	"Creates a grant that exists until `mete delete`, also across restarts of "
	"meted. `mete run --grant NAME` runs programs under it; they share its "
	"quota.",
	NULL
};

static const struct example create_examples[] = { { "mete create team-a --mem 50%", "" },
						  { "mete run --grant team-a -- python train.py", "" },
						  EXAMPLE_END };

#define OPTION_NATIVE                                                                                                  \
	{                                                                                                              \
		"native", 0, "allow|hold",                                                                             \
			"Whether programs of policy native run without a limit on the device. hold (default): "        \
			"while the device's time is shared out, by a grant's policy or by the device's default, "      \
			"they get the time that guarantees leave, as with policy fair. allow: they are never "         \
			"limited, and no share can be guaranteed. Only root and meted's owner may change this.",       \
			COMPLETE_NOTHING, false                                                                        \
	}

static const struct option_spec policy_options[] = { OPTION_NATIVE, OPTION_SOFT, OPTION_JSON, OPTION_END };

static const char *const policy_details[] = {
	"Without operands: lists the policies for sharing a device's time, and each device's default, which "
	"applies to grants without a policy. With DEVICE and NAME: sets the device's default; existing grants do "
	"not change.",
	"A share is a measured fraction of the time in which there is work. fixed never gives more than --cores. "
	"burst and elastic lend idle time and take it back within milliseconds. fair and weighted divide the time. "
	"besteffort uses the remaining time. exclusive gives the whole device in long turns. native does not limit "
	"time, but on a device whose time is shared out it gets the time that guarantees leave, as with fair.",
	NULL
};

static const struct example policy_examples[] = { { "mete policy", "" },
						  { "mete policy 0 fair", "grants on device 0 share its time equally" },
						  { "mete policy 0 --native allow",
						    "tenants without a share are not limited" },
						  EXAMPLE_END };

#define DEVICE_WORDS                                                                                                   \
	"DEVICE is an index, a UUID or its beginning, or KIND:INDEX (hip:0; `mete devices`: DRIVER). An index that "   \
	"devices of several kinds have is refused; the software device has one only where no vendor's card has it."

#define OPTION_REASON                                                                                                  \
	{                                                                                                              \
		"reason", 'r', "TEXT", "The reason; refused users see it.", COMPLETE_NOTHING, false                    \
	}

static const struct option_spec cordon_options[] = { OPTION_REASON, OPTION_SOFT, OPTION_JSON, OPTION_END };

static const char *const cordon_details[] = {
	"The device accepts no new grants, also after a restart of meted. Its existing grants stay; their programs "
	"continue and may start others. `mete devices` shows the state; `mete uncordon` ends it.",
	DEVICE_WORDS,
	NULL
};

static const struct example cordon_examples[] = { { "mete cordon 0 --reason 'new driver on Friday'", "" },
						  EXAMPLE_END };

static const struct option_spec drain_options[] = {
	{ "grace", 'g', "TIME", "How long to wait for tenants to leave: 90s, 5m, 1h. Default: 5m.", COMPLETE_NOTHING,
	  false },
	SWITCH("end", 'e', "After that, end the remaining programs: SIGTERM, and SIGKILL ten seconds later."),
	OPTION_REASON,
	OPTION_SOFT,
	OPTION_JSON,
	OPTION_END
};

static const char *const drain_details[] = {
	"Cordons the device and waits until no tenant has a program on it. A grant without programs may stay, and "
	"cannot start any on the device before `mete uncordon`. A grant with programs may start others during the "
	"wait.",
	"A grant with --wall moves to another device of the same kind if one has room for it, as with `mete move`.",
	"The exit status is 0 when the device is empty, and 1 if it is not empty in time: the device then stays "
	"cordoned, and mete names the remaining tenants. After an interrupt the device also stays cordoned.",
	DEVICE_WORDS,
	NULL
};

static const struct example drain_examples[] = { { "mete drain 0", "wait, at most five minutes" },
						 { "mete drain 0 --grace 1h --end", "" },
						 EXAMPLE_END };

static const struct option_spec uncordon_options[] = { OPTION_SOFT, OPTION_JSON, OPTION_END };

static const char *const uncordon_details[] = {
	"The device accepts grants and programs again. For a lost device meted first queries the driver; the "
	"device returns if the driver finds it.",
	DEVICE_WORDS,
	NULL
};

static const struct option_spec release_options[] = { OPTION_JSON, OPTION_END };

static const char *const release_details[] = {
	"A tenant whose programs have faulted too often is quarantined: its running programs continue, and no "
	"other may start for a while (meted.yaml, faults.*). This ends the quarantine at once and resets the count "
	"of faults.",
	NULL
};

static const struct option_spec limits_options[] = { OPTION_JSON, OPTION_END };

static const char *const limits_details[] = {
	"Prints the user's present use (HAVE) and limits (MOST): grants, listening sockets for them, waiting "
	"requests for memory, processes of each grant, and for each device the memory that may be promised (mem) "
	"and the time that may be guaranteed (cores) to all grants of the user together. KEY is the setting of "
	"meted.yaml that determines the limit: for this user, for a group of the user, or for everybody.",
	NULL
};

static const struct option_spec no_options[] = { OPTION_END };

static const char *const delete_details[] = { "Ends grants that were made with `mete create`. One under which "
					      "processes still hold memory is not deleted: end them first, or use "
					      "`mete end`.",
					      NULL };

static const struct option_spec end_options[] = {
	SWITCH("yes", 'y', "Do not ask for confirmation."),
	SWITCH("no-wait", 0, "Return at once, without waiting until all programs have exited."), OPTION_JSON, OPTION_END
};

static const char *const end_details[] = {
	"Ends tenants: their programs get SIGTERM, on this machine, in containers, behind a wall and over the "
	"network, and SIGKILL ten seconds later. When all of them have exited, meted deletes the grants and their "
	"memory is free. The command returns when this is done.",
	"On a terminal it names the tenants and asks for confirmation; otherwise it requires --yes. Users may end "
	"their own tenants, root all. `mete events` shows this. `mete audit` also shows what root and the daemon's "
	"own user end; the action is refused if it cannot be recorded.",
	"An interrupt does not stop the action. If meted restarts before it is complete, repeat the command.", NULL
};

static const struct example end_examples[] = { { "mete end train", "after a confirmation" },
					       { "mete end --yes train-1 train-2", "both at once, without "
										   "confirmation" },
					       EXAMPLE_END };

static const struct option_spec serve_options[] = {
	{ "config", 'f', "FILE",
	  "The offers and their clients, as JSON. Default: /etc/mete/serve.json for root, else "
	  "~/.config/mete/serve.json, if the file exists and no option describes an offer.",
	  COMPLETE_FILE, false },
	{ "listen", 'l', "ADDRESS[:PORT]",
	  "The address on which to listen; may be repeated. Default: all addresses, port 7433.", COMPLETE_NOTHING,
	  true },
	OPTION_KEYS,
	{ "cert", 0, "FILE", CERT_WORDS, COMPLETE_FILE, false },
	{ "cert-key", 0, "FILE", CERT_KEY_WORDS, COMPLETE_FILE, false },
	{ "ca", 0, "FILE", CA_WORDS, COMPLETE_FILE, false },
	SWITCH("plain", 0, PLAIN_WORDS),
	OPTION_PATIENCE,
	SWITCH("ucx", 0,
	       "Also accept clients over UCX, on fast networks (RDMA); not encrypted, so --plain is "
	       "required."),
	{ "name", 'n', "NAME", "The offer's name. Default: default.", COMPLETE_NOTHING, false },
	OPTION_MEM(
		"Device memory that each client may hold; written as for `mete run`. Default: all that is not promised "
		"when it comes."),
	OPTION_DEVICE("The device; written as for `mete run`."),
	OPTION_TERMS{ "clients", 'a', "NAMES",
		      "The clients that may use it: names of keys or of certificates, separated by commas. "
		      "Default: all clients that can authenticate.",
		      COMPLETE_NOTHING, true },
	{ "max-clients", 0, "N", "The maximum number of clients that use it at once. Default: as many as fit.",
	  COMPLETE_NOTHING, false },
	{ "max-programs", 0, "N", "The maximum number of processes of one client on it at once. Default: 64.",
	  COMPLETE_NOTHING, false },
	OPTION_SOFT,
	OPTION_OVERCOMMIT,
	SWITCH("verbose", 'v', "Print a line when a client connects or disconnects."),
	SWITCH("json", 'j',
	       "Print the offers, and each client that connects or disconnects, as JSON, one object "
	       "per line."),
	OPTION_END
};

static const char *const serve_details[] = {
	"Lets programs on other machines use devices of this one, with `mete run --remote`, until it is "
	"interrupted. While a client has programs here, it has a separate grant, named after its key or "
	"certificate; `mete ps`, `mete top` and `mete set` treat this grant as any other. Worker processes execute "
	"the calls, one for each process of the client.",
	"The options of `mete run` describe the offer. Several offers are written into a file, with the same "
	"words: {\"offers\": [{\"name\": \"half\", \"mem\": \"50%\", \"cores\": 50, \"clients\": [\"alice\", "
	"\"bob\"]}, ...]}. A client that names no offer gets the first that it may use.",
	"The connection uses TLS 1.3, and both sides authenticate: with a common key (`mete key new`), or with "
	"certificates of one authority. docs/remote.md describes the protection and its limits.",
	NULL
};

static const struct example serve_examples[] = {
	{ "mete key new alice", "a key, to be copied to alice's machine" },
	{ "mete serve --mem 8G --cores 30", "for every client with a key, 8 GiB and 30 % of the time of device 0" },
	{ "mete serve --config offers.json --listen 10.0.0.1", "" },
	EXAMPLE_END
};

static const struct option_spec key_options[] = { OPTION_KEYS, OPTION_JSON, OPTION_END };
static const struct option_spec key_remove_options[] = { OPTION_KEYS, OPTION_END };

static const char *const key_new_details[] = {
	"Creates a key for the client NAME: 32 random bytes, in a file that "
	"only its owner may read. Copy the file to the client. `mete serve` accepts the key from then on and calls the "
	"client NAME.",
	NULL
};

static const char *const key_list_details[] = {
	"Lists the keys that a `mete serve` of this user accepts, the time "
	"at which each was created, and whether the file's owner and mode are correct.",
	NULL
};

static const char *const key_remove_details[] = {
	"Removes keys: new programs cannot connect with them. Connected programs continue until they exit.", NULL
};

static const struct option_spec remote_options[] = { OPTION_PROOF, OPTION_JSON, OPTION_WIDE, OPTION_END };

static const char *const remote_details[] = {
	"Without HOST: lists the programs that use this machine through "
	"`mete serve`, one per line, with the client's name, the offer, the grant, the address, the start of the "
	"session "
	"(SINCE), the ROUND TRIP as TCP measures it, the bytes received (IN) and sent (OUT) within the last second and "
	"in "
	"all, the memory of kernel IMAGES that is KEPT for its next programs, and the number of bytes that these "
	"images "
	"have SAVED.",
	"With HOST[:PORT]: prints that server's offers for this client, the "
	"round trip to it, and the throughput in each direction, measured for half "
	"a second each.",
	NULL
};

static const struct example remote_examples[] = { { "mete remote", "" },
						  { "mete remote gpuserver --key alice.key", "" },
						  EXAMPLE_END };

static const struct option_spec events_options[] = {
	SWITCH("follow", 'f', "Print new events as they occur, until interrupted."),
	{ "limit", 'n', "N", "Print at most the N newest events. Default: all stored events, up to 1024.",
	  COMPLETE_NOTHING, false },
	{ "tenant", 't', "NAME", "Only events of this grant, also after its end.", COMPLETE_GRANT, false },
	{ "device", 'd', "DEVICE", "Only events of this device: its index, KIND:INDEX or its UUID.", COMPLETE_DEVICE,
	  false },
	{ "kind", 'k', "WORD", "Only events of this kind: grant, refusal, fault, device, action or daemon.",
	  COMPLETE_NOTHING, false },
	SWITCH("json", 'j', "Print JSON; with --follow one object per line."),
	OPTION_END
};

static const char *const events_details[] = {
	"Prints the events of this node, the oldest first: grants that were created, changed and ended, refused "
	"memory, faults, changes of devices, actions of operators, and starts of meted. Equal events are one line "
	"with their number, and so are the refusals of one process; --json prints each separately. Events are kept "
	"across restarts of meted.",
	NULL
};

static const struct option_spec metrics_options[] = {
	{ "compat", 'c', "NAME",
	  "Use other metric names: dcgm, those of NVIDIA's exporter, with the figures of "
	  "each tenant.",
	  COMPLETE_NOTHING, false },
	OPTION_END
};

static const char *const metrics_details[] = {
	"Prints the metrics that meted serves at /metrics, in Prometheus's text format, for example for the "
	"textfile folder of a node exporter. docs/metrics.md explains each metric.",
	NULL
};

static const struct example metrics_examples[] = { { "mete metrics", "" },
						   { "curl --unix-socket /run/mete/http.sock http://localhost/metrics",
						     "the same over HTTP" },
						   EXAMPLE_END };

static const struct example events_examples[] = { { "mete events -n 20", "" },
						  { "mete events --follow --kind refusal", "programs that reach "
											   "their quota" },
						  EXAMPLE_END };

static const struct option_spec audit_options[] = { { "limit", 'n', "N",
						      "Print at most the N newest actions, 1 to 10000. Default: 10000.",
						      COMPLETE_NOTHING, false },
						    OPTION_JSON,
						    OPTION_END };

static const char *const audit_details[] = {
	"Prints the recorded actions, the oldest first: actions over HTTP with the token, as from the console; "
	"changes of the token; and what root and the daemon's own user do with devices, policies, quarantines and "
	"grants of other users. Each line has the time, the source, the request and its result. The data is read "
	"from audit.log in meted's state directory, which meted only appends to. For root and meted's own user.",
	NULL
};

#define OPTION_READ                                                                                                    \
	{                                                                                                              \
		"read", 0, NULL, "The token that allows reading but no actions.", COMPLETE_NOTHING, false              \
	}

static const struct option_spec token_options[] = { OPTION_READ, OPTION_JSON, OPTION_END };
static const struct option_spec token_revoke_options[] = { OPTION_READ, OPTION_END };

static const char *const token_new_details[] = {
	"Creates the secret that allows the console, or a program, to act over HTTP: to resize, freeze and end "
	"tenants, and to take devices out of service. It also allows reading where meted is accessed over the "
	"network. There is one such secret; a previous one becomes invalid. For root and meted's own user.",
	"With --read it creates a separate secret that allows only reading: for a server that collects metrics, "
	"and for users who only view the console. The two secrets are created and revoked separately.",
	"meted stores them in console.token and reader.token in its state directory, which no other user can read. "
	"Programs send one as \"Authorization: Bearer TOKEN\".",
	NULL
};

static const char *const token_show_details[] = { "Prints the secret of `mete token new`. For root and meted's own "
						  "user.",
						  NULL };

static const char *const token_revoke_details[] = {
	"Revokes the secret of `mete token new`: nobody can act over HTTP until there is a new one. With --read it "
	"revokes the secret that allows only reading. For root and meted's own user.",
	NULL
};

static const struct option_spec doctor_options[] = {
	{ "image", 'i', "DIR",
	  "Examine an unpacked root file system instead: whether containers of that image can have a share.",
	  COMPLETE_FILE, false },
	{ "program", 0, "PROGRAM",
	  "Report whether this program or library will work: on a GPU, on the software device, behind a wall, on "
	  "another machine. With --image: the first program of the image's containers, if the image has neither "
	  "/bin/sh nor a C library in a usual folder.",
	  COMPLETE_FILE, false },
	{ "seconds", 0, "N", "The maximum time for which a command is observed. Default: 120.", COMPLETE_NOTHING,
	  false },
	OPTION_JSON,
	OPTION_END
};

static const char *const doctor_details[] = {
	"Examines this machine and this installation of mete: the drivers, the shim, the daemon, folders, device "
	"nodes and limits. It reports what will be enforced and by which mechanism, what is missing, and the "
	"remedy. The exit status is 1 if `mete run` cannot work.",
	"With --program or a command: reports the program's components and whether it will work, before it runs. "
	"mete reads its files: the libraries with which it is linked, NVIDIA's runtime inside of one of them, the "
	"kernel images (targets of the PTX, GPUs of the machine code), and the calls of CUDA's interfaces. If the "
	"files do not show what a command will load (a script, an interpreter), mete runs it once on the software "
	"device, with its output on standard error, and observes the libraries that the dynamic linker loads "
	"(LD_DEBUG of ld.so(8)). The exit status is 1 if the program cannot run in any way, or cannot be read.",
	NULL
};

static const struct example doctor_examples[] = {
	{ "mete doctor", "this machine" },
	{ "mete doctor --program ./app", "a program or a library, by its files" },
	{ "mete doctor --json -- python train.py", "a script, by the libraries that it loads" },
	EXAMPLE_END
};

static const struct option_spec upgrade_options[] = {
	{ "binary", 'b', "FILE", "The meted to upgrade to. Default: the file that the running one was started from.",
	  COMPLETE_FILE, false },
	SWITCH("check", 0, "Only check whether it could take over; change nothing."),
	OPTION_JSON,
	OPTION_END
};

static const char *const upgrade_details[] = {
	"Replaces the running meted by the installed one, in the same process, while programs continue: their "
	"connections, accounts and turns are handed over, and none of their calls fails. First the next meted is "
	"checked. If it cannot take over, or fails to, the running one continues and the reason is printed. If the "
	"store's format changes, a copy is kept beside it (mete.db.vN). A meted that does not know the store's "
	"format is refused.",
	"Only root and meted's own user may do this. The same happens when meted gets SIGUSR2.", NULL
};

static const struct example upgrade_examples[] = { { "mete upgrade", "after a package has been installed" },
						   { "mete upgrade --check", "would it work?" },
						   EXAMPLE_END };

static const struct option_spec version_options[] = { OPTION_JSON, OPTION_END };

static const char *const version_details[] = { "Prints the version of mete, and the version of the running meted. "
					       "If they differ, `mete upgrade` replaces the running meted.",
					       NULL };

static const struct option_spec help_options[] = { SWITCH("man", 0, "Print the manual page in mdoc, for man(1)."),
						   SWITCH("completion", 0, "Print the completion for bash."),
						   OPTION_END };

static const char *const help_details[] = {
	"Without a VERB: lists the verbs. With one: explains it, as `mete VERB --help` does.", NULL
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
	{ "ps", "list tenants, their processes and memory", "", ps_details, ps_options, NULL, verb_ps, 0, 0, false,
	  COMPLETE_NOTHING, EXIT_USAGE },
	{ "top", "watch shares, memory and waiting times, and change them", "", top_details, top_options, top_examples,
	  verb_top, 0, 0, false, COMPLETE_NOTHING, EXIT_USAGE },
	{ "trace", "record launches and turns for Perfetto", "[NAME...]", trace_details, trace_options, trace_examples,
	  verb_trace, 0, -1, false, COMPLETE_GRANT, EXIT_USAGE },
	{ "events", "print the events of this node", "", events_details, events_options, events_examples, verb_events,
	  0, 0, false, COMPLETE_NOTHING, EXIT_USAGE },
	{ "metrics", "print the metrics of this node for Prometheus", "", metrics_details, metrics_options,
	  metrics_examples, verb_metrics, 0, 0, false, COMPLETE_NOTHING, EXIT_USAGE },
	{ "audit", "print the recorded actions of operators", "", audit_details, audit_options, NULL, verb_audit, 0, 0,
	  false, COMPLETE_NOTHING, EXIT_USAGE },
	{ "token new", "create the secret that allows the console to act", "", token_new_details, token_options, NULL,
	  verb_token_new, 0, 0, false, COMPLETE_NOTHING, EXIT_USAGE },
	{ "token show", "print the secret", "", token_show_details, token_options, NULL, verb_token_show, 0, 0, false,
	  COMPLETE_NOTHING, EXIT_USAGE },
	{ "token revoke", "revoke the secret", "", token_revoke_details, token_revoke_options, NULL, verb_token_revoke,
	  0, 0, false, COMPLETE_NOTHING, EXIT_USAGE },
	{ "devices", "list the devices, with promised and held memory", "", devices_details, devices_options, NULL,
	  verb_devices, 0, 0, false, COMPLETE_NOTHING, EXIT_USAGE },
	{ "show", "show everything about one grant", "NAME", show_details, show_options, NULL, verb_show, 1, 1, false,
	  COMPLETE_GRANT, EXIT_USAGE },
	{ "set", "change a running grant's share", "NAME", set_details, set_options, set_examples, verb_set, 1, 1,
	  false, COMPLETE_GRANT, EXIT_USAGE },
	{ "move", "send a running grant to another device or server", "NAME", move_details, move_options, move_examples,
	  verb_move, 1, 1, false, COMPLETE_GRANT, EXIT_USAGE },
	{ "create", "create a permanent grant", "NAME", create_details, create_options, create_examples, verb_create, 1,
	  1, false, COMPLETE_NOTHING, EXIT_USAGE },
	{ "policy", "list the policies for a device's time, set a device's", "[DEVICE NAME]", policy_details,
	  policy_options, policy_examples, verb_policy, 0, 2, false, COMPLETE_POLICY, EXIT_USAGE },
	{ "cordon", "admit no new grant to a device", "DEVICE", cordon_details, cordon_options, cordon_examples,
	  verb_cordon, 1, 1, false, COMPLETE_DEVICE, EXIT_USAGE },
	{ "drain", "take a device out of service when its tenants have left", "DEVICE", drain_details, drain_options,
	  drain_examples, verb_drain, 1, 1, false, COMPLETE_DEVICE, EXIT_USAGE },
	{ "uncordon", "bring a device back into service", "DEVICE", uncordon_details, uncordon_options, NULL,
	  verb_uncordon, 1, 1, false, COMPLETE_DEVICE, EXIT_USAGE },
	{ "release", "end a quarantine", "NAME...", release_details, release_options, NULL, verb_release, 1, -1, false,
	  COMPLETE_GRANT, EXIT_USAGE },
	{ "limits", "list this user's limits and their use", "", limits_details, limits_options, NULL, verb_limits, 0,
	  0, false, COMPLETE_NOTHING, EXIT_USAGE },
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
	{ "soft fault", "inject an error into a software device", "DEVICE", soft_fault_details, soft_fault_options,
	  soft_fault_examples, verb_soft_fault, 1, 1, false, COMPLETE_NOTHING, EXIT_USAGE },
	{ "serve", "let other machines use devices of this one", "", serve_details, serve_options, serve_examples,
	  verb_serve, 0, 0, false, COMPLETE_NOTHING, EXIT_USAGE },
	{ "key new", "create a key for a client of `mete serve`", "NAME", key_new_details, key_options, NULL,
	  verb_key_new, 1, 1, false, COMPLETE_NOTHING, EXIT_USAGE },
	{ "key list", "list the keys of clients", "", key_list_details, key_options, NULL, verb_key_list, 0, 0, false,
	  COMPLETE_NOTHING, EXIT_USAGE },
	{ "key remove", "remove keys of clients", "NAME...", key_remove_details, key_remove_options, NULL,
	  verb_key_remove, 1, -1, false, COMPLETE_KEY, EXIT_USAGE },
	{ "remote", "list remote clients; measure the connection to a server", "[HOST[:PORT]]", remote_details,
	  remote_options, remote_examples, verb_remote, 0, 1, false, COMPLETE_NOTHING, EXIT_USAGE },
	{ "doctor", "report what works here, or whether a program will work, and the remedy", "[PROGRAM [ARGUMENT...]]",
	  doctor_details, doctor_options, doctor_examples, verb_doctor, 0, -1, true, COMPLETE_PROGRAM, EXIT_USAGE },
	{ "upgrade", "replace the running meted while programs continue", "", upgrade_details, upgrade_options,
	  upgrade_examples, verb_upgrade, 0, 0, false, COMPLETE_NOTHING, EXIT_USAGE },
	{ "version", "print versions", "", version_details, version_options, NULL, verb_version, 0, 0, false,
	  COMPLETE_NOTHING, EXIT_USAGE },
	{ "help", "explain a verb", "[VERB]", help_details, help_options, NULL, verb_help, 0, 2, false, COMPLETE_VERB,
	  EXIT_USAGE },
	{ 0 },
};
