/* session.c: see session.h. */
#include "remote/client/session.h"

#include "base/connect_remedy.h"
#include "base/setting.h"
#include "remote/client/grave.h"
#include "remote/client/hosts.h"
#include "remote/client/images.h"
#include "remote/client/move.h"
#include "remote/client/parked.h"

#include "cuda_remote.h"
#include "remote/client/call.h"
#include "remote/client/start.h"
#include "remote/client/thread.h"
#include "remote/client/visible.h"
#include "remote/snapshot.h"
#include "core/log.h"
#include "ring/wall.h"

#include <stdio.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define CONNECT_MS 30000u /* a worker that has to be started, a server that is far away */
#define AWAY_PAUSE_MS 20u
#define AWAY_TRIES 4

struct session *sessions[SESSIONS];
unsigned int session_count;
int session_devices;

static char paths[4096]; /* METE_REMOTE, cut at its commas */

/* What a refusal is called in the API. */
static CUresult refusal(int status)
{
	switch (status) {
	case WALL_WRONG_VERSION:
		return CUDA_ERROR_SYSTEM_DRIVER_MISMATCH;
	case WALL_FULL:
		return CUDA_ERROR_DEVICE_UNAVAILABLE;
	case WALL_REFUSED:
		return CUDA_ERROR_NOT_PERMITTED;
	case WALL_NO_DEVICE:
		return CUDA_ERROR_NO_DEVICE;
	default:
		return CUDA_ERROR_SYSTEM_NOT_READY;
	}
}

static void on_retired(void *arg, uint64_t serial)
{
	struct session *s = arg;

	arena_retired(&s->arena, serial);
}

static void on_mirror(void *arg, const struct call_payload *payload)
{
	struct session *s = arg;

	mirrors_come(&s->mirrors, payload->offset, payload->bytes);
}

/* Whose line it is: the server as the user calls it, which the relay knows; else the socket. "" when `text` says it. */
static const char *whose(const struct session *s, const char *text)
{
	const struct wall_welcome *w = &s->link.wall.welcome;
	bool far = w->server[0] && !(w->flags & WALL_COHERENT);
	const char *name = far ? w->server : s->path, *port = strrchr(name, ':');
	char host[sizeof w->server] = "";

	if (far && port)
		memcpy(host, name, (size_t)(port - name));
	return *host && strstr(text, host) ? "" : name;
}

static void on_lost(void *arg, const char *why)
{
	const char *name = whose(arg, why);

	log_line("%s%s%s; every call from now on answers CUDA_ERROR_DEVICE_UNAVAILABLE", name, *name ? ": " : "", why);
}

void session_tell_unavailable(struct session *s)
{
	if (!atomic_exchange_explicit(&s->unavailable, 1, memory_order_relaxed))
		log_line("%s: the driver answers CUDA_ERROR_DEVICE_UNAVAILABLE: it has lost the device, or gives it to "
			 "nobody; `mete devices` there says which",
			 whose(s, ""));
}

static void on_host(void *arg, const void *body, size_t bytes)
{
	if (session_host)
		session_host(arg, body, bytes);
}

/* What kernels print goes where the driver would have put it. */
static void on_output(void *arg, const char *text, size_t bytes)
{
	int saved = errno;

	fwrite(text, 1, bytes, stdout);
	fflush(stdout);
	errno = saved;
}

static const struct link_handlers handlers = {
	.retired = on_retired, .mirror = on_mirror, .host = on_host, .output = on_output, .lost = on_lost
};

/*
 * A meted, or a relay, that is away is waited for, as it is where there is no wall. One that was there and went, which
 * a worker that fails does as well, is tried a few times.
 */
static int open_link(struct session *s)
{
	unsigned int waited = 0, tries = 0;
	int r;

	for (;;) {
		r = link_open(&s->link, s->path, CUDA_REMOTE_FINGERPRINT, NULL, CONNECT_MS, &handlers, s);
		if (r != WALL_AWAY && !connect_is_away(r))
			return r;
		if (waited >= CONNECT_PATIENCE_MS || (r != -ECONNREFUSED && ++tries > AWAY_TRIES))
			return r;
		waited += AWAY_PAUSE_MS;
		syscall(SYS_nanosleep, &(struct timespec){ .tv_nsec = AWAY_PAUSE_MS * 1000000L }, NULL);
	}
}

static CUresult connect_to(struct session *s)
{
	const char *name, *text;
	int saved = errno, r = open_link(s);

	errno = saved;
	if (r > 0) {
		text = s->link.wall.welcome.text;
		if (!*text)
			text = "this library and the worker are of different versions; install the same mete on both";
		name = whose(s, text);
		log_line("%s%s%s", name, *name ? ": " : "", text);
		return refusal(r);
	}
	if (r < 0) {
		text = connect_remedy(r);
		log_line("METE_REMOTE=%s: %s; %s", s->path, strerror(-r),
			 text ? text : "is the worker or relay behind this socket still there?");
		return CUDA_ERROR_SYSTEM_NOT_READY;
	}
	s->open = true;
	s->coherent = s->link.wall.welcome.flags & WALL_COHERENT;
	return arena_init(&s->arena, &s->link) < 0 ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

/* The snapshot's answers go into the memo, and what the worker has need not be sent. False: malformed. */
static bool snapshot_take(struct session *s, struct remote_reader *in)
{
	while (in->used < in->size) {
		struct snapshot_entry e;
		const void *request, *reply;
		struct memo_key key;

		remote_get(in, &e, sizeof e);
		request = remote_take(in, e.request_bytes);
		reply = remote_take(in, e.reply_bytes);
		if (in->bad)
			return false;
		if (e.call == CALL_CODE_HELD) {
			images_held(s, reply, e.reply_bytes);
			continue;
		}
		key = (struct memo_key){ .call = e.call, .bytes = request, .size = remote_padded(e.request_bytes) };
		memo_add(&s->memo, &key, e.result, reply, remote_padded(e.reply_bytes), true);
	}
	return true;
}

static CUresult snapshot_ask(struct session *s)
{
	struct client_call c;
	int32_t count = 0;

	client_request_to(&c, CALL_OPEN, s);
	if (client_begin(&c, true))
		client_send(&c);
	if (c.result == CUDA_SUCCESS && !snapshot_take(s, &c.in))
		c.result = CLIENT_LOST;
	if (client_end(&c) != CUDA_SUCCESS)
		return c.result;
	client_request_to(&c, CUDA_CALL_cuDeviceGetCount, s);
	if (client_begin_memo(&c)) {
		remote_put_present(&c.out, &count);
		client_send(&c);
	}
	if (c.result == CUDA_SUCCESS)
		remote_get(&c.in, &count, sizeof count);
	visible_add(s, count);
	return client_end(&c);
}

static void session_free(struct session *s)
{
	if (!s)
		return;
	move_stop(s);
	if (s->open) {
		link_close(&s->link);
		arena_deinit(&s->arena);
	}
	handles_deinit(&s->handles);
	memo_clear(&s->memo);
	free(s);
}

static CUresult session_open(const char *path, struct session **ret)
{
	struct session *s = calloc(1, sizeof *s);
	CUresult r;

	if (!s)
		return CUDA_ERROR_OUT_OF_MEMORY;
	s->index = session_count;
	s->path = path;
	handles_init(&s->handles, s->index);
	memo_init(&s->memo);
	r = connect_to(s);
	if (r == CUDA_SUCCESS)
		r = snapshot_ask(s);
	/* Without a thread for it the session stays where it is. */
	if (r == CUDA_SUCCESS)
		move_start(s);
	if (r == CUDA_SUCCESS)
		*ret = s;
	else
		session_free(s);
	return r;
}

void session_close_all(void)
{
	while (session_count) {
		__atomic_store_n(&session_count, session_count - 1, __ATOMIC_RELAXED);
		session_free(sessions[session_count]);
	}
	visible_forget();
	session_devices = 0;
}

CUresult session_open_all(void)
{
	const char *list = setting_get("METE_REMOTE");
	CUresult r = CUDA_SUCCESS;
	char *at = paths, *next;

	if (!list || !*list || strlen(list) >= sizeof paths) {
		log_line("METE_REMOTE does not name the socket of a worker or relay; start the program with `mete run "
			 "--remote` or `mete run --wall`");
		return CUDA_ERROR_NO_DEVICE;
	}
	strcpy(paths, list);
	for (; r == CUDA_SUCCESS && at; at = next) {
		next = strchr(at, ',');
		if (next)
			*next++ = 0;
		if (session_count == SESSIONS) {
			log_line("METE_REMOTE names more than %u servers", SESSIONS);
			r = CUDA_ERROR_NO_DEVICE;
		} else {
			r = session_open(at, &sessions[session_count]);
		}
		/* Release: pairs with the thread of move.c. */
		if (r == CUDA_SUCCESS)
			__atomic_store_n(&session_count, session_count + 1, __ATOMIC_RELEASE);
	}
	if (r != CUDA_SUCCESS)
		session_close_all();
	return r;
}

CUresult session_choose(void)
{
	session_devices = visible_choose();
	return session_devices ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE;
}

/* What the parent's threads may have been changing is left as it is. */
void session_forget_all(void)
{
	for (unsigned int i = 0; i < session_count; i++)
		link_abandon(&sessions[i]->link);
	move_forget();
	visible_forget();
	images_forget();
	hosts_forget();
	grave_forget();
	parked_forget();
	session_count = 0;
	session_devices = 0;
}
