/*
 * images.h: the images that have arrived, by their hash. An image that is known by its hash is the same for every
 * client, so the table belongs to the process. Any thread may use it.
 */
#pragma once

#include "remote/code.h"

#include <stdbool.h>

struct image;

/* Those that meted holds for this tenant are there from now on; by this connection it gets new ones. */
void images_hold(int meted);
/* A whole image with this hash, looked after; NULL: there is none. */
struct image *images_take(const uint8_t hash[SHA256_BYTES], uint64_t bytes);
void images_give(struct image *image);
/* Its bundle, aligned to 8. */
const void *image_data(const struct image *image);
