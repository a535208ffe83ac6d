/*
 * keep.h: images that meted keeps from one client of a tenant for the next (wire/worker.h). Without such a meted
 * nothing is kept. Called with the lock of images.c held.
 */
#pragma once

#include "remote/sha256.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Sets the connection to meted, which stays open from now on. */
void keep_open(int fd);
/* The next image that meted keeps, as it reports it; the caller owns *ret_fd. False: no more. */
bool keep_next(uint8_t ret_hash[SHA256_BYTES], uint64_t *ret_bytes, int *ret_fd);
/*
 * Allocates zeroed memory for an image that will arrive: worker_image_room() bytes. *ret_fd: the descriptor of meted's
 * memory, owned by the caller; -1: meted cannot keep the image. Waits for meted's answer for KEEP_WAIT_MS at most;
 * after a timeout it does not ask again for KEEP_REST_MS.
 */
#define KEEP_WAIT_MS 50
#define KEEP_REST_MS 2000
void *keep_room(const uint8_t hash[SHA256_BYTES], uint64_t bytes, int *ret_fd);
/* Maps an image that meted keeps, for reading. NULL: it is not as expected, or no memory. */
const void *keep_map(int fd, uint64_t bytes);
/*
 * Declares the image at `data`, in meted's memory, complete and checked: it becomes read-only, and meted may keep it.
 */
void keep_give(void *data, const uint8_t hash[SHA256_BYTES], uint64_t bytes, int take_fd);
/* Reports that an image kept by meted was used. */
void keep_used(const uint8_t hash[SHA256_BYTES], uint64_t bytes);
