/* device_watch.c: the parent's side: see device_watch.h. */
#include "daemon/health/device_watch.h"

#include "base/clock.h"
#include "base/soft_dir.h"
#include "daemon/daemon.h"
#include "daemon/health/faults.h"
#include "daemon/log.h"
#include "daemon/health/probe.h"
#include "daemon/health/sensors.h"
#include "daemon/tenants/leaving.h"
#include "daemon/tenants/tenant.h"

#include <errno.h>
#include <jansson.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINGER_MS 5000u /* a child is kept so long after the last tenant */
#define AGAIN_MS 1000u	/* the first pause before a child that ended by itself is started again */
#define AGAIN_MOST_MS 60000u
#define AGAIN_HOPELESS_MS 8000u /* a child that is started again so late has never watched */
#define LINE_BYTES 1024u

struct device_watch {
	struct device_watch *next;
	struct daemon *daemon;
	enum device_kind kind;
	char libnvml[GRANT_PATH_BYTES];
	uv_process_t process;
	uv_pipe_t pipe, questions;
	struct timer *timer; /* the end of patience, or the next start */
	unsigned int open;   /* handles that still call back; 0: no child */
	unsigned int again_ms;
	bool wanted, renew, paused;
	bool watches; /* the child has opened NVML */
	bool asked;   /* it has not answered all that it was asked */
	size_t used;
	char line[LINE_BYTES];
};

static void start(struct device_watch *w);

static const struct device *device_of(struct daemon *daemon, enum device_kind kind, const char *uuid)
{
	uint8_t bytes[DEVICE_UUID_BYTES];

	if (!uuid || device_uuid_parse(uuid, bytes))
		return NULL;
	for (struct tenant *t = daemon->tenants; t; t = t->next) {
		struct grant_share *share = t->grant.kind == kind ? grant_find_share(&t->grant, bytes) : NULL;

		if (share)
			return &share->device;
	}
	for (unsigned int i = 0; i < daemon->machine.device_count; i++)
		if (!memcmp(daemon->machine.device[i].uuid, bytes, sizeof(bytes)))
			return &daemon->machine.device[i];
	return NULL;
}

static void watches(struct device_watch *w)
{
	w->again_ms = AGAIN_MS;
	w->watches = true;
}

static void take_holder(struct device_watch *w, json_t *said)
{
	pid_t pid = (pid_t)json_integer_value(json_object_get(said, "pid"));

	if (pid)
		leaving_told(w->daemon, w->kind, pid, (uint64_t)json_integer_value(json_object_get(said, "holds")));
	else
		w->asked = false;
}

static void take_line(struct device_watch *w)
{
	json_t *said = json_loads(w->line, 0, NULL), *xid = json_object_get(said, "xid");
	const struct device *d = device_of(w->daemon, w->kind, json_string_value(json_object_get(said, "uuid")));

	if (json_is_integer(xid) && d)
		faults_xid(w->daemon, d, (uint32_t)json_integer_value(xid),
			   (pid_t)json_integer_value(json_object_get(said, "pid")));
	else if (json_object_get(said, "lost"))
		machine_refresh(w->daemon, NULL, w->daemon);
	else if (json_object_get(said, "watching"))
		watches(w);
	else if (json_object_get(said, "holds"))
		take_holder(w, said);
	else if (d && !machine_is_per_user(w->daemon, d->kind))
		sensors_take(w->daemon, d->uuid, said);
	json_decref(said);
}

static void on_room(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
	struct device_watch *w = handle->data;

	(void)suggested;
	buf->base = w->line + w->used;
	buf->len = LINE_BYTES - 1 - w->used;
}

static void on_closed(uv_handle_t *handle)
{
	struct device_watch *w = handle->data;

	if (--w->open || w->daemon->stopping || w->paused)
		return;
	if (w->wanted && w->renew)
		start(w);
	else if (w->wanted)
		timer_start(w->timer, w->again_ms, 0);
}

static void on_output(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
	struct device_watch *w = stream->data;
	char *end;

	(void)buf;
	if (n < 0) {
		w->watches = false;
		uv_close((uv_handle_t *)stream, on_closed);
		uv_close((uv_handle_t *)&w->questions, on_closed);
		return;
	}
	w->used += (size_t)n;
	w->line[w->used] = 0;
	while ((end = strchr(w->line, '\n'))) {
		*end = 0;
		take_line(w);
		w->used -= (size_t)(end + 1 - w->line);
		memmove(w->line, end + 1, w->used + 1);
	}
	if (w->used == LINE_BYTES - 1)
		w->used = 0; /* no line of ours is that long */
}

static void on_exit_child(uv_process_t *process, int64_t status, int number)
{
	struct device_watch *w = process->data;

	if (w->wanted && !w->renew && !w->paused && !w->daemon->stopping)
		log_line("the child that hears of errors of %s devices ended (%s %d); it is started again",
			 device_kind_name(w->kind), number ? "signal" : "status", number ? number : (int)status);
	uv_close((uv_handle_t *)process, on_closed);
}

static void kernel_log(enum device_kind kind, char *path, size_t size)
{
	char dir[GRANT_PATH_BYTES];

	if (kind == DEVICE_NVIDIA)
		snprintf(path, size, "/dev/kmsg");
	else if (soft_dir_find(dir, sizeof(dir)))
		snprintf(path, size, "%.*s/kernel.log", (int)size - 16, dir);
	else
		*path = 0;
}

static void start(struct device_watch *w)
{
	char log[GRANT_PATH_BYTES];
	char *args[] = { (char *)"/proc/self/exe", (char *)"--watch", w->libnvml, log, NULL };
	uv_stdio_container_t stdio[] = {
		{ .flags = UV_CREATE_PIPE | UV_READABLE_PIPE, .data.stream = (uv_stream_t *)&w->questions },
		{ .flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE, .data.stream = (uv_stream_t *)&w->pipe },
		{ .flags = UV_IGNORE },
	};
	char **environment = machine_environment();
	uv_process_options_t options = { .file = args[0],
					 .args = args,
					 .env = environment,
					 .exit_cb = on_exit_child,
					 .stdio = stdio,
					 .stdio_count = 3 };
	int r;

	kernel_log(w->kind, log, sizeof(log));
	w->renew = false;
	w->used = 0;
	w->open = 3;
	w->watches = w->asked = false;
	w->process.data = w->pipe.data = w->questions.data = w;
	uv_pipe_init(w->daemon->loop, &w->pipe, 0);
	uv_pipe_init(w->daemon->loop, &w->questions, 0);
	r = environment ? uv_spawn(w->daemon->loop, &w->process, &options) : UV_ENOMEM;
	free(environment);
	if (w->again_ms < AGAIN_MOST_MS)
		w->again_ms *= 2;
	if (r) {
		log_line("cannot start the child that hears of errors of %s devices: %s", device_kind_name(w->kind),
			 uv_strerror(r));
		uv_close((uv_handle_t *)&w->process, on_closed);
		uv_close((uv_handle_t *)&w->pipe, on_closed);
		uv_close((uv_handle_t *)&w->questions, on_closed);
		return;
	}
	uv_read_start((uv_stream_t *)&w->pipe, on_room, on_output);
}

static void end(struct device_watch *w)
{
	if (w->open && uv_is_active((uv_handle_t *)&w->process))
		uv_process_kill(&w->process, SIGKILL);
}

static void on_timer(void *owner)
{
	struct device_watch *w = owner;

	if (w->wanted && !w->open && !w->paused)
		start(w);
	else if (!w->wanted)
		end(w);
}

static struct device_watch *watch_of(struct daemon *daemon, enum device_kind kind, bool make)
{
	struct device_watch *w = daemon->device_watches;

	while (w && w->kind != kind)
		w = w->next;
	if (w || !make)
		return w;
	w = calloc(1, sizeof(*w));
	if (w)
		w->timer = timer_new(daemon->loop, on_timer, w);
	if (!w || !w->timer) {
		free(w);
		return NULL;
	}
	w->daemon = daemon;
	w->kind = kind;
	w->again_ms = AGAIN_MS;
	w->next = daemon->device_watches;
	daemon->device_watches = w;
	return w;
}

static const struct tenant *tenant_of(struct daemon *daemon, enum device_kind kind)
{
	for (struct tenant *t = daemon->tenants; t; t = t->next)
		if (t->grant.kind == kind && *t->grant.libnvml)
			return t;
	return NULL;
}

static void update(struct daemon *daemon, enum device_kind kind)
{
	const struct tenant *t = tenant_of(daemon, kind);
	struct device_watch *w = watch_of(daemon, kind, t != NULL);

	if (!w || w->wanted == (t != NULL))
		return;
	w->wanted = t != NULL;
	if (!t) {
		timer_start(w->timer, LINGER_MS, 0);
		return;
	}
	timer_stop(w->timer);
	if (w->open)
		return;
	snprintf(w->libnvml, sizeof(w->libnvml), "%s", t->grant.libnvml);
	if (!w->paused)
		start(w);
}

void device_watch_update(struct daemon *daemon)
{
	/* While what a predecessor has left is being taken up, nobody gets a turn: children are for later. */
	if (daemon->stopping || daemon->runtime.handover)
		return;
	update(daemon, DEVICE_NVIDIA);
	update(daemon, DEVICE_SOFT);
}

void device_watch_renew(struct daemon *daemon, enum device_kind kind)
{
	struct device_watch *w = watch_of(daemon, kind, false);

	if (!w || !w->open)
		return;
	w->renew = true;
	end(w);
}

void device_watch_pause(struct daemon *daemon, bool pause)
{
	for (struct device_watch *w = daemon->device_watches; w; w = w->next) {
		w->paused = pause;
		if (pause)
			end(w);
		else if (w->wanted && *w->libnvml)
			timer_start(w->timer, 0, 0);
	}
}

/* A row of questions is written only once the one before has been answered: there is room for all of it. */
static void ask(struct device_watch *w, const pid_t *pids, unsigned int count)
{
	char text[4096];
	size_t n = 0;
	uv_buf_t buf;

	for (unsigned int i = 0; i < count && n + 32 < sizeof(text); i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%d\n", (int)pids[i]);
	n += (size_t)snprintf(text + n, sizeof(text) - n, "0\n");
	buf = uv_buf_init(text, (unsigned int)n);
	w->asked = true;
	if (uv_try_write((uv_stream_t *)&w->questions, &buf, 1) != (int)n)
		end(w); /* another one is started */
}

int device_watch_ask(struct daemon *daemon, enum device_kind kind, const pid_t *pids, unsigned int count)
{
	struct device_watch *w = watch_of(daemon, kind, false);

	if (!w || !w->wanted || (!w->open && w->again_ms > AGAIN_HOPELESS_MS))
		return -ENOENT;
	if (w->watches && !w->asked && !w->paused)
		ask(w, pids, count);
	return 0;
}

bool device_watch_runs(const struct daemon *daemon)
{
	for (const struct device_watch *w = daemon->device_watches; w; w = w->next)
		if (w->open)
			return true;
	return false;
}

/* The handles are closed by the loop's last turns; the memory goes with the process. */
void device_watch_stop(struct daemon *daemon)
{
	for (struct device_watch *w = daemon->device_watches; w; w = w->next) {
		w->wanted = false;
		end(w);
		timer_free(w->timer);
	}
}
