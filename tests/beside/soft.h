/*
 * soft.h: what the stand-ins of this folder are made of. They are no vendor's libraries: their memory, their clock and
 * their work are the software device's, by its libcuda.so.1, and their kernels do nothing for as long as
 * METE_SOFT_DURATION says of spin_*. Names, parameters and codes are those that the vendors publish.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))
#define CALL(name, ...)                                                                                                \
	EXPORT int name(__VA_ARGS__);                                                                                  \
	int name(__VA_ARGS__)

/* Codes of CUDA's driver: 0, 2 (no memory), 600 (not ready). */
int soft_ready(void);
/* Devices as the program counts them: `visible` is the vendor's variable. */
int soft_count(const char *visible, int *ret);
/* The software device's own number; -1: there is none. */
int soft_chip(const char *visible, int device);
int soft_uuid(int chip, void *ret16);
int soft_name(int chip, char *ret, int size);
int soft_total(int chip, size_t *ret);

/* The thread's context: the chip's own, or one that the program has made. */
int soft_enter(int chip);
int soft_make_context(int chip, void **ret);
int soft_end_context(void *context);
void *soft_context(void);
int soft_set_context(void *context);
int soft_context_chip(void); /* -1: none */
int soft_reset(int chip);

int soft_alloc(void **ret, size_t size);
int soft_managed(void **ret, size_t size);
int soft_free(void *at);
int soft_info(size_t *ret_free, size_t *ret_total);
int soft_range(void *at, void **ret_base, size_t *ret_size);

int soft_create(void **ret_handle, size_t size, int chip);
int soft_release(void *handle);
int soft_reserve(void **ret, size_t size);
int soft_unreserve(void *at, size_t size);
int soft_map(void *at, size_t size, void *handle);
int soft_unmap(void *at, size_t size);
size_t soft_granularity(void);

int soft_copy(void *to, const void *from, size_t size, void *stream, bool waits);
int soft_set(void *to, int value, size_t size, void *stream, bool waits);
int soft_spin(unsigned int blocks, void *stream);

int soft_stream(void **ret);
int soft_stream_end(void *stream);
int soft_stream_wait(void *stream);
int soft_stream_query(void *stream);
int soft_wait_all(void);

int soft_event(void **ret);
int soft_event_end(void *event);
int soft_event_put(void *event, void *stream);
int soft_event_query(void *event);
int soft_event_wait(void *event);
int soft_event_between(float *ret_ms, void *from, void *to);
int soft_stream_after(void *stream, void *event);

/* What a test wants of the first call: METE_STAND_IN=crash, hang or print. */
void soft_trouble(void);
