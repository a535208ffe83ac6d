/* roamer.h: what the kinds of roamer.c share. */
#pragma once

#include <cuda.h>

#include <stddef.h>
#include <stdint.h>

/* Says what has failed, and ends. */
void must(CUresult r, const char *what);
void digest(uint64_t *d, const void *data, size_t bytes);
/* One thread each; a multiple of 32. */
void run(CUfunction f, unsigned int threads, CUstream stream, void **args);
CUfunction function_of(CUmodule m, const char *name);

void captures_make(void);
void captures_round(unsigned int n, uint64_t *d);
void kernels_make(void);
void kernels_round(unsigned int n, uint64_t *d);
void many_make(void);
void many_round(unsigned int n, uint64_t *d);
void mapped_make(void);
void mapped_round(unsigned int n, uint64_t *d);
void products_make(void);
void products_round(unsigned int n, uint64_t *d);
void shared_make(void);
void shared_round(unsigned int n, uint64_t *d);
void symbols_make(void);
void symbols_round(unsigned int n, uint64_t *d);
void textures_make(void);
void textures_round(unsigned int n, uint64_t *d);
