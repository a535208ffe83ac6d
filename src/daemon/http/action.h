/*
 * action.h: the actions that the token permits over HTTP: POST /api/v1/tenants/NAME/ACTION and
 * /api/v1/devices/UUID/ACTION, with a JSON object as the body. Each does what the control socket does for meted's own
 * user. The audit log records it before and after.
 */
#pragma once

struct http_request;
struct http_reply;

/* Handles resize {"devices":[...] as for grant_set,"soon"}, freeze, thaw and end. */
void action_tenant(const struct http_request *request, struct http_reply *reply);

/* Handles cordon {"reason"}, drain {"reason","grace_s","end"} and uncordon. */
void action_device(const struct http_request *request, struct http_reply *reply);
