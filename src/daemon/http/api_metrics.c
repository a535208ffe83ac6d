/* api_metrics.c: /metrics. */
#include "daemon/http/api.h"

#include "daemon/http/http.h"
#include "daemon/metrics.h"

#include <string.h>

void api_metrics(const struct http_request *request, struct http_reply *reply)
{
	const char *compat = http_query(request, "compat");
	size_t bytes = 0;
	char *text;

	if (compat && *compat && strcmp(compat, "dcgm")) {
		http_reply_error(reply, 400, "compat %.32s: there is dcgm", compat);
		return;
	}
	text = metrics_text(request->daemon, compat && *compat ? METRICS_DCGM : METRICS_METE, &bytes);
	http_reply_text(reply, "text/plain; version=0.0.4; charset=utf-8", text, bytes);
}
