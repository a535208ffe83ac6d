/* routes.c: what is served over HTTP: the table of routes. */
#include "daemon/http/http.h"

#include "daemon/http/action.h"
#include "daemon/http/api.h"
#include "daemon/http/console.h"

const struct http_route http_routes[] = {
	{ "GET", "/healthz", api_health, HTTP_OPEN },
	{ "GET", "/api/v1/token", api_token, HTTP_OPEN },
	{ "GET", "/metrics", api_metrics, HTTP_READ },
	{ "GET", "/api/v1/node", api_node, HTTP_READ },
	{ "GET", "/api/v1/history", api_history, HTTP_READ },
	{ "GET", "/api/v1/events", api_events, HTTP_READ },
	{ "POST", "/api/v1/tenants/*/*", action_tenant, HTTP_ACT },
	{ "POST", "/api/v1/devices/*/*", action_device, HTTP_ACT },
	{ "GET", "/", console_page, HTTP_OPEN },
	{ "GET", "/console/*", console_file, HTTP_OPEN },
};

const size_t http_route_count = sizeof(http_routes) / sizeof(http_routes[0]);
