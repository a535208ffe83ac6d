/* api.c: see api.h. */
#include "connect/kubernetes/api_call.h"

#include "connect/cdi/plain_file.h"
#include "connect/kubernetes/api_identity.h"
#include "connect/kubernetes/proto.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define CONNECT_PATIENCE_S 5L
#define ACCEPT "Accept: application/json"
#define ANSWER_MOST (64u << 20)

struct api {
	struct loop *loop;
	struct api_identity identity;
	CURLM *multi;
	struct watch timer; /* curl's */
	struct api_call *calls;
	struct api_watch *watches;
};

struct api_call {
	struct api_call *next;
	struct api *api;
	CURL *easy;
	struct curl_slist *headers;
	char *body;
	struct bytes in;
	api_feed *feed; /* NULL: the answer is kept */
	api_done *done;
	void *owner;
	char what[512];	 /* "GET /api/v1/..." */
	char early[512]; /* why it was not begun; "": it was */
	char error[CURL_ERROR_SIZE];
};

/* A socket of curl's; it closes it. */
struct socket {
	struct watch watch;
	struct api *api;
};

struct loop *api_loop(struct api *a)
{
	return a->loop;
}

struct api_watch **api_watches(struct api *a)
{
	return &a->watches;
}

const char *api_url(const struct api *a)
{
	return a->identity.url;
}

static void call_free(struct api_call *c)
{
	for (struct api_call **at = &c->api->calls; *at; at = &(*at)->next)
		if (*at == c) {
			*at = c->next;
			break;
		}
	if (c->easy) {
		curl_multi_remove_handle(c->api->multi, c->easy);
		curl_easy_cleanup(c->easy);
	}
	curl_slist_free_all(c->headers);
	free(c->body);
	bytes_free(&c->in);
	free(c);
}

static void timer_set(struct api *a, long ms)
{
	struct itimerspec t = { 0 };

	if (ms >= 0) {
		t.it_value.tv_sec = ms / 1000;
		t.it_value.tv_nsec = ms % 1000 * 1000000 + 1; /* zero would disarm it */
	}
	timerfd_settime(a->timer.fd, 0, &t, NULL);
}

static int on_timer(CURLM *multi, long ms, void *owner)
{
	timer_set(owner, ms);
	return 0;
}

/* curl says how long it tried, which is another figure each time: who writes a line once would write it for ever. */
static void cut_time(char *error)
{
	char *from = strstr(error, " after "), *to = from ? strstr(from, " ms") : NULL;

	if (to)
		memmove(from, to + strlen(" ms"), strlen(to + strlen(" ms")) + 1);
}

/*
 * The server's own words, where it answered with a Status. A server that cannot be reached is described alike whatever
 * was asked of it, and a request without its query, which has figures of the moment.
 */
static void describe(struct api_call *c, CURLcode code, long status, json_t *body, char line[1024])
{
	const char *message = json_string_value(json_object_get(body, "message"));
	int path = (int)strcspn(c->what, "?");
	bool away = code == CURLE_COULDNT_CONNECT || code == CURLE_COULDNT_RESOLVE_HOST;

	cut_time(c->error);
	if (!status)
		snprintf(line, 1024, "API server %s: %.*s%s%.250s", c->api->identity.url,
			 away	      ? 0
			 : path < 200 ? path
				      : 200,
			 c->what, away ? "" : ": ",
			 *c->early   ? c->early
			 : *c->error ? c->error
				     : "no answer");
	else if (status >= 300)
		snprintf(line, 1024, "API server %s: %.*s: %ld %.500s", c->api->identity.url, path < 300 ? path : 300,
			 c->what, status, message ? message : "");
	else
		*line = 0;
}

static void finish(struct api_call *c, CURLcode code)
{
	struct api_answer answer = { 0 };
	api_done *done = c->done;
	void *owner = c->owner;
	char line[1024];
	long status = 0;

	if (c->easy)
		curl_easy_getinfo(c->easy, CURLINFO_RESPONSE_CODE, &status);
	/* A stream that ends early was a stream all the same. */
	if (code != CURLE_OK && !(c->feed && status == 200))
		status = 0;
	if (code != CURLE_OK && !*c->error)
		snprintf(c->error, sizeof(c->error), "%s", curl_easy_strerror(code));
	/* Whoever may write an annotation may put a zero byte into it. */
	if (status && c->in.size && !c->in.bad)
		answer.body = json_loadb((const char *)c->in.data, c->in.size, JSON_ALLOW_NUL, NULL);
	describe(c, code, status, answer.body, line);
	answer.status = (int)status;
	answer.line = line;
	call_free(c);
	done(owner, &answer);
	json_decref(answer.body);
}

/* Those that ended; a `done` may begin others, and cancel others. */
static void reap(struct api *a)
{
	struct api_call *c;
	CURLMsg *m;
	int left;

	while ((m = curl_multi_info_read(a->multi, &left))) {
		if (m->msg != CURLMSG_DONE)
			continue;
		curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, (char **)&c);
		finish(c, m->data.result);
	}
	for (c = a->calls; c;) {
		if (!*c->early) {
			c = c->next;
			continue;
		}
		finish(c, CURLE_OK);
		c = a->calls;
	}
}

static void timer_ready(struct watch *w, uint32_t events)
{
	struct api *a = w->owner;
	uint64_t count;
	int running;

	if (read(w->fd, &count, sizeof(count)) < 0)
		return;
	curl_multi_socket_action(a->multi, CURL_SOCKET_TIMEOUT, 0, &running);
	reap(a);
}

static void socket_ready(struct watch *w, uint32_t events)
{
	struct socket *s = w->owner;
	struct api *a = s->api;
	int what = (events & EPOLLIN ? CURL_CSELECT_IN : 0) | (events & EPOLLOUT ? CURL_CSELECT_OUT : 0) |
		   (events & (EPOLLERR | EPOLLHUP) ? CURL_CSELECT_ERR : 0),
	    running;

	curl_multi_socket_action(a->multi, w->fd, what, &running);
	reap(a);
}

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *owner, void *known)
{
	struct api *a = owner;
	struct socket *s = known;
	uint32_t events = (what & CURL_POLL_IN ? EPOLLIN : 0u) | (what & CURL_POLL_OUT ? EPOLLOUT : 0u);

	if (what == CURL_POLL_REMOVE) {
		if (s)
			loop_leave(a->loop, &s->watch);
		free(s);
		curl_multi_assign(a->multi, fd, NULL);
		return 0;
	}
	if (s) {
		loop_change(a->loop, &s->watch, events);
		return 0;
	}
	s = calloc(1, sizeof(*s));
	if (!s)
		return -1;
	*s = (struct socket){ .watch = { .fd = fd, .ready = socket_ready, .owner = s }, .api = a };
	curl_multi_assign(a->multi, fd, s);
	return loop_add(a->loop, &s->watch, events) ? -1 : 0;
}

static size_t on_data(char *data, size_t one, size_t size, void *owner)
{
	struct api_call *c = owner;
	long status = 0;

	curl_easy_getinfo(c->easy, CURLINFO_RESPONSE_CODE, &status);
	if (c->feed && status == 200)
		return c->feed(c->owner, data, size) ? size : 0;
	if (c->in.size + size > ANSWER_MOST)
		return 0;
	bytes_add(&c->in, data, size);
	return c->in.bad ? 0 : size;
}

static void set_blob(CURL *easy, CURLoption path_option, CURLoption blob_option, const struct api_secret *s)
{
	struct curl_blob blob = { s->data, s->size, CURL_BLOB_COPY };

	if (*s->path)
		curl_easy_setopt(easy, path_option, s->path);
	else if (s->data)
		curl_easy_setopt(easy, blob_option, &blob);
}

static void add_header(struct api_call *c, const char *line)
{
	struct curl_slist *more = curl_slist_append(c->headers, line);

	if (more)
		c->headers = more;
}

/* "Authorization: Bearer ...", from the file as it is now. */
static int add_token(struct api_call *c, const struct api_secret *s)
{
	char why[256], *text = NULL, *line;
	size_t size;
	int r = 0;

	if (*s->path)
		r = plain_file_read(s->path, &text, &size, why, sizeof(why));
	else
		text = strdup(s->data);
	if (r || !text) {
		snprintf(c->early, sizeof(c->early), "token %.200s: %s", s->path, r ? why : "no memory");
		return -EIO;
	}
	text[strcspn(text, "\r\n")] = 0;
	if (asprintf(&line, "Authorization: Bearer %s", text) >= 0) {
		add_header(c, line);
		explicit_bzero(line, strlen(line));
		free(line);
	}
	explicit_bzero(text, strlen(text));
	free(text);
	return 0;
}

static int set_identity(struct api_call *c)
{
	const struct api_identity *i = &c->api->identity;

	set_blob(c->easy, CURLOPT_CAINFO, CURLOPT_CAINFO_BLOB, &i->ca);
	set_blob(c->easy, CURLOPT_SSLCERT, CURLOPT_SSLCERT_BLOB, &i->certificate);
	set_blob(c->easy, CURLOPT_SSLKEY, CURLOPT_SSLKEY_BLOB, &i->key);
	if (i->insecure) {
		curl_easy_setopt(c->easy, CURLOPT_SSL_VERIFYPEER, 0L);
		curl_easy_setopt(c->easy, CURLOPT_SSL_VERIFYHOST, 0L);
	}
	if (*i->user) {
		curl_easy_setopt(c->easy, CURLOPT_USERNAME, i->user);
		curl_easy_setopt(c->easy, CURLOPT_PASSWORD, i->password);
	}
	return api_secret_given(&i->token) ? add_token(c, &i->token) : 0;
}

/* The body keeps its place: curl reads it when it likes. */
static int set_body(struct api_call *c, const char *method, json_t *body)
{
	bool patch = !strcmp(method, "PATCH");

	c->body = json_dumps(body, JSON_COMPACT);
	if (!c->body)
		return -ENOMEM;
	curl_easy_setopt(c->easy, CURLOPT_POSTFIELDS, c->body);
	curl_easy_setopt(c->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)strlen(c->body));
	add_header(c, patch ? "Content-Type: application/merge-patch+json" : "Content-Type: application/json");
	add_header(c, "Expect:");
	return 0;
}

/* What is asked, and how long it may take. */
struct asking {
	const char *method, *path, *accept;
	json_t *body; /* borrowed; NULL: none */
	long patience_s;
};

static void set_common(struct api_call *c, const struct asking *ask, const char *url)
{
	curl_easy_setopt(c->easy, CURLOPT_URL, url);
	curl_easy_setopt(c->easy, CURLOPT_CUSTOMREQUEST, ask->method);
	curl_easy_setopt(c->easy, CURLOPT_PRIVATE, c);
	curl_easy_setopt(c->easy, CURLOPT_ERRORBUFFER, c->error);
	curl_easy_setopt(c->easy, CURLOPT_WRITEFUNCTION, on_data);
	curl_easy_setopt(c->easy, CURLOPT_WRITEDATA, c);
	curl_easy_setopt(c->easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(c->easy, CURLOPT_PROXY, "");
	curl_easy_setopt(c->easy, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(c->easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(c->easy, CURLOPT_CONNECTTIMEOUT, CONNECT_PATIENCE_S);
	curl_easy_setopt(c->easy, CURLOPT_TIMEOUT, ask->patience_s);
	curl_easy_setopt(c->easy, CURLOPT_TCP_KEEPALIVE, 1L);
	curl_easy_setopt(c->easy, CURLOPT_TCP_KEEPIDLE, 30L);
	curl_easy_setopt(c->easy, CURLOPT_TCP_KEEPINTVL, 10L);
	add_header(c, ask->accept);
	add_header(c, "User-Agent: mete");
}

static struct api_call *call_begin(struct api *a, const struct asking *ask, api_feed *feed, api_done *done, void *owner)
{
	struct api_call *c = calloc(1, sizeof(*c));
	char *url = NULL;
	int r;

	if (!c)
		return NULL;
	*c = (struct api_call){ .next = a->calls, .api = a, .feed = feed, .done = done, .owner = owner };
	a->calls = c;
	snprintf(c->what, sizeof(c->what), "%s %s", ask->method, ask->path);
	c->easy = curl_easy_init();
	if (!c->easy || asprintf(&url, "%s%s", a->identity.url, ask->path) < 0) {
		call_free(c);
		return NULL;
	}
	set_common(c, ask, url);
	free(url);
	r = set_identity(c);
	if (!r && ask->body)
		r = set_body(c, ask->method, ask->body);
	curl_easy_setopt(c->easy, CURLOPT_HTTPHEADER, c->headers);
	if (!r && curl_multi_add_handle(a->multi, c->easy))
		r = -ENOMEM;
	if (r) {
		if (!*c->early)
			snprintf(c->early, sizeof(c->early), "%s", strerror(-r));
		curl_easy_cleanup(c->easy);
		c->easy = NULL;
		timer_set(a, 0);
	}
	return c;
}

struct api_call *api_ask(struct api *a, const char *method, const char *path, json_t *body, api_done *done, void *owner)
{
	const struct asking ask = { method, path, ACCEPT, body, API_PATIENCE_S };

	return call_begin(a, &ask, NULL, done, owner);
}

struct api_call *api_ask_metadata(struct api *a, const char *path, api_done *done, void *owner)
{
	const struct asking ask = { "GET", path, ACCEPT ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1", NULL,
				    API_PATIENCE_S };

	return call_begin(a, &ask, NULL, done, owner);
}

struct api_call *api_stream(struct api *a, const char *path, long patience_s, api_feed *feed, api_done *done,
			    void *owner)
{
	const struct asking ask = { "GET", path, ACCEPT, NULL, patience_s };

	return call_begin(a, &ask, feed, done, owner);
}

void api_cancel(struct api_call *c)
{
	call_free(c);
}

struct now {
	bool over;
	int status;
	json_t *body;
	struct fault *f;
};

static void now_done(void *owner, const struct api_answer *answer)
{
	struct now *n = owner;

	n->over = true;
	n->status = answer->status;
	n->body = json_incref(answer->body);
	if (*answer->line)
		fault_set(n->f, 0, "%s", answer->line);
}

int api_ask_now(struct api *a, const char *method, const char *path, json_t *body, json_t **ret, struct fault *f)
{
	struct now n = { .f = f };

	*ret = NULL;
	if (!api_ask(a, method, path, body, now_done, &n))
		return fault_set(f, 0, "%s %s: no memory", method, path);
	while (!n.over && !loop_turn(a->loop, 1000))
		;
	*ret = n.body;
	return n.status;
}

int api_open(struct api **ret, struct loop *loop, const struct api_options *o, struct fault *f)
{
	struct api *a = calloc(1, sizeof(*a));
	int r;

	*ret = NULL;
	if (!a || curl_global_init(CURL_GLOBAL_DEFAULT)) {
		free(a);
		return fault_set(f, -ENOMEM, "no memory for the client of the API server");
	}
	a->loop = loop;
	a->timer.fd = -1;
	r = api_identity_read(&a->identity, o->kubeconfig,
			      o->service_account ? o->service_account : API_SERVICE_ACCOUNT, f);
	if (!r) {
		a->timer = (struct watch){ .fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK),
					   .ready = timer_ready,
					   .owner = a };
		a->multi = curl_multi_init();
		if (!a->multi || a->timer.fd < 0 || loop_add(loop, &a->timer, EPOLLIN))
			r = fault_set(f, -ENOMEM, "no descriptor for the client of the API server");
	}
	if (r) {
		api_close(a);
		return r;
	}
	curl_multi_setopt(a->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
	curl_multi_setopt(a->multi, CURLMOPT_SOCKETDATA, a);
	curl_multi_setopt(a->multi, CURLMOPT_TIMERFUNCTION, on_timer);
	curl_multi_setopt(a->multi, CURLMOPT_TIMERDATA, a);
	*ret = a;
	return 0;
}

void api_close(struct api *a)
{
	if (!a)
		return;
	while (a->watches)
		api_watch_end(a->watches);
	while (a->calls)
		call_free(a->calls);
	if (a->multi)
		curl_multi_cleanup(a->multi);
	if (a->timer.fd >= 0)
		loop_remove(a->loop, &a->timer);
	api_identity_free(&a->identity);
	free(a);
	curl_global_cleanup();
}
