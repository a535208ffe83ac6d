/* settings.c: the table, and what can be done with any row of it. */
#include "daemon/settings/settings.h"

#include "base/size.h"
#include "base/text_distance.h"
#include "daemon/settings/limit_words.h"
#include "daemon/tenants/guarded.h"
#include "daemon/tenants/placing.h"
#include "daemon/workers/fence.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define SIZE_LEAST_BYTES (UINT64_C(1) << 20) /* of an amount of memory or disk */
#define TEXT_COLUMNS 110u
#define HELP_COLUMNS 80 /* of the help */
#define HELP_COLUMN 25u

#define FIELD(name) offsetof(struct options, name)

const struct setting settings[] = {
	{ .key = "system",
	  .option = "system",
	  .type = SETTING_SWITCH,
	  .offset = FIELD(system),
	  .fallback = "false: serve the user it runs as",
	  .example = "true",
	  .text = "Serve all users." },
	{ .key = "runtime_dir",
	  .option = "runtime-dir",
	  .operand = "DIR",
	  .type = SETTING_PATH,
	  .offset = FIELD(runtime_dir),
	  .fallback = "METE_RUNTIME_DIR, /run/mete with --system, $XDG_RUNTIME_DIR/mete, or /dev/shm/mete-UID",
	  .example = "/run/mete",
	  .text = "The folder of sockets, pages and the lock. It should be on tmpfs: nothing in it is needed after a "
		  "restart of the machine." },
	{ .key = "state_dir",
	  .option = "state-dir",
	  .operand = "DIR",
	  .type = SETTING_PATH,
	  .offset = FIELD(state_dir),
	  .fallback = "the runtime directory",
	  .example = "/var/lib/mete",
	  .text = "The folder of mete.db, the store of grants. Back it up." },
	{ .key = "log",
	  .option = "log",
	  .operand = "FILE",
	  .type = SETTING_PATH,
	  .offset = FIELD(log),
	  .reload = true,
	  .fallback = "meted.log in the runtime directory; standard error with --foreground",
	  .example = "/var/log/meted.log",
	  .text = "Append the log to this file." },
	{ .key = "exit_when_idle",
	  .option = "exit-when-idle",
	  .operand = "SECS",
	  .type = SETTING_SECONDS,
	  .offset = FIELD(exit_when_idle_ns),
	  .most = 1000000000,
	  .reload = true,
	  .fallback = "stay",
	  .example = "600",
	  .text = "Exit after this time without a grant and a connection, in seconds." },

	{ .key = "driver.soft_only",
	  .option = "soft-only",
	  .type = SETTING_SWITCH,
	  .offset = FIELD(machine.soft_only),
	  .reload = true,
	  .fallback = "false",
	  .example = "true",
	  .text = "Offer only the software device." },
	{ .key = "driver.no_opencl",
	  .option = "no-opencl",
	  .type = SETTING_SWITCH,
	  .offset = FIELD(machine.left_out[DEVICE_OPENCL]),
	  .reload = true,
	  .fallback = "false",
	  .example = "true",
	  .text = "Do not ask the OpenCL loader for devices." },
	{ .key = "driver.no_levelzero",
	  .option = "no-levelzero",
	  .type = SETTING_SWITCH,
	  .offset = FIELD(machine.left_out[DEVICE_LEVELZERO]),
	  .reload = true,
	  .fallback = "false",
	  .example = "true",
	  .text = "Do not ask Level Zero's loader for devices." },
	{ .key = "driver.no_hip",
	  .option = "no-hip",
	  .type = SETTING_SWITCH,
	  .offset = FIELD(machine.left_out[DEVICE_HIP]),
	  .reload = true,
	  .fallback = "false",
	  .example = "true",
	  .text = "Do not ask AMD's libamdhip64 for devices." },
	{ .key = "driver.libhip",
	  .option = "libhip",
	  .operand = "FILE",
	  .type = SETTING_PATH,
	  .offset = FIELD(machine.library[DEVICE_HIP]),
	  .reload = true,
	  .fallback = "where the loader looks, and /opt/rocm",
	  .example = "/opt/rocm-6.2/lib/libamdhip64.so.6",
	  .text = "AMD's libamdhip64, where the loader does not find it." },
	{ .key = "driver.libmusa",
	  .option = "libmusa",
	  .operand = "FILE",
	  .type = SETTING_PATH,
	  .offset = FIELD(machine.library[DEVICE_MUSA]),
	  .reload = true,
	  .fallback = "where the loader looks, and /usr/local/musa/lib",
	  .example = "/usr/lib/x86_64-linux-gnu/libmusa.so.1",
	  .text = "Moore Threads' libmusa.so, where meted does not find it." },
	{ .key = "driver.libmaca",
	  .option = "libmaca",
	  .operand = "FILE",
	  .type = SETTING_PATH,
	  .offset = FIELD(machine.library[DEVICE_MACA]),
	  .reload = true,
	  .fallback = "where the loader looks, and /opt/maca/lib",
	  .example = "/opt/maca-3.5/lib/libmcruntime.so",
	  .text = "MetaX' libmcruntime.so, where meted does not find it." },
	{ .key = "driver.libcorex",
	  .option = "libcorex",
	  .operand = "FILE",
	  .type = SETTING_PATH,
	  .offset = FIELD(machine.library[DEVICE_COREX]),
	  .reload = true,
	  .fallback = "/usr/local/corex/lib64 and lib",
	  .example = "/usr/local/corex-4.4/lib64/libcuda.so.1",
	  .text = "Iluvatar's libcuda.so.1, where meted does not find it." },
	{ .key = "driver.no_ascend",
	  .option = "no-ascend",
	  .type = SETTING_SWITCH,
	  .offset = FIELD(machine.left_out[DEVICE_ASCEND]),
	  .reload = true,
	  .fallback = "false",
	  .example = "true",
	  .text = "Do not ask Ascend's libascendcl.so for devices." },
	{ .key = "driver.libascend",
	  .option = "libascend",
	  .operand = "FILE",
	  .type = SETTING_PATH,
	  .offset = FIELD(machine.library[DEVICE_ASCEND]),
	  .reload = true,
	  .fallback = "where the loader looks, and /usr/local/Ascend",
	  .example = "/opt/Ascend/cann/lib64/libascendcl.so",
	  .text = "Ascend's libascendcl.so, where the loader does not find it." },
	{ .key = "driver.no_cambricon",
	  .option = "no-cambricon",
	  .type = SETTING_SWITCH,
	  .offset = FIELD(machine.left_out[DEVICE_CAMBRICON]),
	  .reload = true,
	  .fallback = "false",
	  .example = "true",
	  .text = "Do not ask Cambricon's libcndrv.so for devices." },
	{ .key = "driver.libcambricon",
	  .option = "libcambricon",
	  .operand = "FILE",
	  .type = SETTING_PATH,
	  .offset = FIELD(machine.library[DEVICE_CAMBRICON]),
	  .reload = true,
	  .fallback = "where the loader looks, and /usr/local/neuware",
	  .example = "/opt/neuware/lib64/libcndrv.so",
	  .text = "Cambricon's libcndrv.so, where the loader does not find it." },
	{ .key = "driver.libcuda",
	  .option = "libcuda",
	  .operand = "FILE",
	  .type = SETTING_PATH,
	  .offset = FIELD(machine.library[DEVICE_NVIDIA]),
	  .reload = true,
	  .fallback = "where the loader looks",
	  .example = "/opt/driver/lib/libcuda.so.1",
	  .text = "NVIDIA's libcuda.so.1, where the loader does not find it." },
	{ .key = "driver.libnvml",
	  .option = "libnvml",
	  .operand = "FILE",
	  .type = SETTING_PATH,
	  .offset = FIELD(machine.libnvml),
	  .reload = true,
	  .fallback = "where the loader looks",
	  .example = "/opt/driver/lib/libnvidia-ml.so.1",
	  .text = "NVIDIA's libnvidia-ml.so.1, likewise." },

	{ .key = "http.listen",
	  .option = "http",
	  .operand = "ADDR:PORT",
	  .type = SETTING_TEXT,
	  .offset = FIELD(http.listen),
	  .fallback = "only http.sock in the runtime directory",
	  .example = "127.0.0.1:7480",
	  .text = "Serve metrics and the console at this address as well. An address beyond loopback needs a "
		  "certificate, its key and a token (mete token new)." },
	{ .key = "http.cert",
	  .option = "http-cert",
	  .operand = "FILE",
	  .type = SETTING_PATH,
	  .offset = FIELD(http.cert),
	  .fallback = "none: HTTP without TLS",
	  .example = "/etc/mete/http.crt",
	  .text = "The certificate for HTTPS, in PEM." },
	{ .key = "http.key",
	  .option = "http-key",
	  .operand = "FILE",
	  .type = SETTING_PATH,
	  .offset = FIELD(http.key),
	  .fallback = "none",
	  .example = "/etc/mete/http.key",
	  .text = "The key of the certificate, in PEM." },
	{ .key = "http.group",
	  .option = "http-group",
	  .operand = "GROUP",
	  .type = SETTING_TEXT,
	  .offset = FIELD(http.group),
	  .fallback = "meted's own",
	  .example = "video",
	  .text = "The group whose members may connect to http.sock, also through `ssh -L`. They can read what `mete "
		  "ps` shows to all users; actions require the token there as well." },

	{ .key = "faults.count",
	  .type = SETTING_NUMBER,
	  .offset = FIELD(faults.count),
	  .most = QUARANTINE_FAULTS,
	  .reload = true,
	  .fallback = "3",
	  .example = "5",
	  .text = "The number of faults of its programs within faults.window that quarantine a tenant: none of its "
		  "programs may start for some time. 0: never." },
	{ .key = "faults.window",
	  .type = SETTING_SECONDS,
	  .offset = FIELD(faults.window_ns),
	  .least = 1,
	  .most = 604800,
	  .reload = true,
	  .fallback = "600",
	  .example = "3600",
	  .text = "The time, in seconds, within which faults count together." },
	{ .key = "faults.quarantine",
	  .type = SETTING_SECONDS,
	  .offset = FIELD(faults.time_ns),
	  .least = 1,
	  .most = 604800,
	  .reload = true,
	  .fallback = "300",
	  .example = "60",
	  .text = "The length of a first quarantine, in seconds. One that follows soon lasts twice as long as the one "
		  "before." },
	{ .key = "faults.quarantine_most",
	  .type = SETTING_SECONDS,
	  .offset = FIELD(faults.most_ns),
	  .least = 1,
	  .most = 604800,
	  .reload = true,
	  .fallback = "86400",
	  .example = "3600",
	  .text = "The maximum length of a quarantine, in seconds." },
	{ .key = "faults.software",
	  .type = SETTING_SWITCH,
	  .offset = FIELD(faults.software),
	  .reload = true,
	  .fallback = "false",
	  .example = "true",
	  .text = "Quarantine for faults on software devices as well. By default they are only counted and recorded: "
		  "they endanger no other tenant, and tests provoke them." },

	{ .key = "images.keep",
	  .type = SETTING_SIZE,
	  .offset = FIELD(images_bytes),
	  .reload = true,
	  .fallback = "256M",
	  .example = "1G",
	  .text = "The memory in which meted keeps the kernel images that remote and walled programs have sent, for "
		  "the next programs of the same tenant. 0: it keeps none." },

	{ .key = "memory.spill",
	  .type = SETTING_SWITCH,
	  .offset = FIELD(memory.spill),
	  .reload = true,
	  .fallback = "false",
	  .example = "true",
	  .text = "New grants of one device have --spill, except grants of containers: their memory may leave the "
		  "device while others need the room." },
	{ .key = "memory.pool",
	  .type = SETTING_SIZE,
	  .offset = FIELD(memory.pool_bytes),
	  .reload = true,
	  .fallback = "0",
	  .example = "64G",
	  .text = "Host memory for memory that has left the devices, of all tenants together. Memory for which there "
		  "is no room stays on its device. 0: half of the host's memory." },
	{ .key = "memory.disk",
	  .type = SETTING_PATH,
	  .offset = FIELD(memory.disk),
	  .reload = true,
	  .fallback = "none: memory for which memory.pool has no room stays on its device",
	  .example = "/var/lib/mete-disk",
	  .text = "A folder on a disk for memory that leaves the devices and for which memory.pool has no room. It "
		  "must belong to meted's user, have mode 700, and be on a file system with direct I/O and unnamed "
		  "files (ext4, XFS, Btrfs). The contents are encrypted with keys that are never written." },
	{ .key = "memory.disk_size",
	  .type = SETTING_SIZE,
	  .offset = FIELD(memory.disk_bytes),
	  .reload = true,
	  .fallback = "16G",
	  .example = "200G",
	  .text = "The disk space that all tenants together may use there; not 0." },
	{ .key = "memory.disk_user",
	  .type = SETTING_SIZE,
	  .offset = FIELD(memory.disk_user_bytes),
	  .reload = true,
	  .fallback = "0",
	  .example = "50G",
	  .text = "The disk space that the grants of one user may use together; root and meted's own user have no "
		  "such limit. 0: half of memory.disk_size." },
	{ .key = "memory.turn",
	  .type = SETTING_MOMENTS,
	  .offset = FIELD(memory.turn_ns),
	  .least = 100,
	  .most = 30000,
	  .reload = true,
	  .fallback = "2",
	  .example = "5",
	  .text = "The time, in seconds, for which the memory of a working tenant stays on a device while others of "
		  "its class wait for the room. If leaving and returning take more than a fifth of it, meted "
		  "lengthens it." },
	{ .key = "memory.turn_most",
	  .type = SETTING_MOMENTS,
	  .offset = FIELD(memory.turn_most_ns),
	  .least = 100,
	  .most = 30000,
	  .reload = true,
	  .fallback = "30",
	  .example = "10",
	  .text = "The time, in seconds, up to which meted lengthens memory.turn; not less than memory.turn." },

	{ .key = "memory.yield_within",
	  .type = SETTING_MOMENTS,
	  .offset = FIELD(memory.yield_ns),
	  .least = 100,
	  .most = 600000,
	  .reload = true,
	  .fallback = "10",
	  .example = "2",
	  .text = "The time, in seconds, within which a grant with --spill returns borrowed memory when a grant that "
		  "is promised this memory requests it. Half of it is for work in flight to end. An event, `mete ps` "
		  "and the grant show a grant that is late." },
	{ .key = "memory.yield_end",
	  .type = SETTING_SWITCH,
	  .offset = FIELD(memory.yield_end),
	  .reload = true,
	  .fallback = "false: the grant that is promised the memory continues to wait",
	  .example = "true",
	  .text = "End a program (SIGKILL) that has not returned borrowed memory by then." },

	{ .key = "containers.expires",
	  .type = SETTING_SECONDS,
	  .offset = FIELD(container_expires_ns),
	  .most = 604800,
	  .reload = true,
	  .fallback = "600",
	  .example = "3600",
	  .text = "The time, in seconds, after which a grant of `mete cdi create` ends if its container has not "
		  "started. 0: never. --expires sets it for one grant; a grant with --keep does not expire." },

	{ .key = "guard.grants",
	  .type = SETTING_TEXT,
	  .offset = FIELD(guard),
	  .reload = true,
	  .fallback = "asked",
	  .example = "required",
	  .text = "The programs and containers on NVIDIA's driver that the guard holds (docs/guard.md). asked: those "
		  "with --guard. preferred: all; where the guard cannot hold one, a line says that only the shim "
		  "does. required: all; where the guard cannot hold one, it is not started.",
	  .check = guarded_check_rule },

	{ .key = "placement.rule",
	  .type = SETTING_TEXT,
	  .offset = FIELD(placement),
	  .reload = true,
	  .fallback = "first",
	  .example = "fit",
	  .text = "The device of a grant that names none: the first one, or one that meted chooses by the rule spread "
		  "(most memory left), binpack (least left) or fit (least fragmentation). The rule also applies to "
		  "--device any, for which first means spread.",
	  .check = placing_check_rule },

	{ .key = "workers.observe_devices",
	  .type = SETTING_SWITCH,
	  .offset = FIELD(fence.observe_devices),
	  .reload = true,
	  .fallback = "false",
	  .example = "true",
	  .text = "Let workers send NVIDIA's device nodes commands that are not in their list, and log these in the "
		  "kernel's log instead of refusing them: for a driver that needs more than the list contains." },
	{ .key = "workers.namespaces",
	  .type = SETTING_SWITCH,
	  .offset = FIELD(fence.namespaces),
	  .reload = true,
	  .fallback = "true",
	  .example = "false",
	  .text = "Workers have user, network, IPC and mount namespaces of their own. Set false for a driver that "
		  "does not start in them." },
	{ .key = "workers.libraries",
	  .type = SETTING_TEXT,
	  .offset = FIELD(fence.libraries),
	  .reload = true,
	  .fallback = "where the dynamic linker looks, and the usual folders of a toolkit",
	  .example = "/opt/nvidia/lib:/srv/venv/lib/python3.12/site-packages",
	  .text = "Folders, separated by colons, in which a worker first looks for NVIDIA's libraries (cuDNN, cuBLAS "
		  "and so on) that programs behind a wall and over the network call. A folder of Python packages may "
		  "be among them.",
	  .check = fence_check_libraries },
	{ .key = "workers.first_uid",
	  .type = SETTING_NUMBER,
	  .offset = FIELD(fence.first_uid),
	  .most = 4294900000,
	  .reload = true,
	  .fallback = "69632",
	  .example = "1879048192",
	  .text = "The first of 4096 user ids for workers, of which each worker gets one. No user and no container may "
		  "use them. 0: all workers run as mete-worker. This applies to a meted that runs as root.",
	  .check = fence_check_uid },
	{ .key = "workers.cgroup",
	  .type = SETTING_TEXT,
	  .offset = FIELD(fence.cgroup),
	  .fallback = FENCE_AUTO,
	  .example = "/sys/fs/cgroup/mete",
	  .text = "The cgroup (version 2) in which each grant's workers get a cgroup: a folder without processes that "
		  "meted can write to; \"auto\": that of its service, if it is delegated to it; \"off\": none.",
	  .check = fence_check_cgroup },
	{ .key = "workers.memory",
	  .type = SETTING_SIZE,
	  .offset = FIELD(fence.memory_bytes),
	  .reload = true,
	  .fallback = "0, half of the machine's",
	  .example = "16G",
	  .text = "The host memory that the workers of a grant may use together (memory.max of its cgroup). The memory "
		  "of software devices is part of it." },
	{ .key = "workers.memory_all",
	  .type = SETTING_SIZE,
	  .offset = FIELD(fence.all_bytes),
	  .reload = true,
	  .fallback = "0, three quarters of the machine's",
	  .example = "64G",
	  .text = "The host memory that all workers may use together before they have a client. Divided by the memory "
		  "of the largest of them, it limits their number." },
	{ .key = "workers.tasks",
	  .type = SETTING_NUMBER,
	  .offset = FIELD(fence.tasks),
	  .most = 4194304,
	  .reload = true,
	  .fallback = "16384",
	  .example = "2048",
	  .text = "The number of threads that the workers of a grant may have together (pids.max of its cgroup). 0: no "
		  "limit." },
	{ .key = "workers.idle",
	  .type = SETTING_NUMBER,
	  .offset = FIELD(fence.idle),
	  .most = FENCE_IDLE_MOST,
	  .reload = true,
	  .fallback = "2",
	  .example = "4",
	  .text = "The number of workers that wait for a program, for each set of devices that a walled grant has, in "
		  "memory that is promised to nobody. With 0 each program waits until its worker has started." },
	{ .key = "workers.demand",
	  .type = SETTING_TEXT,
	  .offset = FIELD(fence.demand),
	  .reload = true,
	  .fallback = "nothing",
	  .example = "network,files,uid,cgroup",
	  .text = "The mechanisms that workers must have, separated by commas: user, network, ipc, mounts "
		  "(namespaces), files (an empty root), uid, scope, landlock, cgroup. A worker that lacks one of them "
		  "serves no client. `mete doctor` shows which ones workers have.",
	  .check = fence_check_words },

	{ .key = "limits.grants",
	  .type = SETTING_NUMBER,
	  .offset = FIELD(limits.most[LIMIT_GRANTS]),
	  .most = 100000,
	  .reload = true,
	  .fallback = "64",
	  .example = "16",
	  .text = "The number of grants of a user. This key and the following ones do not limit root and meted's own "
		  "user." },
	{ .key = "limits.processes",
	  .type = SETTING_NUMBER,
	  .offset = FIELD(limits.most[LIMIT_PROCESSES]),
	  .most = 100000,
	  .reload = true,
	  .fallback = "1024",
	  .example = "64",
	  .text = "The number of processes that may use the devices of a user's grant at once. All grants of the user "
		  "together may have four times as many." },
	{ .key = "limits.mem",
	  .type = SETTING_NUMBER,
	  .offset = FIELD(limits.most[LIMIT_MEM]),
	  .most = 100,
	  .reload = true,
	  .fallback = "100",
	  .example = "50",
	  .text = "The part of each device's memory that may be promised to the grants of a user, in percent; and the "
		  "part of memory.pool that their memory may use." },
	{ .key = "limits.cores",
	  .type = SETTING_NUMBER,
	  .offset = FIELD(limits.most[LIMIT_CORES]),
	  .most = 100,
	  .reload = true,
	  .fallback = "100",
	  .example = "50",
	  .text = "The part of each device's time that may be guaranteed to the grants of a user, in percent." },
	{ .key = "limits.waiting",
	  .type = SETTING_NUMBER,
	  .offset = FIELD(limits.most[LIMIT_WAITING]),
	  .most = 1000000,
	  .reload = true,
	  .fallback = "4096",
	  .example = "256",
	  .text = "The number of requests for memory of a user's programs that may wait for other programs. meted "
		  "decides further requests at once." },
	{ .key = "limits.sockets",
	  .type = SETTING_NUMBER,
	  .offset = FIELD(limits.most[LIMIT_SOCKETS]),
	  .most = 200000,
	  .reload = true,
	  .fallback = "128",
	  .example = "32",
	  .text = "The number of sockets on which meted listens for a user's grants: one for each grant, and one more "
		  "for each grant behind a wall." },
	{ .key = "limits.all_grants",
	  .type = SETTING_NUMBER,
	  .offset = FIELD(limits.all_grants),
	  .most = 1000000,
	  .reload = true,
	  .fallback = "1024",
	  .example = "4096",
	  .text = "The number of grants of all these users together." },
};

const unsigned int setting_count = sizeof(settings) / sizeof(*settings);

_Static_assert(sizeof(settings) / sizeof(*settings) <= SETTINGS_MAX, "options.h has room for all settings");

const struct setting *setting_find(const char *key)
{
	for (unsigned int i = 0; i < setting_count; i++)
		if (!strcmp(settings[i].key, key))
			return &settings[i];
	return NULL;
}

static size_t group_length(const struct setting *s)
{
	const char *dot = strchr(s->key, '.');

	return dot ? (size_t)(dot - s->key) : 0;
}

bool setting_is_group(const char *name)
{
	for (unsigned int i = 0; i < setting_count; i++)
		if (group_length(&settings[i]) == strlen(name) && !strncmp(settings[i].key, name, strlen(name)))
			return true;
	return false;
}

/* A name in the wrong group, or in none, is nearest to the one that it is in another group. */
static unsigned int key_distance(const char *key, const struct setting *s)
{
	const char *own = strrchr(key, '.'), *last = strrchr(s->key, '.');
	unsigned int whole = text_distance(key, s->key);

	return whole > 1 && !strcmp(own ? own + 1 : key, last ? last + 1 : s->key) ? 1 : whole;
}

const char *setting_nearest(const char *key)
{
	const char *nearest = NULL;
	unsigned int best = 4;

	for (unsigned int i = 0; i < setting_count; i++) {
		unsigned int distance = key_distance(key, &settings[i]);

		/* Half of a short name is not near it. */
		if (distance < best && distance * 2 <= strlen(settings[i].key)) {
			best = distance;
			nearest = settings[i].key;
		}
	}
	return nearest;
}

/* Values. */

static int read_switch(const char *value, bool *ret)
{
	static const char *const words[] = { "false", "true", "no", "yes", "off", "on" };

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (!strcasecmp(value, words[i])) {
			*ret = i % 2;
			return 0;
		}
	return -EINVAL;
}

static int read_number(const struct setting *s, const char *value, uint64_t *ret)
{
	char *end;

	errno = 0;
	*ret = strtoull(value, &end, 10);
	if (*value < '0' || *value > '9' || *end || errno)
		return -EINVAL;
	return *ret < s->least || (s->most && *ret > s->most) ? -ERANGE : 0;
}

static int refuse_number(const struct setting *s, int r, const char *value, char *why, size_t size)
{
	const char *what = s->type == SETTING_SECONDS ? "a number of seconds" : "a number";

	if (r == -ERANGE && s->most)
		snprintf(why, size, "wants %s from %llu to %llu, not %.80s", what, (unsigned long long)s->least,
			 (unsigned long long)s->most, value);
	else if (r == -ERANGE)
		snprintf(why, size, "wants %s from %llu, not %.80s", what, (unsigned long long)s->least, value);
	else
		snprintf(why, size, "wants %s, not \"%.80s\"", what, value);
	return -EINVAL;
}

int setting_number(const struct setting *s, const char *value, uint64_t *ret, char *why, size_t size)
{
	int r = read_number(s, value, ret);

	return r ? refuse_number(s, r, value, why, size) : 0;
}

static int set_number(struct options *o, const struct setting *s, const char *value, char *why, size_t size)
{
	uint64_t *field = (uint64_t *)((char *)o + s->offset), n;
	int r = setting_number(s, value, &n, why, size);

	if (r)
		return r;
	if (s->type == SETTING_SECONDS && __builtin_mul_overflow(n, UINT64_C(1000000000), &n))
		return refuse_number(s, -EINVAL, value, why, size);
	*field = n;
	return 0;
}

/* Milliseconds. */
static int read_moments(const char *value, uint64_t *ret)
{
	uint64_t ms, part = 100;
	char *end;

	errno = 0;
	ms = strtoull(value, &end, 10);
	if (*value < '0' || *value > '9' || errno || __builtin_mul_overflow(ms, 1000u, &ms))
		return -EINVAL;
	if (*end == '.')
		for (end++; *end >= '0' && *end <= '9' && part; part /= 10)
			ms += (uint64_t)(*end++ - '0') * part;
	*ret = ms;
	return *end || end[-1] == '.' ? -EINVAL : 0;
}

static int set_moments(struct options *o, const struct setting *s, const char *value, char *why, size_t size)
{
	uint64_t ms = 0;

	if (read_moments(value, &ms) || ms < s->least || ms > s->most) {
		snprintf(why, size, "wants a number of seconds from %g to %g, not \"%.80s\"", (double)s->least / 1000,
			 (double)s->most / 1000, value);
		return -EINVAL;
	}
	*(uint64_t *)((char *)o + s->offset) = ms * 1000000u;
	return 0;
}

/* A number without a unit is one of bytes, and hardly ever meant so. */
static int set_size(struct options *o, const struct setting *s, const char *value, char *why, size_t size)
{
	uint64_t bytes = 0;
	int r = size_parse_host(value, &bytes);

	if (r == SIZE_ZERO)
		r = 0;
	if (r) {
		snprintf(why, size, "wants an amount such as 64M: %s", size_host_fault_text(r));
		return -EINVAL;
	}
	if (bytes && bytes < SIZE_LEAST_BYTES) {
		snprintf(why, size, "wants 0, or 1M at least, not %.40s (%llu bytes): write its unit, such as 64G",
			 value, (unsigned long long)bytes);
		return -EINVAL;
	}
	*(uint64_t *)((char *)o + s->offset) = bytes;
	return 0;
}

static int set_value(struct options *o, const struct setting *s, const char *value, bool from_file, char *why,
		     size_t size)
{
	switch (s->type) {
	case SETTING_SWITCH:
		if (!read_switch(value, (bool *)((char *)o + s->offset)))
			return 0;
		snprintf(why, size, "wants true or false, not \"%.80s\"", value);
		return -EINVAL;
	case SETTING_NUMBER:
	case SETTING_SECONDS:
		return set_number(o, s, value, why, size);
	case SETTING_MOMENTS:
		return set_moments(o, s, value, why, size);
	case SETTING_SIZE:
		return set_size(o, s, value, why, size);
	case SETTING_PATH:
		/* Who starts meted from the file is in no folder that its writer knew. */
		if (*value && (*value == '/' || !from_file))
			return 0;
		snprintf(why, size, *value ? "wants an absolute path, not \"%.200s\"" : "wants a path, not nothing%s",
			 value);
		return -EINVAL;
	case SETTING_TEXT:
		return 0;
	}
	return -EINVAL;
}

/* Control characters and line ends, also those of Unicode: logs and files are lines. */
static bool has_control(const char *value)
{
	for (const unsigned char *c = (const unsigned char *)value; *c; c++)
		if (*c < ' ' || *c == 0x7f || (*c == 0xc2 && c[1] < 0xa0))
			return true;
	return strstr(value, "\xe2\x80\xa8") || strstr(value, "\xe2\x80\xa9") || strstr(value, "\xef\xbb\xbf");
}

int setting_set(struct options *o, const struct setting *s, const char *value, bool from_file, char *why, size_t size)
{
	unsigned int i = (unsigned int)(s - settings);
	char *text;
	int r = s->check ? s->check(value, why, size) : 0;

	if (has_control(value)) {
		snprintf(why, size, "holds a control character or a line's end: remove it");
		return -EINVAL;
	}
	if (!r)
		r = set_value(o, s, value, from_file, why, size);
	if (r)
		return r;
	text = strdup(value);
	if (!text) {
		snprintf(why, size, "cannot be kept: no memory");
		return -ENOMEM;
	}
	free(o->text[i]);
	o->text[i] = text;
	if (s->type == SETTING_PATH || s->type == SETTING_TEXT)
		*(const char **)((char *)o + s->offset) = text;
	if (from_file)
		o->in_file |= UINT64_C(1) << i;
	else
		o->on_command_line |= UINT64_C(1) << i;
	return 0;
}

/* For people. */

/* Words, with the first line begun up to `column` and later ones beginning with `next`. */
static void print_wrapped(FILE *out, const char *text, unsigned int column, unsigned int columns, const char *next)
{
	unsigned int at = column;
	bool begun = false;

	while (*text) {
		size_t n = strcspn(text, " ");

		if (begun && at + 1 + n > columns) {
			fprintf(out, "\n%s", next);
			at = column;
			begun = false;
		}
		fprintf(out, "%s%.*s", begun ? " " : "", (int)n, text);
		at += (unsigned int)n + begun;
		begun = true;
		text += n + (text[n] == ' ');
	}
	fputc('\n', out);
}

void settings_help(FILE *out)
{
	static const char margin[] = "                         ";
	char head[64], text[1024];

	for (unsigned int i = 0; i < setting_count; i++) {
		const struct setting *s = &settings[i];

		if (!s->option)
			continue;
		snprintf(head, sizeof(head), "  --%s%s%s", s->option, s->operand ? " " : "",
			 s->operand ? s->operand : "");
		snprintf(text, sizeof(text), "%s%s%s", s->text, s->operand ? " Default: " : "",
			 s->operand ? s->fallback : "");
		fprintf(out, "%-*s", (int)HELP_COLUMN, head);
		if (strlen(head) >= HELP_COLUMN)
			fprintf(out, "\n%s", margin);
		print_wrapped(out, text, HELP_COLUMN, HELP_COLUMNS, margin);
	}
}

static const char *quote(const struct setting *s)
{
	return s->type == SETTING_PATH || s->type == SETTING_TEXT ? "\"" : "";
}

/* A value as YAML reads it back. */
static void print_value(const struct setting *s, const char *value, FILE *out)
{
	fputs(quote(s), out);
	for (const char *c = value; *c; c++)
		fprintf(out, *quote(s) && (*c == '"' || *c == '\\') ? "\\%c" : "%c", *c);
	fputs(quote(s), out);
}

static void print_setting(const struct options *o, unsigned int i, FILE *out)
{
	const struct setting *s = &settings[i];
	size_t group = group_length(s);
	const char *value = o->text[i], *name = s->key + (group ? group + 1 : 0), *margin = group ? "  # " : "# ";
	char text[1024];

	snprintf(text, sizeof(text), "%s Default: %s.%s", s->text, s->fallback,
		 s->reload ? "" : " Changing it wants a restart.");
	fputs(margin, out);
	print_wrapped(out, text, (unsigned int)strlen(margin), TEXT_COLUMNS, margin);
	fprintf(out, "%s%s%s: ", group ? "  " : "", value ? "" : "#", name);
	print_value(s, value ? value : s->example, out);
	fputc('\n', out);
}

void settings_print(const struct options *o, FILE *out)
{
	size_t length;

	fputs("# meted.yaml: how meted runs. What is commented out has its default.\n"
	      "# `meted --check-config` says what is wrong; meted reads the file again on SIGHUP (systemctl reload "
	      "meted).\n",
	      out);
	for (unsigned int i = 0; i < setting_count; i++) {
		length = group_length(&settings[i]);
		fputc('\n', out);
		if (length && (!i || strncmp(settings[i].key, settings[i - 1].key, length + 1)))
			fprintf(out, "%.*s:\n", (int)length, settings[i].key);
		print_setting(o, i, out);
	}
	limit_words_print(&o->limits, out);
}
