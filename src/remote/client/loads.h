/* loads.h: what other files load. */
#pragma once

#include "remote/client/call.h"

#include <stddef.h>

/* A library out of a bundle (remote/image.h) into this session; without options. CUresult. */
CUresult load_bundle(struct session *session, const void *bundle, size_t bytes, void **ret);
