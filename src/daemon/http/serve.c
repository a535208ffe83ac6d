/*
 * http_serve.c: connections, by libmicrohttpd on meted's loop.
 *
 * libmicrohttpd has no thread here: its epoll descriptor is one more that the loop watches, and what it has to do at a
 * time is a timer. A connection that has not sent a whole request in REQUEST_NS, or not read its reply in REPLY_NS, is
 * closed whatever it sends meanwhile.
 */
#include "daemon/http/http.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "daemon/daemon.h"
#include "daemon/log.h"
#include "daemon/http/address.h"
#include "daemon/http/token.h"
#include "daemon/upgrade/handover.h"

#include <errno.h>
#include <fcntl.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <zlib.h>

#define CONNECTIONS 128u      /* of a listener */
#define HEADER_BYTES 32768u   /* with what libmicrohttpd needs for a connection */
#define QUIET_SECONDS 20u     /* a connection that says nothing is closed */
#define REQUEST_NS 15000000000ull
#define REPLY_NS 60000000000ull
#define SWEEP_MS 1000
#define GZIP_FROM 1024u /* shorter bodies go as they are */
#define PEM_BYTES 1048576u

struct listener {
	struct http_server *server;
	struct MHD_Daemon *mhd;
	struct watch *watch;
	struct timer *timer;
	int fd; /* libmicrohttpd's */
	bool unix_socket, loopback, tls;
	bool closed; /* a connection has gone, and libmicrohttpd may not be listening yet for the next */
};

/* A connection, and its request when there is one. */
struct link {
	struct link *next, *prev;
	struct listener *listener;
	struct MHD_Connection *connection;
	uint64_t since_ns; /* it was accepted, or the last reply was read; with a reply: since it is on its way */
	bool asked; /* the request's first line has come */
	bool begun, replied, too_large;
	bool cut; /* its line has a %00: what libmicrohttpd hands on as a text ends there */
	char *body;
	size_t bytes;
};

struct http_server {
	struct daemon *daemon;
	struct listener local, net;
	struct link *links;
	struct timer *sweep;
	const char *listen; /* as the settings say it; NULL: http.sock alone */
	char address[INET6_ADDRSTRLEN + 16];
};

/* What a route asks. */

const char *http_query(const struct http_request *request, const char *key)
{
	return MHD_lookup_connection_value(request->connection, MHD_GET_ARGUMENT_KIND, key);
}

const char *http_header(const struct http_request *request, const char *name)
{
	return MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, name);
}

const char *http_address(const struct daemon *daemon)
{
	return daemon->http ? daemon->http->address : "";
}

/* Who asks. */

static void write_who(struct listener *l, struct MHD_Connection *connection, char *text, size_t size)
{
	const union MHD_ConnectionInfo *fd = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	const union MHD_ConnectionInfo *from = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
	struct ucred peer;
	socklen_t length = sizeof(peer);

	if (!l->unix_socket && from && from->client_addr)
		address_write(from->client_addr, text, size);
	else if (fd && !getsockopt(fd->connect_fd, SOL_SOCKET, SO_PEERCRED, &peer, &length))
		snprintf(text, size, "uid %u (pid %d)", (unsigned int)peer.uid, (int)peer.pid);
	else
		snprintf(text, size, "?");
}

static bool bearer_right(struct daemon *daemon, const char *given)
{
	return given && !strncasecmp(given, "Bearer ", 7) &&
	       token_right(daemon->state_dir, given + 7, strlen(given + 7));
}

/* A name that stands for this machine and for no other. */
static bool host_is_loopback(const char *host)
{
	static const char *const names[] = { "localhost", "127.0.0.1", "[::1]" };

	for (size_t i = 0; host && i < sizeof(names) / sizeof(*names); i++) {
		size_t n = strlen(names[i]);

		if (!strncasecmp(host, names[i], n) && (!host[n] || host[n] == ':'))
			return true;
	}
	return false;
}

/* Replies. */

static bool accepts_gzip(struct MHD_Connection *connection)
{
	const char *said = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Accept-Encoding");
	const char *at = said ? strstr(said, "gzip") : NULL;

	return at && strncmp(at, "gzip;q=0", 8);
}

/* Value: the compressed form, or NULL when there is no memory. */
static char *compress_body(const char *body, size_t bytes, size_t *ret_bytes)
{
	z_stream z = { 0 };
	size_t most;
	char *out;

	if (deflateInit2(&z, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
		return NULL;
	most = deflateBound(&z, bytes);
	out = malloc(most);
	z.next_in = (Bytef *)body;
	z.avail_in = (uInt)bytes;
	z.next_out = (Bytef *)out;
	z.avail_out = (uInt)most;
	if (out && deflate(&z, Z_FINISH) != Z_STREAM_END) {
		free(out);
		out = NULL;
	}
	*ret_bytes = most - z.avail_out;
	deflateEnd(&z);
	return out;
}

static bool client_has(struct MHD_Connection *connection, const char *etag)
{
	const char *said = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "If-None-Match");
	char quoted[48];

	snprintf(quoted, sizeof(quoted), "\"%s\"", etag);
	return *etag && said && strstr(said, quoted);
}

static void add_headers(struct MHD_Response *response, const struct http_reply *reply, bool gzip)
{
	static const char *const fixed[][2] = {
		{ "Content-Security-Policy",
		  "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'" },
		{ "X-Content-Type-Options", "nosniff" },
		{ "X-Frame-Options", "DENY" },
		{ "Referrer-Policy", "no-referrer" },
		{ "Cross-Origin-Resource-Policy", "same-origin" },
		{ "Vary", "Accept-Encoding" },
	};
	char etag[48];

	for (size_t i = 0; i < sizeof(fixed) / sizeof(*fixed); i++)
		MHD_add_response_header(response, fixed[i][0], fixed[i][1]);
	MHD_add_response_header(response, "Cache-Control", reply->keep || *reply->etag ? "no-cache" : "no-store");
	if (reply->type)
		MHD_add_response_header(response, "Content-Type", reply->type);
	if (gzip)
		MHD_add_response_header(response, "Content-Encoding", "gzip");
	if (reply->status == 401)
		MHD_add_response_header(response, "WWW-Authenticate", "Bearer realm=\"mete\"");
	snprintf(etag, sizeof(etag), "\"%s\"", reply->etag);
	if (*reply->etag)
		MHD_add_response_header(response, "ETag", etag);
}

/* The body's own memory goes to the response, or a compressed one in its place. */
static struct MHD_Response *make_response(struct MHD_Connection *connection, struct http_reply *reply, bool *ret_gzip)
{
	bool wanted = accepts_gzip(connection);
	size_t bytes = 0;
	char *packed;

	*ret_gzip = true;
	if (wanted && reply->gzip)
		return MHD_create_response_from_buffer(reply->gzip_bytes, (void *)reply->gzip, MHD_RESPMEM_PERSISTENT);
	packed = wanted && reply->bytes >= GZIP_FROM ? compress_body(reply->body, reply->bytes, &bytes) : NULL;
	if (packed)
		return MHD_create_response_from_buffer(bytes, packed, MHD_RESPMEM_MUST_FREE);
	*ret_gzip = false;
	bytes = reply->bytes;
	packed = reply->body;
	if (!reply->owned)
		return MHD_create_response_from_buffer(bytes, packed, MHD_RESPMEM_PERSISTENT);
	reply->owned = false;
	return MHD_create_response_from_buffer(bytes, packed, MHD_RESPMEM_MUST_FREE);
}

static enum MHD_Result send_reply(struct link *link, struct http_reply *reply)
{
	struct MHD_Response *response;
	enum MHD_Result r = MHD_NO;
	bool gzip = false;

	link->replied = true;
	link->since_ns = clock_now_ns();
	if (client_has(link->connection, reply->etag)) {
		response = MHD_create_response_from_buffer(0, (char[]){ "" }, MHD_RESPMEM_MUST_COPY);
		reply->status = 304;
	} else {
		response = make_response(link->connection, reply, &gzip);
	}
	if (response) {
		add_headers(response, reply, gzip);
		r = MHD_queue_response(link->connection, reply->status ? reply->status : 200, response);
		MHD_destroy_response(response);
	}
	http_reply_deinit(reply);
	return r;
}

/* Requests. */

static void treat(struct link *link, struct http_request *request, struct http_reply *reply)
{
	struct listener *l = link->listener;

	if (link->too_large)
		http_reply_error(reply, 413, "the request's body has more than %u bytes: send less", HTTP_BODY_BYTES);
	else if (link->cut)
		http_reply_error(reply, 400, "a %%00 is no part of a path or of a value");
	else if (l->loopback && !host_is_loopback(http_header(request, "Host")))
		http_reply_error(reply, 403, "this address is asked for as localhost, 127.0.0.1 or [::1], not %.64s",
				 http_header(request, "Host") ? http_header(request, "Host") : "without a Host");
	else
		http_treat(request, reply);
}

static struct link *link_of(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return info ? info->socket_context : NULL;
}

static void *on_first_line(void *owner, const char *uri, struct MHD_Connection *connection)
{
	struct link *link = link_of(connection);

	(void)owner;
	if (!link)
		return NULL;
	link->asked = true;
	link->cut = strstr(uri, "%00");
	return NULL;
}

static enum MHD_Result on_request(void *owner, struct MHD_Connection *connection, const char *url, const char *method,
				  const char *version, const char *data, size_t *data_bytes, void **state)
{
	struct listener *l = owner;
	struct link *link = link_of(connection);
	struct http_request request = { .daemon = l->server->daemon, .method = method, .path = url,
					.connection = connection };
	struct http_reply reply = { 0 };

	(void)version;
	if (!link)
		return MHD_NO;
	if (!*state) { /* the headers are there; the body, if any, follows */
		*state = link;
		link->begun = true;
		return MHD_YES;
	}
	if (*data_bytes) {
		char *body = link->too_large || link->bytes + *data_bytes > HTTP_BODY_BYTES
				     ? NULL
				     : realloc(link->body, link->bytes + *data_bytes + 1);

		if (body) {
			memcpy(body + link->bytes, data, *data_bytes);
			link->body = body;
			link->bytes += *data_bytes;
			body[link->bytes] = 0;
		} else {
			link->too_large = true;
		}
		*data_bytes = 0;
		return MHD_YES;
	}
	request.method = strcmp(method, "HEAD") ? method : "GET";
	request.body = link->body ? link->body : "";
	request.body_bytes = link->bytes;
	request.local = l->unix_socket || l->loopback;
	request.token = bearer_right(request.daemon, http_header(&request, "Authorization"));
	write_who(l, connection, request.who, sizeof(request.who));
	treat(link, &request, &reply);
	return send_reply(link, &reply);
}

static void on_completed(void *owner, struct MHD_Connection *connection, void **state,
			 enum MHD_RequestTerminationCode why)
{
	struct link *link = *state;

	(void)owner;
	(void)connection;
	(void)why;
	*state = NULL;
	if (!link)
		return;
	free(link->body);
	link->body = NULL;
	link->bytes = 0;
	link->asked = link->begun = link->replied = link->too_large = link->cut = false;
	link->since_ns = clock_now_ns();
}

static void on_connection(void *owner, struct MHD_Connection *connection, void **socket_state,
			  enum MHD_ConnectionNotificationCode what)
{
	struct listener *l = owner;
	struct http_server *server = l->server;
	struct link *link = *socket_state;

	if (what == MHD_CONNECTION_NOTIFY_STARTED) {
		link = calloc(1, sizeof(*link));
		*socket_state = link;
		if (!link)
			return;
		link->listener = l;
		link->connection = connection;
		link->since_ns = clock_now_ns();
		link->next = server->links;
		if (server->links)
			server->links->prev = link;
		server->links = link;
		if (!timer_running(server->sweep))
			timer_start(server->sweep, SWEEP_MS, SWEEP_MS);
		return;
	}
	l->closed = true;
	if (link) {
		if (link->prev)
			link->prev->next = link->next;
		else
			server->links = link->next;
		if (link->next)
			link->next->prev = link->prev;
		free(link->body);
		free(link);
		*socket_state = NULL;
	}
}

/* The loop. */

static void run(struct listener *l)
{
	MHD_UNSIGNED_LONG_LONG ms;

	l->closed = false;
	MHD_run(l->mhd);
	if (l->closed)
		timer_start(l->timer, 0, 0);
	else if (MHD_get_timeout(l->mhd, &ms) == MHD_YES)
		timer_start(l->timer, ms, 0);
	else
		timer_stop(l->timer);
}

static void on_ready(void *owner)
{
	run(owner);
}

static void on_sweep(void *owner)
{
	struct http_server *server = owner;
	uint64_t now = clock_now_ns();

	for (struct link *link = server->links; link; link = link->next) {
		const union MHD_ConnectionInfo *fd;

		if (now - link->since_ns < (link->replied ? REPLY_NS : REQUEST_NS))
			continue;
		fd = MHD_get_connection_info(link->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
		if (fd)
			shutdown(fd->connect_fd, SHUT_RDWR);
		link->since_ns = now;
	}
	if (!server->links)
		timer_stop(server->sweep);
}

static void on_log(void *owner, const char *fmt, va_list ap)
{
	char text[512];

	(void)owner;
	vsnprintf(text, sizeof(text), fmt, ap);
	text[strcspn(text, "\n")] = 0;
	log_peer("http: %s", text);
}

/* Takes the listening descriptor. cert and key: PEM texts, or NULL. */
static int open_listener(struct listener *l, int take_fd, const char *cert, const char *key, char *error, size_t size)
{
	struct MHD_OptionItem tls[] = { { MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)cert },
					{ MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)key },
					{ MHD_OPTION_HTTPS_PRIORITIES, 0,
					  (void *)"NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2" },
					{ MHD_OPTION_END, 0, NULL } };
	struct MHD_OptionItem none[] = { { MHD_OPTION_END, 0, NULL } };
	const union MHD_DaemonInfo *info;

	l->mhd = MHD_start_daemon(MHD_USE_EPOLL | MHD_USE_ERROR_LOG | (cert ? MHD_USE_TLS : 0), 0, NULL, NULL,
				  on_request, l, MHD_OPTION_EXTERNAL_LOGGER, on_log, NULL, MHD_OPTION_LISTEN_SOCKET,
				  take_fd, MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS,
				  MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HEADER_BYTES,
				  MHD_OPTION_CONNECTION_TIMEOUT, QUIET_SECONDS, MHD_OPTION_NOTIFY_CONNECTION,
				  on_connection, l, MHD_OPTION_NOTIFY_COMPLETED, on_completed, l,
				  MHD_OPTION_URI_LOG_CALLBACK, on_first_line, NULL,
				  MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1,
				  MHD_OPTION_ARRAY, cert ? tls : none, MHD_OPTION_END);
	if (!l->mhd) {
		close(take_fd);
		snprintf(error, size, cert ? "cannot serve HTTPS: check that the certificate and the key are in PEM "
					     "and belong together"
					   : "cannot serve HTTP: no memory");
		return -EINVAL;
	}
	l->fd = take_fd;
	l->tls = cert;
	info = MHD_get_daemon_info(l->mhd, MHD_DAEMON_INFO_EPOLL_FD);
	l->timer = timer_new(l->server->daemon->loop, on_ready, l);
	l->watch = info ? watch_new(l->server->daemon->loop, info->epoll_fd, on_ready, l) : NULL;
	if (l->watch && l->timer)
		return 0;
	snprintf(error, size, "no memory to serve HTTP");
	return -ENOMEM;
}

static void close_listener(struct listener *l)
{
	watch_free(l->watch);
	timer_free(l->timer);
	l->watch = NULL;
	l->timer = NULL;
	if (l->mhd)
		MHD_stop_daemon(l->mhd);
	l->mhd = NULL;
}

/* Value: the text, or NULL with the line for the user. */
static char *read_pem(const char *what, const char *path, char *error, size_t size)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	char *text = NULL;

	if (fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size <= PEM_BYTES)
		text = calloc(1, (size_t)st.st_size + 1);
	if (text && read(fd, text, (size_t)st.st_size) == st.st_size)
		return text;
	snprintf(error, size, "%s %.300s: %s", what, path,
		 fd < 0 ? strerror(errno) : "it must be a file in PEM of less than 1 MiB");
	free(text);
	return NULL;
}

/* The socket that the meted before this one listened at, when that is where this one is to. -1: there is none. */
static int take_net(struct http_server *server, const char *listen)
{
	struct handover *h = server->daemon->runtime.handover;
	const json_t *part = handover_get(h, "http");
	const char *before = json_string_value(json_object_get(part, "listen"));
	struct sockaddr_storage bound;
	socklen_t length = sizeof(bound);
	int fd = before && !strcmp(before, listen) ? handover_take(h, json_object_get(part, "net")) : -1;

	if (fd < 0 || getsockname(fd, (struct sockaddr *)&bound, &length)) {
		cleanup_close(&fd);
		return -1;
	}
	server->net.loopback = address_is_loopback((struct sockaddr *)&bound);
	address_write((struct sockaddr *)&bound, server->address, sizeof(server->address));
	return fd;
}

/*
 * libmicrohttpd as an archive begins with a constructor, which a C library before 2.34 does not run for a program that
 * was linked on a newer one; packaging/bundle/make.py takes it out, and it is called here. A shared one has done so by
 * itself, and shows no such name.
 */
extern void MHD_init(void) __attribute__((weak));

static void begin_library(void)
{
	static bool begun;

	if (MHD_init && !begun)
		MHD_init();
	begun = true;
}

#ifdef METE_HTTP_WITHOUT_TLS
#define WITH_TLS false
#else
#define WITH_TLS true
#endif

static int start_net(struct http_server *server, const struct http_options *o, char *error, size_t size)
{
	_cleanup_free_ char *cert = NULL, *key = NULL;
	int fd;

	if (!o->cert != !o->key) {
		snprintf(error, size, "--http-cert and --http-key go together: give both, or none");
		return -EINVAL;
	}
	if (o->cert && !WITH_TLS) {
		snprintf(error, size,
			 "--http-cert %.200s: this meted, of the bundle, has no TLS: listen at 127.0.0.1, and reach it "
			 "with `ssh -L`",
			 o->cert);
		return -ENOTSUP;
	}
	if (o->cert && (!(cert = read_pem("--http-cert", o->cert, error, size)) ||
			!(key = read_pem("--http-key", o->key, error, size))))
		return -EINVAL;
	fd = take_net(server, o->listen);
	if (fd < 0)
		fd = address_listen(o->listen, &server->net.loopback, server->address, sizeof(server->address), error,
				    size);
	if (fd < 0)
		return fd;
	if (!server->net.loopback && (!cert || !token_exists(server->daemon->state_dir))) {
		close(fd);
		snprintf(error, size, !cert ? "--http %.100s: beyond loopback only with TLS: give --http-cert and "
					      "--http-key, or listen at 127.0.0.1"
					    : "--http %.100s: beyond loopback only with a token: make one with `mete "
					      "token new`",
			 o->listen);
		return -EACCES;
	}
	return open_listener(&server->net, fd, cert, key, error, size);
}

/* From one meted to the next. */

bool http_busy(const struct daemon *daemon)
{
	for (const struct link *link = daemon->http ? daemon->http->links : NULL; link; link = link->next)
		if (link->asked || link->begun)
			return true;
	return false;
}

/* Connections between two requests. What TLS has agreed on cannot be handed on. */
static json_t *save_links(const struct http_server *server, struct handover *h)
{
	json_t *list = json_array();

	for (const struct link *link = server->links; link; link = link->next) {
		const union MHD_ConnectionInfo *info =
			MHD_get_connection_info(link->connection, MHD_CONNECTION_INFO_CONNECTION_FD);

		if (info && !link->asked && !link->begun && !link->listener->tls)
			json_array_append_new(list, json_pack("{s:o s:b}", "fd", handover_give(h, info->connect_fd),
							      "local", link->listener->unix_socket));
	}
	return list;
}

json_t *http_save(const struct daemon *daemon, struct handover *h)
{
	const struct http_server *server = daemon->http;

	if (!server || !server->local.mhd)
		return json_null();
	json_object_set_new(handover_get(h, "listeners"), "http.sock", handover_give(h, server->local.fd));
	return json_pack("{s:o s:s? s:o}", "net", handover_give(h, server->net.mhd ? server->net.fd : -1), "listen",
			 server->listen, "links", save_links(server, h));
}

static void take_links(struct http_server *server)
{
	struct handover *h = server->daemon->runtime.handover;
	json_t *list = json_object_get(handover_get(h, "http"), "links"), *one;
	size_t i;

	json_array_foreach(list, i, one)
	{
		struct listener *l = json_is_true(json_object_get(one, "local")) ? &server->local : &server->net;
		int fd = l->mhd && !l->tls ? handover_take(h, json_object_get(one, "fd")) : -1;
		struct sockaddr_storage peer = { 0 };
		socklen_t length = sizeof(peer);

		if (fd < 0)
			continue;
		if (getpeername(fd, (struct sockaddr *)&peer, &length))
			close(fd);
		else
			MHD_add_connection(l->mhd, fd, (struct sockaddr *)&peer, length);
		timer_start(l->timer, 0, 0);
	}
}

int http_start(struct daemon *daemon, const struct http_options *o, char *error, size_t size)
{
	struct http_server *server = calloc(1, sizeof(*server));
	int fd, r;

	if (!server) {
		snprintf(error, size, "no memory");
		return -ENOMEM;
	}
	begin_library();
	daemon->http = server;
	server->daemon = daemon;
	server->local.server = server->net.server = server;
	server->local.unix_socket = true;
	server->sweep = timer_new(daemon->loop, on_sweep, server);
	if (!server->sweep) {
		snprintf(error, size, "no memory");
		return -ENOMEM;
	}
	fd = runtime_listen(&daemon->runtime, "http.sock", SOCK_STREAM, daemon->runtime.system ? 0660 : 0600, geteuid(),
			    getegid(), error, size);
	if (fd < 0)
		return fd;
	r = open_listener(&server->local, fd, NULL, NULL, error, size);
	if (!r && o->listen)
		r = start_net(server, o, error, size);
	server->listen = o->listen;
	if (!r)
		take_links(server);
	if (!r && o->listen)
		log_line("http: %s%s", server->address, o->cert ? ", TLS" : "");
	return r;
}

void http_stop(struct daemon *daemon, bool leaving)
{
	struct http_server *server = daemon->http;

	if (!server)
		return;
	if (leaving && server->local.mhd)
		runtime_remove(&daemon->runtime, "http.sock");
	close_listener(&server->local);
	close_listener(&server->net);
	timer_free(server->sweep);
	free(server);
	daemon->http = NULL;
}
