/*
 * api.h: a client of Kubernetes' API server, over HTTPS by libcurl, in the agent's loop.
 *
 * The credentials come from a kubeconfig, or from the service account that Kubernetes mounts into a pod. Files (above
 * all the token, which Kubernetes renews every hour) are read again for each request. Only watches, which never end,
 * are retried here; for other requests the caller gets the result.
 */
#pragma once

#include "client/fault.h"
#include "connect/kubernetes/loop.h"

#include <jansson.h>

#define API_SERVICE_ACCOUNT "/var/run/secrets/kubernetes.io/serviceaccount"
#define API_PATIENCE_S 10 /* time limit of one request */

struct api_options {
	const char *kubeconfig;	     /* NULL: the pod's service account */
	const char *service_account; /* its folder; NULL: API_SERVICE_ACCOUNT */
};

struct api;

/* Prepares the client without connecting. Value: 0, or a negative errno and a fault. */
int api_open(struct api **ret, struct loop *loop, const struct api_options *o, struct fault *f);
/* Cancels everything under way without calling back. Accepts NULL. */
void api_close(struct api *a);
/* The URL: "https://10.96.0.1:443". */
const char *api_url(const struct api *a);

struct api_answer {
	int status;	  /* HTTP's; 0: there was no answer */
	json_t *body;	  /* borrowed; NULL: none, or not JSON */
	const char *line; /* "" on success; otherwise the request, the server, and the server's own words */
};

typedef void api_done(void *owner, const struct api_answer *answer);
struct api_call;

/*
 * Starts a request: "GET", "/api/v1/nodes/n1". `body` (borrowed; NULL: none) is sent as JSON, and with "PATCH" as a
 * merge patch. `done` is called once, from the loop and never from within api_ask(). NULL: no memory.
 */
struct api_call *api_ask(struct api *a, const char *method, const char *path, json_t *body, api_done *done,
			 void *owner);
/* Lists only the metadata of a collection's objects, which an owner of an object cannot make unreadable. */
struct api_call *api_ask_metadata(struct api *a, const char *path, api_done *done, void *owner);
/* Cancels a call; `done` is not called. */
void api_cancel(struct api_call *c);
/*
 * The same for a program that does nothing else meanwhile: runs the loop until there is an answer. *ret: owned. Value:
 * the HTTP status; 0 and a fault: no answer.
 */
int api_ask_now(struct api *a, const char *method, const char *path, json_t *body, json_t **ret, struct fault *f);

/* Callbacks of a watch; the objects are borrowed. */
struct api_events {
	/* Selects the listed objects to keep; NULL: all. A server without selectors lists those of all nodes. */
	bool (*wants)(void *owner, json_t *object);
	/* All current objects; others no longer exist. Changes follow. */
	void (*list)(void *owner, json_t *items);
	/* "ADDED", "MODIFIED", "DELETED" */
	void (*event)(void *owner, const char *type, json_t *object);
	/* A line when a trouble begins or changes; NULL when it is over. */
	void (*trouble)(void *owner, const char *line);
};

struct api_watch;

/*
 * Lists, then watches, repeatedly: bookmarks advance it, and 410 (gone) makes it list again. While the server is away
 * it retries after 1 s and then doubles the interval, up to once a minute. `path`: of the collection; `selector`: NULL,
 * or "fieldSelector=spec.nodeName%3Dn1", which is omitted if the server does not know the field.
 */
struct api_watch *api_watch_begin(struct api *a, const char *path, const char *selector,
				  const struct api_events *events, void *owner);
void api_watch_end(struct api_watch *w);

/* The wait before the next attempt after so many failures: 1 s, 2 s, ... 60 s, each varied by up to a quarter. */
uint64_t api_pause_ns(unsigned int failed);
