/*
 * api.h: a client of Kubernetes' API server, over HTTPS by libcurl, in the agent's loop.
 *
 * Who it is comes from a kubeconfig, or from the service account that Kubernetes mounts into a pod. Files (the token
 * above all, which Kubernetes renews every hour) are read again for each request. Nothing is tried twice here but
 * watches, which never end by themselves: who asks once is told what happened.
 */
#pragma once

#include "client/fault.h"
#include "connect/kubernetes/loop.h"

#include <jansson.h>

#define API_SERVICE_ACCOUNT "/var/run/secrets/kubernetes.io/serviceaccount"
#define API_PATIENCE_S 10 /* for one request */

struct api_options {
	const char *kubeconfig;	     /* NULL: the pod's service account */
	const char *service_account; /* its folder; NULL: API_SERVICE_ACCOUNT */
};

struct api;

/* Does not connect yet. Value: 0 or a negative errno and a fault. */
int api_open(struct api **ret, struct loop *loop, const struct api_options *o, struct fault *f);
/* Ends all that is under way, without a word to anybody. NULL is taken. */
void api_close(struct api *a);
/* Where it is: "https://10.96.0.1:443". */
const char *api_url(const struct api *a);

struct api_answer {
	int status;	  /* HTTP's; 0: there was no answer */
	json_t *body;	  /* borrowed; NULL: none, or no JSON */
	const char *line; /* "" when it went well; else what was asked, of whom, and the server's own words */
};

typedef void api_done(void *owner, const struct api_answer *answer);
struct api_call;

/*
 * Begins a request: "GET", "/api/v1/nodes/n1". `body` (borrowed; NULL: none) goes as JSON, and with "PATCH" as a merge
 * patch. `done` is called once, from the loop and never from within api_ask(). NULL: there is no memory.
 */
struct api_call *api_ask(struct api *a, const char *method, const char *path, json_t *body, api_done *done,
			 void *owner);
/* Lists a collection without what is in the objects: their metadata alone, which no owner of one can make unreadable.
 */
struct api_call *api_ask_metadata(struct api *a, const char *path, api_done *done, void *owner);
/* `done` is not called. */
void api_cancel(struct api_call *c);
/* The same for a program that has nothing else to do: runs the loop until there is an answer. *ret: owned. Value:
 * HTTP's status; 0 and a fault: no answer. */
int api_ask_now(struct api *a, const char *method, const char *path, json_t *body, json_t **ret, struct fault *f);

/* What a watch tells; borrowed objects. */
struct api_events {
	/* Which of the objects that are listed are kept; NULL: all. A server that cannot select lists all nodes'. */
	bool (*wants)(void *owner, json_t *object);
	/* All there is; what it does not name is gone. After that, changes. */
	void (*list)(void *owner, json_t *items);
	/* "ADDED", "MODIFIED", "DELETED" */
	void (*event)(void *owner, const char *type, json_t *object);
	/* A line when trouble begins, or is another; NULL when it is over. */
	void (*trouble)(void *owner, const char *line);
};

struct api_watch;

/*
 * Lists, then watches, again and again: bookmarks move it on, 410 (gone) makes it list again, and when the server is
 * away it asks after 1 s, then half as often each time, at last once a minute. `path`: of the collection;
 * `selector`: NULL, or "fieldSelector=spec.nodeName%3Dn1", which is left out where the server does not know the field.
 */
struct api_watch *api_watch_begin(struct api *a, const char *path, const char *selector,
				  const struct api_events *events, void *owner);
void api_watch_end(struct api_watch *w);

/* How long to wait before the try after so many that failed: 1 s, 2 s, ... 60 s, each a quarter more or less. */
uint64_t api_pause_ns(unsigned int failed);
