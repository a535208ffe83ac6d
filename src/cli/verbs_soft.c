/* verbs_soft.c: what `mete help` says of the verbs of the software device, and their options. */
#include "cli/verbs_soft.h"

#include "verb/options.h"

const struct option_spec soft_run_options[] = {
	{ "devices", 'D', "N", "How many software devices there are, 0 to 16. Default: 2.", COMPLETE_NOTHING, false },
	{ "memory", 'm', "SIZE", "Memory of each: 16G; or a list with commas, one for each. Default: 16G.",
	  COMPLETE_NOTHING, false },
	{ "sms", 0, "N", "Multiprocessors that the devices show. Default: 80.", COMPLETE_NOTHING, false },
	{ "cc", 0, "X.Y", "Compute capability. Default: 12.0.", COMPLETE_NOTHING, false },
	{ "driver-version", 0, "X.Y", "CUDA version that the driver reports. Default: 13.5.", COMPLETE_NOTHING, false },
	{ "name", 0, "TEXT", "The devices' name.", COMPLETE_NOTHING, false },
	{ "context-memory", 0, "SIZE", "Device memory that a context uses. Default: 0.", COMPLETE_NOTHING, false },
	{ "linger", 0, "MS", "The memory of a process that has ended is freed so much later. Default: 0.",
	  COMPLETE_NOTHING, false },
	{ "threads", 0, "N", "Threads that execute kernels. Default: one for each core.", COMPLETE_NOTHING, false },
	{ "check", 'c', "MODE",
	  "How exactly accesses are checked. off: as hardware does; strict: to the byte; report: strict, and "
	  "faults are described; report,leaks: memory that was not freed is described as well. Default: off.",
	  COMPLETE_CHECK, false },
	{ "report", 'r', "FILE", "Also append reports to this file. Implies --check report.", COMPLETE_NOTHING, false },
	{ "error-exitcode", 'e', "N",
	  "Exit with this status, 1 to 255, if the checker reported anything. Implies --check report.",
	  COMPLETE_NOTHING, false },
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
	{ "slice", 0, "TIME", "The time slice of a process while others wait. Default: 2ms.", COMPLETE_NOTHING, false },
	{ "switch", 0, "TIME", "The cost of a switch from one process to another. Default: 75us.", COMPLETE_NOTHING,
	  false },
	{ "sharing", 0, "HOW", "slices: one process at a time; together: all at once. Default: slices.",
	  COMPLETE_NOTHING, false },
	{ "time", 0, "HOW", "off: do not model the device's time. Default: on.", COMPLETE_NOTHING, false },
	{ "compile", 0, "HOW",
	  "off: interpret all kernels; always: compile each kernel before its first launch. Default: on; "
	  "long-running kernels are compiled in the background if the package mete-compile is installed.",
	  COMPLETE_NOTHING, false },
	SWITCH("profile", 'p',
	       "After the program has exited, print on standard error, for each kernel, its time on this machine's "
	       "cores, launches, instructions, active lanes and memory."),
	SWITCH("forms", 0,
	       "Also count each kernel's operations by form of instruction. Implies --profile; slows "
	       "kernels down."),
	{ "trace", 0, "FILE", "Write the launches to this file, for Perfetto. Implies --profile.", COMPLETE_FILE,
	  false },
	SWITCH("json", 'j', "Print the profile as one line of JSON. Implies --profile."),
	SWITCH("verbose", 'v', "Say which driver is used, and what is set in the program's environment."),
	OPTION_END
};

const char *const soft_run_details[] = {
	"Runs PROGRAM on software devices, which execute CUDA on this machine's cores. It needs no GPU and no "
	"daemon, and sets no quota. Use it to try mete, to test CUDA programs without a GPU, and to find invalid "
	"memory accesses. The devices are private: only the program and its child processes use them, and they are "
	"removed at the end. METE_SOFT_DIR, if set, names devices to share with others.",
	"Supported programs use the driver API, or the shared CUDA runtime library (nvcc --cudart shared), in "
	"place of which mete loads its own.",
	"Everything from the first word that is no option, or after --, is the program and its arguments, unchanged. "
	"Its input, output, terminal, signals and exit status are the program's own, as if mete were not there, but "
	"for --error-exitcode. Lines that begin with \"mete:\" on standard error come from mete; those of the checker "
	"with \"mete: check:\".",
	NULL
};

const struct example soft_run_examples[] = {
	{ "mete soft run ./program", "" },
	{ "mete soft run --check report -e 99 -- ctest", "as a test: 99 if a kernel of any program failed" },
	{ "mete soft run --devices 1 --memory 512M --timeout 60 ./program", "" },
	{ "mete soft run --profile --trace launches.json ./program", "how long each kernel takes" },
	EXAMPLE_END
};

const struct option_spec soft_cc_options[] = { OPTION_END };

const char *const soft_cc_details[] = {
	"Runs the CUDA toolkit's nvcc with all words that follow, changed so that the program runs on the software "
	"device (and on GPUs): targets of machine code become PTX (sm_90 becomes compute_90; without one: what "
	"METE_SOFT_CC says, or 9.0), and the CUDA runtime is the shared library. Where a build asks for -cudart "
	"static, mete's own libcudart_static.a is found before NVIDIA's. It fits where a build system wants the name "
	"of a compiler, for example `make NVCC=\"mete soft cc\"`.",
	"nvcc is looked for in METE_NVCC, PATH, CUDA_HOME, CUDA_PATH, CONDA_PREFIX and /usr/local/cuda. Without one "
	"the exit status is 127; else it is nvcc's.",
	NULL
};

const struct example soft_cc_examples[] = { { "mete soft cc -O2 -o program program.cu", "" },
						   { "cmake -DCMAKE_CUDA_COMPILER_LAUNCHER=\"mete;soft;cc\" ...",
						     "nvcc is the first word that follows" },
						   EXAMPLE_END };

const struct option_spec soft_devices_options[] = { OPTION_JSON, OPTION_WIDE, OPTION_END };

const char *const soft_devices_details[] = {
	"Lists the software devices that a program of this user finds: those in use, or, if none is in use, those "
	"that the METE_SOFT_ variables describe. `mete soft run` creates private ones.",
	"BUSY is the fraction of the time since the first kernel in which kernels were served. With --json, each "
	"device has its times in nanoseconds (served + switch + idle = wall time) and the time that each process "
	"on it was served.",
	"Without --wide the UUID is left out if the output is too narrow for it.", NULL
};

const struct option_spec soft_fault_options[] = {
	{ "xid", 'x', "NUMBER", "The error that the device reports, by its number in NVIDIA's list. Default: 31.",
	  COMPLETE_NOTHING, false },
	{ "pid", 'p', "PID",
	  "The process that caused it: its contexts on the device fail. Default: none; it is an error of the "
	  "device.",
	  COMPLETE_NOTHING, false },
	SWITCH("lost", 'l', "The device is lost: all contexts on it fail, until --back."),
	SWITCH("back", 'b', "The device is back."),
	OPTION_END
};

const char *const soft_fault_details[] = {
	"For tests of the handling of errors: the software device reports an error, as a GPU would through NVML, "
	"or is lost. docs/faults.md describes the consequences.",
	NULL
};

const struct example soft_fault_examples[] = { { "mete soft fault 0 --xid 31 --pid 4711", "" },
						      { "mete soft fault 0 --lost", "" },
						      EXAMPLE_END };
