/* captures.h: streams in capture, as far as this process has to know of them. */
#pragma once

#include "remote/client/copy.h"

/* Whether any stream of this process may be in capture. */
bool captures_any(void);
/*
 * Before a call that is potentially unsafe during a capture, such as those that take memory or ask an event. Where the
 * mode of a capture, and of the calling thread, forbid it, the capture is spoilt, and this is
 * CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED.
 */
CUresult captures_unsafe(void);
/*
 * A copy from or to memory that only this process reaches: nothing that is staged now would be there when a graph
 * runs. In a stream that is in capture it becomes a node. False: the stream is in none.
 */
bool captures_copy(const struct copy *copy, CUresult *ret);
/* In the child of fork(). */
void captures_forget(void);
