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
	  .text = "Where sockets, pages and the lock are. On tmpfs: it holds nothing that outlives a start of the "
		  "machine." },
	{ .key = "state_dir",
	  .option = "state-dir",
	  .operand = "DIR",
	  .type = SETTING_PATH,
	  .offset = FIELD(state_dir),
	  .fallback = "the runtime directory",
	  .example = "/var/lib/mete",
	  .text = "Where mete.db is kept, the store of grants. This is what a backup saves." },
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
	  .text = "End when there has been no grant and no connection for that long." },

	{ .key = "driver.soft_only",
	  .option = "soft-only",
	  .type = SETTING_SWITCH,
	  .offset = FIELD(machine.soft_only),
	  .reload = true,
	  .fallback = "false",
	  .example = "true",
	  .text = "Offer the software device alone." },
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
	  .fallback = "http.sock in the runtime directory alone",
	  .example = "127.0.0.1:7480",
	  .text = "Serve metrics and the console there too. Beyond loopback only with a certificate, its key and a "
		  "token (mete token new)." },
	{ .key = "http.cert",
	  .option = "http-cert",
	  .operand = "FILE",
	  .type = SETTING_PATH,
	  .offset = FIELD(http.cert),
	  .fallback = "none: HTTP without TLS",
	  .example = "/etc/mete/http.crt",
	  .text = "The certificate, in PEM, by which it is HTTPS." },
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
	  .text = "Whose members may connect to http.sock, which `ssh -L` carries elsewhere: they read what `mete ps` "
		  "tells everybody; actions want the token there as well." },

	{ .key = "faults.count",
	  .type = SETTING_NUMBER,
	  .offset = FIELD(faults.count),
	  .most = QUARANTINE_FAULTS,
	  .reload = true,
	  .fallback = "3",
	  .example = "5",
	  .text = "How many faults of its programs within faults.window quarantine a tenant: no process of it may "
		  "begin for a while. 0: never." },
	{ .key = "faults.window",
	  .type = SETTING_SECONDS,
	  .offset = FIELD(faults.window_ns),
	  .least = 1,
	  .most = 604800,
	  .reload = true,
	  .fallback = "600",
	  .example = "3600",
	  .text = "The time, in seconds, in which they count together." },
	{ .key = "faults.quarantine",
	  .type = SETTING_SECONDS,
	  .offset = FIELD(faults.time_ns),
	  .least = 1,
	  .most = 604800,
	  .reload = true,
	  .fallback = "300",
	  .example = "60",
	  .text = "How long a first quarantine lasts, in seconds. One that follows soon lasts twice as long as the one "
		  "before." },
	{ .key = "faults.quarantine_most",
	  .type = SETTING_SECONDS,
	  .offset = FIELD(faults.most_ns),
	  .least = 1,
	  .most = 604800,
	  .reload = true,
	  .fallback = "86400",
	  .example = "3600",
	  .text = "The longest that a quarantine lasts, in seconds." },
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
	  .text = "How much memory the images of kernels may take that remote and walled programs have sent, kept for "
		  "the next programs of the same tenant. 0: none is kept." },

	{ .key = "memory.spill",
	  .type = SETTING_SWITCH,
	  .offset = FIELD(memory.spill),
	  .reload = true,
	  .fallback = "false",
	  .example = "true",
	  .text = "New grants of one device are made with --spill: their memory may leave the device while others need "
		  "the room. Not those of containers." },
	{ .key = "memory.pool",
	  .type = SETTING_SIZE,
	  .offset = FIELD(memory.pool_bytes),
	  .reload = true,
	  .fallback = "0",
	  .example = "64G",
	  .text = "How much of the host's memory what has left the devices may take, of all tenants together. What "
		  "finds no room there stays on its device. 0: half of what the host has." },
	{ .key = "memory.disk",
	  .type = SETTING_PATH,
	  .offset = FIELD(memory.disk),
	  .reload = true,
	  .fallback = "none: what finds no room in memory.pool stays on its device",
	  .example = "/var/lib/mete-disk",
	  .text = "A folder on a disk for what leaves the devices and finds no room in memory.pool. It must be "
		  "meted's own, of mode 700, on a file system that has direct writes and files without a name (ext4, "
		  "XFS, Btrfs). What is written there is encrypted with keys that are never written." },
	{ .key = "memory.disk_size",
	  .type = SETTING_SIZE,
	  .offset = FIELD(memory.disk_bytes),
	  .reload = true,
	  .fallback = "16G",
	  .example = "200G",
	  .text = "How much of that disk may be taken, by all tenants together; not 0." },
	{ .key = "memory.disk_user",
	  .type = SETTING_SIZE,
	  .offset = FIELD(memory.disk_user_bytes),
	  .reload = true,
	  .fallback = "0",
	  .example = "50G",
	  .text = "How much of it the grants of one user may take together, who is not root nor whom meted runs as. "
		  "0: half of memory.disk_size." },
	{ .key = "memory.turn",
	  .type = SETTING_MOMENTS,
	  .offset = FIELD(memory.turn_ns),
	  .least = 100,
	  .most = 30000,
	  .reload = true,
	  .fallback = "2",
	  .example = "5",
	  .text = "How long the memory of a tenant that works stays on a device at least, in seconds, while others of "
		  "its class wait for the room. Where to leave and to return takes more than a fifth of it, it is "
		  "longer." },
	{ .key = "memory.turn_most",
	  .type = SETTING_MOMENTS,
	  .offset = FIELD(memory.turn_most_ns),
	  .least = 100,
	  .most = 30000,
	  .reload = true,
	  .fallback = "30",
	  .example = "10",
	  .text = "To how many seconds such a turn grows at most; not less than memory.turn." },

	{ .key = "memory.yield_within",
	  .type = SETTING_MOMENTS,
	  .offset = FIELD(memory.yield_ns),
	  .least = 100,
	  .most = 600000,
	  .reload = true,
	  .fallback = "10",
	  .example = "2",
	  .text = "Within how many seconds a grant with --spill gives up what it was lent, when a grant that is "
		  "promised the memory asks for it. Half of it is for work in flight to end. An event, `mete ps` and "
		  "the grant say who has been late." },
	{ .key = "memory.yield_end",
	  .type = SETTING_SWITCH,
	  .offset = FIELD(memory.yield_end),
	  .reload = true,
	  .fallback = "false: who is promised the memory waits on",
	  .example = "true",
	  .text = "End a program (SIGKILL) that has not given up by then what it was lent." },

	{ .key = "containers.expires",
	  .type = SETTING_SECONDS,
	  .offset = FIELD(container_expires_ns),
	  .most = 604800,
	  .reload = true,
	  .fallback = "600",
	  .example = "3600",
	  .text = "How long a grant of `mete cdi create` waits for its container, in seconds; then it ends. 0: for "
		  "ever. --expires says it for one grant; one with --keep waits for ever." },

	{ .key = "guard.grants",
	  .type = SETTING_TEXT,
	  .offset = FIELD(guard),
	  .reload = true,
	  .fallback = "asked",
	  .example = "required",
	  .text = "Which programs and containers that use NVIDIA's driver themselves the guard holds (docs/guard.md): "
		  "asked, those with --guard; preferred, all, and where nothing can hold them the shim alone does, "
		  "which a line says; required, all, and where nothing can hold them they are not started.",
	  .check = guarded_check_rule },

	{ .key = "placement.rule",
	  .type = SETTING_TEXT,
	  .offset = FIELD(placement),
	  .reload = true,
	  .fallback = "first",
	  .example = "fit",
	  .text = "Which device a grant goes to that names none: the first; or one that meted chooses by the rule "
		  "spread (most memory left), binpack (least left) or fit (least fragmentation). Also of --device "
		  "any, where first is spread.",
	  .check = placing_check_rule },

	{ .key = "workers.observe_devices",
	  .type = SETTING_SWITCH,
	  .offset = FIELD(fence.observe_devices),
	  .reload = true,
	  .fallback = "false",
	  .example = "true",
	  .text = "Let a worker give NVIDIA's device nodes commands that are not in its list, and log them (in the "
		  "kernel's log) instead of refusing them: for a driver that wants more than the list has." },
	{ .key = "workers.namespaces",
	  .type = SETTING_SWITCH,
	  .offset = FIELD(fence.namespaces),
	  .reload = true,
	  .fallback = "true",
	  .example = "false",
	  .text = "Workers have namespaces of their own: of users, network, IPC and mounts. false: for a driver that "
		  "does not start in them." },
	{ .key = "workers.libraries",
	  .type = SETTING_TEXT,
	  .offset = FIELD(fence.libraries),
	  .reload = true,
	  .fallback = "where the dynamic linker looks, and the usual folders of a toolkit",
	  .example = "/opt/nvidia/lib:/srv/venv/lib/python3.12/site-packages",
	  .text = "Folders, with colons between, in which a worker looks first for NVIDIA's libraries (cuDNN, cuBLAS "
		  "and so on) that programs behind a wall and over the network call. One of Python packages may be "
		  "among them.",
	  .check = fence_check_libraries },
	{ .key = "workers.first_uid",
	  .type = SETTING_NUMBER,
	  .offset = FIELD(fence.first_uid),
	  .most = 4294900000,
	  .reload = true,
	  .fallback = "69632",
	  .example = "1879048192",
	  .text = "Each worker has a user id of its own, of the 4096 from this number on; no user and no container may "
		  "have them. 0: all workers become the user mete-worker. For a meted of root.",
	  .check = fence_check_uid },
	{ .key = "workers.cgroup",
	  .type = SETTING_TEXT,
	  .offset = FIELD(fence.cgroup),
	  .fallback = FENCE_AUTO,
	  .example = "/sys/fs/cgroup/mete",
	  .text = "Where each grant's workers get a cgroup (version 2): a folder without processes that meted may "
		  "write; \"auto\": that of its service, if that is delegated to it; \"off\": nowhere.",
	  .check = fence_check_cgroup },
	{ .key = "workers.memory",
	  .type = SETTING_SIZE,
	  .offset = FIELD(fence.memory_bytes),
	  .reload = true,
	  .fallback = "0, half of the machine's",
	  .example = "16G",
	  .text = "How much of the machine's memory the workers of a grant may take together (memory.max of its "
		  "cgroup). On software devices that is what their memory is made of." },
	{ .key = "workers.memory_all",
	  .type = SETTING_SIZE,
	  .offset = FIELD(fence.all_bytes),
	  .reload = true,
	  .fallback = "0, three quarters of the machine's",
	  .example = "64G",
	  .text = "How much of the machine's memory all workers may take together before they have a client, by the "
		  "largest of them: that bounds how many there are." },
	{ .key = "workers.tasks",
	  .type = SETTING_NUMBER,
	  .offset = FIELD(fence.tasks),
	  .most = 4194304,
	  .reload = true,
	  .fallback = "16384",
	  .example = "2048",
	  .text = "How many threads the workers of a grant may have together (pids.max of its cgroup). 0: no bound." },
	{ .key = "workers.demand",
	  .type = SETTING_TEXT,
	  .offset = FIELD(fence.demand),
	  .reload = true,
	  .fallback = "nothing",
	  .example = "network,files,uid,cgroup",
	  .text = "What workers must have, with commas between: user, network, ipc, mounts (namespaces), files (an "
		  "empty root), uid, scope, landlock, cgroup. One that the machine does not give it to serves nobody. "
		  "`mete doctor` says what they have.",
	  .check = fence_check_words },

	{ .key = "limits.grants",
	  .type = SETTING_NUMBER,
	  .offset = FIELD(limits.most[LIMIT_GRANTS]),
	  .most = 100000,
	  .reload = true,
	  .fallback = "64",
	  .example = "16",
	  .text = "How many grants a user may have. This and what follows do not bound root, nor who meted runs as." },
	{ .key = "limits.processes",
	  .type = SETTING_NUMBER,
	  .offset = FIELD(limits.most[LIMIT_PROCESSES]),
	  .most = 100000,
	  .reload = true,
	  .fallback = "1024",
	  .example = "64",
	  .text = "How many processes of a user's grant may use its devices at once; of all his grants together four "
		  "times as many." },
	{ .key = "limits.mem",
	  .type = SETTING_NUMBER,
	  .offset = FIELD(limits.most[LIMIT_MEM]),
	  .most = 100,
	  .reload = true,
	  .fallback = "100",
	  .example = "50",
	  .text = "How much of each device's memory may be promised to the grants of a user, in percent; and how much "
		  "of memory.pool may be taken by what has left them." },
	{ .key = "limits.cores",
	  .type = SETTING_NUMBER,
	  .offset = FIELD(limits.most[LIMIT_CORES]),
	  .most = 100,
	  .reload = true,
	  .fallback = "100",
	  .example = "50",
	  .text = "How much of each device's time may be guaranteed to them, in percent." },
	{ .key = "limits.waiting",
	  .type = SETTING_NUMBER,
	  .offset = FIELD(limits.most[LIMIT_WAITING]),
	  .most = 1000000,
	  .reload = true,
	  .fallback = "4096",
	  .example = "256",
	  .text = "How many requests for memory of a user's programs may wait for others; one more is decided at "
		  "once." },
	{ .key = "limits.sockets",
	  .type = SETTING_NUMBER,
	  .offset = FIELD(limits.most[LIMIT_SOCKETS]),
	  .most = 200000,
	  .reload = true,
	  .fallback = "128",
	  .example = "32",
	  .text = "How many sockets meted listens at for a user's grants: one for each, and one more for each behind a "
		  "wall." },
	{ .key = "limits.all_grants",
	  .type = SETTING_NUMBER,
	  .offset = FIELD(limits.all_grants),
	  .most = 1000000,
	  .reload = true,
	  .fallback = "1024",
	  .example = "4096",
	  .text = "How many grants all these users may have together." },
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

static int set_size(struct options *o, const struct setting *s, const char *value, char *why, size_t size)
{
	struct size bytes;
	int r = size_parse(value, &bytes);

	if (r == SIZE_ZERO) {
		bytes = (struct size){ .bytes = 0 };
		r = 0;
	}
	if (!r && bytes.pct != 0) {
		snprintf(why, size, "wants an amount of memory such as 64M, not a percentage");
		return -EINVAL;
	}
	if (r) {
		snprintf(why, size, "wants an amount such as 64M: %s", size_fault_text(r));
		return -EINVAL;
	}
	*(uint64_t *)((char *)o + s->offset) = bytes.bytes;
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
