/*
 * graph.h: graphs: work with dependencies, made by hand or captured from streams, launched as a whole.
 *
 * A graph's nodes run one after the other in an order that its edges allow, on the stream of the launch.
 */
#pragma once

#include "softdev/event.h"
#include "softdev/stream.h"

/* ---- capture, as streams see it ---- */

/* The capture that the stream takes part in, or NULL. */
struct capture *capture_of(struct stream *s);
/* The work becomes a node of the capture's graph. Takes what the work owns. */
CUresult capture_submit(struct stream *s, struct work *w);
/* A call that a capture does not allow: the capture is spoilt. Value: the error for the caller. */
CUresult capture_forbidden(struct stream *s);
/* Whether a call that may wait for streams is forbidden in this thread because somebody captures. */
bool capture_unsafe(void);
/* Was the event last recorded in a capture? */
bool event_captured(struct event *e);
/* cuEventRecord and cuStreamWaitEvent with a capture on either side. */
CUresult capture_record(struct stream *s, struct event *e, unsigned flags);
CUresult capture_wait(struct stream *s, struct event *e, unsigned flags);
/* The stream goes; its capture with it. */
void capture_abandon(struct stream *s);

/* cuMemAllocAsync and cuMemFreeAsync in a capture: memory of the graph. */
CUresult capture_alloc(struct stream *s, struct mempool *p, size_t bytes, CUdeviceptr *ret);
CUresult capture_free(struct stream *s, CUdeviceptr address);
/* cuMemFreeAsync of memory that a graph has left allocated. */
CUresult graph_memory_free(CUdeviceptr address, struct stream *s);

/* ---- graphs, as streams see them ---- */

/* Runs all nodes of an instantiated graph. */
void exec_run(struct exec *x, struct stream *s);
void exec_unref(struct exec *x);
