/* loads.h: loads of libraries for other files. */
#pragma once

#include "remote/client/call.h"

#include <stddef.h>

/* Loads a library from a bundle (remote/image.h) into this session, without options. Value: CUresult. */
CUresult load_bundle(struct session *session, const void *bundle, size_t bytes, void **ret);
