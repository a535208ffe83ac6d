/*
 * tls.c: the line that proves and hides, by OpenSSL; see line.h.
 *
 * TLS 1.3 alone. Either both sides have a key (an external pre-shared key; a fresh exchange is mixed in, so that a key
 * that is stolen later opens nothing that was recorded before), or both have a certificate of the same authority. No
 * tickets, no early data: nothing can be replayed. A name that the server does not know is answered as a wrong key is.
 *
 * OpenSSL reads and writes through a BIO of ours: records that belong together leave in one write, and the deadline
 * holds. What the peer says wrong becomes one line of text with its remedy (explain).
 */
#include "base/cleanup.h"
#include "remote/relay/certificate.h"
#include "remote/relay/line.h"

#include <arpa/inet.h>
#include <errno.h>
#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define SUITES "TLS_AES_128_GCM_SHA256:TLS_CHACHA20_POLY1305_SHA256" /* a key is bound to SHA-256 */
#define OUT_BYTES (128u << 10)
#define READ_AHEAD_BYTES (128u << 10)

struct tls {
	SSL_CTX *context;
	BIO_METHOD *method;
	bool keys, certs;     /* server: what is accepted; client: one of them */
	struct relay_key key; /* client */
	char host[256];	      /* client: the name that the certificate must have, for texts too */
	bool (*find)(void *user, const char *name, uint8_t ret_key[RELAY_KEY_BYTES]);
	void *find_user;
};

struct tls_line {
	struct line line;
	struct tls *tls;
	SSL *ssl;
	int fd, error;	    /* -errno of the socket, when that was it */
	bool server, begun; /* begun: the other side has said something */
	struct relay_peer peer;
	uint64_t until_ns;
	char asked[RELAY_NAME_BYTES];	/* server: the key's name that the client says, good to print */
	char names[128];		/* client: those in the server's certificate, when it did not pass */
	enum wall_status status; /* explained by `text` */
	char text[RELAY_TEXT_BYTES];
	size_t out_used;
	uint8_t out[OUT_BYTES];
};

static struct tls_line *of(struct line *line)
{
	return (struct tls_line *)(void *)line;
}

/* ----------------------------------------------------------------------------------------------------------- BIO ---
 */

static int out_flush(struct tls_line *l)
{
	struct iovec part = { l->out, l->out_used };
	int r;

	if (!l->out_used)
		return 0;
	l->out_used = 0;
	r = tcp_write(l->fd, l->until_ns, &part, 1);
	if (r < 0)
		l->error = r;
	return r;
}

static int bio_write(BIO *bio, const char *at, int bytes)
{
	struct tls_line *l = BIO_get_data(bio);
	size_t n = (size_t)bytes;

	if (bytes <= 0)
		return 0;
	if (l->out_used + n > OUT_BYTES && out_flush(l) < 0)
		return -1;
	if (n > OUT_BYTES)
		n = OUT_BYTES;
	memcpy(l->out + l->out_used, at, n);
	l->out_used += n;
	return (int)n;
}

/*
 * A server that cannot serve this connection says so in the clear, before TLS: a frame_welcome, whose first byte no TLS
 * record has. Nobody has proved that it is the server's word; whoever can forge it can cut the line as well.
 */
static void read_refusal(struct tls_line *l, const uint8_t *at, size_t bytes)
{
	struct frame_welcome w = { 0 };
	ssize_t n;

	if (bytes > sizeof(w))
		return;
	memcpy(&w, at, bytes);
	for (; bytes < sizeof(w); bytes += (size_t)n) {
		n = tcp_read(l->fd, l->until_ns, (uint8_t *)&w + bytes, sizeof(w) - bytes);
		if (n <= 0)
			return;
	}
	if (!frame_check_welcome(&w) || !w.status)
		return;
	l->status = w.status;
	memcpy(l->text, w.wall.text, sizeof(l->text));
}

static int bio_read(BIO *bio, char *at, int bytes)
{
	struct tls_line *l = BIO_get_data(bio);
	ssize_t n = l->line.await && !l->until_ns
			    ? await_read(l->line.await, l->fd, at, (size_t)bytes)
			    : tcp_read(l->fd, l->until_ns, at, (size_t)bytes);

	if (n < 0) {
		l->error = (int)n;
		return -1;
	}
	if (n && !l->begun && !l->server && (uint8_t)at[0] == (FRAME_MAGIC & 0xff)) {
		read_refusal(l, (uint8_t *)at, (size_t)n);
		l->error = -EPROTO;
		return -1;
	}
	l->begun = true;
	return (int)n;
}

static long bio_ctrl(BIO *bio, int what, long number, void *at)
{
	if (what == BIO_CTRL_FLUSH)
		return out_flush(BIO_get_data(bio)) == 0;
	return 0;
}

static BIO_METHOD *bio_method_new(void)
{
	BIO_METHOD *m = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "relay");

	if (m) {
		BIO_meth_set_write(m, bio_write);
		BIO_meth_set_read(m, bio_read);
		BIO_meth_set_ctrl(m, bio_ctrl);
	}
	return m;
}

/* --------------------------------------------------------------------------------------------------------- texts ---
 */

__attribute__((format(printf, 3, 4))) static void explained(struct tls_line *l, enum wall_status status,
							    const char *fmt, ...)
{
	va_list ap;

	if (l->status)
		return;
	va_start(ap, fmt);
	vsnprintf(l->text, sizeof(l->text), fmt, ap);
	va_end(ap);
	l->status = status;
}

/* The other side's certificate did not pass. */
static void explain_verify(struct tls_line *l, const char *whose, const char *remedy_on)
{
	long v = SSL_get_verify_result(l->ssl);

	switch (v) {
	case X509_V_ERR_CERT_HAS_EXPIRED:
		explained(l, WALL_REFUSED, "the certificate of %s has expired; renew it on %s", whose, remedy_on);
		break;
	case X509_V_ERR_CERT_NOT_YET_VALID:
		explained(l, WALL_REFUSED, "the certificate of %s is not valid yet; check the clocks of both machines",
			  whose);
		break;
	case X509_V_ERR_HOSTNAME_MISMATCH:
	case X509_V_ERR_IP_ADDRESS_MISMATCH:
		explained(l, WALL_REFUSED,
			  "the server's certificate is not for %s but for %s; call the server by a name that is in it",
			  whose, l->names);
		break;
	default:
		explained(l, WALL_REFUSED, "the certificate of %s is not trusted (%s); check the authority's file",
			  whose, X509_verify_cert_error_string(v));
	}
}

/* Keeps what can be told of a certificate for somebody else; the verdict stays. */
static int see_names(int good, X509_STORE_CTX *verifying)
{
	SSL *ssl = X509_STORE_CTX_get_ex_data(verifying, SSL_get_ex_data_X509_STORE_CTX_idx());
	struct tls_line *l = ssl ? SSL_get_app_data(ssl) : NULL;

	if (!good && l && X509_STORE_CTX_get_error_depth(verifying) == 0)
		certificate_names(X509_STORE_CTX_get_current_cert(verifying), l->names, sizeof(l->names));
	return good;
}

static void explain_key(struct tls_line *l)
{
	explained(l, WALL_REFUSED,
		  "%s does not accept the key %s: it knows no such name or has another key for it; ask for the right "
		  "file",
		  l->tls->host, l->tls->key.name);
}

/* Our certificate did not pass; an alert says little, but our side of it can be looked at. */
static void explain_own_certificate(struct tls_line *l, int alert)
{
	const char *host = l->tls->host;

	if (certificate_is_early(SSL_get_certificate(l->ssl)))
		explained(l, WALL_REFUSED,
			  "our certificate is not valid yet, says %s too; check the clock of this machine, or wait",
			  host);
	else if (alert == SSL_AD_UNSUPPORTED_CERTIFICATE)
		explained(l, WALL_REFUSED, "%s says that our certificate is not for clients; have one made for that",
			  host);
	else if (alert == SSL_AD_BAD_CERTIFICATE)
		explained(l, WALL_REFUSED,
			  "%s does not take our certificate: not valid yet by its clock, or too weak; see its log",
			  host);
	else
		explained(l, WALL_REFUSED, "%s does not trust our certificate; it must be of the server's authority",
			  host);
}

/* What the server said when it gave up on us. */
static void explain_alert(struct tls_line *l, int alert)
{
	const char *host = l->tls->host;

	switch (alert) {
	case SSL_AD_CERTIFICATE_EXPIRED:
		explained(l, WALL_REFUSED, "%s says that our certificate has expired; have it renewed", host);
		break;
	case SSL_AD_UNKNOWN_CA:
	case SSL_AD_BAD_CERTIFICATE:
	case SSL_AD_UNSUPPORTED_CERTIFICATE:
	case SSL_AD_CERTIFICATE_REVOKED:
	case SSL_AD_CERTIFICATE_UNKNOWN:
	case SSL_AD_ACCESS_DENIED:
		explain_own_certificate(l, alert);
		break;
	case SSL_AD_CERTIFICATE_REQUIRED:
		explained(l, WALL_REFUSED, "%s wants a certificate; give one, or a key", host);
		break;
	case SSL_AD_PROTOCOL_VERSION:
		explained(l, WALL_WRONG_VERSION, "%s speaks no TLS 1.3; install the same mete on both", host);
		break;
	default:
		explained(l, WALL_REFUSED, "%s refuses the connection (TLS alert %d: %s)", host, alert,
			  SSL_alert_desc_string_long(alert));
	}
}

/* For the server's log. */
static void explain_client(struct tls_line *l, int reason, const char *error)
{
	if (reason == SSL_R_BINDER_DOES_NOT_VERIFY)
		explained(l, WALL_REFUSED, "a client that calls itself %s has another key than ours, or we have none",
			  l->asked[0] ? l->asked : "what is no name");
	else if (reason > SSL_AD_REASON_OFFSET)
		explained(l, WALL_REFUSED, "the client does not accept our certificate: %s", error);
	else
		explained(l, WALL_REFUSED, "TLS with the client failed: %s", error);
}

/* An operation of OpenSSL failed: why, if that can be said. */
static void explain_error(struct tls_line *l)
{
	unsigned long e = ERR_peek_last_error();
	int reason = ERR_GET_LIB(e) == ERR_LIB_SSL ? ERR_GET_REASON(e) : 0;

	if (l->status || !reason || reason == SSL_R_UNEXPECTED_EOF_WHILE_READING)
		return;
	if (!l->server && l->tls->keys && (reason > SSL_AD_REASON_OFFSET || reason == SSL_R_CERTIFICATE_VERIFY_FAILED))
		explain_key(l);
	else if (reason == SSL_R_CERTIFICATE_VERIFY_FAILED)
		explain_verify(l, l->server ? "the client" : l->tls->host,
			       l->server ? "the client's machine" : "the server");
	else if (!l->server && reason > SSL_AD_REASON_OFFSET)
		explain_alert(l, reason - SSL_AD_REASON_OFFSET);
	else if (l->server)
		explain_client(l, reason, ERR_reason_error_string(e));
	else
		explained(l, WALL_REFUSED, "TLS with %s failed: %s", l->tls->host, ERR_reason_error_string(e));
}

static int tls_explain(struct line *line, char ret_text[RELAY_TEXT_BYTES])
{
	struct tls_line *l = of(line);

	if (l->status)
		memcpy(ret_text, l->text, RELAY_TEXT_BYTES);
	return (int)l->status;
}

/* ---------------------------------------------------------------------------------------------------------- line ---
 */

/* Value: -errno for what SSL_read() or SSL_write() gave; 0: the other side has ended the line. */
static int failed(struct tls_line *l, int value)
{
	int e = SSL_get_error(l->ssl, value), r = -EPROTO;

	explain_error(l);
	if (e == SSL_ERROR_ZERO_RETURN)
		r = 0;
	else if (l->error)
		r = l->error;
	else if (e == SSL_ERROR_SYSCALL ||
		 (e == SSL_ERROR_SSL && ERR_GET_REASON(ERR_peek_last_error()) == SSL_R_UNEXPECTED_EOF_WHILE_READING))
		r = 0;
	ERR_clear_error();
	return r;
}

static ssize_t tls_read(struct line *line, void *at, size_t bytes)
{
	struct tls_line *l = of(line);
	size_t n = 0;
	int r;

	ERR_clear_error();
	r = SSL_read_ex(l->ssl, at, bytes, &n);
	return r > 0 ? (ssize_t)n : failed(l, r);
}

static int tls_write(struct line *line, const struct iovec *parts, unsigned int n)
{
	struct tls_line *l = of(line);
	size_t written;
	int r;

	ERR_clear_error();
	for (unsigned int i = 0; i < n; i++) {
		if (!parts[i].iov_len)
			continue;
		r = SSL_write_ex(l->ssl, parts[i].iov_base, parts[i].iov_len, &written);
		if (r <= 0) {
			r = failed(l, r);
			return r < 0 ? r : -EPIPE;
		}
	}
	return out_flush(l);
}

static int tls_until(struct line *line, uint64_t until_ns)
{
	of(line)->until_ns = until_ns;
	return tcp_until(of(line)->fd, until_ns);
}

static void tls_cut(struct line *line)
{
	shutdown(of(line)->fd, SHUT_RDWR);
}

static void tls_peer(struct line *line, struct relay_peer *ret)
{
	*ret = of(line)->peer;
}

static uint64_t tls_round_trip(struct line *line)
{
	return tcp_round_trip_ns(of(line)->fd);
}

static int tls_fd(struct line *line)
{
	return of(line)->fd;
}

static void tls_close(struct line *line)
{
	struct tls_line *l = of(line);

	SSL_free(l->ssl);
	close(l->fd);
	free(l);
}

static const struct line_ops tls_ops = {
	.name = "TLS 1.3",
	.read = tls_read,
	.write = tls_write,
	.until = tls_until,
	.cut = tls_cut,
	.peer = tls_peer,
	.round_trip_ns = tls_round_trip,
	.fd = tls_fd,
	.explain = tls_explain,
	.close = tls_close,
};

/* ---------------------------------------------------------------------------------------------------------- keys ---
 */

static SSL_SESSION *session_of_key(SSL *ssl, const uint8_t key[RELAY_KEY_BYTES])
{
	static const unsigned char suite[] = { 0x13, 0x01 }; /* TLS_AES_128_GCM_SHA256, RFC 8446 B.4 */
	SSL_SESSION *s = SSL_SESSION_new();

	if (s && SSL_SESSION_set1_master_key(s, key, RELAY_KEY_BYTES) &&
	    SSL_SESSION_set_cipher(s, SSL_CIPHER_find(ssl, suite)) &&
	    SSL_SESSION_set_protocol_version(s, TLS1_3_VERSION))
		return s;
	SSL_SESSION_free(s);
	return NULL;
}

static int use_key(SSL *ssl, const EVP_MD *hash, const unsigned char **ret_name, size_t *ret_bytes,
		   SSL_SESSION **ret_session)
{
	struct tls_line *l = SSL_get_app_data(ssl);

	*ret_session = NULL;
	if (hash && !EVP_MD_is_a(hash, "SHA256"))
		return 0;
	*ret_session = session_of_key(ssl, l->tls->key.bytes);
	*ret_name = (const unsigned char *)l->tls->key.name;
	*ret_bytes = strlen(l->tls->key.name);
	return *ret_session != NULL;
}

/* A name that nobody knows gets a key that nobody knows: the peer cannot tell the two apart. */
static int find_key(SSL *ssl, const unsigned char *name, size_t bytes, SSL_SESSION **ret_session)
{
	struct tls_line *l = SSL_get_app_data(ssl);
	uint8_t key[RELAY_KEY_BYTES];
	char text[RELAY_NAME_BYTES] = { 0 };

	*ret_session = NULL;
	if (RAND_bytes(key, sizeof(key)) != 1)
		return 0;
	if (bytes < sizeof(text)) {
		memcpy(text, name, bytes);
		if (relay_name_good(text))
			memcpy(l->asked, text, sizeof(text));
		if (l->asked[0] && l->tls->find && l->tls->find(l->tls->find_user, text, key))
			memcpy(l->peer.name, text, sizeof(text));
	}
	*ret_session = session_of_key(ssl, key);
	OPENSSL_cleanse(key, sizeof(key));
	return *ret_session != NULL;
}

/* ------------------------------------------------------------------------------------------------------ contexts ---
 */

static struct tls *tls_new(bool server)
{
	struct tls *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->method = bio_method_new();
	t->context = SSL_CTX_new(server ? TLS_server_method() : TLS_client_method());
	if (!t->method || !t->context || !SSL_CTX_set_min_proto_version(t->context, TLS1_3_VERSION) ||
	    !SSL_CTX_set_ciphersuites(t->context, SUITES)) {
		tls_free(t);
		return NULL;
	}
	SSL_CTX_set_options(t->context, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION);
	SSL_CTX_set_num_tickets(t->context, 0);
	SSL_CTX_set_session_cache_mode(t->context, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_read_ahead(t->context, 1);
	SSL_CTX_set_default_read_buffer_len(t->context, READ_AHEAD_BYTES);
	SSL_CTX_set_mode(t->context, SSL_MODE_AUTO_RETRY);
	return t;
}

void tls_free(struct tls *t)
{
	if (!t)
		return;
	SSL_CTX_free(t->context);
	BIO_meth_free(t->method);
	OPENSSL_cleanse(&t->key, sizeof(t->key));
	free(t);
}

/* False, with the text. */
static bool load(SSL_CTX *context, const struct relay_cert *cert, char *text)
{
	const char *what = "certificate", *path = cert->chain;
	bool good = SSL_CTX_use_certificate_chain_file(context, cert->chain) == 1;

	if (good) {
		what = "certificate's key";
		path = cert->key;
		good = SSL_CTX_use_PrivateKey_file(context, cert->key, SSL_FILETYPE_PEM) == 1 &&
		       SSL_CTX_check_private_key(context) == 1;
	}
	if (good) {
		what = "authority's certificate";
		path = cert->authority;
		good = SSL_CTX_load_verify_locations(context, cert->authority, NULL) == 1;
	}
	if (!good)
		snprintf(text, RELAY_TEXT_BYTES, "cannot use %s as the %s: %s", path, what,
			 ERR_reason_error_string(ERR_peek_last_error()));
	ERR_clear_error();
	return good;
}

int tls_client_new(struct tls **ret, const struct relay_target *target, char ret_text[RELAY_TEXT_BYTES])
{
	struct tls *t = tls_new(false);

	*ret = NULL;
	if (!t) {
		snprintf(ret_text, RELAY_TEXT_BYTES, "OpenSSL cannot be used: it has no TLS 1.3");
		return WALL_BAD;
	}
	snprintf(t->host, sizeof(t->host), "%s", target->server_name ? target->server_name : target->host);
	SSL_CTX_set_verify(t->context, SSL_VERIFY_PEER, see_names);
	t->keys = target->trust == RELAY_KEY;
	t->certs = !t->keys;
	if (t->keys) {
		t->key = target->key;
		SSL_CTX_set_psk_use_session_callback(t->context, use_key);
	} else if (!load(t->context, &target->cert, ret_text)) {
		tls_free(t);
		return WALL_REFUSED;
	}
	*ret = t;
	return 0;
}

int tls_server_new(struct tls **ret, bool keys, const struct relay_cert *cert, char ret_text[RELAY_TEXT_BYTES])
{
	struct tls *t = tls_new(true);

	*ret = NULL;
	if (!t) {
		snprintf(ret_text, RELAY_TEXT_BYTES, "OpenSSL cannot be used: it has no TLS 1.3");
		return WALL_BAD;
	}
	SSL_CTX_set_verify(t->context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
	/* OpenSSL takes an external key for a session that goes on, and wants its context named when peers are
	 * verified. */
	SSL_CTX_set_session_id_context(t->context, (const unsigned char *)"mete", 4);
	t->keys = keys;
	t->certs = cert->chain != NULL;
	if (keys)
		SSL_CTX_set_psk_find_session_callback(t->context, find_key);
	if (t->certs && !load(t->context, cert, ret_text)) {
		tls_free(t);
		return WALL_REFUSED;
	}
	*ret = t;
	return 0;
}

void tls_server_keys(struct tls *tls, bool (*find)(void *user, const char *name, uint8_t ret_key[RELAY_KEY_BYTES]),
		     void *user)
{
	tls->find = find;
	tls->find_user = user;
}

/* ------------------------------------------------------------------------------------------------------ proving --- */

/* The name in the client's certificate. False: there is none that can be written. */
static bool take_certificate_name(struct tls_line *l)
{
	X509 *cert = SSL_get0_peer_certificate(l->ssl);
	char name[RELAY_NAME_BYTES + 1];
	int n;

	if (!cert)
		return false;
	n = X509_NAME_get_text_by_NID(X509_get_subject_name(cert), NID_commonName, name, sizeof(name));
	if (n <= 0 || (size_t)n >= RELAY_NAME_BYTES || strlen(name) != (size_t)n || !relay_name_good(name))
		return false;
	memcpy(l->peer.name, name, (size_t)n + 1);
	return true;
}

/* The handshake is done: who is it? */
static bool know_peer(struct tls_line *l)
{
	bool by_key = SSL_session_reused(l->ssl);

	if (l->server && by_key) {
		l->peer.trust = RELAY_KEY;
		return l->peer.name[0];
	}
	l->peer.trust = by_key ? RELAY_KEY : RELAY_CERT;
	if (!l->server) {
		if (l->tls->keys && !by_key)
			explain_key(l);
		return !l->tls->keys || by_key;
	}
	/* Without a name it is nobody: whoever serves has to refuse it, and can say why. */
	if (!take_certificate_name(l))
		l->peer.name[0] = 0;
	return true;
}

static bool set_host(struct tls_line *l)
{
	const char *host = l->tls->host;
	uint8_t address[16];

	if (!l->tls->certs)
		return true;
	if (inet_pton(AF_INET, host, address) == 1 || inet_pton(AF_INET6, host, address) == 1)
		return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(l->ssl), host) == 1;
	SSL_set_hostflags(l->ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
	return SSL_set1_host(l->ssl, host) == 1 && SSL_set_tlsext_host_name(l->ssl, host) == 1;
}

static bool shake(struct tls_line *l)
{
	BIO *bio = BIO_new(l->tls->method);
	int r;

	if (!bio)
		return false;
	BIO_set_data(bio, l);
	BIO_set_init(bio, 1);
	SSL_set_bio(l->ssl, bio, bio);
	SSL_set_app_data(l->ssl, l);
	if (!l->server && !set_host(l))
		return false;
	ERR_clear_error();
	r = l->server ? SSL_accept(l->ssl) : SSL_connect(l->ssl);
	if (r == 1)
		return out_flush(l) == 0 && know_peer(l);
	failed(l, r);
	/* An alert may lie in the buffer still. */
	out_flush(l);
	return false;
}

struct line *tls_line(struct tls *tls, int take_fd, bool server, uint64_t until_ns, enum wall_status *ret_status,
		      char ret_text[RELAY_TEXT_BYTES])
{
	struct tls_line *l = calloc(1, sizeof(*l));

	if (!l) {
		close(take_fd);
		*ret_status = WALL_FULL;
		snprintf(ret_text, RELAY_TEXT_BYTES, "no memory");
		return NULL;
	}
	l->line.ops = &tls_ops;
	l->tls = tls;
	l->fd = take_fd;
	l->server = server;
	l->until_ns = until_ns;
	tcp_tune(l->fd);
	tcp_peer_address(l->fd, l->peer.address);
	l->ssl = SSL_new(tls->context);
	if (l->ssl && tcp_until(l->fd, until_ns) == 0 && shake(l))
		return &l->line;
	*ret_status = l->status ? l->status : WALL_UNREACHABLE;
	if (l->status)
		memcpy(ret_text, l->text, RELAY_TEXT_BYTES);
	else
		snprintf(ret_text, RELAY_TEXT_BYTES, "%.150s %s while it was to prove who it is; is it a mete server?",
			 server ? "the client" : tls->host,
			 l->error == -ETIMEDOUT ? "said nothing more" : "ended the connection");
	tls_close(&l->line);
	return NULL;
}
