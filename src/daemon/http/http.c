/* http.c: routes and replies; see http.h. Knows nothing of sockets. */
#include "daemon/http/http.h"

#include "base/clean_text.h"
#include "daemon/daemon.h"
#include "daemon/http/token.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Replies. */

void http_reply_deinit(struct http_reply *reply)
{
	if (reply->owned)
		free(reply->body);
	*reply = (struct http_reply){ 0 };
}

void http_reply_constant(struct http_reply *reply, const char *type, const void *data, size_t bytes, const void *gzip,
			 size_t gzip_bytes, const char *etag)
{
	http_reply_deinit(reply);
	*reply = (struct http_reply){ .status = 200, .type = type, .body = (char *)data, .bytes = bytes, .gzip = gzip,
				      .gzip_bytes = gzip_bytes, .keep = true };
	snprintf(reply->etag, sizeof(reply->etag), "%s", etag ? etag : "");
}

void http_reply_text(struct http_reply *reply, const char *type, char *take_text, size_t bytes)
{
	static const char none[] = "{\"error\":\"no memory: ask again\"}\n";

	if (!take_text) {
		http_reply_constant(reply, "application/json", none, sizeof(none) - 1, NULL, 0, NULL);
		reply->status = 503;
		reply->keep = false;
		return;
	}
	http_reply_deinit(reply);
	*reply = (struct http_reply){ .status = 200, .type = type, .body = take_text, .bytes = bytes, .owned = true };
}

void http_reply_json(struct http_reply *reply, json_t *take_json)
{
	size_t size = take_json ? json_dumpb(take_json, NULL, 0, JSON_COMPACT) : 0;
	char *text = size ? malloc(size + 1) : NULL;

	if (text) {
		json_dumpb(take_json, text, size, JSON_COMPACT);
		text[size] = '\n';
	}
	json_decref(take_json);
	http_reply_text(reply, "application/json", text, size + 1);
}

void http_reply_error(struct http_reply *reply, unsigned int status, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	clean_text_ascii(text);
	http_reply_json(reply, json_pack("{s:s}", "error", text));
	reply->status = status;
}

/* Routes. */

/* Matches part by part; what a star stands for goes to arg[]. */
static bool matches(const char *pattern, const char *path, char arg[HTTP_ARGS][HTTP_ARG_BYTES])
{
	unsigned int stars = 0;

	while (*pattern) {
		size_t n;

		if (*pattern != '*') {
			if (*pattern++ != *path++)
				return false;
			continue;
		}
		n = strcspn(path, "/");
		if (!n || n >= HTTP_ARG_BYTES || stars == HTTP_ARGS)
			return false;
		memcpy(arg[stars], path, n);
		arg[stars++][n] = 0;
		path += n;
		pattern++;
	}
	return !*path;
}

static bool may(const struct http_request *request, enum http_access access)
{
	return access == HTTP_OPEN || request->right == TOKEN_ACTS ||
	       (access == HTTP_READ && (request->local || request->right == TOKEN_READS));
}

static void refuse_access(const struct http_request *request, struct http_reply *reply)
{
	if (request->right == TOKEN_READS)
		http_reply_error(reply, 403,
				 "this token reads and does not act: `mete token show` prints the one that acts");
	else if (!token_exists(request->daemon->state_dir))
		http_reply_error(reply, 401, "this needs a token, and there is none: make one with `mete token new`");
	else if (http_header(request, "Authorization"))
		http_reply_error(reply, 401, "the token is not the right one: `mete token show` prints it");
	else
		http_reply_error(reply, 401,
				 "this needs a token: send \"Authorization: Bearer TOKEN\"; `mete token show` prints "
				 "it");
}

void http_treat(struct http_request *request, struct http_reply *reply)
{
	bool known = false;

	*reply = (struct http_reply){ 0 };
	for (size_t i = 0; i < http_route_count; i++) {
		const struct http_route *route = &http_routes[i];

		if (!matches(route->pattern, request->path, request->arg))
			continue;
		known = true;
		if (strcmp(route->method, request->method))
			continue;
		if (may(request, route->access))
			route->fn(request, reply);
		else
			refuse_access(request, reply);
		return;
	}
	if (known)
		http_reply_error(reply, 405, "%.16s is not for %.128s: docs/metrics.md lists what is", request->method,
				 request->path);
	else
		http_reply_error(reply, 404, "there is nothing at %.128s: docs/metrics.md lists what there is",
				 request->path);
}
