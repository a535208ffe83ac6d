#include "softdev/graph.h"
struct capture *capture_of(struct stream *s) { return s->capture; }
CUresult capture_submit(struct stream *s, struct work *w) { return CUDA_ERROR_NOT_SUPPORTED; }
CUresult capture_forbidden(struct stream *s) { return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED; }
bool capture_unsafe(void) { return false; }
bool event_captured(struct event *e) { return false; }
CUresult capture_record(struct stream *s, struct event *e, unsigned flags) { return CUDA_ERROR_NOT_SUPPORTED; }
CUresult capture_wait(struct stream *s, struct event *e, unsigned flags) { return CUDA_ERROR_NOT_SUPPORTED; }
void capture_abandon(struct stream *s) { }
CUresult capture_alloc(struct stream *s, struct mempool *p, size_t bytes, CUdeviceptr *ret) { return CUDA_ERROR_NOT_SUPPORTED; }
CUresult capture_free(struct stream *s, CUdeviceptr address) { return CUDA_ERROR_NOT_SUPPORTED; }
CUresult graph_memory_free(CUdeviceptr address, struct stream *s) { return CUDA_ERROR_NOT_SUPPORTED; }
void exec_run(struct exec *x, struct stream *s) { }
void exec_unref(struct exec *x) { }
