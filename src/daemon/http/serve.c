/*
 * serve.c: the listeners, by libmicrohttpd on meted's loop.
 *
 * libmicrohttpd has no thread here: its epoll descriptor is one more that the loop watches, and what it has to do at a
 * time is a timer.
 */
#include "daemon/http/server.h"

#include "base/cleanup.h"
#include "daemon/daemon.h"
#include "daemon/log.h"
#include "daemon/http/address.h"
#include "daemon/http/group.h"
#include "daemon/http/token.h"
#include "daemon/http/validity.h"
#include "daemon/upgrade/handover.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#define CONNECTIONS (LINKS_MOST + 32) /* with those that are just losing their place */
#define HEADER_BYTES 32768u /* with what libmicrohttpd needs for a connection */
#define QUIET_SECONDS 20u   /* a connection that says nothing is closed */
#define PEM_BYTES 1048576u

const char *http_address(const struct daemon *daemon)
{
	return daemon->http ? daemon->http->address : "";
}

time_t http_certificate_ends(const struct daemon *daemon)
{
	return daemon->http ? daemon->http->certificate_ends : 0;
}

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

static void on_log(void *owner, const char *fmt, va_list ap)
{
	char text[512];

	(void)owner;
	vsnprintf(text, sizeof(text), fmt, ap);
	text[strcspn(text, "\n")] = 0;
	log_peer(LOG_HTTP, "http: %s", text);
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

	l->mhd = MHD_start_daemon(MHD_USE_EPOLL | MHD_USE_ERROR_LOG | (cert ? MHD_USE_TLS : 0), 0, link_admit, l,
				  link_request, l, MHD_OPTION_EXTERNAL_LOGGER, on_log, NULL, MHD_OPTION_LISTEN_SOCKET,
				  take_fd, MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
				  (size_t)HEADER_BYTES, MHD_OPTION_CONNECTION_TIMEOUT, QUIET_SECONDS,
				  MHD_OPTION_NOTIFY_CONNECTION, link_changed, l, MHD_OPTION_NOTIFY_COMPLETED,
				  link_completed, l, MHD_OPTION_URI_LOG_CALLBACK, link_first_line, NULL,
				  MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1,
				  MHD_OPTION_ARRAY, cert ? tls : none, MHD_OPTION_END);
	if (!l->mhd) {
		close(take_fd);
		snprintf(error, size,
			 cert ? "cannot serve HTTPS: check that the certificate and the key are in PEM "
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

/* A file in PEM with a block of that name. Value: its text, or NULL with what is wrong in `why`. */
static char *read_pem(const char *path, const char *block, char *why, size_t size)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	_cleanup_free_ char *text = NULL;
	char line[40];
	struct stat st;

	snprintf(line, sizeof(line), "%s-----", block); /* a CERTIFICATE REQUEST is another block */
	if (fd < 0 || fstat(fd, &st)) {
		snprintf(why, size, "cannot be opened: %s: correct the path, or let meted read it", strerror(errno));
		return NULL;
	}
	if (S_ISREG(st.st_mode) && st.st_size <= PEM_BYTES)
		text = calloc(1, (size_t)st.st_size + 1);
	if (text && read(fd, text, (size_t)st.st_size) == st.st_size && strstr(text, line))
		return steal_ptr(text);
	snprintf(why, size, "is no file in PEM with a %s of less than 1 MiB: name the right one", block);
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

/* A server without a socket, for what libmicrohttpd says of the two. */
static bool is_pair(const char *cert, const char *key)
{
	struct MHD_Daemon *mhd = MHD_start_daemon(MHD_USE_NO_LISTEN_SOCKET | MHD_USE_TLS, 0, NULL, NULL, link_request,
						  NULL, MHD_OPTION_HTTPS_MEM_CERT, cert, MHD_OPTION_HTTPS_MEM_KEY, key,
						  MHD_OPTION_END);

	if (mhd)
		MHD_stop_daemon(mhd);
	return mhd;
}

/* The key asks for a passphrase (PKCS #8, or the older form of OpenSSL, RFC 1421). */
static bool is_encrypted(const char *key)
{
	return strstr(key, "BEGIN ENCRYPTED PRIVATE KEY") || strstr(key, "Proc-Type: 4,ENCRYPTED");
}

/* What of the certificate and its key is wrong. *ret_cert and *ret_key: texts, to be freed; NULL without TLS. */
static enum http_fault read_tls(const struct http_options *o, char **ret_cert, char **ret_key, char *why, size_t size)
{
	struct validity v;

	if (!o->cert && !o->key)
		return HTTP_FAULT_NONE;
	if (!o->cert != !o->key) {
		snprintf(why, size, "wants %s as well: give both, or none", o->cert ? "the key of it (http.key)"
										    : "its certificate (http.cert)");
		return o->cert ? HTTP_FAULT_CERT : HTTP_FAULT_KEY;
	}
	if (!WITH_TLS) {
		snprintf(why, size,
			 "cannot be used: this meted, of the bundle, has no TLS: listen at 127.0.0.1, and reach it "
			 "with `ssh -L`");
		return HTTP_FAULT_CERT;
	}
	*ret_cert = read_pem(o->cert, "CERTIFICATE", why, size);
	if (!*ret_cert)
		return HTTP_FAULT_CERT;
	*ret_key = read_pem(o->key, "PRIVATE KEY", why, size);
	if (!*ret_key)
		return HTTP_FAULT_KEY;
	if (is_encrypted(*ret_key)) {
		snprintf(why, size,
			 "is encrypted, and meted cannot ask for its passphrase: write the key without one: `openssl "
			 "pkey -in %.200s -out FILE`",
			 o->key);
		return HTTP_FAULT_KEY;
	}
	if (is_pair(*ret_cert, *ret_key))
		return HTTP_FAULT_NONE;
	if (!validity_read(*ret_cert, &v)) {
		snprintf(why, size,
			 "is damaged or cut short: `openssl x509 -noout -text` must be able to read it; copy it again, "
			 "or issue another");
		return HTTP_FAULT_CERT;
	}
	snprintf(why, size,
		 "does not belong to the certificate %.200s, or one of the two is damaged: `openssl x509 -pubkey "
		 "-noout` and `openssl pkey -pubout` must print the same",
		 o->cert);
	return HTTP_FAULT_KEY;
}

/* What reaches beyond this machine proves who it is, and lets in nobody without a token. */
static enum http_fault check_beyond(const struct http_options *o, const char *state_dir, char *why, size_t size)
{
	if (!o->cert)
		snprintf(why, size,
			 "beyond loopback only with TLS: give http.cert and http.key, or listen at 127.0.0.1");
	else if (!token_exists(state_dir))
		snprintf(why, size,
			 "beyond loopback only with a token: make one with `mete token new`, which needs no meted that "
			 "runs");
	else
		return HTTP_FAULT_NONE;
	return HTTP_FAULT_LISTEN;
}

enum http_fault http_try(const struct http_options *o, const char *state_dir, const char *own, char *why, size_t size)
{
	_cleanup_free_ char *cert = NULL, *key = NULL;
	enum http_fault fault;
	bool loopback;

	begin_library();
	fault = read_tls(o, &cert, &key, why, size);
	if (fault || !o->listen)
		return fault;
	if (address_try(o->listen, own, &loopback, why, size))
		return HTTP_FAULT_LISTEN;
	return loopback ? HTTP_FAULT_NONE : check_beyond(o, state_dir, why, size);
}

const char *http_fault_key(enum http_fault fault)
{
	static const char *const keys[] = { "", "http.listen", "http.cert", "http.key" };

	return keys[fault];
}

static const char *value_of(const struct http_options *o, enum http_fault fault)
{
	return fault == HTTP_FAULT_CERT ? o->cert : fault == HTTP_FAULT_KEY ? o->key : o->listen;
}

/* meted serves with a certificate that is not valid: the shares are worth more, and clients see it themselves. */
static void note_validity(struct http_server *server, const struct http_options *o, const char *pem)
{
	struct validity v;
	char why[200];

	if (!pem || !validity_read(pem, &v))
		return;
	server->certificate_ends = v.ends;
	if (validity_is_over(&v, time(NULL), why, sizeof(why)))
		log_line("http.cert %.200s %s", o->cert, why);
}

static int start_net(struct http_server *server, const struct http_options *o, char *error, size_t size)
{
	_cleanup_free_ char *cert = NULL, *key = NULL;
	enum http_fault fault;
	char why[600];
	int fd = -1;

	fault = read_tls(o, &cert, &key, why, sizeof(why));
	if (!fault)
		fd = take_net(server, o->listen);
	if (!fault && fd < 0)
		fd = address_listen(o->listen, &server->net.loopback, server->address, sizeof(server->address), why,
				    sizeof(why));
	if (!fault && fd < 0)
		fault = HTTP_FAULT_LISTEN;
	if (!fault && !server->net.loopback)
		fault = check_beyond(o, server->daemon->state_dir, why, sizeof(why));
	if (!fault) {
		note_validity(server, o, cert);
		return open_listener(&server->net, fd, cert, key, error, size);
	}
	if (fd >= 0)
		close(fd);
	snprintf(error, size, "%s %.200s: %s", http_fault_key(fault), value_of(o, fault), why);
	return -EINVAL;
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
	gid_t group = getegid();
	char why[200];
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
	server->sweep = timer_new(daemon->loop, link_sweep, server);
	if (!server->sweep) {
		snprintf(error, size, "no memory");
		return -ENOMEM;
	}
	if (o->group && http_check_group(o->group, why, sizeof(why)))
		log_line("http.group %.80s: %s; http.sock is meted's own group's until meted starts anew", o->group,
			 why);
	else if (o->group)
		http_find_group(o->group, &group);
	fd = runtime_listen(&daemon->runtime, "http.sock", SOCK_STREAM,
			    daemon->runtime.system || o->group ? 0660 : 0600, geteuid(), getegid(), error, size);
	if (fd < 0)
		return fd;
	if (fchownat(daemon->runtime.dir_fd, "http.sock", (uid_t)-1, group, AT_SYMLINK_NOFOLLOW)) {
		snprintf(error, size,
			 "http.sock cannot be given to the group %.80s: %s: be a member of it, or name another",
			 o->group ? o->group : "", strerror(errno));
		close(fd);
		return -EPERM;
	}
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
