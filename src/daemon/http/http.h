/*
 * http.h: what meted serves over HTTP: a table of routes, and the request and reply that a route handles.
 *
 * Listeners: http.sock in the runtime directory (always; for the directory's users), and with --http an address and
 * port. All of it runs on the loop, without a thread. Connections, headers, bodies and the time for each are bounded
 * (serve.c, link.c).
 *
 * Access: everybody may use HTTP_OPEN routes (the console's page, /healthz). HTTP_READ routes are open to everybody on
 * http.sock and on a loopback address; on other addresses they require a token. HTTP_ACT routes require the token that
 * acts. The two tokens are those of token.h, sent as "Authorization: Bearer TOKEN". A request to a loopback address
 * must name that address (Host), so that no page of another site gets in by DNS rebinding. There is no CORS.
 *
 * A refusal is a status and one line {"error": TEXT} with the remedy.
 */
#pragma once

#include "daemon/http/token.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <time.h>

struct daemon;
struct handover;
struct http_server;

#define HTTP_ARGS 2u
#define HTTP_ARG_BYTES 128u
#define HTTP_BODY_BYTES 65536u /* of a request body, at most */

enum http_access { HTTP_OPEN, HTTP_READ, HTTP_ACT };

struct http_request {
	struct daemon *daemon;
	const char *method; /* HEAD is passed as GET */
	const char *path;
	char arg[HTTP_ARGS][HTTP_ARG_BYTES]; /* what the stars of the pattern matched */
	const char *body; /* NUL-terminated */
	size_t body_bytes;
	enum token_right right; /* of the sent token */
	bool local; /* over http.sock or a loopback address */
	char who[112]; /* "uid 1000 (pid 77)", "uid 1000, 127.0.0.1:4711" or "token, 10.0.0.7:4711" */
	void *connection; /* for http_query() and http_header() */
};

struct http_reply {
	unsigned int status; /* 200 unless set */
	const char *type; /* of the body; a constant */
	char *body; /* NULL: no body */
	size_t bytes;
	bool owned; /* the body is freed */
	const void *gzip; /* the body compressed with gzip, if available; a constant */
	size_t gzip_bytes;
	char etag[40]; /* "": none; a client that already has it gets a 304 */
	bool keep; /* the client may cache the body; default: no-store */
};

typedef void (*http_fn)(const struct http_request *request, struct http_reply *reply);

struct http_route {
	const char *method;
	const char *pattern; /* a star matches one part between slashes */
	http_fn fn;
	enum http_access access;
};

/* routes.c */
extern const struct http_route http_routes[];
extern const size_t http_route_count;

/* The decoded value of a key in the query, or of a header; NULL: it is not there. */
const char *http_query(const struct http_request *request, const char *key);
const char *http_header(const struct http_request *request, const char *name);

/* Sets the body to `text`, which is freed later. NULL: no memory, and the reply says so. */
void http_reply_text(struct http_reply *reply, const char *type, char *take_text, size_t bytes);
void http_reply_json(struct http_reply *reply, json_t *take_json);
/* Sets the body to a constant, with its compressed form (or NULL, 0). The client may cache it under its etag. */
void http_reply_constant(struct http_reply *reply, const char *type, const void *data, size_t bytes, const void *gzip,
			 size_t gzip_bytes, const char *etag);
__attribute__((format(printf, 3, 4))) void http_reply_error(struct http_reply *reply, unsigned int status,
							    const char *fmt, ...);
void http_reply_deinit(struct http_reply *reply);

/* Finds the route, checks the access right, and calls the handler. Writes the request's arg[]. */
void http_treat(struct http_request *request, struct http_reply *reply);

/* serve.c */
struct http_options {
	const char *listen; /* ADDRESS:PORT; NULL: only http.sock */
	const char *cert, *key; /* PEM files for TLS; NULL: none */
	const char *group; /* of http.sock; NULL: meted's own group */
};

/*
 * Value: 0, or -EINVAL with the cause in `why`: there is no such group. meted starts nevertheless: the groups of a
 * directory service may not be available yet, or the group was deleted.
 */
int http_check_group(const char *group, char *why, size_t size);

/* The setting that causes the error. */
enum http_fault { HTTP_FAULT_NONE, HTTP_FAULT_LISTEN, HTTP_FAULT_CERT, HTTP_FAULT_KEY };

/* "http.listen" */
const char *http_fault_key(enum http_fault fault);

/*
 * Checks whether http_start() would succeed with these options; nothing stays open. `own`: the address at which the
 * running meted listens, which does not count as occupied; "": none. `why` gives the cause and the remedy, to be
 * appended to the setting's value.
 */
enum http_fault http_try(const struct http_options *options, const char *state_dir, const char *own, char *why,
			 size_t size);

/* Starts to listen. Value: 0, or -errno with the line for the user in `error`. */
int http_start(struct daemon *daemon, const struct http_options *options, char *error, size_t error_size);
/* `leaving`: removes http.sock. */
void http_stop(struct daemon *daemon, bool leaving);
/* True while requests are being read or answered: a handover would interrupt them. */
bool http_busy(const struct daemon *daemon);
/*
 * Saves the listening sockets (http.sock under "listeners") and the connections between two requests for the next
 * meted; its http_start() takes them over.
 */
json_t *http_save(const struct daemon *daemon, struct handover *h);
/* The address and port at which meted listens, or "". */
const char *http_address(const struct daemon *daemon);
/* When the certificate in use expires, in seconds since 1970; 0: there is none, or its times cannot be read. */
time_t http_certificate_ends(const struct daemon *daemon);
