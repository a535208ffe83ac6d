/* captures.h: the streams in capture, as far as this process must know them. */
#pragma once

#include "remote/client/copy.h"

/* True if any stream of this process may be in capture. */
bool captures_any(void);
/*
 * Called before a call that is potentially unsafe during a capture, for example one that allocates memory or queries an
 * event. If the mode of a capture and of the calling thread forbids it, the capture is invalidated, and the result is
 * CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED.
 */
CUresult captures_unsafe(void);
/*
 * Makes a copy from or to memory that only this process can reach a node of the capture: data staged now would not be
 * there when the graph runs. False: the stream is not in capture.
 */
bool captures_copy(const struct copy *copy, CUresult *ret);
/* In the child of fork(). */
void captures_forget(void);
