/* control.c: connections of those who ask in JSON. */
#include "daemon/control.h"

#include "base/clock.h"
#include "daemon/daemon.h"
#include "daemon/upgrade/handover.h"
#include "daemon/log.h"
#include "daemon/settings/service.h"
#include "daemon/upgrade/upgrade.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define LINE_BYTES 65536u /* a longer request is none */
#define AGAIN_MS 5
#define AGAIN_NS 2000000000u /* then what cannot be done yet is refused */
#define CONTROLS_MAX 256u
#define UNREAD_BYTES (8u << 20) /* answers that a peer leaves unread */

struct control {
	struct control *next;
	struct daemon *daemon;
	struct asker asker;
	uv_pipe_t pipe;
	json_t *request;     /* that is being treated; NULL: none */
	struct timer *again; /* runs when it is to be treated again */
	uint64_t began_ns;
	bool reading;
	bool held; /* the answer will come by control_answer() */
	bool in_lines; /* treat_lines() is at work and goes on by itself */
	bool closing;
	unsigned int writing; /* answers on their way */
	size_t used;
	char line[LINE_BYTES];
};

struct answer {
	uv_write_t write;
	struct control *control;
	char *text;
};

static void on_closed(uv_handle_t *handle)
{
	struct control *c = handle->data, **at = &c->daemon->controls;

	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	c->daemon->control_count--;
	daemon_reap_soon(c->daemon);
	json_decref(c->request);
	free(c);
}

static void end(struct control *c)
{
	if (c->closing)
		return;
	c->closing = true;
	machine_forget(c->daemon, c);
	upgrade_forget(c->daemon, c);
	timer_free(c->again);
	uv_close((uv_handle_t *)&c->pipe, on_closed);
}

static void on_written(uv_write_t *write, int status)
{
	struct answer *a = write->data;

	a->control->writing--;
	if (status)
		end(a->control);
	free(a->text);
	free(a);
}

static void send_text(struct control *c, char *take_text)
{
	struct answer *a = calloc(1, sizeof(*a));
	uv_buf_t buffer;

	if (!a || !take_text || c->closing || uv_stream_get_write_queue_size((uv_stream_t *)&c->pipe) > UNREAD_BYTES) {
		free(a);
		free(take_text);
		end(c);
		return;
	}
	a->control = c;
	a->text = take_text;
	a->write.data = a;
	buffer = uv_buf_init(take_text, (unsigned int)strlen(take_text));
	c->writing++;
	if (uv_write(&a->write, (uv_stream_t *)&c->pipe, &buffer, 1, on_written)) {
		c->writing--;
		free(a->text);
		free(a);
		end(c);
	}
}

static char *to_line(json_t *json)
{
	size_t size = json ? json_dumpb(json, NULL, 0, JSON_COMPACT) : 0;
	char *text = size ? malloc(size + 2) : NULL;

	if (text) {
		json_dumpb(json, text, size, JSON_COMPACT);
		memcpy(text + size, "\n", 2);
	}
	return text;
}

static void answer(struct control *c, json_t *take_answer)
{
	send_text(c, to_line(take_answer));
	json_decref(take_answer);
	json_decref(c->request);
	c->request = NULL;
}

static void refuse(struct control *c, const char *why)
{
	log_peer("control: a request of uid %u (pid %d) %s", (unsigned int)c->asker.uid, (int)c->asker.pid, why);
	answer(c,
	       json_pack("{s:b s:s s:o}", "ok", 0, "code", "malformed", "error", json_sprintf("the request %s", why)));
}

static void treat_lines(struct control *c);
static void treat(struct control *c, enum verbs_turn turn);

static void on_machine(void *owner)
{
	struct control *c = owner;

	treat(c, VERBS_MACHINE_ASKED);
	treat_lines(c);
}

static void on_again(void *owner)
{
	struct control *c = owner;

	treat(c, clock_now_ns() - c->began_ns < AGAIN_NS ? VERBS_AGAIN : VERBS_LAST);
	treat_lines(c);
}

static void treat(struct control *c, enum verbs_turn turn)
{
	json_t *ret = NULL;

	switch (verbs_treat(c->daemon, &c->asker, c->request, turn, &ret)) {
	case VERBS_ANSWERED:
		answer(c, ret);
		break;
	case VERBS_ASK_MACHINE:
		if (machine_refresh(c->daemon, on_machine, c))
			end(c);
		break;
	case VERBS_LATER:
		timer_start(c->again, AGAIN_MS, 0);
		break;
	case VERBS_HELD:
		c->held = true;
		break;
	}
}

/* Takes the first line, of `length` bytes, out of the buffer and treats it. */
static void treat_line(struct control *c, size_t length)
{
	json_error_t why;

	c->began_ns = clock_now_ns();
	c->request = json_loadb(c->line, length, JSON_REJECT_DUPLICATES, &why);
	c->used -= length + 1;
	memmove(c->line, c->line + length + 1, c->used);
	if (!c->request)
		refuse(c, "is no JSON");
	else if (!json_is_object(c->request))
		refuse(c, "is no JSON object");
	else
		treat(c, VERBS_FIRST);
}

static void on_room(uv_handle_t *handle, size_t suggested, uv_buf_t *buf);
static void on_text(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf);

/* Treats what has arrived, one request at a time; while one is not answered, nothing more is read. */
static void treat_lines(struct control *c)
{
	char *end_of_line;

	if (c->in_lines)
		return;
	c->in_lines = true;
	while (!c->request && !c->closing && (end_of_line = memchr(c->line, '\n', c->used)))
		treat_line(c, (size_t)(end_of_line - c->line));
	c->in_lines = false;
	if (c->closing)
		return;
	if (!c->request && c->used == LINE_BYTES) {
		refuse(c, "is longer than 64 KiB");
		end(c);
	} else if (c->request && c->reading) {
		uv_read_stop((uv_stream_t *)&c->pipe);
		c->reading = false;
	} else if (!c->request && !c->reading) {
		c->reading = !uv_read_start((uv_stream_t *)&c->pipe, on_room, on_text);
	}
}

static void on_room(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
	struct control *c = handle->data;

	(void)suggested;
	buf->base = c->line + c->used;
	buf->len = LINE_BYTES - c->used;
}

static void on_text(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
	struct control *c = stream->data;

	(void)buf;
	if (n < 0) {
		end(c);
		return;
	}
	c->used += (size_t)n;
	treat_lines(c);
}

void control_answer(struct control *c, json_t *take_answer)
{
	c->held = false;
	answer(c, take_answer);
	treat_lines(c);
}

/* What a connection had said to the meted before this one. */
static void resume(struct control *c, const json_t *saved)
{
	const json_t *line = json_object_get(saved, "line");

	c->used = json_string_length(line) < LINE_BYTES ? json_string_length(line) : 0;
	if (c->used)
		memcpy(c->line, json_string_value(line), c->used);
	c->request = json_incref(json_object_get(saved, "request"));
	c->began_ns = clock_now_ns();
	if (c->request)
		treat(c, json_is_true(json_object_get(saved, "held")) ? VERBS_TAKEN_OVER : VERBS_FIRST);
}

/* saved: NULL, or how control_save() has found it. */
static void control_new(struct daemon *daemon, int fd, const json_t *saved)
{
	struct control *c = calloc(1, sizeof(*c));
	struct ucred peer;
	socklen_t size = sizeof(peer);

	if (!c || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size)) {
		free(c);
		close(fd);
		return;
	}
	c->daemon = daemon;
	c->asker = (struct asker){ .uid = peer.uid, .gid = peer.gid, .pid = peer.pid, .control = c };
	c->pipe.data = c;
	uv_pipe_init(daemon->loop, &c->pipe, 0);
	c->again = timer_new(daemon->loop, on_again, c);
	c->next = daemon->controls;
	daemon->controls = c;
	daemon->control_count++;
	if (!c->again || uv_pipe_open(&c->pipe, fd)) {
		close(fd);
		end(c);
		return;
	}
	if (!daemon->runtime.system && peer.uid != geteuid() && peer.uid) {
		log_peer("control: uid %u is not served: this meted is private to uid %u", (unsigned int)peer.uid,
			 (unsigned int)geteuid());
		end(c);
		return;
	}
	if (saved)
		resume(c, saved);
	treat_lines(c);
}

bool control_writing(const struct daemon *daemon)
{
	for (const struct control *c = daemon->controls; c; c = c->next)
		if (c->writing)
			return true;
	return false;
}

json_t *control_save(const struct daemon *daemon, struct handover *h)
{
	json_t *list = json_array(), *one, *line;
	uv_os_fd_t fd;

	for (struct control *c = daemon->controls; c; c = c->next) {
		/* What is no text will be refused: it need not come along. An answer that is half written cannot. */
		line = json_stringn(c->line, c->used);
		if (c->closing || c->writing || !line || uv_fileno((uv_handle_t *)&c->pipe, &fd)) {
			json_decref(line);
			continue;
		}
		one = json_pack("{s:o s:o s:b}", "fd", handover_give(h, fd), "line", line, "held", c->held);
		if (one && c->request)
			json_object_set(one, "request", c->request);
		json_array_insert_new(list, 0, one);
	}
	return list;
}

void control_restore(struct daemon *daemon, struct handover *h)
{
	json_t *saved;
	size_t i;

	json_array_foreach(handover_get(h, "controls"), i, saved)
	{
		int fd = handover_take(h, json_object_get(saved, "fd"));

		if (fd >= 0)
			control_new(daemon, fd, saved);
	}
}

static void on_connect(void *owner)
{
	struct daemon *daemon = owner;
	int fd;

	while ((fd = daemon_accept(daemon, daemon->control_fd)) >= 0) {
		if (daemon->control_count < CONTROLS_MAX) {
			control_new(daemon, fd, NULL);
			continue;
		}
		log_peer("control: more than %u connections: one is refused", CONTROLS_MAX);
		close(fd);
	}
}

int control_listen(struct daemon *daemon, char *error, size_t size)
{
	char path[GRANT_PATH_BYTES];

	snprintf(path, sizeof(path), "%s/control.sock", daemon->runtime.dir);
	daemon->control_fd = service_take_socket(path);
	daemon->control_given = daemon->control_fd >= 0;
	if (!daemon->control_given)
		daemon->control_fd =
			runtime_listen(&daemon->runtime, "control.sock", SOCK_STREAM,
				       daemon->runtime.system ? 0666 : 0600, geteuid(), getegid(), error, size);
	if (daemon->control_fd < 0)
		return daemon->control_fd;
	if (json_is_true(handover_get(daemon->runtime.handover, "control_given")))
		daemon->control_given = true;
	daemon->control_watch = watch_new(daemon->loop, daemon->control_fd, on_connect, daemon);
	if (daemon->control_watch)
		return 0;
	snprintf(error, size, "no memory to watch the control socket");
	return -ENOMEM;
}

void control_close(struct daemon *daemon, bool leaving)
{
	watch_free(daemon->control_watch);
	daemon->control_watch = NULL;
	if (daemon->control_fd >= 0) {
		if (leaving && !daemon->control_given)
			runtime_remove(&daemon->runtime, "control.sock");
		close(daemon->control_fd);
		daemon->control_fd = -1;
	}
	for (struct control *c = daemon->controls; c; c = c->next)
		end(c);
}
