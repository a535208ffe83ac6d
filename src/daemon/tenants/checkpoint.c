/* checkpoint.c: see checkpoint.h. One program after the other, because they share the way to the host. */
#include "daemon/tenants/checkpoint.h"

#include "base/clock.h"
#include "base/size.h"
#include "daemon/daemon.h"
#include "daemon/health/health.h"
#include "daemon/health/probe.h"
#include "daemon/log.h"
#include "daemon/store/store.h"
#include "daemon/tenants/account.h"
#include "daemon/tenants/client.h"
#include "daemon/tenants/leaving.h"
#include "daemon/tenants/residing.h"
#include "daemon/tenants/tenant.h"
#include "daemon/workers/cgroup.h"
#include "daemon/workers/pool.h"
#include "daemon/workers/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OUTPUT_BYTES 320u
#define DEVICES_TEXT (MACHINE_MAX_DEVICES * (DEVICE_UUID_TEXT + 1) + 1)
#define BEGIN_NS 10000000000u /* for a worker to begin its session with the client that it was given */
#define FULL_NS 200000000u    /* until a restore that found no room is tried again */
#define FAILED_NS 5000000000u

/* A child. The tenant is found by its number, and the client by its process: they may end meanwhile. */
struct checkpoint_job {
	struct checkpoint_job *next;
	struct daemon *daemon;
	uint64_t grant_id;
	struct process program;
	bool saves;
	bool elsewhere;	      /* it is to return on another device, or may have been taken from another one */
	bool must;	      /* that is sure, and not only possible */
	struct device device; /* the grant's */
	uint64_t began_ns;
	uv_process_t process;
	uv_pipe_t pipe;
	unsigned int open; /* handles that still call back */
	int64_t exit_status;
	bool failed; /* it could not be started, or was killed */
	size_t used;
	char output[OUTPUT_BYTES];
};

static uint64_t client_units(const struct client *c)
{
	uint64_t units = 0;

	for (unsigned int i = 0; c && i < c->tenant->grant.share_count; i++)
		units += account_held(c, i);
	return units;
}

/* A client outlives its process while somebody has a socket of it, and then its pid can be another's. */
static bool lives(const struct client *c)
{
	return c->death && !c->ended_ns;
}

/* It holds memory that the driver has not taken off the device. */
static struct client *holder_find(const struct tenant *t)
{
	for (struct client *c = t->clients; c; c = c->next)
		if (lives(c) && c->page.map && !c->residing.saved && client_units(c))
			return c;
	return NULL;
}

/* One to bring back. */
static struct client *away_find(const struct tenant *t)
{
	for (struct client *c = t->clients; c; c = c->next)
		if (lives(c) && (c->residing.saved || c->residing.doubt))
			return c;
	return NULL;
}

bool checkpoint_takes(const struct tenant *t)
{
	if (t->checkpointing.active)
		return true;
	if (t->grant.spill || !*t->grant.libcuda || !device_kind_has_cuda(t->grant.share[0].device.kind))
		return false;
	return t->pool ? !moving_keeps_addresses(t) : holder_find(t) != NULL;
}

bool checkpoint_holds(const struct tenant *t)
{
	return t->pool && t->checkpointing.active && !t->checkpointing.returns;
}

bool checkpoint_is_away(const struct tenant *t)
{
	return checkpoint_holds(t) && t->suspension.state == SUSPENSION_AWAY;
}

/* From now on programs may begin. */
static void let_in(struct tenant *t)
{
	t->checkpointing.returns = true;
	if (t->pool)
		pool_go_on(t->pool);
}

uint64_t checkpoint_away(const struct tenant *t, unsigned int device)
{
	uint64_t units = 0;

	for (const struct client *c = t->clients; c; c = c->next)
		if (c->residing.saved)
			units += account_held(c, device);
	return units;
}

static void keep(struct tenant *t, bool suspended)
{
	char error[512];

	t->grant.suspended = suspended;
	if (store_update(t->daemon->store, &t->grant, error, sizeof(error)))
		log_line("grant %s: %s", t->grant.name, error);
}

/* A child's end --------------------------------------------------------------------------------------------------- */

static void set_place(struct client *c, bool saved, bool doubt)
{
	if (!c)
		return;
	c->residing.saved = saved;
	c->residing.doubt = doubt;
}

static uint64_t client_bytes(const struct client *c)
{
	return client_units(c) * WIRE_UNIT_BYTES;
}

static void saved(struct tenant *t, struct client *c, uint64_t ns)
{
	struct suspension *s = &t->suspension;
	char text[SIZE_TEXT_BYTES];

	set_place(c, true, false);
	s->out_bytes += client_bytes(c);
	s->moves++;
	tenant_note(t, 0, JOURNAL_ACTION, "process %d: the driver has taken its %s off the device in %.2f s",
		    (int)c->process.pid, size_format(client_bytes(c), text), (double)ns / 1e9);
}

static const char *words_of(const struct checkpoint_job *job)
{
	return job->used ? job->output : "the child that asks the driver ended without an answer";
}

/* It stays, and what is away of it returns. */
static void stays(struct tenant *t, pid_t pid, const char *why, bool driver_cannot)
{
	struct suspension *s = &t->suspension;
	char process[32];

	snprintf(process, sizeof(process), "process %d: ", (int)pid);
	s->refused++;
	s->state = SUSPENSION_REFUSED;
	snprintf(s->why, sizeof(s->why), "%s%.180s%s", pid ? process : "", why,
		 t->pool && driver_cannot
			 ? "; make the grant without --wall (with --spill its memory leaves quickly), or hold its "
			   "work up with --freeze"
			 : "");
	let_in(t);
	tenant_note(t, 0, JOURNAL_ACTION, "%s; its memory stays on the device", s->why);
}

/* Whether this program is as it was the child says, unless it was killed. */
static void refused(struct tenant *t, struct client *c, const struct checkpoint_job *job)
{
	const bool late = !job->failed && job->exit_status == CHECKPOINTER_LATE;
	const bool as_before = !job->failed && job->exit_status == CHECKPOINTER_FAILED;

	set_place(c, false, !late && !as_before);
	stays(t, job->program.pid, words_of(job), !late && !job->failed);
}

static void restored(struct tenant *t, struct client *c, uint64_t ns)
{
	char text[SIZE_TEXT_BYTES];

	set_place(c, false, false);
	c->residing.astray = false;
	t->suspension.in_bytes += client_bytes(c);
	tenant_note(t, 0, JOURNAL_ACTION, "process %d: the driver has brought its %s back in %.2f s",
		    (int)c->process.pid, size_format(client_bytes(c), text), (double)ns / 1e9);
}

/* The driver does not bring one of its programs back on the other device: all of them leave it again. */
static void go_back(struct tenant *t, pid_t pid, const char *why)
{
	struct checkpointing *k = &t->checkpointing;

	stays(t, pid, why, false);
	k->again_ns = k->stuck ? clock_now_ns() + FAILED_NS : 0;
	k->returns = k->tries = false;
	k->stuck = k->goes = true;
	k->to = k->from;
}

static void stays_away(struct tenant *t, struct client *c, const struct checkpoint_job *job)
{
	struct suspension *s = &t->suspension;
	bool full = !job->failed && job->exit_status == CHECKPOINTER_FULL;

	set_place(c, full, !full);
	if (t->checkpointing.tries && !full && !job->failed) {
		go_back(t, job->program.pid, words_of(job));
		return;
	}
	t->checkpointing.again_ns = clock_now_ns() + (full ? FULL_NS : FAILED_NS);
	if (full)
		snprintf(s->why, sizeof(s->why), "waits: the device has no room for it yet");
	else
		snprintf(s->why, sizeof(s->why), "process %d: %.140s; it is tried again", (int)job->program.pid,
			 words_of(job));
}

static void job_end(const struct checkpoint_job *job)
{
	bool done = !job->failed && job->exit_status == CHECKPOINTER_DONE;
	bool none = !job->failed && job->exit_status == CHECKPOINTER_NONE;
	uint64_t ns = clock_now_ns() - job->began_ns;
	struct tenant *t = tenant_find_id(job->daemon, job->grant_id);
	struct client *c = t ? client_find(t, &job->program) : NULL;

	if (!t)
		return;
	t->checkpointing.asks = false;
	t->suspension.moving_ns += ns;
	if (!c)
		return;
	if (none)
		set_place(c, false, false);
	else if (job->saves && done)
		saved(t, c, ns);
	else if (job->saves)
		refused(t, c, job);
	else if (done)
		restored(t, c, ns);
	else
		stays_away(t, c, job);
}

static void job_unlink(struct checkpoint_job *job)
{
	struct checkpoint_job **at = &job->daemon->checkpoints;

	while (*at != job)
		at = &(*at)->next;
	*at = job->next;
}

static void on_closed(uv_handle_t *handle)
{
	struct checkpoint_job *job = handle->data;

	if (--job->open)
		return;
	job_unlink(job);
	if (!job->daemon->stopping)
		job_end(job);
	free(job);
}

static void on_exit_child(uv_process_t *process, int64_t exit_status, int term_signal)
{
	struct checkpoint_job *job = process->data;

	job->exit_status = exit_status;
	job->failed = term_signal != 0;
	uv_close((uv_handle_t *)process, on_closed);
}

static void on_room(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
	struct checkpoint_job *job = handle->data;

	(void)suggested;
	buf->base = job->output + job->used;
	buf->len = OUTPUT_BYTES - 1 - job->used;
}

static void on_output(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
	struct checkpoint_job *job = stream->data;

	(void)buf;
	if (n > 0)
		job->used += (size_t)n;
	else if (n < 0)
		uv_close((uv_handle_t *)stream, on_closed);
}

/* A child's beginning -----------------------------------------------------------------------------------------------
 */

/* The grant's device and those of its kind, where the program's may be another one than the grant's, or is to be. */
static void write_devices(const struct checkpoint_job *job, char text[DEVICES_TEXT])
{
	const struct machine *machine = &job->daemon->machine;
	const struct device *own = &job->device;
	char uuid[DEVICE_UUID_TEXT];
	size_t used;

	*text = 0;
	if (!job->elsewhere)
		return;
	used = (size_t)snprintf(text, DEVICES_TEXT, "%s%s", job->must ? CHECKPOINTER_MUST : "",
				device_uuid_format(own->uuid, uuid));
	for (unsigned int i = 0; i < machine->device_count; i++) {
		const struct device *d = &machine->device[i];

		if (d->kind == own->kind && !strcmp(d->name, own->name) &&
		    memcmp(d->uuid, own->uuid, DEVICE_UUID_BYTES))
			used += (size_t)snprintf(text + used, DEVICES_TEXT - used, ",%s",
						 device_uuid_format(d->uuid, uuid));
	}
}

static int spawn(struct checkpoint_job *job, const char *libcuda, uint32_t drain_s, int pidfd)
{
	char pid[16], ms[16], devices[DEVICES_TEXT];
	char *args[] = { (char *)"/proc/self/exe",
			 (char *)"--checkpoint",
			 (char *)libcuda,
			 (char *)(job->saves ? "save" : "restore"),
			 pid,
			 ms,
			 devices,
			 NULL };
	uv_stdio_container_t stdio[] = {
		{ .flags = UV_IGNORE },
		{ .flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE, .data.stream = (uv_stream_t *)&job->pipe },
		{ .flags = UV_INHERIT_FD, .data.fd = STDERR_FILENO },
		[CHECKPOINTER_PIDFD] = { .flags = UV_INHERIT_FD, .data.fd = pidfd },
	};
	char **environment = machine_environment();
	uv_process_options_t options = { .file = args[0],
					 .args = args,
					 .env = environment,
					 .exit_cb = on_exit_child,
					 .stdio = stdio,
					 .stdio_count = sizeof(stdio) / sizeof(*stdio) };
	int r;

	snprintf(pid, sizeof(pid), "%d", (int)job->program.pid);
	snprintf(ms, sizeof(ms), "%u", drain_s * 1000);
	write_devices(job, devices);
	r = uv_spawn(job->daemon->loop, &job->process, &options);
	free(environment);
	return r;
}

static void start(struct client *c, bool saves)
{
	struct checkpoint_job *job = calloc(1, sizeof(*job));
	struct tenant *t = c->tenant;

	if (!job)
		return;
	*job = (struct checkpoint_job){ .next = t->daemon->checkpoints,
					.daemon = t->daemon,
					.grant_id = t->grant.id,
					.program = c->process,
					.saves = saves,
					.elsewhere = saves ? t->checkpointing.goes
							   : c->residing.astray && t->grant.share_count == 1,
					.must = t->checkpointing.tries,
					.device = t->grant.share[0].device,
					.began_ns = clock_now_ns(),
					.open = 2 };
	t->daemon->checkpoints = job;
	job->process.data = job->pipe.data = job;
	uv_pipe_init(t->daemon->loop, &job->pipe, 0);
	t->checkpointing.asks = true;
	if (spawn(job, t->grant.libcuda, t->checkpointing.drain_s, c->pidfd)) {
		job->failed = true;
		uv_close((uv_handle_t *)&job->process, on_closed);
		uv_close((uv_handle_t *)&job->pipe, on_closed);
		return;
	}
	uv_read_start((uv_stream_t *)&job->pipe, on_room, on_output);
}

void checkpoint_stop(struct daemon *daemon)
{
	for (struct checkpoint_job *job = daemon->checkpoints; job; job = job->next) {
		if (!uv_is_closing((uv_handle_t *)&job->process))
			uv_close((uv_handle_t *)&job->process, on_closed);
		if (!uv_is_closing((uv_handle_t *)&job->pipe))
			uv_close((uv_handle_t *)&job->pipe, on_closed);
	}
}

/* The steps ---------------------------------------------------------------------------------------------------------
 */

/* Room for the program on each of its devices; where there is none others are asked to leave. */
static bool has_room(struct client *c, bool asks)
{
	for (unsigned int i = 0; i < c->tenant->grant.share_count; i++) {
		uint64_t units = account_lent(c, i);

		if (units && residence_room(c, i, units) < units) {
			if (asks)
				residence_wait(c, i, units, false);
			return false;
		}
	}
	residence_has(c);
	return true;
}

static bool has_client(const struct tenant *t, pid_t pid)
{
	const struct client *c = t->clients;

	while (c && c->process.pid != pid)
		c = c->next;
	return c;
}

/* A worker that was given its client before, and has contexts and no account yet: it leaves with the others. */
static const struct worker *beginner_find(const struct tenant *t)
{
	const struct worker *w = t->pool ? t->daemon->workers : NULL;

	while (w && (w->state != WORKER_BUSY || w->grant_id != t->grant.id || has_client(t, w->pid)))
		w = w->next;
	return w;
}

/* Those that began to leave may say so; who goes back has been refused before. */
static void set_leaving(struct tenant *t)
{
	if (t->suspension.state != SUSPENSION_REFUSED)
		t->suspension.state = SUSPENSION_LEAVING;
}

/* All of it is away, and is to be elsewhere: on another device, or on the one that it came from. */
static void move_on(struct tenant *t)
{
	struct checkpointing *k = &t->checkpointing;
	const bool back = t->suspension.state == SUSPENSION_REFUSED;
	const struct device from = t->grant.share[0].device;
	char error[256] = "no memory";
	int r = back ? 0 : moving_admit(t, &k->to, error, sizeof(error));

	k->goes = false;
	r = r ? r : moving_change_device(t, &k->to, true, error, sizeof(error));
	if (r) {
		stays(t, 0, error, false);
		return;
	}
	for (struct client *c = t->clients; c; c = c->next)
		c->residing.astray = true;
	k->tries = !back;
	k->from = from;
	if (!back)
		t->suspension.state = SUSPENSION_RETURNING;
	let_in(t);
}

static void follow_out(struct tenant *t)
{
	struct client *c = holder_find(t);
	const struct worker *w = c ? NULL : beginner_find(t);

	if (c) {
		set_leaving(t);
		set_place(c, false, true);
		start(c, true);
	} else if (w && clock_now_ns() - w->given_ns > BEGIN_NS) {
		stays(t, w->pid, "its session with its program does not begin", false);
	} else if (w) {
		set_leaving(t);
	} else if (t->checkpointing.goes) {
		move_on(t);
	} else {
		t->suspension.state = SUSPENSION_AWAY;
		*t->suspension.why = 0;
	}
}

static void follow_back(struct tenant *t)
{
	struct suspension *s = &t->suspension;
	struct client *c = away_find(t);

	if (!c) {
		t->checkpointing.active = false;
		t->checkpointing.stuck &= !t->checkpointing.tries;
		keep(t, false);
		if (s->state == SUSPENSION_RETURNING) {
			s->state = SUSPENSION_NONE;
			*s->why = 0;
		}
		return;
	}
	if (c->residing.saved && !has_room(c, true)) {
		snprintf(s->why, sizeof(s->why), "waits: the device has no room for it yet");
		return;
	}
	/* Charged before its memory is copied in. */
	set_place(c, false, true);
	start(c, false);
}

bool checkpoint_follow(struct tenant *t)
{
	struct checkpointing *k = &t->checkpointing;

	if (!k->active)
		return false;
	if (k->asks || clock_now_ns() < k->again_ns)
		return true;
	if (k->returns)
		follow_back(t);
	else
		follow_out(t);
	return true;
}

void checkpoint_begin(struct tenant *t)
{
	if (!t->grant.suspended || t->grant.spill || (t->pool && moving_keeps_addresses(t)))
		return;
	t->checkpointing.active = true;
	t->checkpointing.drain_s = SUSPENSION_DRAIN_S;
	t->suspension.state = SUSPENSION_LEAVING;
}

void checkpoint_found(struct client *client)
{
	client->residing.doubt = client->tenant->checkpointing.active;
	client->residing.astray = client->tenant->pool && client->tenant->checkpointing.active;
}

bool checkpoint_goes(const struct tenant *t)
{
	return !t->checkpointing.stuck;
}

/* A path below the worker's root. */
static bool sees(const struct worker *w, const char *path)
{
	char whole[64];

	snprintf(whole, sizeof(whole), "/proc/%d/root/%s", (int)w->pid, path);
	return !faccessat(AT_FDCWD, whole, F_OK, AT_SYMLINK_NOFOLLOW);
}

/*
 * What the fence keeps from NVIDIA's driver: to bring a worker back it opens its nodes again, which it can where they
 * are in the worker's root and nothing else is (remote/worker/nodes.h). A restore that fails halfway may be the last
 * one (driver 580: NVIDIA/cuda-checkpoint, issue 44), so this is looked at before.
 */
static const char *fence_bars(const struct tenant *t, const struct device *to)
{
	char node[32] = "dev/nvidiactl";

	if (to)
		snprintf(node, sizeof(node), "dev/nvidia%u", to->index);
	for (const struct worker *w = t->daemon->workers; w; w = w->next) {
		if (w->state != WORKER_BUSY || w->grant_id != t->grant.id)
			continue;
		if (sees(w, "etc") || !sees(w, "dev/nvidiactl"))
			return "its driver could not open the device again behind the worker's fence, which has no "
			       "mount namespace, or which meted may not look into (CAP_SYS_PTRACE): make the grant "
			       "without --wall, or hold its work up with --freeze";
		if (!sees(w, node))
			return "its worker's driver had not opened the other device when it started, and cannot open "
			       "it behind the worker's fence";
	}
	return NULL;
}

/* What the kernel could give to programs now; UINT64_MAX: it does not say. */
static uint64_t available_bytes(void)
{
	FILE *file = fopen("/proc/meminfo", "re");
	unsigned long long kib;
	bool found = false;
	char line[128];

	while (file && !found && fgets(line, sizeof(line), file))
		found = sscanf(line, "MemAvailable: %llu", &kib) == 1;
	if (file)
		fclose(file);
	return found ? kib * 1024 : UINT64_MAX;
}

static uint64_t lesser(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/*
 * The driver keeps all of it in the program's own memory. Where that ends the kernel ends the program, so the host is
 * looked at before; workers' memory counts as what leaves in other ways does, and in their cgroup.
 */
static bool host_takes(const struct tenant *t, char *error, size_t size)
{
	char held_text[SIZE_TEXT_BYTES], room_text[SIZE_TEXT_BYTES];
	uint64_t held = 0, room = available_bytes();

	for (const struct client *c = t->clients; c; c = c->next)
		held += client_bytes(c);
	if (t->pool)
		room = lesser(room, lesser(residence_pool_room(t) * WIRE_UNIT_BYTES,
					   cgroup_memory_left(t->daemon, t->grant.id)));
	if (held <= room)
		return true;
	snprintf(error, size,
		 "grant %s: the host has no room for its %s: %s are left%s: let others return, or end programs",
		 t->grant.name, size_format(held, held_text), size_format(room, room_text),
		 t->pool ? " of its memory, of memory.pool or of workers.memory" : "");
	return false;
}

/* `to`: NULL: it stays away. */
static int leave(struct tenant *t, const struct device *to, uint32_t drain_s, char *error, size_t size)
{
	const char *barred;

	if (t->grant.suspended && !t->checkpointing.returns)
		return 0;
	barred = t->pool && t->grant.kind == DEVICE_NVIDIA ? fence_bars(t, to) : NULL;
	if (barred) {
		snprintf(error, size, "grant %s: %s", t->grant.name, barred);
		return -ENOTSUP;
	}
	if (t->moving.active) {
		snprintf(error, size, "grant %s: its programs are on the way to another server", t->grant.name);
		return -EBUSY;
	}
	if (!host_takes(t, error, size))
		return -EBUSY;
	for (unsigned int i = 0; i < t->grant.share_count; i++)
		if (t->grant.share[i].ledger.object_units > leaving_units(t, i)) {
			snprintf(error, size,
				 "grant %s: its programs hold memory that other processes can open, which a driver "
				 "cannot take off the device: end what opens it, or hold its work up with --freeze",
				 t->grant.name);
			return -EBUSY;
		}
	t->checkpointing = (struct checkpointing){ .active = true,
						   .asks = t->checkpointing.asks,
						   .stuck = t->checkpointing.stuck,
						   .goes = to,
						   .drain_s = drain_s ? drain_s : SUSPENSION_DRAIN_S };
	if (to)
		t->checkpointing.to = *to;
	t->suspension.serial++;
	t->suspension.state = SUSPENSION_LEAVING;
	*t->suspension.why = 0;
	keep(t, true);
	residence_look_on(t->daemon);
	tenant_note(t, 0, JOURNAL_ACTION, "suspended: the driver takes its programs off the device");
	return 0;
}

int checkpoint_suspend(struct tenant *t, uint32_t drain_s, char *error, size_t size)
{
	return leave(t, NULL, drain_s, error, size);
}

/*
 * The store has it as suspended, unlike a move by moving.h: a program that is locked does not go on by itself. A meted
 * that is started in the middle leaves it so until it is resumed.
 */
int checkpoint_move(struct tenant *t, const struct device *to, uint32_t drain_s, char *error, size_t size)
{
	return leave(t, to, drain_s, error, size);
}

/* Its device is out of service: it goes to another one, as tenants of a device that is drained do. */
static int resume_elsewhere(struct tenant *t)
{
	struct checkpointing *k = &t->checkpointing;

	if (t->suspension.state != SUSPENSION_AWAY || !moving_find_return(t, &k->to))
		return -EBUSY;
	k->goes = true;
	t->suspension.serial++;
	t->suspension.state = SUSPENSION_LEAVING;
	residence_look_on(t->daemon);
	tenant_note(t, 0, JOURNAL_ACTION, "resumed: the driver brings its programs back on device %u", k->to.index);
	return 0;
}

int checkpoint_resume(struct tenant *t, bool now, char *error, size_t size)
{
	char away[SIZE_TEXT_BYTES];

	if (t->pool && !health_serves(t, error, size))
		return resume_elsewhere(t);
	for (struct client *c = t->clients; c && now; c = c->next)
		if (c->residing.saved && !has_room(c, false)) {
			snprintf(error, size,
				 "grant %s: %s are away, and its device has no room for them: ask without --now, and "
				 "it returns as soon as there is room",
				 t->grant.name, size_format(checkpoint_away(t, 0) * WIRE_UNIT_BYTES, away));
			return -EBUSY;
		}
	t->checkpointing.again_ns = 0;
	t->checkpointing.goes = false;
	t->suspension.serial++;
	t->suspension.state = SUSPENSION_RETURNING;
	*t->suspension.why = 0;
	let_in(t);
	residence_look_on(t->daemon);
	tenant_note(t, 0, JOURNAL_ACTION, "resumed: the driver brings its programs back to the device");
	return 0;
}

/* What others are told ----------------------------------------------------------------------------------------------
 */

bool checkpoint_share_json(const struct tenant *t, unsigned int device, json_t *share)
{
	static const char *const words[] = { [SUSPENSION_NONE] = "resident",
					     [SUSPENSION_LEAVING] = "leaving",
					     [SUSPENSION_AWAY] = "away",
					     [SUSPENSION_RETURNING] = "returning",
					     [SUSPENSION_REFUSED] = "resident" };

	if (!t->checkpointing.active)
		return false;
	json_object_set_new(share, "away_bytes",
			    json_integer((json_int_t)(checkpoint_away(t, device) * WIRE_UNIT_BYTES)));
	json_object_set_new(share, "residence", json_string(words[t->suspension.state]));
	return true;
}

void checkpoint_client_json(const struct client *c, unsigned int device, json_t *process)
{
	if (!c->residing.saved)
		return;
	json_object_set_new(process, "away_bytes", json_integer((json_int_t)account_held(c, device) * WIRE_UNIT_BYTES));
	json_object_set_new(process, "held_bytes", json_integer(0));
	json_object_set_new(process, "residence", json_string("away"));
}
