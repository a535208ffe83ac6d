/*
 * api_watch.c: see api.h: a collection that is listed, and followed from there.
 *
 * The server ends each watch after some minutes, at a time of chance, so that nodes that began together do not come
 * back together. Lists come in pages.
 */
#include "connect/kubernetes/api_call.h"

#include "base/clock.h"
#include "connect/kubernetes/proto.h"

#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define WATCH_S 300u /* and up to as much again */
#define WATCH_GRACE_S 30
#define PAGE 500
#define PAGE_UNSELECTED 100 /* of what is mostly thrown away */
#define LINE_MOST (16u << 20)
#define PAUSE_MOST_S 60u
#define SECOND 1000000000ull

struct api_watch {
	struct api_watch *next;
	struct api *api;
	struct api_call *call; /* NULL: it waits for its timer */
	struct watch timer;
	const struct api_events *events;
	void *owner;
	char path[512], selector[256];
	char version[64];    /* of the collection; "": to be listed */
	char page[1024];     /* where the list goes on; "": at its beginning */
	json_t *items;	     /* of the pages so far */
	struct bytes line;   /* that is not whole yet */
	unsigned int failed; /* tries in a row */
	uint64_t since_ns;   /* of the watch */
	bool troubled, selector_refused;
};

static uint32_t chance(uint32_t below)
{
	uint32_t n = 0;

	if (getrandom(&n, sizeof(n), GRND_NONBLOCK) != sizeof(n))
		n = (uint32_t)clock_now_ns();
	return below ? n % below : 0;
}

uint64_t api_pause_ns(unsigned int failed)
{
	uint64_t pause = failed > 6 ? PAUSE_MOST_S : 1u << (failed ? failed - 1 : 0);

	pause = (pause < PAUSE_MOST_S ? pause : PAUSE_MOST_S) * SECOND;
	return pause / 4 * 3 + (uint64_t)chance(1000) * (pause / 2000);
}

static void arm(struct api_watch *w, uint64_t ns)
{
	struct itimerspec t = { .it_value = { (time_t)(ns / SECOND), (long)(ns % SECOND) } };

	if (!ns)
		t.it_value.tv_nsec = 1;
	timerfd_settime(w->timer.fd, 0, &t, NULL);
}

static void say(struct api_watch *w, const char *line)
{
	if (line || w->troubled)
		w->events->trouble(w->owner, line);
	w->troubled = line;
}

static void forget_list(struct api_watch *w)
{
	json_decref(w->items);
	w->items = NULL;
	*w->page = 0;
}

static void again(struct api_watch *w, const char *line)
{
	w->failed++;
	say(w, line);
	arm(w, api_pause_ns(w->failed));
}

static void take_version(struct api_watch *w, json_t *object)
{
	const char *version =
		json_string_value(json_object_get(json_object_get(object, "metadata"), "resourceVersion"));

	if (version && *version)
		snprintf(w->version, sizeof(w->version), "%s", version);
}

/* A line of the watch. Value: false: it is to be listed anew. */
static bool take_line(struct api_watch *w, const char *text, size_t size)
{
	json_t *line = json_loadb(text, size, JSON_ALLOW_NUL, NULL), *object = json_object_get(line, "object");
	const char *type = json_string_value(json_object_get(line, "type"));
	bool good = type && strcmp(type, "ERROR");

	if (good) {
		take_version(w, object);
		if (strcmp(type, "BOOKMARK"))
			w->events->event(w->owner, type, object);
	} else {
		*w->version = 0;
	}
	json_decref(line);
	return good;
}

static bool fed(void *owner, const char *data, size_t size)
{
	struct api_watch *w = owner;
	const char *end;

	while ((end = memchr(data, '\n', size))) {
		size_t part = (size_t)(end - data);
		bool good;

		bytes_add(&w->line, data, part);
		good = !w->line.bad && (!w->line.size || take_line(w, (const char *)w->line.data, w->line.size));
		w->line.size = 0;
		if (!good)
			return false;
		data = end + 1;
		size -= part + 1;
	}
	if (w->line.size + size > LINE_MOST)
		return false;
	bytes_add(&w->line, data, size);
	return !w->line.bad;
}

static void begin(struct api_watch *w);

static void watch_done(void *owner, const struct api_answer *answer)
{
	struct api_watch *w = owner;
	uint64_t lasted = clock_now_ns() - w->since_ns;

	w->call = NULL;
	w->line.size = 0;
	if (answer->status == 410)
		*w->version = 0;
	if (answer->status == 200 || answer->status == 410) {
		/* One that ends at once is a server that is in trouble; that goes on for long is how it is. */
		if (lasted > 10 * SECOND)
			w->failed = 0;
		else
			w->failed++;
		say(w, NULL);
		arm(w, w->failed > 1 ? api_pause_ns(w->failed) : chance(1000) * (SECOND / 2000));
		return;
	}
	again(w, answer->line);
}

/* A page. Value: true: it was the last one. */
static bool take_page(struct api_watch *w, json_t *body)
{
	const char *next = json_string_value(json_object_get(json_object_get(body, "metadata"), "continue"));
	json_t *item;
	size_t i;

	if (!w->items)
		w->items = json_array();
	json_array_foreach (json_object_get(body, "items"), i, item)
		if (!w->events->wants || w->events->wants(w->owner, item))
			json_array_append(w->items, item);
	snprintf(w->page, sizeof(w->page), "%s", next ? next : "");
	if (*w->page)
		return false;
	take_version(w, body);
	return true;
}

static void list_done(void *owner, const struct api_answer *answer)
{
	struct api_watch *w = owner;

	w->call = NULL;
	if (answer->status == 400 && *w->selector && !w->selector_refused) {
		w->selector_refused = true;
		begin(w);
		return;
	}
	if (answer->status == 410) /* of a page that is too old */
		forget_list(w);
	if (answer->status != 200 || !answer->body) {
		again(w, *answer->line ? answer->line : "the API server's list is no JSON");
		return;
	}
	if (take_page(w, answer->body)) {
		json_t *items = w->items;

		w->items = NULL;
		w->failed = 0;
		say(w, NULL);
		w->events->list(w->owner, items);
		json_decref(items);
	}
	begin(w);
}

static void begin(struct api_watch *w)
{
	const char *selector = w->selector_refused ? "" : w->selector, *mark = *selector ? "&" : "";
	unsigned int seconds = WATCH_S + chance(WATCH_S);
	char path[2048];

	w->since_ns = clock_now_ns();
	if (*w->version && !w->items) {
		snprintf(path, sizeof(path),
			 "%s?%s%swatch=1&allowWatchBookmarks=true&timeoutSeconds=%u&resourceVersion=%s", w->path,
			 selector, mark, seconds, w->version);
		w->call = api_stream(w->api, path, (long)seconds + WATCH_GRACE_S, fed, watch_done, w);
	} else {
		snprintf(path, sizeof(path), "%s?%s%slimit=%u%s%s", w->path, selector, mark,
			 w->selector_refused ? PAGE_UNSELECTED : PAGE,
			 *w->page ? "&continue=" : "", w->page);
		w->call = api_ask(w->api, "GET", path, NULL, list_done, w);
	}
	if (!w->call)
		again(w, "no memory");
}

static void timer_ready(struct watch *watch, uint32_t events)
{
	struct api_watch *w = watch->owner;
	uint64_t count;

	if (read(watch->fd, &count, sizeof(count)) > 0 && !w->call)
		begin(w);
}

struct api_watch *api_watch_begin(struct api *a, const char *path, const char *selector,
				  const struct api_events *events, void *owner)
{
	struct api_watch *w = calloc(1, sizeof(*w)), **list = api_watches(a);

	if (!w)
		return NULL;
	w->api = a;
	w->events = events;
	w->owner = owner;
	snprintf(w->path, sizeof(w->path), "%s", path);
	snprintf(w->selector, sizeof(w->selector), "%s", selector ? selector : "");
	w->timer = (struct watch){ .fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK),
				   .ready = timer_ready,
				   .owner = w };
	if (w->timer.fd < 0 || loop_add(api_loop(a), &w->timer, EPOLLIN)) {
		if (w->timer.fd >= 0)
			close(w->timer.fd);
		free(w);
		return NULL;
	}
	w->next = *list;
	*list = w;
	begin(w);
	return w;
}

void api_watch_end(struct api_watch *w)
{
	for (struct api_watch **at = api_watches(w->api); *at; at = &(*at)->next)
		if (*at == w) {
			*at = w->next;
			break;
		}
	if (w->call)
		api_cancel(w->call);
	loop_remove(api_loop(w->api), &w->timer);
	json_decref(w->items);
	bytes_free(&w->line);
	free(w);
}
