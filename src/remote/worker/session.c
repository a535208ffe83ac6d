/* session.c: see session.h; and those functions of worker.h that need nothing else. */
#include "remote/worker/session.h"

#include "remote/worker/captures.h"
#include "remote/worker/execute.h"
#include "remote/worker/hosts.h"
#include "remote/worker/payload.h"
#include "remote/worker/places.h"
#include "remote/worker/traffic.h"
#include "remote/worker/uses.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void on_gone(void *owner, uint64_t id, void *handle, bool ranges)
{
	struct worker *worker = owner;

	if (ids_kind(id) == KIND_CONTEXT) {
		contexts_gone(&worker->contexts, id);
		places_context_gone(worker->driver, id);
	}
	if (ranges)
		ranges_remove_owner(&worker->ranges, id);
}

static void *enter(void *arg, uint8_t **ret_message)
{
	struct worker *worker = arg;
	struct execute_room *room = malloc(sizeof(*room));

	if (!room || execute_room_init(room, &worker->rooms, ring_longest(worker->wall->welcome.ring_bytes)) < 0) {
		free(room);
		return NULL;
	}
	ids_reader_init(&worker->ids, &room->reader);
	*ret_message = room->request;
	return room;
}

static void leave(void *arg, void *given)
{
	struct execute_room *room = given;
	struct worker *worker = arg;

	ids_reader_deinit(&worker->ids, &room->reader);
	execute_room_deinit(room);
	free(room);
}

static int execute_one(void *arg, void *room, size_t size)
{
	bool yielded;

	return execute(arg, room, size, &yielded);
}

static const struct inbox_ops inbox_ops = { .enter = enter, .leave = leave, .execute = execute_one };

int session_init(struct worker *worker, const struct cuda_table *driver, struct wall *wall)
{
	int r;

	memset(worker, 0, sizeof(*worker));
	captures_forget();
	captures_wrap(&worker->table, driver);
	worker->driver = &worker->table;
	worker->wall = wall;
	pthread_mutex_init(&worker->replies_lock, NULL);
	ranges_init(&worker->ranges);
	contexts_init(&worker->contexts);
	inbox_init(&worker->inbox, &wall->requests, &inbox_ops, worker);
	r = execute_rooms_init(&worker->rooms);
	return r ? r : ids_init(&worker->ids, on_gone, worker);
}

void session_deinit(struct worker *worker)
{
	inbox_deinit(&worker->inbox);
	rooms_deinit(&worker->rooms);
	ids_deinit(&worker->ids);
	contexts_deinit(&worker->contexts);
	ranges_deinit(&worker->ranges);
	pthread_mutex_destroy(&worker->replies_lock);
}

int session_run(struct worker *worker)
{
	int r = inbox_run(&worker->inbox);

	hosts_end(worker);
	payload_end();
	return r == -EPIPE ? 0 : r;
}

int worker_reply(struct worker *worker, const struct call_reply *head, const struct call_payload *payload,
		 const void *body, size_t bytes)
{
	size_t size = sizeof(*head) + (payload ? sizeof(*payload) : 0) + remote_padded(bytes);
	struct call_reply whole = *head;
	struct call_payload sent = payload ? *payload : (struct call_payload){ 0 };
	uint8_t *to;
	void *at;
	int r;

	whole.size = (uint32_t)size;
	whole.flags = payload ? CALL_PAYLOAD : 0;
	pthread_mutex_lock(&worker->replies_lock);
	r = ring_begin(&worker->wall->replies, size, &at);
	if (!r) {
		to = at;
		if (payload)
			sent.serial = ++worker->payloads;
		if (payload && head->call == CALL_NOTICE_MIRROR && !head->ticket)
			worker->fence = (uint32_t)sent.serial;
		whole.fence = worker->fence;
		memcpy(to, &whole, sizeof(whole));
		to += sizeof(whole);
		if (payload) {
			memcpy(to, &sent, sizeof(sent));
			to += sizeof(sent);
		}
		if (bytes)
			memcpy(to, body, bytes);
		memset(to + bytes, 0, remote_padded(bytes) - bytes);
		traffic_sent(size, sent.bytes);
		ring_commit(&worker->wall->replies, size);
		/* Whoever is not executing looks for what the client asks next. */
		if (head->ticket)
			ring_expect(&worker->wall->requests, false);
	}
	pthread_mutex_unlock(&worker->replies_lock);
	return r ? -EPIPE : 0;
}

int worker_notice(struct worker *worker, uint16_t notice, const void *body, size_t bytes)
{
	struct call_reply head = { .call = notice };

	return worker_reply(worker, &head, NULL, body, bytes);
}

void worker_log(const char *fmt, ...)
{
	char line[400];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	fprintf(stderr, "mete-worker: %s\n", line);
}

bool worker_coherent(const struct worker *worker)
{
	return worker->wall->welcome.flags & WALL_COHERENT;
}

const struct wall_welcome *worker_welcome(const struct worker *worker)
{
	return &worker->wall->welcome;
}

const struct cuda_table *worker_driver(const struct worker *worker)
{
	return worker->driver;
}

void *worker_arena(struct work *work, uint64_t offset, size_t bytes)
{
	return wall_arena(work->worker->wall, offset, bytes);
}

void worker_yield(struct work *work)
{
	if (!uses_hold(work))
		return;
	if (work->reader)
		ids_read_end(&work->worker->ids, work->reader);
	work->yielded = inbox_yield(&work->worker->inbox);
}
