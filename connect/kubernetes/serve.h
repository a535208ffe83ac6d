/*
 * serve.h: a small server of requests that are answered at once: HTTP or HTTPS, by libmicrohttpd in threads of its
 * own.
 *
 * Bounded: so many connections, half of them of one address; so many bytes of a request, so many bytes of all large
 * requests that are being read; beyond that 503 or 413. A connection that says nothing is closed, and one whose body
 * takes too long. The certificate can be changed while it serves: new connections get the new one, old ones go on
 * until they have been quiet for a while.
 */
#pragma once

#include "client/fault.h"
#include "connect/kubernetes/certificate.h"

#include <stdbool.h>
#include <stddef.h>

#define SERVE_BODY_MOST (4u << 20)    /* an API server's objects have 1.5 MiB at most, and a review two of them */
#define SERVE_BODIES_MOST (48u << 20) /* of all large ones that are being read */
#define SERVE_OPEN_PATH "/healthz"    /* kubelet's probes have no certificate */
#define SERVE_CONNECTIONS 512u
#define SERVE_OF_ADDRESS 256u /* of them, of one address: an API server asks up to 200 at once */

struct serve_request {
	const char *method, *path;
	const char *body; /* with a 0 behind it */
	size_t size;
};

struct serve_reply {
	unsigned int status;
	const char *type;
	char *text; /* malloc()ed; taken */
	size_t size;
};

/* Called from several threads at once. */
typedef void serve_handler(void *owner, const struct serve_request *request, struct serve_reply *ret);

struct serve;

/*
 * listen: ADDRESS:PORT. certificate: NULL: without TLS. client_ca: authorities in PEM; only who has a client's
 * certificate of one of them is answered, but for SERVE_OPEN_PATH. NULL: whoever asks. Value: 0 or a negative errno and
 * a fault.
 */
int serve_begin(struct serve **ret, const char *listen, const struct certificate *certificate, const char *client_ca,
		serve_handler *handler, void *owner, struct fault *f);
/* New connections get this certificate, and are judged by these authorities. */
int serve_renew(struct serve *s, const struct certificate *certificate, const char *client_ca, struct fault *f);
/*
 * Reads a file of authorities as serve_begin() takes it; nothing without a path. Where it says another than *ca
 * (owned), that becomes it and *ret_new is set, which is not cleared here. Value: 0 or a negative errno and a fault;
 * then *ca is as it was.
 */
int serve_refresh_ca(char **ca, const char *path, bool *ret_new, struct fault *f);
/* Ends what of an old certificate is over; to be called now and then. */
void serve_tend(struct serve *s);
void serve_end(struct serve *s);
/* The port that it listens at. */
unsigned int serve_port(const struct serve *s);

/* A text as the reply; takes it. NULL: 500. */
void serve_text(struct serve_reply *ret, unsigned int status, const char *type, char *take_text);
