/*
 * serve.h: a small HTTP or HTTPS server for requests that are answered at once, by libmicrohttpd in its own threads.
 *
 * Bounded: the number of connections, half of them for one address; the size of a request, and of all large requests
 * being read; beyond that it answers 503 or 413. A silent connection is closed, and one whose body takes too long. The
 * certificate can be changed while it serves: new connections use the new one, old ones continue until they have been
 * quiet for a while.
 */
#pragma once

#include "client/fault.h"
#include "connect/kubernetes/certificate.h"

#include <stdbool.h>
#include <stddef.h>

#define SERVE_BODY_MOST (4u << 20)    /* an API server's objects have at most 1.5 MiB, and a review contains two */
#define SERVE_BODIES_MOST (48u << 20) /* of all large bodies being read */
#define SERVE_OPEN_PATH "/healthz"    /* open, because kubelet's probes have no certificate */
#define SERVE_CONNECTIONS 512u
#define SERVE_OF_ADDRESS 256u /* of these, for one address: an API server sends up to 200 requests at once */

struct serve_request {
	const char *method, *path;
	const char *body; /* followed by a 0 */
	size_t size;
};

struct serve_reply {
	unsigned int status;
	const char *type;
	char *text; /* malloc()ed; taken */
	size_t size;
};

/* Called concurrently from several threads. */
typedef void serve_handler(void *owner, const struct serve_request *request, struct serve_reply *ret);

struct serve;

/*
 * listen: ADDRESS:PORT. certificate: NULL: without TLS. client_ca: authorities in PEM; only clients with a certificate
 * of one of them are answered, except for SERVE_OPEN_PATH. NULL: all clients. Value: 0, or a negative errno and a
 * fault.
 */
int serve_begin(struct serve **ret, const char *listen, const struct certificate *certificate, const char *client_ca,
		serve_handler *handler, void *owner, struct fault *f);
/* Uses this certificate and these authorities for new connections. */
int serve_renew(struct serve *s, const struct certificate *certificate, const char *client_ca, struct fault *f);
/*
 * Reads a file of authorities for serve_begin(); does nothing without a path. If it differs from *ca (owned), it
 * replaces that and sets *ret_new, which is never cleared here. Value: 0, or a negative errno and a fault; *ca is then
 * unchanged.
 */
int serve_refresh_ca(char **ca, const char *path, bool *ret_new, struct fault *f);
/* Ends remains of old certificates; call it periodically. */
void serve_tend(struct serve *s);
void serve_end(struct serve *s);
/* The port at which it listens. */
unsigned int serve_port(const struct serve *s);

/* Makes a text the reply; takes it. NULL: 500. */
void serve_text(struct serve_reply *ret, unsigned int status, const char *type, char *take_text);
