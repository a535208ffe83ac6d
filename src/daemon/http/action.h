/*
 * action.h: what may be done over HTTP with the token: POST /api/v1/tenants/NAME/ACTION and
 * /api/v1/devices/UUID/ACTION, the body a JSON object. Each is what the control socket does at the word of meted's own
 * user, written down in the audit log before and after.
 */
#pragma once

struct http_request;
struct http_reply;

/* resize {"devices":[...] as for grant_set,"soon"}, freeze, thaw, end. */
void action_tenant(const struct http_request *request, struct http_reply *reply);

/* cordon {"reason"}, drain {"reason","grace_s","end"}, uncordon. */
void action_device(const struct http_request *request, struct http_reply *reply);
