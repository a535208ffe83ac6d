/* api_call.h: what api.c and api_watch.c share: answers that are read as they arrive. */
#pragma once

#include "connect/kubernetes/api.h"

#include <stddef.h>

/* Receives bytes of an answer with status 200, in order. Value: false: end it. */
typedef bool api_feed(void *owner, const char *data, size_t size);

/* As api_ask(), for an answer that lasts up to so many seconds; its body is passed to `feed` and not kept. */
struct api_call *api_stream(struct api *a, const char *path, long patience_s, api_feed *feed, api_done *done,
			    void *owner);

struct loop *api_loop(struct api *a);
/* The list of watches belongs to the api, so that api_close() ends them. */
struct api_watch **api_watches(struct api *a);
