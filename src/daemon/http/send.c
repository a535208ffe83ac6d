/* send.c: a reply on its way: compressed where the client takes that, not at all where the client has it already. */
#include "daemon/http/server.h"

#include "base/cleanup.h"
#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define GZIP_FROM 1024u /* shorter bodies go as they are */

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

enum MHD_Result send_reply(struct link *link, struct http_reply *reply)
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
