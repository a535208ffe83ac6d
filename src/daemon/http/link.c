/*
 * link.c: a connection and its requests: who asks, what is asked, and what is too slow or too large.
 *
 * A connection that has not sent a whole request in REQUEST_NS, or not read its reply in REPLY_NS, is closed whatever
 * it sends meanwhile.
 */
#include "daemon/http/server.h"

#include "base/clock.h"
#include "base/fnv.h"
#include "daemon/daemon.h"
#include "daemon/http/address.h"
#include "daemon/http/source.h"
#include "daemon/http/token.h"
#include "daemon/log.h"
#include "daemon/loop.h"
#include "daemon/owner.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#define REQUEST_NS 15000000000ull
#define REPLY_NS 60000000000ull
#define SWEEP_MS 1000
#define LINKS_OF_SOURCE 32u
#define LINKS_KEPT 16u /* for sources that have shown the token, and as many for others */

/* Of one source without the token. */
static const struct rate_rule asking = { .each_second = 100, .at_once = 400 };

/* A handshake takes the loop some ms of computing, before anything is known of the peer but where it comes from. */
static const struct rate_rule greeting = { .each_second = 5, .at_once = 20 };	   /* of one source */
static const struct rate_rule greeting_all = { .each_second = 20, .at_once = 40 }; /* of all without the token */

/* Of the loop's time for answers to one such source: a console that begins needs some at once. */
static const struct spent_rule answering = { .part = 4, .at_once_ns = 1000000000 };

const char *http_query(const struct http_request *request, const char *key)
{
	return MHD_lookup_connection_value(request->connection, MHD_GET_ARGUMENT_KIND, key);
}

const char *http_header(const struct http_request *request, const char *name)
{
	return MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, name);
}

/* A user of this machine is known by its number, anybody else by a token and an address. */
static void write_who(struct link *link, struct MHD_Connection *connection, char *text, size_t size)
{
	char address[80] = "?";
	struct listener *l = link->listener;
	const union MHD_ConnectionInfo *fd = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	const union MHD_ConnectionInfo *from = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
	struct ucred peer;
	socklen_t length = sizeof(peer);

	if (!l->unix_socket && from && from->client_addr)
		address_write(from->client_addr, address, sizeof(address));
	if (!l->unix_socket && link->uid != (uid_t)-1)
		snprintf(text, size, "uid %u, %s", (unsigned int)link->uid, address);
	else if (!l->unix_socket)
		snprintf(text, size, "token, %s", address);
	else if (fd && !getsockopt(fd->connect_fd, SOL_SOCKET, SO_PEERCRED, &peer, &length))
		snprintf(text, size, "uid %u (pid %d)", (unsigned int)peer.uid, (int)peer.pid);
	else
		snprintf(text, size, "?");
}

static enum token_right bearer_right(struct daemon *daemon, const char *given)
{
	return given && !strncasecmp(given, "Bearer ", 7) ? token_right(daemon->state_dir, given + 7, strlen(given + 7))
							  : TOKEN_NONE;
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

/* A number for the source: a user's own, or one of many that its address gives. */
static uint32_t source_number(const struct unproven_source *source)
{
	return fnv_hash(source->bytes, sizeof(source->bytes));
}

static bool is_free(const struct link *link, bool token)
{
	return token || link->owner || link->listener->unix_socket;
}

static bool has_had_its_time(struct link *link, bool token)
{
	return !is_free(link, token) &&
	       spent_wait_ns(&link->listener->server->time, &answering, source_number(&link->source), clock_now_ns());
}

static void spend(struct link *link, bool token, uint64_t since_ns)
{
	uint64_t now_ns = clock_now_ns();

	if (!is_free(link, token))
		spent_add(&link->listener->server->time, &answering, source_number(&link->source), now_ns - since_ns,
			  now_ns);
}

/* Whoever shows the token, or need not, may ask as often as it likes. */
static bool may_ask(struct link *link, bool token)
{
	struct http_server *server = link->listener->server;

	if (token && !link->listener->unix_socket) {
		link->proven = true;
		unproven_remember(&server->known, &link->source, clock_now_ns());
	}
	return is_free(link, token) || rate_admits(&server->rate, &asking, &link->source, clock_now_ns());
}

static void treat(struct link *link, struct http_request *request, struct http_reply *reply)
{
	struct listener *l = link->listener;

	if (!may_ask(link, request->right))
		http_reply_error(reply, 429,
				 "without the token no more than %u requests a second: ask less often, or send it",
				 asking.each_second);
	else if (has_had_its_time(link, request->right))
		http_reply_error(
			reply, 429,
			"without the token answers take no more than a quarter of meted's time: ask less often, or "
			"send it");
	else if (link->too_large)
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
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return info ? info->socket_context : NULL;
}

void *link_first_line(void *owner, const char *uri, struct MHD_Connection *connection)
{
	struct link *link = link_of(connection);

	(void)owner;
	if (!link)
		return NULL;
	link->asked = true;
	link->cut = strstr(uri, "%00");
	return NULL;
}

enum MHD_Result link_request(void *owner, struct MHD_Connection *connection, const char *url, const char *method,
			     const char *version, const char *data, size_t *data_bytes, void **state)
{
	struct listener *l = owner;
	struct link *link = link_of(connection);
	struct http_request request = {
		.daemon = l->server->daemon, .method = method, .path = url, .connection = connection
	};
	struct http_reply reply = { 0 };
	uint64_t since_ns = clock_now_ns();
	enum MHD_Result sent;

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
	request.right = bearer_right(request.daemon, http_header(&request, "Authorization"));
	write_who(link, connection, request.who, sizeof(request.who));
	treat(link, &request, &reply);
	sent = send_reply(link, &reply);
	spend(link, request.right, since_ns);
	return sent;
}

void link_completed(void *owner, struct MHD_Connection *connection, void **state, enum MHD_RequestTerminationCode why)
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

enum MHD_Result link_admit(void *owner, const struct sockaddr *peer, socklen_t size)
{
	struct listener *l = owner;

	(void)peer;
	(void)size;
	return !l->unix_socket && daemon_keeps_back(l->server->daemon, (uid_t)-1) ? MHD_NO : MHD_YES;
}

/* Who has no user on this machine, or none that is known, has no place among owners'. */
static void read_source(struct link *link)
{
	const union MHD_ConnectionInfo *fd =
		MHD_get_connection_info(link->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	const union MHD_ConnectionInfo *from =
		MHD_get_connection_info(link->connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);

	link->uid = (uid_t)-1;
	if (fd && !link->listener->unix_socket)
		link->source = source_of(fd->connect_fd, from ? from->client_addr : NULL, &link->uid);
	link->owner = link->uid != (uid_t)-1 && owner_is(link->uid);
	link->proven = link->owner || unproven_knows(&link->listener->server->known, &link->source);
}

static void hang_up(struct link *link)
{
	const union MHD_ConnectionInfo *fd =
		MHD_get_connection_info(link->connection, MHD_CONNECTION_INFO_CONNECTION_FD);

	link->gone = true;
	if (fd)
		shutdown(fd->connect_fd, SHUT_RDWR);
}

/*
 * Before anything of it is read: what has arrived could be read after a shutdown() too, and answered with a handshake.
 * libmicrohttpd finds a socket that has ended.
 */
static void cut_off(struct link *link)
{
	const union MHD_ConnectionInfo *fd =
		MHD_get_connection_info(link->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	int ends[2];

	link->gone = true;
	if (!fd || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends))
		return;
	close(ends[1]);
	dup3(ends[0], fd->connect_fd, O_CLOEXEC);
	close(ends[0]);
}

/* With TLS: whether this source may have one more handshake. */
static bool may_greet(const struct link *link)
{
	static const struct unproven_source all;
	struct http_server *server = link->listener->server;
	uint64_t now_ns = clock_now_ns();

	if (!link->listener->tls || link->owner)
		return true;
	return rate_admits(&server->greetings, &greeting, &link->source, now_ns) &&
	       (link->proven || rate_admits(&server->all_greetings, &greeting_all, &all, now_ns));
}

/* A newcomer at the port takes the place of who has had one for longest without asking, when all are taken. */
static void make_place(const struct link *newcomer)
{
	static const struct unproven_rule rule = { .most = LINKS_MOST,
						   .per_source = LINKS_OF_SOURCE,
						   .kept = LINKS_KEPT };
	struct unproven there[LINKS_MOST];
	const struct unproven *yields;
	unsigned int n = 0;

	for (struct link *l = newcomer->listener->server->links; l && n < LINKS_MOST; l = l->next)
		if (l != newcomer && l->listener == newcomer->listener && !l->gone)
			there[n++] = (struct unproven){
				.source = l->source, .since_ns = l->since_ns, .known = l->proven, .who = l
			};
	yields = unproven_yields(&rule, there, n, &newcomer->source, newcomer->proven);
	if (!yields)
		return;
	log_peer(LOG_HTTP, "http: no place for one more connection: one is closed that has had its place for longest");
	hang_up(yields->who);
}

void link_changed(void *owner, struct MHD_Connection *connection, void **socket_state,
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
		read_source(link);
		if (!may_greet(link))
			cut_off(link);
		else if (!l->unix_socket)
			make_place(link);
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

void link_sweep(void *owner)
{
	struct http_server *server = owner;
	uint64_t now = clock_now_ns();

	for (struct link *link = server->links; link; link = link->next) {
		if (now - link->since_ns < (link->replied ? REPLY_NS : REQUEST_NS))
			continue;
		hang_up(link);
		link->since_ns = now;
	}
	if (!server->links)
		timer_stop(server->sweep);
}
