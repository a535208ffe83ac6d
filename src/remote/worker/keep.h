/*
 * keep.h: images that meted keeps from one client of a tenant to the next (wire/worker.h). Where there is no meted that
 * does, nothing is held, and what is handed over goes nowhere. Called with images.c's lock held.
 */
#pragma once

#include "remote/sha256.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The connection to meted, which stays open from now on. */
void keep_open(int fd);
/* The next image that meted holds, as it says; *ret_fd is the caller's. False: no more. */
bool keep_next(uint8_t ret_hash[SHA256_BYTES], uint64_t *ret_bytes, int *ret_fd);
/*
 * Memory for an image that is to come: worker_image_room() bytes of zeroes. *ret_fd: of meted's memory, the caller's;
 * -1: it cannot be handed over. Waits for meted's answer for KEEP_WAIT_MS at most, and when that has passed asks no
 * more for KEEP_REST_MS.
 */
#define KEEP_WAIT_MS 50
#define KEEP_REST_MS 2000
void *keep_room(const uint8_t hash[SHA256_BYTES], uint64_t bytes, int *ret_fd);
/* What meted holds, to be read. NULL: it is not what it should be, or no memory. */
const void *keep_map(int fd, uint64_t bytes);
/* The image at `data`, in meted's memory, is whole and good: it can only be read from now on, and meted may keep it. */
void keep_give(void *data, const uint8_t hash[SHA256_BYTES], uint64_t bytes, int take_fd);
/* One that meted holds was wanted. */
void keep_used(const uint8_t hash[SHA256_BYTES], uint64_t bytes);
