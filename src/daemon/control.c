/* control.c: connections of those who ask in JSON. */
#include "daemon/codes.h"
#include "daemon/control.h"

#include "base/clock.h"
#include "base/send_fds.h"
#include "daemon/changes.h"
#include "daemon/daemon.h"
#include "daemon/upgrade/handover.h"
#include "daemon/log.h"
#include "daemon/owner.h"
#include "daemon/settings/service.h"
#include "daemon/subordinate.h"
#include "daemon/tenants/waiting.h"
#include "daemon/upgrade/upgrade.h"
#include "model/admission.h"
#include "model/spent.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define LINE_BYTES CONTROL_LINE_BYTES
#define LINE_FIRST_BYTES 4096u /* and as much again whenever it is full */
#define AGAIN_MS 5
#define AGAIN_NS 2000000000u /* then what cannot be done yet is refused */
#define CONTROLS_MAX CONTROL_CONNECTIONS
#define CONTROLS_KEPT CONTROL_CONNECTIONS_KEPT
#define CONTROLS_OF_UID CONTROL_CONNECTIONS_OF_USER
#define ACCEPTS_PER_TURN 32 /* then those who were accepted are heard */
#define LINE_NS (CONTROL_LINE_S * 1000000000ull)
#define UNREAD_NS (CONTROL_READ_S * 1000000000ull)
#define UNREAD_BUSY_NS 2000000000u /* so long a place is kept for it */
#define TIME_PART 4		   /* of the loop's time: what one user's requests may take */
#define TIME_AT_ONCE_NS 100000000u
#define UNREAD_BYTES CONTROL_UNREAD_BYTES
#define LEVELS_MOST 64 /* of a request; the longest that is understood has a few */

struct control {
	struct control *next;
	struct daemon *daemon;
	struct asker asker;
	gid_t *groups;
	uv_pipe_t pipe;
	json_t *request;     /* that is being treated; NULL: none */
	struct timer *again; /* runs when it is to be treated again */
	uint64_t began_ns;
	bool reading;
	bool held;     /* the answer will come by control_answer() */
	bool waits;    /* its user has had more than his part of the loop's time */
	bool in_lines; /* treat_lines() is at work and goes on by itself */
	bool closing;
	bool owner;
	uid_t user;	      /* who is bounded: the asker, or whose subordinate id that is */
	unsigned int writing; /* answers on their way */
	uint64_t line_ns;     /* when a line began that has not ended; 0: none has */
	uint64_t idle_ns;     /* when it was answered last, or accepted */
	size_t used;
	size_t room; /* of `line`; 0: nothing has arrived that is not treated */
	char *line;
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
	free(c->groups);
	free(c->line);
	free(c);
}

static void end(struct control *c)
{
	if (c->closing)
		return;
	c->closing = true;
	machine_forget(c->daemon, c);
	upgrade_forget(c->daemon, c);
	waiting_leave(c->daemon, c);
	changes_forget(c->daemon, c);
	timer_free(c->again);
	uv_close((uv_handle_t *)&c->pipe, on_closed);
}

static size_t unread(const struct control *c)
{
	return uv_stream_get_write_queue_size((const uv_stream_t *)&c->pipe);
}

static void treat_lines(struct control *c);

static void on_written(uv_write_t *write, int status)
{
	struct answer *a = write->data;
	struct control *c = a->control;

	c->writing--;
	if (status)
		end(c);
	free(a->text);
	free(a);
	treat_lines(c);
}

/* What all others than owners leave unread has a bound: who has left something for longest is dropped. */
static void bound_unread(struct daemon *daemon)
{
	for (;;) {
		struct control *oldest = NULL;
		size_t bytes = 0;

		for (struct control *c = daemon->controls; c; c = c->next) {
			if (c->owner || c->closing || !unread(c))
				continue;
			bytes += unread(c);
			if (!oldest || c->idle_ns < oldest->idle_ns)
				oldest = c;
		}
		if (bytes <= UNREAD_BYTES)
			return;
		log_of(oldest->asker.uid,
		       "control: answers of more than %u MiB are not read: that to uid %u (pid %d) is dropped",
		       UNREAD_BYTES >> 20, (unsigned int)oldest->asker.uid, (int)oldest->asker.pid);
		end(oldest);
	}
}

static void send_text(struct control *c, char *take_text)
{
	struct answer *a = calloc(1, sizeof(*a));
	uv_buf_t buffer;

	if (!a || !take_text || c->closing) {
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
	c->idle_ns = clock_now_ns();
	if (uv_write(&a->write, (uv_stream_t *)&c->pipe, &buffer, 1, on_written)) {
		c->writing--;
		free(a->text);
		free(a);
		end(c);
	} else if (unread(c)) {
		daemon_sweep_soon(c->daemon);
		bound_unread(c->daemon);
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

/* Of the loop's time: a request may take a while (a change is written to the disk), and others must have theirs. */
static const struct spent_rule time_rule = { .part = TIME_PART, .at_once_ns = TIME_AT_ONCE_NS };

static void spend(struct control *c, uint64_t since_ns)
{
	uint64_t now_ns = clock_now_ns();

	if (!c->owner)
		spent_add(&c->daemon->control_time, &time_rule, c->user, now_ns - since_ns, now_ns);
}

static bool must_wait(struct control *c)
{
	uint64_t wait_ns = c->owner ? 0 : spent_wait_ns(&c->daemon->control_time, &time_rule, c->user, clock_now_ns());

	if (!wait_ns)
		return false;
	c->waits = true;
	timer_start(c->again, wait_ns / 1000000 + 1, 0);
	return true;
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
	log_of(c->asker.uid, "control: a request of uid %u (pid %d) %s", (unsigned int)c->asker.uid, (int)c->asker.pid,
	       why);
	answer(c, json_pack("{s:b s:s s:o}", "ok", 0, "code", code_word(CODE_MALFORMED), "error",
			    json_sprintf("the request %s", why)));
}

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

	if (!c->waits)
		treat(c, clock_now_ns() - c->began_ns < AGAIN_NS ? VERBS_AGAIN : VERBS_LAST);
	c->waits = false;
	treat_lines(c);
}

static void treat(struct control *c, enum verbs_turn turn)
{
	uint64_t since_ns = clock_now_ns();
	json_t *ret = NULL;

	switch (verbs_treat(c->daemon, &c->asker, c->request, turn, &ret)) {
	case VERBS_ANSWERED:
		answer(c, ret);
		break;
	case VERBS_ASK_MACHINE:
		if (machine_refresh(c->daemon, on_machine, c))
			end(c);
		break;
	case VERBS_ASK_DRIVER:
		if (machine_refresh_driver(c->daemon, grant_asked_kind(c->request), on_machine, c))
			end(c);
		break;
	case VERBS_LATER:
		timer_start(c->again, AGAIN_MS, 0);
		break;
	case VERBS_HELD:
		c->held = true;
		break;
	}
	spend(c, since_ns);
}

/*
 * A request that is under way goes to the next meted within what that one reads: it has far fewer levels than are read.
 */
static bool is_deep(const char *line, size_t length)
{
	bool quoted = false;
	unsigned int levels = 0;

	for (size_t i = 0; i < length; i++) {
		if (quoted && line[i] == '\\')
			i++;
		else if (line[i] == '"')
			quoted = !quoted;
		else if (!quoted && (line[i] == '[' || line[i] == '{') && ++levels > LEVELS_MOST)
			return true;
		else if (!quoted && levels && (line[i] == ']' || line[i] == '}'))
			levels--;
	}
	return false;
}

/* Takes the first line, of `length` bytes, out of the buffer and treats it. */
static void treat_line(struct control *c, size_t length)
{
	bool deep = is_deep(c->line, length);
	json_error_t why;

	c->began_ns = clock_now_ns();
	c->line_ns = 0;
	c->request = deep ? NULL : json_loadb(c->line, length, JSON_REJECT_DUPLICATES, &why);
	c->used -= length + 1;
	memmove(c->line, c->line + length + 1, c->used);
	if (c->request && json_is_object(c->request)) {
		treat(c, VERBS_FIRST);
		return;
	}
	refuse(c, deep ? "has too many levels" : c->request ? "is no JSON object" : "is no JSON");
	spend(c, c->began_ns);
}

static void on_room(uv_handle_t *handle, size_t suggested, uv_buf_t *buf);
static void on_text(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf);

/* Nothing more is read: a request is under way, or waits, or its answer has not been read. */
static bool is_held_up(const struct control *c)
{
	return c->request || c->waits || unread(c);
}

/* A part of a line is there: the rest must come in time. */
static void await_rest(struct control *c)
{
	if (!c->used || c->line_ns)
		return;
	c->line_ns = clock_now_ns();
	daemon_sweep_soon(c->daemon);
}

/* Room for `bytes` of text, LINE_BYTES at most. */
static bool make_room(struct control *c, size_t bytes)
{
	size_t room = c->room ? c->room : LINE_FIRST_BYTES;
	char *line;

	while (room < bytes)
		room *= 2;
	if (room == c->room)
		return true;
	line = realloc(c->line, room);
	if (!line)
		return false;
	c->line = line;
	c->room = room;
	return true;
}

/* Most connections are silent most of the time, and then cost no buffer. */
static void give_room_back(struct control *c)
{
	if (c->used)
		return;
	free(c->line);
	c->line = NULL;
	c->room = 0;
}

/* Treats what has arrived, one request at a time; while one is not answered, nothing more is read. */
static void treat_lines(struct control *c)
{
	char *end_of_line;

	if (c->in_lines)
		return;
	c->in_lines = true;
	while (!c->closing && !is_held_up(c) && c->used && (end_of_line = memchr(c->line, '\n', c->used)) &&
	       !must_wait(c))
		treat_line(c, (size_t)(end_of_line - c->line));
	c->in_lines = false;
	if (c->closing)
		return;
	give_room_back(c);
	if (is_held_up(c)) {
		if (c->reading)
			uv_read_stop((uv_stream_t *)&c->pipe);
		c->reading = false;
	} else if (c->used == LINE_BYTES) {
		refuse(c, "is longer than 64 KiB");
		end(c);
	} else {
		await_rest(c);
		if (!c->reading)
			c->reading = !uv_read_start((uv_stream_t *)&c->pipe, on_room, on_text);
	}
}

static void on_room(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
	struct control *c = handle->data;

	(void)suggested;
	*buf = make_room(c, c->used + 1) ? uv_buf_init(c->line + c->used, (unsigned int)(c->room - c->used))
					 : uv_buf_init(NULL, 0);
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

	if (json_string_length(line) < LINE_BYTES && make_room(c, json_string_length(line))) {
		c->used = json_string_length(line);
		memcpy(c->line, json_string_value(line), c->used);
	}
	c->request = json_incref(json_object_get(saved, "request"));
	c->began_ns = clock_now_ns();
	if (c->request)
		treat(c, json_is_true(json_object_get(saved, "held")) ? VERBS_TAKEN_OVER : VERBS_FIRST);
}

static bool peer_of(int fd, struct ucred *ret)
{
	socklen_t size = sizeof(*ret);

	return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, ret, &size);
}

/* The kernel's word (SO_PEERGROUPS, since Linux 4.13); without it the one group that it always says. */
static void read_groups(struct control *c, int fd)
{
	socklen_t size = 0;
	unsigned int n = 0;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, NULL, &size) && errno == ERANGE)
		n = size / sizeof(gid_t);
	c->groups = calloc(n + 1, sizeof(gid_t));
	if (!c->groups)
		return;
	if (n && getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, c->groups, &size))
		n = 0;
	c->groups[n] = c->asker.gid;
	c->asker.groups = c->groups;
	c->asker.group_count = n + 1;
}

/* saved: NULL, or how control_save() has found it. */
static void control_new(struct daemon *daemon, int fd, const json_t *saved)
{
	struct control *c = calloc(1, sizeof(*c));
	struct ucred peer;

	if (!c || !peer_of(fd, &peer)) {
		free(c);
		close(fd);
		return;
	}
	c->daemon = daemon;
	c->owner = owner_is(peer.uid);
	c->user = subordinate_user(peer.uid);
	c->idle_ns = clock_now_ns();
	c->asker = (struct asker){ .uid = peer.uid, .gid = peer.gid, .pid = peer.pid, .control = c };
	read_groups(c, fd);
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
	if (!daemon->runtime.system && !owner_is(peer.uid)) {
		log_of(peer.uid, "control: uid %u is not served: this meted is private to uid %u",
		       (unsigned int)peer.uid, (unsigned int)geteuid());
		end(c);
		return;
	}
	if (saved) {
		waiting_restore(daemon, c, json_object_get(saved, "waits"));
		resume(c, saved);
	}
	treat_lines(c);
}

const struct asker *control_asker(const struct control *c)
{
	return &c->asker;
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
		line = c->used && memchr(c->line, 0, c->used) ? NULL : json_stringn(c->used ? c->line : "", c->used);
		if (c->closing || c->writing || !line || uv_fileno((uv_handle_t *)&c->pipe, &fd)) {
			json_decref(line);
			continue;
		}
		one = json_pack("{s:o s:o s:b s:o}", "fd", handover_give(h, fd), "line", line, "held", c->held, "waits",
				waiting_save(daemon, c));
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

/* An answer that is not read in time keeps no place, and neither does who waits for news. */
static bool is_busy(const struct control *c, uint64_t now_ns)
{
	return (c->request && !changes_waits(c->daemon, c)) || (unread(c) && now_ns - c->idle_ns < UNREAD_BUSY_NS);
}

static unsigned int list_places(const struct daemon *daemon, struct admission there[CONTROLS_MAX])
{
	uint64_t now_ns = clock_now_ns();
	unsigned int n = 0;

	for (struct control *c = daemon->controls; c && n < CONTROLS_MAX; c = c->next)
		if (!c->closing)
			there[n++] = (struct admission){ .uid = c->user,
							 .owner = c->owner,
							 .busy = is_busy(c, now_ns),
							 .idle_since_ns = c->idle_ns,
							 .who = c };
	return n;
}

/* Value: there is a place for a connection of this user, perhaps one that another has just lost. */
static bool make_place(struct daemon *daemon, uid_t uid)
{
	static const struct admission_rule rule = { CONTROLS_MAX, CONTROLS_KEPT, CONTROLS_OF_UID };
	static const struct admission_rule own = { CONTROLS_MAX, 0, CONTROLS_MAX };
	struct admission there[CONTROLS_MAX];
	unsigned int count = list_places(daemon, there);
	const struct admission *yields;

	switch (admission_ask(daemon->runtime.system ? &rule : &own, there, count, subordinate_user(uid), owner_is(uid),
			      &yields)) {
	case ADMISSION_FREE:
		return true;
	case ADMISSION_YIELDS:
		log_of(uid, "control: no place for one more connection of uid %u: an idle one of uid %u is closed",
		       (unsigned int)uid, (unsigned int)yields->uid);
		end(yields->who);
		return true;
	case ADMISSION_NONE:
		break;
	}
	log_of(uid, "control: more than %u connections, or %u of uid %u, all with requests: one is refused",
	       CONTROLS_MAX, CONTROLS_OF_UID, (unsigned int)uid);
	return false;
}

static void on_connect(void *owner)
{
	struct daemon *daemon = owner;
	struct ucred peer;

	for (int i = 0; i < ACCEPTS_PER_TURN; i++) {
		int fd = daemon_accept(daemon, daemon->control_fd, 0);

		if (fd < 0)
			return;
		if (peer_of(fd, &peer) && !daemon_keeps_back(daemon, peer.uid) && make_place(daemon, peer.uid))
			control_new(daemon, fd, NULL);
		else
			close(fd);
	}
}

/* Value: whether it has something to do in a time. */
static bool sweep(struct control *c, uint64_t now_ns)
{
	bool slow = unread(c) && now_ns - c->idle_ns >= UNREAD_NS;

	if (c->closing || (!unread(c) && !c->line_ns))
		return false;
	if (!is_held_up(c) && c->line_ns && now_ns - c->line_ns >= LINE_NS) {
		refuse(c, "has not ended within 10 s");
		end(c);
	} else if (slow) {
		log_of(c->asker.uid, "control: uid %u (pid %d) does not read its answer: connection closed",
		       (unsigned int)c->asker.uid, (int)c->asker.pid);
		end(c);
	}
	return !c->closing;
}

unsigned int control_sweep(struct daemon *daemon, uint64_t now_ns)
{
	unsigned int n = 0;

	for (struct control *c = daemon->controls; c; c = c->next)
		n += sweep(c, now_ns);
	return n;
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
	send_fds_admit(daemon->control_fd, false);
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
