/* api_call.h: what api.c and api_watch.c share: answers that are read as they come. */
#pragma once

#include "connect/kubernetes/api.h"

#include <stddef.h>

/* Bytes of an answer with status 200, in the order in which they come. Value: false to end it. */
typedef bool api_feed(void *owner, const char *data, size_t size);

/* As api_ask(), for an answer that goes on for up to so many seconds; its body is fed and not kept. */
struct api_call *api_stream(struct api *a, const char *path, long patience_s, api_feed *feed, api_done *done,
			    void *owner);

struct loop *api_loop(struct api *a);
/* Watches are the api's, so that api_close() ends them. */
struct api_watch **api_watches(struct api *a);
