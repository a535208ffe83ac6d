/* grpc.c: see grpc.h. */
#include "connect/kubernetes/grpc.h"

#include <errno.h>
#include <nghttp2/nghttp2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define HEAD_BYTES 5u /* before a message: compressed or not, and its size */
#define PEERS_MOST 64u
#define STREAMS_MOST 64u
#define UNREAD_MOST (1u << 20) /* of a stream that nobody reads */

struct stream {
	struct stream *next;
	struct grpc_peer *peer;
	int32_t id;
	char path[128];
	struct bytes in, out;
	size_t sent; /* of `out` */
	const struct grpc_method *method;
	bool too_large, whole, answered;
	bool open; /* more messages follow */
	struct grpc_later *later;
};

struct grpc_later {
	struct stream *stream; /* NULL: who asked has gone */
};

/* A connection, of a client of the server or of a call of our own. */
struct grpc_peer {
	struct watch watch;
	struct grpc_peer *next;
	struct loop *loop;
	nghttp2_session *session;
	struct grpc_server *server; /* NULL: a call */
	struct stream *streams;
	const uint8_t *pending; /* nghttp2's, until its next mem_send */
	size_t pending_size;
	bool broken, finished;
	/* A call. */
	const struct grpc_method *method;
	grpc_done *done;
	void *owner;
	int status;
	char line[512];
	struct bytes answer; /* with its head */
};

static struct stream *stream_new(struct grpc_peer *p, int32_t id)
{
	struct stream *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->peer = p;
	s->id = id;
	s->next = p->streams;
	p->streams = s;
	return s;
}

static void stream_free(struct stream *s)
{
	for (struct stream **at = &s->peer->streams; *at; at = &(*at)->next)
		if (*at == s) {
			*at = s->next;
			break;
		}
	if (s->later)
		s->later->stream = NULL;
	bytes_free(&s->in);
	bytes_free(&s->out);
	free(s);
}

static void peer_free(struct grpc_peer *p)
{
	if (p->server)
		for (struct grpc_peer **at = &p->server->peers; *at; at = &(*at)->next)
			if (*at == p) {
				*at = p->next;
				break;
			}
	loop_remove(p->loop, &p->watch);
	/* Does not call on_stream_close. */
	nghttp2_session_del(p->session);
	while (p->streams)
		stream_free(p->streams);
	bytes_free(&p->answer);
	free(p);
}

static nghttp2_nv header(const char *name, const char *value)
{
	return (nghttp2_nv){ (uint8_t *)name, (uint8_t *)value, strlen(name), strlen(value), NGHTTP2_NV_FLAG_NONE };
}

/* As grpc-message wants it: what is no plain letter as %XX. */
static void percent_encode(const char *line, char *to, size_t size)
{
	size_t n = 0;

	for (; *line && n + 4 < size; line++)
		if ((unsigned char)*line < 0x20 || (unsigned char)*line > 0x7e || *line == '%')
			n += (size_t)snprintf(to + n, size - n, "%%%02X", (unsigned char)*line);
		else
			to[n++] = *line;
	to[n] = 0;
}

static void percent_decode(const uint8_t *line, size_t length, char *to, size_t size)
{
	size_t n = 0;
	unsigned int c;

	for (size_t i = 0; i < length && n + 1 < size; i++) {
		if (line[i] == '%' && i + 2 < length && sscanf((const char *)line + i + 1, "%2x", &c) == 1) {
			to[n++] = (char)c;
			i += 2;
		} else {
			to[n++] = (char)line[i];
		}
	}
	to[n] = 0;
}

/* Writes what is to be written, as far as the socket takes it. */
static void peer_flush(struct grpc_peer *p)
{
	while (!p->broken) {
		ssize_t n;

		if (!p->pending_size) {
			n = nghttp2_session_mem_send(p->session, &p->pending);
			if (n < 0)
				p->broken = true;
			if (n <= 0)
				break;
			p->pending_size = (size_t)n;
		}
		n = send(p->watch.fd, p->pending, p->pending_size, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			break;
		if (n < 0) {
			p->broken = true;
			break;
		}
		p->pending += n;
		p->pending_size -= (size_t)n;
	}
	/* Its own turn frees it: it may stand in the midst of a list here. */
	if (p->broken)
		shutdown(p->watch.fd, SHUT_RDWR);
	loop_change(p->loop, &p->watch, EPOLLIN | (p->pending_size ? EPOLLOUT : 0));
}

static void add_encoded_frame(struct bytes *out, const struct bytes *message)
{
	uint8_t head[HEAD_BYTES] = { 0 };

	for (unsigned int i = 0; i < 4; i++)
		head[1 + i] = (uint8_t)(message->size >> (24 - 8 * i));
	bytes_add(out, head, sizeof(head));
	bytes_add(out, message->data, message->size);
	out->bad |= message->bad;
}

static void add_frame(struct bytes *out, const struct proto_field *fields, json_t *message)
{
	struct bytes encoded = { 0 };

	proto_encode(fields, message, &encoded);
	add_encoded_frame(out, &encoded);
	bytes_free(&encoded);
}

/* nghttp2 takes what is to be sent of a stream. */
static ssize_t read_out(nghttp2_session *session, int32_t id, uint8_t *to, size_t size, uint32_t *flags,
			nghttp2_data_source *source, void *owner)
{
	struct stream *s = source->ptr;
	size_t left = s->out.size - s->sent, take = left < size ? left : size;
	nghttp2_nv ok = header("grpc-status", "0");

	if (!take && s->open)
		return NGHTTP2_ERR_DEFERRED;
	if (take)
		memcpy(to, s->out.data + s->sent, take);
	s->sent += take;
	if (s->sent == s->out.size) {
		s->out.size = s->sent = 0;
		if (!s->open) {
			*flags |= NGHTTP2_DATA_FLAG_EOF;
			if (s->peer->server) {
				*flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
				if (nghttp2_submit_trailer(session, id, &ok, 1))
					return NGHTTP2_ERR_CALLBACK_FAILURE;
			}
		}
	}
	return (ssize_t)take;
}

static void answer_fault(struct stream *s, int status, const char *line)
{
	char number[12], text[1536];
	nghttp2_nv nv[4];

	snprintf(number, sizeof(number), "%d", status);
	percent_encode(line, text, sizeof(text));
	nv[0] = header(":status", "200");
	nv[1] = header("content-type", "application/grpc");
	nv[2] = header("grpc-status", number);
	nv[3] = header("grpc-message", text);
	if (nghttp2_submit_response(s->peer->session, s->id, nv, 4, NULL))
		s->peer->broken = true;
}

static void answer(struct stream *s, json_t *message)
{
	nghttp2_nv nv[2] = { header(":status", "200"), header("content-type", "application/grpc") };
	nghttp2_data_provider out = { .source.ptr = s, .read_callback = read_out };

	add_frame(&s->out, s->method->answer, message);
	s->open = s->method->stream;
	if (s->out.bad || nghttp2_submit_response(s->peer->session, s->id, nv, 2, &out))
		s->peer->broken = true;
}

/* They are one message, with its head. */
static bool is_one_message(const struct bytes *b)
{
	const uint8_t *d = b->data;

	return b->size >= HEAD_BYTES && ((uint32_t)d[1] << 24 | d[2] << 16 | d[3] << 8 | d[4]) == b->size - HEAD_BYTES;
}

/* The one message of a request. NULL: a fault, and *ret_status. */
static json_t *take_request(struct stream *s, int *ret_status, struct fault *f)
{
	const uint8_t *d = s->in.data;
	size_t size = s->in.size;
	json_t *request;

	*ret_status = GRPC_INTERNAL;
	if (s->too_large || s->in.bad) {
		*ret_status = GRPC_EXHAUSTED;
		fault_set(f, 0, "the request is larger than %u bytes", PROTO_BYTES_MOST);
		return NULL;
	}
	if (!is_one_message(&s->in)) {
		fault_set(f, 0, "the request is not one gRPC message: %zu bytes", size);
		return NULL;
	}
	if (d[0]) {
		*ret_status = GRPC_UNIMPLEMENTED;
		fault_set(f, 0, "compressed requests are not read; send them plain");
		return NULL;
	}
	request = proto_decode(s->method->request, d + HEAD_BYTES, size - HEAD_BYTES);
	if (!request)
		fault_set(f, 0, "the message of %s cannot be decoded", s->path);
	return request;
}

static void serve(struct stream *s)
{
	struct grpc_server *server = s->peer->server;
	struct fault f = { .text = "" };
	json_t *request, *message = NULL;
	int status = GRPC_UNIMPLEMENTED;

	s->answered = true;
	for (const struct grpc_method *m = server->methods; !s->method && m->path; m++)
		if (!strcmp(m->path, s->path))
			s->method = m;
	if (!s->method) {
		fault_set(&f, 0, "unknown method %.100s", s->path);
		answer_fault(s, status, f.text);
		return;
	}
	request = take_request(s, &status, &f);
	bytes_free(&s->in);
	server->serving = s;
	if (request)
		status = s->method->handle(server->owner, request, &message, &f);
	server->serving = NULL;
	if (request && status == GRPC_OK)
		answer(s, message);
	else if (status != GRPC_LATER)
		answer_fault(s, status, f.text);
	json_decref(message);
	json_decref(request);
}

struct grpc_later *grpc_later(struct grpc_server *server)
{
	struct grpc_later *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->stream = server->serving;
	l->stream->later = l;
	return l;
}

void grpc_later_answer(struct grpc_later *l, int status, json_t *message, const char *line)
{
	struct stream *s = l->stream;

	free(l);
	if (!s)
		return;
	s->later = NULL;
	if (status == GRPC_OK)
		answer(s, message);
	else
		answer_fault(s, status, line);
	peer_flush(s->peer);
}

/* Requests that came whole; outside of nghttp2's callbacks, in which nothing may be sent. */
static void serve_whole(struct grpc_peer *p)
{
	struct stream *s = p->streams;

	while (s && !p->broken) {
		if (s->whole && !s->answered) {
			serve(s);
			s = p->streams;
		} else {
			s = s->next;
		}
	}
}

static int on_begin(nghttp2_session *session, const nghttp2_frame *frame, void *owner)
{
	struct grpc_peer *p = owner;
	struct stream *s;

	if (!p->server || frame->hd.type != NGHTTP2_HEADERS || frame->headers.cat != NGHTTP2_HCAT_REQUEST)
		return 0;
	s = stream_new(p, frame->hd.stream_id);
	if (!s)
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	nghttp2_session_set_stream_user_data(session, frame->hd.stream_id, s);
	return 0;
}

static bool is(const uint8_t *name, size_t length, const char *word)
{
	return length == strlen(word) && !memcmp(name, word, length);
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name, size_t name_length,
		     const uint8_t *value, size_t length, uint8_t flags, void *owner)
{
	struct grpc_peer *p = owner;
	struct stream *s = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);

	if (p->server && s && is(name, name_length, ":path"))
		snprintf(s->path, sizeof(s->path), "%.*s", (int)length, (const char *)value);
	if (!p->server && is(name, name_length, "grpc-status"))
		p->status = atoi((const char *)value);
	if (!p->server && is(name, name_length, "grpc-message"))
		percent_decode(value, length, p->line, sizeof(p->line));
	return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *data, size_t size, void *owner)
{
	struct grpc_peer *p = owner;
	struct stream *s = nghttp2_session_get_stream_user_data(session, id);
	struct bytes *in = p->server ? s ? &s->in : NULL : &p->answer;

	if (!in || (s && s->too_large))
		return 0;
	if (in->size + size <= PROTO_BYTES_MOST + HEAD_BYTES)
		bytes_add(in, data, size);
	else if (s)
		s->too_large = true;
	return 0;
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *owner)
{
	struct stream *s = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);

	if ((frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA) && s &&
	    (frame->hd.flags & NGHTTP2_FLAG_END_STREAM))
		s->whole = true;
	return 0;
}

static int on_stream_close(nghttp2_session *session, int32_t id, uint32_t code, void *owner)
{
	struct grpc_peer *p = owner;
	struct stream *s = nghttp2_session_get_stream_user_data(session, id);

	if (!p->server)
		p->finished = true;
	if (s)
		stream_free(s);
	return 0;
}

/* The answer of a call that went well. NULL: it is none. */
static json_t *take_answer(struct grpc_peer *p)
{
	const struct bytes *b = &p->answer;

	if (p->status != GRPC_OK || b->bad || !is_one_message(b) || b->data[0])
		return NULL;
	return proto_decode(p->method->answer, b->data + HEAD_BYTES, b->size - HEAD_BYTES);
}

static void peer_end(struct grpc_peer *p)
{
	grpc_done *done = p->done;
	void *owner = p->owner;
	json_t *answer = done ? take_answer(p) : NULL;
	int status = p->status < 0 ? GRPC_UNAVAILABLE : p->status == GRPC_OK && !answer ? GRPC_INTERNAL : p->status;
	char line[sizeof(p->line)];

	snprintf(line, sizeof(line), "%s",
		 *p->line	 ? p->line
		 : p->status < 0 ? "the connection ended without an answer"
		 : status	 ? "the answer is not one gRPC message"
				 : "");
	peer_free(p);
	if (done)
		done(owner, status, line, answer);
	json_decref(answer);
}

static void peer_ready(struct watch *w, uint32_t events)
{
	struct grpc_peer *p = w->owner;
	uint8_t data[16384];
	ssize_t n = 0;

	if (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) {
		n = recv(w->fd, data, sizeof(data), MSG_DONTWAIT);
		if (!n || (n < 0 && errno != EAGAIN && errno != EINTR))
			p->broken = true;
	}
	if (n > 0 && nghttp2_session_mem_recv(p->session, data, (size_t)n) < 0)
		p->broken = true;
	if (p->server)
		serve_whole(p);
	peer_flush(p);
	if (p->broken || p->finished ||
	    (!nghttp2_session_want_read(p->session) && !nghttp2_session_want_write(p->session)))
		peer_end(p);
}

static nghttp2_session_callbacks *callbacks_new(void)
{
	nghttp2_session_callbacks *c;

	if (nghttp2_session_callbacks_new(&c))
		return NULL;
	nghttp2_session_callbacks_set_on_begin_headers_callback(c, on_begin);
	nghttp2_session_callbacks_set_on_header_callback(c, on_header);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(c, on_data);
	nghttp2_session_callbacks_set_on_frame_recv_callback(c, on_frame);
	nghttp2_session_callbacks_set_on_stream_close_callback(c, on_stream_close);
	return c;
}

/*
 * Kubelets before 1.26 name the socket's path as :authority, which is none: nghttp2 would refuse the request unless it
 * is told not to judge headers.
 */
static int session_open(struct grpc_peer *p)
{
	nghttp2_settings_entry settings[] = { { NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, STREAMS_MOST } };
	nghttp2_session_callbacks *c = callbacks_new();
	nghttp2_option *o = NULL;
	int r = -1;

	if (c && !nghttp2_option_new(&o)) {
		nghttp2_option_set_no_http_messaging(o, 1);
		r = p->server ? nghttp2_session_server_new2(&p->session, c, p, o)
			      : nghttp2_session_client_new2(&p->session, c, p, o);
	}
	nghttp2_option_del(o);
	nghttp2_session_callbacks_del(c);
	return r || nghttp2_submit_settings(p->session, NGHTTP2_FLAG_NONE, settings, p->server ? 1 : 0) ? -ENOMEM : 0;
}

/* Takes the descriptor. */
static struct grpc_peer *peer_new(struct loop *loop, struct grpc_server *server, int take_fd)
{
	struct grpc_peer *p = calloc(1, sizeof(*p));

	if (!p) {
		close(take_fd);
		return NULL;
	}
	p->watch = (struct watch){ .fd = take_fd, .ready = peer_ready, .owner = p };
	p->loop = loop;
	p->status = -1;
	p->server = server;
	if (!session_open(p) && !loop_add(loop, &p->watch, EPOLLIN)) {
		if (server) {
			p->next = server->peers;
			server->peers = p;
		}
		return p;
	}
	peer_free(p);
	return NULL;
}

static void server_ready(struct watch *w, uint32_t events)
{
	struct grpc_server *s = w->owner;
	unsigned int count = 0;
	struct grpc_peer *p;
	int fd = accept4(w->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0)
		return;
	for (p = s->peers; p; p = p->next)
		count++;
	if (count >= PEERS_MOST) {
		close(fd);
		return;
	}
	p = peer_new(s->loop, s, fd);
	if (p)
		peer_flush(p);
}

static int address_of(const char *path, struct sockaddr_un *ret)
{
	*ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if (strlen(path) >= sizeof(ret->sun_path))
		return -ENAMETOOLONG;
	strcpy(ret->sun_path, path);
	return 0;
}

/* Who was killed leaves a file at which nobody listens. */
static bool somebody_listens(const struct sockaddr_un *address)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	bool listens = fd >= 0 && (!connect(fd, (const struct sockaddr *)address, sizeof(*address)) || errno == EAGAIN);

	if (fd >= 0)
		close(fd);
	return listens;
}

static int note_file(struct grpc_server *s)
{
	struct stat st;

	if (lstat(s->path, &st))
		return -errno;
	s->device = st.st_dev;
	s->inode = st.st_ino;
	return 0;
}

int grpc_server_open(struct grpc_server *s, struct loop *loop, const char *path, const struct grpc_method *methods,
		     void *owner)
{
	struct sockaddr_un address;
	mode_t mask;
	int r = address_of(path, &address);

	*s = (struct grpc_server){ .watch = { .fd = -1 }, .loop = loop, .methods = methods, .owner = owner };
	if (r)
		return r;
	strcpy(s->path, path);
	if (somebody_listens(&address))
		return -EADDRINUSE;
	s->watch = (struct watch){ .fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0),
				   .ready = server_ready,
				   .owner = s };
	if (s->watch.fd < 0)
		return -errno;
	unlink(path);
	mask = umask(0177);
	r = bind(s->watch.fd, (struct sockaddr *)&address, sizeof(address)) ? -errno : 0;
	umask(mask);
	if (!r)
		r = listen(s->watch.fd, 64) ? -errno : 0;
	if (!r)
		r = note_file(s);
	if (!r)
		r = loop_add(loop, &s->watch, EPOLLIN);
	if (r) {
		close(s->watch.fd);
		s->watch.fd = -1;
	}
	return r;
}

bool grpc_server_there(const struct grpc_server *s)
{
	struct stat st;

	return s->watch.fd >= 0 && !lstat(s->path, &st) && st.st_dev == s->device && st.st_ino == s->inode;
}

void grpc_server_close(struct grpc_server *s)
{
	while (s->peers)
		peer_free(s->peers);
	if (s->watch.fd >= 0)
		loop_remove(s->loop, &s->watch);
}

void grpc_server_remove(struct grpc_server *s)
{
	bool own = grpc_server_there(s);

	grpc_server_close(s);
	if (own)
		unlink(s->path);
}

void grpc_server_push_encoded(struct grpc_server *s, const struct grpc_method *method, const struct bytes *message)
{
	for (struct grpc_peer *p = s->peers; p; p = p->next) {
		for (struct stream *at = p->streams; at; at = at->next) {
			if (at->method != method || !at->open)
				continue;
			add_encoded_frame(&at->out, message);
			p->broken |= at->out.bad || at->out.size - at->sent > UNREAD_MOST;
			nghttp2_session_resume_data(p->session, at->id);
		}
		peer_flush(p);
	}
}

void grpc_server_push(struct grpc_server *s, const struct grpc_method *method, json_t *message)
{
	struct bytes encoded = { 0 };

	proto_encode(method->answer, message, &encoded);
	grpc_server_push_encoded(s, method, &encoded);
	bytes_free(&encoded);
}

unsigned int grpc_server_streams(const struct grpc_server *s, const struct grpc_method *method)
{
	unsigned int count = 0;

	for (struct grpc_peer *p = s->peers; p; p = p->next)
		for (struct stream *at = p->streams; at; at = at->next)
			count += at->method == method && at->open;
	return count;
}

int grpc_call_begin(struct grpc_peer **ret, struct loop *loop, const char *socket_path,
		    const struct grpc_method *method, json_t *request, grpc_done *done, void *owner)
{
	nghttp2_nv nv[] = { header(":method", "POST"),
			    header(":scheme", "http"),
			    header(":path", method->path),
			    header(":authority", "localhost"),
			    header("content-type", "application/grpc"),
			    header("te", "trailers") };
	nghttp2_data_provider out = { .read_callback = read_out };
	struct sockaddr_un address;
	struct grpc_peer *p;
	struct stream *s;
	int r = address_of(socket_path, &address), fd;

	if (r)
		return r;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (connect(fd, (struct sockaddr *)&address, sizeof(address))) {
		r = -errno;
		close(fd);
		return r;
	}
	p = peer_new(loop, NULL, fd);
	s = p ? stream_new(p, 0) : NULL;
	if (!s) {
		if (p)
			peer_free(p);
		return -ENOMEM;
	}
	add_frame(&s->out, method->request, request);
	out.source.ptr = s;
	s->id = nghttp2_submit_request(p->session, NULL, nv, sizeof(nv) / sizeof(*nv), &out, s);
	if (s->out.bad || s->id < 0) {
		peer_free(p);
		return -ENOMEM;
	}
	p->method = method;
	p->done = done;
	p->owner = owner;
	*ret = p;
	peer_flush(p);
	return 0;
}

void grpc_call_cancel(struct grpc_peer *call)
{
	peer_free(call);
}
