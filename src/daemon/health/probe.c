/* probe.c: the parent's side of asking drivers. */
#include "daemon/health/probe.h"

#include "base/clock.h"
#include "daemon/daemon.h"
#include "daemon/health/driver_kinds.h"
#include "daemon/health/health.h"
#include "daemon/health/partition.h"
#include "daemon/health/sensors.h"
#include "daemon/health/vendor_library.h"
#include "daemon/log.h"

#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROBE_MS 10000
#define KILLED_MS 2000 /* for a child that was killed to end */
#define STALE_NS 30000000000ull
#define OUTPUT_BYTES 65536u

extern char **environ;

struct machine_wait {
	struct machine_wait *next;
	machine_fn fn;
	void *owner;
	bool one;	       /* waits for one driver */
	enum device_kind kind; /* which one; 0: the best */
};

struct probe {
	struct probe *next;
	struct daemon *daemon;
	struct driver driver; /* as far as known */
	uv_process_t process;
	uv_pipe_t pipe;
	struct timer *timer;
	bool late;
	bool spawned;
	bool answered;	   /* the first line has been evaluated */
	unsigned int open; /* handles that still call back */
	int64_t exit_status;
	int signal;
	size_t used;
	char output[OUTPUT_BYTES];
};

__attribute__((format(printf, 2, 3))) static void status(struct driver *driver, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(driver->status, sizeof(driver->status), fmt, ap);
	va_end(ap);
}

static void failed(struct driver *driver, bool died)
{
	driver->state = DRIVER_FAILED;
	driver_kind_remedy(&driver_kinds[driver_kind_place(driver->kind)], died, driver->remedy,
			   sizeof(driver->remedy));
}

static void copy(char *to, size_t size, const char *from)
{
	snprintf(to, size, "%s", from ? from : "");
}

/* Results. */

bool machine_is_per_user(const struct daemon *daemon, enum device_kind kind)
{
	return kind == DEVICE_SOFT && daemon->runtime.system;
}

static bool add_device(struct daemon *daemon, const struct driver *driver, json_t *json)
{
	struct machine *machine = &daemon->machine;
	struct device *d = &machine->device[machine->device_count];
	const char *uuid = json_string_value(json_object_get(json, "uuid"));
	json_t *used = json_object_get(json, "used_bytes");

	if (machine->device_count == MACHINE_MAX_DEVICES || !uuid)
		return false;
	*d = (struct device){
		.kind = driver->kind,
		.index = (unsigned int)json_integer_value(json_object_get(json, "index")),
		.total_bytes = (uint64_t)json_integer_value(json_object_get(json, "total_bytes")),
		.used_bytes = (uint64_t)json_integer_value(used),
		.used_known = json_is_integer(used) && !machine_is_per_user(daemon, driver->kind),
		.granule_bytes = device_kind_granule(driver->kind),
	};
	copy(d->name, sizeof(d->name), json_string_value(json_object_get(json, "name")));
	partition_take(d, json_object_get(json, "partition"));
	if (device_uuid_parse(uuid, d->uuid) || !d->total_bytes)
		return false;
	machine->device_count++;
	return true;
}

/* Its library calls another of its devices the same: which of them a program is given could not be told. */
static bool is_twice(const struct machine *machine, enum device_kind kind, json_t *json)
{
	const char *text = json_string_value(json_object_get(json, "uuid"));
	uint8_t uuid[DEVICE_UUID_BYTES];

	if (!text || device_uuid_parse(text, uuid))
		return false;
	for (unsigned int i = 0; i < machine->device_count; i++)
		if (machine->device[i].kind == kind && !memcmp(machine->device[i].uuid, uuid, sizeof(uuid)))
			return true;
	return false;
}

static void remove_devices(struct machine *machine, enum device_kind kind)
{
	unsigned int kept = 0;

	for (unsigned int i = 0; i < machine->device_count; i++)
		if (machine->device[i].kind != kind)
			machine->device[kept++] = machine->device[i];
	machine->device_count = kept;
}

/* The same card under the name of a kind before. */
static bool is_anothers(const struct machine *machine, const struct device *is)
{
	for (unsigned int i = 0; i < machine->device_count; i++) {
		const struct device *d = &machine->device[i];

		if (driver_kind_place(d->kind) < driver_kind_place(is->kind) &&
		    !memcmp(d->uuid, is->uuid, sizeof(is->uuid)))
			return true;
	}
	return false;
}

/* A card that several kinds find is one device, under its first name. */
static void join_cards(struct machine *machine)
{
	struct device kept[MACHINE_MAX_DEVICES];
	unsigned int count = 0;

	for (unsigned int i = 0; i < machine->device_count; i++)
		if (!driver_kinds[driver_kind_place(machine->device[i].kind)].may_be_anothers ||
		    !is_anothers(machine, &machine->device[i]))
			kept[count++] = machine->device[i];
	memcpy(machine->device, kept, count * sizeof(*kept));
	machine->device_count = count;
}

/* After all devices have been joined: what is left of a kind alone. */
static void judge_joined(struct machine *machine, struct driver *driver)
{
	for (unsigned int i = 0; i < machine->device_count; i++)
		if (machine->device[i].kind == driver->kind)
			return;
	if (driver->usable) {
		status(driver, "its devices are those of the drivers above");
		driver->state = DRIVER_JOINED;
	}
	driver->usable = false;
}

static void judge_all_joined(struct machine *machine)
{
	for (unsigned int i = 0; i < MACHINE_DRIVERS; i++)
		if (driver_kinds[i].may_be_anothers && machine->driver[i].kind)
			judge_joined(machine, &machine->driver[i]);
}

/* It answers, and has no device. */
static void judge_empty(struct driver *driver)
{
	if (driver_kind_has_card(&driver_kinds[driver_kind_place(driver->kind)]))
		failed(driver, false);
	else
		driver->state = *driver->libcuda ? DRIVER_EMPTY : DRIVER_ABSENT;
}

static void take_result(struct daemon *daemon, struct driver *driver, json_t *json)
{
	json_t *devices = json_object_get(json, "devices"), *device;
	unsigned int count = 0, left = 0, twice = 0;
	size_t i;

	copy(driver->libcuda, sizeof(driver->libcuda), json_string_value(json_object_get(json, "libcuda")));
	copy(driver->libnvml, sizeof(driver->libnvml), json_string_value(json_object_get(json, "libnvml")));
	copy(driver->version, sizeof(driver->version), json_string_value(json_object_get(json, "version")));
	if (json_object_get(json, "error")) {
		status(driver, "%s", json_string_value(json_object_get(json, "error")));
		judge_empty(driver);
		return;
	}
	json_array_foreach(devices, i, device)
	{
		bool full = daemon->machine.device_count == MACHINE_MAX_DEVICES;

		if (is_twice(&daemon->machine, driver->kind, device)) {
			twice++;
			continue;
		}
		count += add_device(daemon, driver, device);
		left += full;
	}
	driver->usable = count > 0;
	driver->state = DRIVER_USABLE;
	if (left)
		status(driver,
		       "%u devices; meted has places for %u in all, so %u more are not shared: no grant can name them",
		       count, MACHINE_MAX_DEVICES, left);
	else if (twice)
		status(driver, "%u device%s; %u more are called the same as one of these, and are not shared", count,
		       count == 1 ? "" : "s", twice);
	else if (count)
		status(driver, "%u device%s", count, count == 1 ? "" : "s");
	else {
		status(driver, "the driver has no devices");
		judge_empty(driver);
	}
}

/* Lost devices stay in the list, and their driver is one that can be used: who asks for them is told why not. */
static void judge_health(struct probe *probe, json_t *said, const struct device *old, unsigned int old_count)
{
	struct daemon *daemon = probe->daemon;
	struct driver *driver = &probe->driver;
	unsigned int count = 0, lost = 0;
	json_t *entry;
	size_t n;

	json_array_foreach(json_object_get(said, "devices"), n, entry) if (json_object_get(entry, "lost"))
		health_lose_index(daemon, driver->kind,
				  (unsigned int)json_integer_value(json_object_get(entry, "index")), old, old_count);
	health_probed(daemon, driver->kind, old, old_count);
	for (unsigned int i = 0; i < daemon->machine.device_count; i++) {
		const struct device *d = &daemon->machine.device[i];

		count += d->kind == driver->kind;
		lost += d->kind == driver->kind && health_state(daemon, d->uuid) == DEVICE_LOST;
	}
	if (!lost)
		return;
	driver->usable = true;
	driver->state = DRIVER_USABLE;
	status(driver, "%u device%s, %u of them lost", count, count == 1 ? "" : "s", lost);
}

/* The first line, without its end when that is there. */
static size_t line_bytes(const struct probe *probe)
{
	const char *end = memchr(probe->output, '\n', probe->used);

	return end ? (size_t)(end - probe->output) : probe->used;
}

/* The second line: what devices say of themselves. */
static void take_sensors(const struct probe *probe)
{
	size_t first = line_bytes(probe), i;
	json_t *list = first < probe->used ? json_loadb(probe->output + first, probe->used - first, 0, NULL) : NULL;
	json_t *said;

	json_array_foreach(list, i, said)
	{
		const char *text = json_string_value(json_object_get(said, "uuid"));
		uint8_t uuid[DEVICE_UUID_BYTES];

		if (text && !device_uuid_parse(text, uuid) && !machine_is_per_user(probe->daemon, probe->driver.kind))
			sensors_take(probe->daemon, uuid, said);
	}
	json_decref(list);
}

static void evaluate(struct probe *probe)
{
	struct machine *machine = &probe->daemon->machine;
	struct driver *driver = &probe->driver;
	struct device old[MACHINE_MAX_DEVICES];
	unsigned int old_count = machine->device_count;
	json_error_t why;
	json_t *json = json_loadb(probe->output, line_bytes(probe), 0, &why);

	memcpy(old, machine->device, sizeof(old));
	remove_devices(machine, driver->kind);
	if (probe->late)
		status(driver, "the driver did not answer within %d s", PROBE_MS / 1000);
	else if (probe->signal)
		status(driver, "asking the driver ended with signal %d (%s)", probe->signal, strsignal(probe->signal));
	else if (!json)
		status(driver, "the driver's answer cannot be read: %s", why.text);
	else
		take_result(probe->daemon, driver, json);
	if (probe->late || probe->signal || !json)
		failed(driver, true);
	join_cards(machine);
	if (json && !json_object_get(json, "error") && !probe->daemon->stopping)
		judge_health(probe, json, old, old_count);
	json_decref(json);
	for (unsigned int i = 0; i < MACHINE_DRIVERS; i++)
		if (machine->driver[i].kind == driver->kind)
			machine->driver[i] = *driver;
	judge_all_joined(machine);
}

static bool is_asked(const struct machine *machine, enum device_kind kind)
{
	for (const struct probe *p = machine->probes; p; p = p->next)
		if (p->driver.kind == kind && !p->answered)
			return true;
	return false;
}

/* Its devices are known, and which of them are cards of the kinds before. */
static bool has_answered(const struct machine *machine, enum device_kind kind)
{
	unsigned int first = driver_kinds[driver_kind_place(kind)].may_be_anothers ? 0 : driver_kind_place(kind);

	for (unsigned int i = first; i <= driver_kind_place(kind); i++)
		if (is_asked(machine, driver_kinds[i].kind))
			return false;
	return true;
}

static bool has_enough(const struct machine *machine, const struct machine_wait *wait)
{
	if (!machine->running)
		return true;
	if (!wait->one)
		return false;
	if (wait->kind)
		return has_answered(machine, wait->kind);
	for (unsigned int i = 0; i < MACHINE_DRIVERS && has_answered(machine, device_kind_order[i]); i++)
		if (machine->driver[driver_kind_place(device_kind_order[i])].usable)
			return true;
	return false;
}

/* Those who have what they wait for, out of the list: who is answered may ask again. */
static struct machine_wait *take_answered(struct machine *machine)
{
	struct machine_wait **at = &machine->waiting, *taken = NULL, **end = &taken;

	while (*at) {
		struct machine_wait *w = *at;

		if (!has_enough(machine, w)) {
			at = &w->next;
			continue;
		}
		*at = w->next;
		*end = w;
		end = &w->next;
		w->next = NULL;
	}
	return taken;
}

static void answer_waiting(struct daemon *daemon)
{
	struct machine_wait *waiting = take_answered(&daemon->machine);

	if (!daemon->machine.running)
		daemon->machine.asked_ns = clock_now_ns();
	while (waiting) {
		struct machine_wait *w = waiting;

		waiting = w->next;
		if (w->fn)
			w->fn(w->owner);
		free(w);
	}
}

/* Children. */

static void take_answer(struct probe *probe)
{
	struct daemon *daemon = probe->daemon;

	probe->answered = true;
	if (probe->spawned)
		evaluate(probe);
	daemon->machine.running--;
	if (!daemon->stopping)
		answer_waiting(daemon);
}

static void on_closed(uv_handle_t *handle)
{
	struct probe *probe = handle->data, **at = &probe->daemon->machine.probes;

	if (--probe->open)
		return;
	while (*at != probe)
		at = &(*at)->next;
	*at = probe->next;
	timer_free(probe->timer);
	if (!probe->answered)
		take_answer(probe);
	take_sensors(probe);
	free(probe);
}

static void on_exit_child(uv_process_t *process, int64_t exit_status, int term_signal)
{
	struct probe *probe = process->data;

	probe->exit_status = exit_status;
	probe->signal = term_signal;
	uv_close((uv_handle_t *)process, on_closed);
}

static void on_room(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
	struct probe *probe = handle->data;

	(void)suggested;
	buf->base = probe->output + probe->used;
	buf->len = OUTPUT_BYTES - probe->used;
}

static void on_output(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
	struct probe *probe = stream->data;

	(void)buf;
	if (n > 0)
		probe->used += (size_t)n;
	if (n > 0 && !probe->answered && line_bytes(probe) < probe->used)
		take_answer(probe);
	if (n < 0)
		uv_close((uv_handle_t *)stream, on_closed);
}

/* The pipe too: what the driver has started may hold its other end for ever. */
static void probe_break(struct probe *probe)
{
	if (uv_is_active((uv_handle_t *)&probe->process))
		uv_process_kill(&probe->process, SIGKILL);
	if (!uv_is_closing((uv_handle_t *)&probe->pipe))
		uv_close((uv_handle_t *)&probe->pipe, on_closed);
}

/* It was killed, and the driver holds it in the kernel: nobody waits for it any more. */
static void leave_stuck(struct probe *probe)
{
	struct daemon *daemon = probe->daemon;

	daemon->machine.stuck[driver_kind_place(probe->driver.kind)] = uv_process_get_pid(&probe->process);
	log_line("the child that asks the %s driver (pid %d) was killed and does not end",
		 device_kind_name(probe->driver.kind), (int)uv_process_get_pid(&probe->process));
	uv_close((uv_handle_t *)&probe->process, on_closed);
}

static void on_late(void *owner)
{
	struct probe *probe = owner;
	bool runs = uv_is_active((uv_handle_t *)&probe->process);

	if (probe->late && runs)
		leave_stuck(probe);
	if (probe->late)
		return;
	probe->late = runs;
	probe_break(probe);
	if (runs)
		timer_start(probe->timer, KILLED_MS, 0);
}

static bool unwanted(const char *entry)
{
	/* What an outer `mete run` has set leads to its shim, not to a driver. */
	if (getenv("METE_SOCKET") && !strncmp(entry, "LD_LIBRARY_PATH=", 16))
		return true;
	return !strncmp(entry, "LD_PRELOAD=", 11) || !strncmp(entry, "METE_SOCKET=", 12) ||
	       !strncmp(entry, "CUDA_VISIBLE_DEVICES=", 21) || !strncmp(entry, "NOTIFY_SOCKET=", 14) ||
	       !strncmp(entry, "OPENCL_LAYERS=", 14) || !strncmp(entry, "HIP_VISIBLE_DEVICES=", 20) ||
	       !strncmp(entry, "ROCR_VISIBLE_DEVICES=", 21) || !strncmp(entry, "MUSA_VISIBLE_DEVICES=", 21) ||
	       !strncmp(entry, "ASCEND_RT_VISIBLE_DEVICES=", 26) || !strncmp(entry, "MLU_VISIBLE_DEVICES=", 20) ||
	       !strncmp(entry, "ZE_AFFINITY_MASK=", 17) ||
	       (getenv("METE_SOCKET") && !strncmp(entry, "ZE_ENABLE_ALT_DRIVERS=", 22));
}

char **machine_environment(void)
{
	size_t count = 0, kept = 0;
	char **list;

	while (environ[count])
		count++;
	list = calloc(count + 1, sizeof(*list));
	for (size_t i = 0; list && i < count; i++)
		if (!unwanted(environ[i]))
			list[kept++] = environ[i];
	return list;
}

static int spawn(struct probe *probe, const char *libnvml, const char *libcuda)
{
	char *cuda[] = { (char *)"/proc/self/exe", (char *)"--probe", (char *)libnvml, (char *)libcuda, NULL };
	const char *option = driver_kinds[driver_kind_place(probe->driver.kind)].option;
	char *other[] = { (char *)"/proc/self/exe", (char *)option, (char *)libcuda, NULL };
	char *shape[] = { (char *)"/proc/self/exe", (char *)option, (char *)device_kind_name(probe->driver.kind),
			  (char *)libcuda, NULL };
	char **args = device_kind_has_cuda(probe->driver.kind)		  ? cuda
		      : shape_named(device_kind_name(probe->driver.kind)) ? shape
									  : other;
	uv_stdio_container_t stdio[] = {
		{ .flags = UV_IGNORE },
		{ .flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE, .data.stream = (uv_stream_t *)&probe->pipe },
		{ .flags = UV_INHERIT_FD, .data.fd = STDERR_FILENO },
	};
	char **environment = machine_environment();
	uv_process_options_t options = {
		.file = args[0],
		.args = args,
		.env = environment,
		.exit_cb = on_exit_child,
		.stdio = stdio,
		.stdio_count = 3,
	};
	int r = environment ? uv_spawn(probe->daemon->loop, &probe->process, &options) : UV_ENOMEM;

	free(environment);
	return r;
}

/* A child of before has not ended though it was killed: one more would only be held as well. */
static bool is_stuck(struct machine *machine, enum device_kind kind)
{
	int *pid = &machine->stuck[driver_kind_place(kind)];

	if (*pid && waitpid(*pid, NULL, WNOHANG))
		*pid = 0;
	if (*pid)
		failed(&machine->driver[driver_kind_place(kind)], true);
	if (*pid)
		status(&machine->driver[driver_kind_place(kind)],
		       "the driver holds the child that asked it (pid %d), which was killed and does not end", *pid);
	return *pid;
}

static int probe_start(struct daemon *daemon, enum device_kind kind, const char *libnvml, const char *libcuda)
{
	struct probe *probe;
	int r;

	if (is_stuck(&daemon->machine, kind))
		return 0;
	probe = calloc(1, sizeof(*probe));
	if (!probe)
		return -ENOMEM;
	probe->daemon = daemon;
	probe->driver.kind = kind;
	probe->timer = timer_new(daemon->loop, on_late, probe);
	if (!probe->timer) {
		free(probe);
		return -ENOMEM;
	}
	probe->process.data = probe->pipe.data = probe;
	probe->open = 2;
	probe->next = daemon->machine.probes;
	daemon->machine.probes = probe;
	daemon->machine.running++;
	uv_pipe_init(daemon->loop, &probe->pipe, 0);
	r = spawn(probe, libnvml, libcuda);
	if (r) {
		log_line("cannot start the child that asks the %s driver: %s", device_kind_name(kind), uv_strerror(r));
		uv_close((uv_handle_t *)&probe->process, on_closed);
		uv_close((uv_handle_t *)&probe->pipe, on_closed);
		return 0;
	}
	probe->spawned = true;
	timer_start(probe->timer, PROBE_MS, 0);
	uv_read_start((uv_stream_t *)&probe->pipe, on_room, on_output);
	return 0;
}

void machine_stop(struct daemon *daemon)
{
	for (struct probe *p = daemon->machine.probes; p; p = p->next)
		if (p->spawned)
			probe_break(p);
	for (struct machine_wait *w = daemon->machine.waiting, *next; w; w = next) {
		next = w->next;
		free(w);
	}
	daemon->machine.waiting = NULL;
}

/* The software device's library: beside the installed or the built meted. */
static bool soft_library(const char *name, char path[GRANT_PATH_BYTES])
{
	static const char *const places[] = { "%s/" METE_LIBDIR_FROM_BINDIR "/soft/%s",
					      "%s/../lib/mete/soft/%s",
					      "%s/../lib64/mete/soft/%s",
					      "%s/../../lib/mete/soft/%s",
					      "%s/../softdev/%s",
					      "%s/../softdev/nvml/%s" };
	const char *libdir = getenv("METE_LIBDIR");
	char self[PATH_MAX - 256], tried[PATH_MAX], *slash;
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	path[0] = 0;
	if (libdir && *libdir) {
		snprintf(tried, sizeof(tried), "%s/soft/%s", libdir, name);
		if (realpath(tried, path))
			return true;
	}
	if (n <= 0)
		return false;
	self[n] = 0;
	slash = strrchr(self, '/');
	if (slash)
		*slash = 0;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		snprintf(tried, sizeof(tried), places[i], self, name);
#pragma GCC diagnostic pop
		if (realpath(tried, path))
			return true;
	}
	path[0] = 0;
	return false;
}

/* Nobody is asked; what was there before is not any more. */
static int leave(struct daemon *daemon, struct driver *driver, enum driver_state state)
{
	remove_devices(&daemon->machine, driver->kind);
	driver->usable = false;
	driver->state = state;
	return 0;
}

/* Its options leave it out, or the kernel has no such card. */
static bool is_left(struct daemon *daemon, const struct driver_kind *k, struct driver *driver)
{
	const struct machine_options *o = &daemon->machine.options;
	const char *name = device_kind_name(k->kind);

	if (k->kind != DEVICE_SOFT && o->soft_only)
		status(driver, "not asked: driver.soft_only (--soft-only) is set");
	else if (o->left_out[k->kind])
		status(driver, "not asked: driver.no_%s (--no-%s) is set", name, name);
	else
		return false;
	leave(daemon, driver, DRIVER_OFF);
	return true;
}

/* The first of these files that may be loaded (vendor_library.h); "": none. */
static const char *first_file(const char *const *list, size_t count, char ret[PATH_MAX])
{
	for (size_t i = 0; i < count && list[i]; i++)
		if (!access(list[i], R_OK) && vendor_library_real(list[i], ret))
			return ret;
	*ret = 0;
	return ret;
}

static int ask_soft(struct daemon *daemon, struct driver *driver)
{
	char libcuda[GRANT_PATH_BYTES], libnvml[GRANT_PATH_BYTES];

	if (!soft_library("libcuda.so.1", libcuda)) {
		status(driver,
		       "the software device's libcuda.so.1 is not beside meted: install it, or set METE_LIBDIR");
		return leave(daemon, driver, DRIVER_FAILED);
	}
	soft_library("libnvidia-ml.so.1", libnvml);
	return probe_start(daemon, DEVICE_SOFT, libnvml, libcuda);
}

/* Iluvatar's libraries are found by their files: by name the loader would find NVIDIA's, or mete's. */
static int ask_shape(struct daemon *daemon, struct driver *driver, const char *named)
{
	const struct shape_row *row = shape_named(device_kind_name(driver->kind));
	const char *library = named;
	char file[PATH_MAX], management[PATH_MAX];

	if (row->own_names && !*named)
		library = first_file(row->places, sizeof(row->places) / sizeof(*row->places), file);
	if (row->own_names && !*library) {
		status(driver, "no %s; %s, or name it (--lib%s)", row->places[0], row->remedy, row->name);
		return leave(daemon, driver, DRIVER_FAILED);
	}
	return probe_start(daemon, driver->kind,
			   first_file(row->management, sizeof(row->management) / sizeof(*row->management), management),
			   library);
}

static int ask(struct daemon *daemon, const struct driver_kind *k)
{
	const struct machine_options *o = &daemon->machine.options;
	struct driver *driver = &daemon->machine.driver[driver_kind_place(k->kind)];
	const char *named = o->library[k->kind] ? o->library[k->kind] : "";

	driver->kind = k->kind;
	driver_kind_remedy(k, false, driver->remedy, sizeof(driver->remedy));
	if (is_left(daemon, k, driver))
		return 0;
	if (k->card_first && !*named && !driver_kind_has_card(k)) {
		status(driver, "no card of %s, or no kernel driver: no %s", driver_kind_vendor(k),
		       driver_kind_where(k));
		return leave(daemon, driver, DRIVER_ABSENT);
	}
	if (k->kind == DEVICE_SOFT)
		return ask_soft(daemon, driver);
	if (shape_named(device_kind_name(k->kind)))
		return ask_shape(daemon, driver, named);
	return probe_start(daemon, k->kind, k->kind == DEVICE_NVIDIA && o->libnvml ? o->libnvml : "", named);
}

static int ask_all(struct daemon *daemon)
{
	int r = 0;

	for (unsigned int i = 0; !r && i < MACHINE_DRIVERS; i++)
		r = ask(daemon, &driver_kinds[i]);
	return r;
}

static int wait_for(struct daemon *daemon, struct machine_wait is)
{
	struct machine_wait *wait = calloc(1, sizeof(*wait));
	int r = 0;

	if (!wait)
		return -ENOMEM;
	*wait = is;
	wait->next = daemon->machine.waiting;
	daemon->machine.waiting = wait;
	if (!daemon->machine.running)
		r = ask_all(daemon);
	answer_waiting(daemon);
	return r;
}

int machine_refresh(struct daemon *daemon, machine_fn fn, void *owner)
{
	return wait_for(daemon, (struct machine_wait){ .fn = fn, .owner = owner });
}

int machine_refresh_driver(struct daemon *daemon, enum device_kind kind, machine_fn fn, void *owner)
{
	return wait_for(daemon, (struct machine_wait){ .fn = fn, .owner = owner, .one = true, .kind = kind });
}

bool machine_sensors_pending(const struct daemon *daemon)
{
	const struct machine *m = &daemon->machine;
	bool recent = true;

	for (unsigned int i = 0; i < m->device_count; i++)
		recent &=
			machine_is_per_user(daemon, m->device[i].kind) || sensors_are_recent(daemon, m->device[i].uuid);
	return m->probes && !recent;
}

void machine_keep_fresh(struct daemon *daemon)
{
	if (!daemon->machine.running && clock_now_ns() - daemon->machine.asked_ns > STALE_NS)
		machine_refresh(daemon, NULL, daemon);
}

void machine_forget(struct daemon *daemon, const void *owner)
{
	for (struct machine_wait *w = daemon->machine.waiting; w; w = w->next)
		if (w->owner == owner)
			w->fn = NULL;
}

const struct driver *machine_driver(const struct machine *machine, enum device_kind kind)
{
	for (unsigned int i = 0; !kind && i < MACHINE_DRIVERS; i++)
		if (machine->driver[driver_kind_place(device_kind_order[i])].usable)
			return &machine->driver[driver_kind_place(device_kind_order[i])];
	for (unsigned int i = 0; kind && i < MACHINE_DRIVERS; i++)
		if (machine->driver[i].kind == kind)
			return &machine->driver[i];
	return NULL;
}

unsigned int machine_devices(const struct machine *machine, enum device_kind kind, struct device *ret)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < machine->device_count; i++)
		if (machine->device[i].kind == kind)
			ret[n++] = machine->device[i];
	return n;
}
