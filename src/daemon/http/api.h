/* api.h: the routes that return data as JSON; docs/metrics.md documents them. */
#pragma once

struct http_request;
struct http_reply;

/* GET /healthz: {"status":"ok"} while the loop turns. */
void api_health(const struct http_request *request, struct http_reply *reply);
/* GET /api/v1/token: {"may":"act"|"read"|"nothing"}: what the sent token permits. */
void api_token(const struct http_request *request, struct http_reply *reply);
/* GET /metrics[?compat=dcgm] */
void api_metrics(const struct http_request *request, struct http_reply *reply);
/* GET /api/v1/node */
void api_node(const struct http_request *request, struct http_reply *reply);
/* GET /api/v1/history?device=DEVICE or tenant=NAME, &series=held,got&span=SECONDS */
void api_history(const struct http_request *request, struct http_reply *reply);
/* GET /api/v1/events?after=ID&limit=N&tenant=NAME&device=DEVICE&kind=WORD */
void api_events(const struct http_request *request, struct http_reply *reply);
