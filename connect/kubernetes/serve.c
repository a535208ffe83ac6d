/*
 * serve.c: see serve.h.
 *
 * A changed certificate is a second daemon of libmicrohttpd's at the same listening socket: the first gives the socket
 * up (MHD_quiesce_daemon) and ends when its connections have.
 */
#include "connect/kubernetes/serve.h"

#include "base/clock.h"
#include "connect/kubernetes/serve_caller.h"

#include <errno.h>
#include <microhttpd.h>
#include <netdb.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define QUIET_S 15u
#define BODY_NS 15000000000ull /* for a whole body: who asks for us waits no longer */
#define BODY_FREE 65536u       /* of each request: no part of what all bodies may have */
#define THREADS 2u
#define HEADER_BYTES 16384u
#define OLD_MOST 4
#define OLD_PATIENCE_NS 30000000000ull

struct old {
	struct MHD_Daemon *mhd;
	uint64_t until_ns;
};

struct serve {
	struct MHD_Daemon *mhd;
	atomic_bool closed; /* only who has a certificate is answered; once it is so it stays so */
	struct old old[OLD_MOST];
	int fd;
	serve_handler *handler;
	void *owner;
	atomic_size_t reading; /* bytes of large bodies in memory */
};

/* A request while it comes in. */
struct incoming {
	struct serve *serve;
	char *body;
	size_t size, room, counted; /* counted: in serve's `reading` */
	uint64_t begun_ns;
	unsigned int refused; /* a status; 0: it is not */
};

void serve_text(struct serve_reply *ret, unsigned int status, const char *type, char *take_text)
{
	*ret = (struct serve_reply){ take_text ? status : 500, type, take_text, take_text ? strlen(take_text) : 0 };
}

static enum MHD_Result reply_with(struct MHD_Connection *c, const struct serve_reply *reply)
{
	struct MHD_Response *response =
		MHD_create_response_from_buffer(reply->text ? reply->size : 0, reply->text ? reply->text : (void *)"",
						reply->text ? MHD_RESPMEM_MUST_FREE : MHD_RESPMEM_PERSISTENT);
	enum MHD_Result r;

	if (!response) {
		free(reply->text);
		return MHD_NO;
	}
	MHD_add_response_header(response, "Content-Type", reply->type ? reply->type : "text/plain");
	if (reply->status == 503)
		MHD_add_response_header(response, "Retry-After", "1");
	r = MHD_queue_response(c, reply->status, response);
	MHD_destroy_response(response);
	return r;
}

/* A body of usual size is taken whatever others send. Value: false: all large ones have what they may. */
static bool count(struct incoming *in, size_t room)
{
	size_t more = room > BODY_FREE ? room - in->counted : 0;

	if (!more)
		return true;
	if (atomic_fetch_add(&in->serve->reading, more) + more > SERVE_BODIES_MOST) {
		atomic_fetch_sub(&in->serve->reading, more);
		return false;
	}
	in->counted += more;
	return true;
}

/* Room for so many bytes more, within what all may have. */
static bool grow(struct incoming *in, size_t more)
{
	size_t wanted = in->size + more + 1, room = in->room ? in->room : 4096;
	char *bigger;

	if (in->size + more > SERVE_BODY_MOST) {
		in->refused = 413;
		return false;
	}
	while (room < wanted)
		room *= 2;
	if (room == in->room)
		return true;
	bigger = count(in, room) ? realloc(in->body, room) : NULL;
	if (!bigger) {
		in->refused = 503;
		return false;
	}
	in->body = bigger;
	in->room = room;
	return true;
}

static void drop(struct incoming *in)
{
	atomic_fetch_sub(&in->serve->reading, in->counted);
	free(in->body);
	in->body = NULL;
	in->size = in->room = in->counted = 0;
}

static void take(struct incoming *in, const char *data, size_t size)
{
	if (in->refused)
		return;
	if (!grow(in, size)) {
		drop(in);
		return;
	}
	memcpy(in->body + in->size, data, size);
	in->size += size;
	in->body[in->size] = 0;
}

static const char *why_refused(unsigned int status)
{
	switch (status) {
	case 403:
		return "show a certificate of the authority that --client-ca names\n";
	case 413:
		return "the request is too large\n";
	default:
		return "too many requests: ask again\n";
	}
}

static bool is_admitted(const struct serve *s, struct MHD_Connection *c, const char *path)
{
	return !s->closed || !strcmp(path, SERVE_OPEN_PATH) || serve_caller_known(c);
}

static enum MHD_Result answer(struct incoming *in, struct MHD_Connection *c, const char *method, const char *path)
{
	const struct serve_request request = { method, path, in->body ? in->body : "", in->size };
	struct serve_reply reply = { .status = 500 };

	if (in->refused)
		serve_text(&reply, in->refused, "text/plain", strdup(why_refused(in->refused)));
	else
		in->serve->handler(in->serve->owner, &request, &reply);
	drop(in);
	return reply_with(c, &reply);
}

static enum MHD_Result on_request(void *owner, struct MHD_Connection *c, const char *path, const char *method,
				  const char *version, const char *data, size_t *size, void **state)
{
	struct incoming *in = *state;

	if (!in) {
		in = calloc(1, sizeof(*in));
		if (!in)
			return MHD_NO;
		in->serve = owner;
		in->begun_ns = clock_now_ns();
		in->refused = is_admitted(in->serve, c, path) ? 0 : 403;
		*state = in;
		return MHD_YES;
	}
	if (*size && clock_now_ns() - in->begun_ns > BODY_NS)
		return MHD_NO;
	if (*size) {
		take(in, data, *size);
		*size = 0;
		return MHD_YES;
	}
	return answer(in, c, method, path);
}

static void on_completed(void *owner, struct MHD_Connection *c, void **state, enum MHD_RequestTerminationCode code)
{
	struct incoming *in = *state;

	if (in)
		drop(in);
	free(in);
	*state = NULL;
}

/* What clients do wrong is no news for the log. */
static void on_log(void *owner, const char *fmt, va_list ap)
{
}

static struct MHD_Daemon *start(struct serve *s, const struct certificate *c, const char *client_ca)
{
	struct MHD_OptionItem tls[] = {
		{ MHD_OPTION_HTTPS_MEM_CERT, 0, c ? c->certificate : NULL },
		{ MHD_OPTION_HTTPS_MEM_KEY, 0, c ? c->key : NULL },
		{ MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)"NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2" },
		{ client_ca ? MHD_OPTION_HTTPS_MEM_TRUST : MHD_OPTION_END, 0, (void *)client_ca },
		{ MHD_OPTION_END, 0, NULL }
	};
	struct MHD_OptionItem none[] = { { MHD_OPTION_END, 0, NULL } };

	return MHD_start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_ITC | MHD_USE_ERROR_LOG | (c ? MHD_USE_TLS : 0),
				0, NULL, NULL, on_request, s, MHD_OPTION_EXTERNAL_LOGGER, on_log, NULL,
				MHD_OPTION_LISTEN_SOCKET, s->fd, MHD_OPTION_THREAD_POOL_SIZE, THREADS,
				MHD_OPTION_CONNECTION_LIMIT, SERVE_CONNECTIONS, MHD_OPTION_PER_IP_CONNECTION_LIMIT,
				SERVE_OF_ADDRESS, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HEADER_BYTES,
				MHD_OPTION_CONNECTION_TIMEOUT, QUIET_S, MHD_OPTION_NOTIFY_COMPLETED, on_completed, s,
				MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1, MHD_OPTION_ARRAY, c ? tls : none, MHD_OPTION_END);
}

/* "127.0.0.1:8443", "[::]:8443", ":8443": every address. */
static int split(const char *listen, char host[64], const char **port)
{
	const char *colon = strrchr(listen, ':');
	size_t length = colon ? (size_t)(colon - listen) : 0;

	if (!colon || !colon[1] || length >= 60)
		return -EINVAL;
	*port = colon + 1;
	/* getaddrinfo() takes the lower 16 bits of any number. */
	if (strspn(*port, "0123456789") != strlen(*port) || strlen(*port) > 5 || strtoul(*port, NULL, 10) > UINT16_MAX)
		return -EINVAL;
	if (length > 1 && *listen == '[' && listen[length - 1] == ']')
		snprintf(host, 64, "%.*s", (int)length - 2, listen + 1);
	else
		snprintf(host, 64, "%.*s", (int)length, listen);
	return 0;
}

static int listen_at(const struct addrinfo *a)
{
	int one = 1, zero = 0, fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (a->ai_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof(zero));
	if (!bind(fd, a->ai_addr, a->ai_addrlen) && !listen(fd, 511))
		return fd;
	one = -errno;
	close(fd);
	return one;
}

static int open_socket(const char *at, struct fault *f)
{
	const struct addrinfo hints = { .ai_flags = AI_PASSIVE | AI_NUMERICHOST | AI_NUMERICSERV,
					.ai_socktype = SOCK_STREAM };
	struct addrinfo *list, *a;
	const char *port;
	char host[64];
	int fd = -EINVAL;

	if (split(at, host, &port) || getaddrinfo(*host ? host : NULL, port, &hints, &list))
		return fault_set(f, -EINVAL, "--listen %s: give ADDRESS:PORT, such as 0.0.0.0:8443 or [::]:8443", at);
	/* Of all addresses, that of IPv6 takes those of IPv4 too. */
	for (a = list; a && fd < 0; a = a->ai_next)
		if (*host || a->ai_family == AF_INET6)
			fd = listen_at(a);
	for (a = list; a && fd < 0; a = a->ai_next)
		fd = listen_at(a);
	freeaddrinfo(list);
	return fd >= 0 ? fd
		       : fault_set(f, fd, "--listen %s: %s; choose an address of this machine and a free port", at,
				   strerror(-fd));
}

int serve_refresh_ca(char **ca, const char *path, bool *ret_new, struct fault *f)
{
	int64_t left, whole;
	char *now = NULL;
	int r;

	if (!path)
		return 0;
	if (!serve_caller_can())
		return fault_set(f, -ENOTSUP, "--client-ca %s: this build has no GnuTLS, which judges certificates",
				 path);
	r = certificate_read_text(path, &now, f);
	if (!r && certificate_left(now, &left, &whole))
		r = fault_set(f, -EINVAL, "--client-ca %s: there is no certificate in PEM in it", path);
	if (r || (*ca && !strcmp(now, *ca))) {
		free(now);
		return r;
	}
	free(*ca);
	*ca = now;
	*ret_new = true;
	return 0;
}

int serve_begin(struct serve **ret, const char *listen, const struct certificate *certificate, const char *client_ca,
		serve_handler *handler, void *owner, struct fault *f)
{
	struct serve *s = calloc(1, sizeof(*s));
	int fd;

	*ret = NULL;
	if (!s)
		return fault_set(f, -ENOMEM, "no memory");
	fd = open_socket(listen, f);
	if (fd < 0) {
		free(s);
		return fd;
	}
	*s = (struct serve){ .fd = fd, .handler = handler, .owner = owner, .closed = client_ca };
	s->mhd = start(s, certificate, client_ca);
	if (!s->mhd) {
		close(fd);
		free(s);
		return fault_set(f, -EINVAL, "cannot serve%s",
				 certificate ? " HTTPS: the certificate and its key do not belong together" : " HTTP");
	}
	*ret = s;
	return 0;
}

static void end_old(struct old *o)
{
	if (o->mhd)
		MHD_stop_daemon(o->mhd);
	*o = (struct old){ NULL, 0 };
}

void serve_tend(struct serve *s)
{
	for (int i = 0; i < OLD_MOST; i++) {
		const union MHD_DaemonInfo *info =
			s->old[i].mhd ? MHD_get_daemon_info(s->old[i].mhd, MHD_DAEMON_INFO_CURRENT_CONNECTIONS) : NULL;

		if (s->old[i].mhd && ((info && !info->num_connections) || clock_now_ns() > s->old[i].until_ns))
			end_old(&s->old[i]);
	}
}

int serve_renew(struct serve *s, const struct certificate *certificate, const char *client_ca, struct fault *f)
{
	struct MHD_Daemon *before = s->mhd;
	int at = 0;

	for (int i = 0; i < OLD_MOST; i++)
		if (s->old[at].mhd && (!s->old[i].mhd || s->old[i].until_ns < s->old[at].until_ns))
			at = i;
	MHD_quiesce_daemon(before);
	s->mhd = start(s, certificate, client_ca);
	if (!s->mhd) {
		/* The old one has given its socket up: without either nobody is served. */
		s->mhd = before;
		return fault_set(f, -EINVAL, "cannot serve with the new certificate");
	}
	end_old(&s->old[at]);
	s->old[at] = (struct old){ before, clock_now_ns() + OLD_PATIENCE_NS };
	return 0;
}

void serve_end(struct serve *s)
{
	if (!s)
		return;
	MHD_stop_daemon(s->mhd);
	for (int i = 0; i < OLD_MOST; i++)
		end_old(&s->old[i]);
	free(s);
}

unsigned int serve_port(const struct serve *s)
{
	struct sockaddr_storage a;
	socklen_t size = sizeof(a);
	char port[16] = "0";

	if (!getsockname(s->fd, (struct sockaddr *)&a, &size))
		getnameinfo((struct sockaddr *)&a, size, NULL, 0, port, sizeof(port), NI_NUMERICSERV);
	return (unsigned int)strtoul(port, NULL, 10);
}
