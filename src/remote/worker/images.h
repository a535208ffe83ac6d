/*
 * images.h: the images that have arrived, by their hash. An image with a given hash is the same for every client, so
 * the table belongs to the process. Any thread may use it.
 */
#pragma once

#include "remote/code.h"

#include <stdbool.h>

struct image;

/* Adds the images that meted keeps for this tenant; meted receives new ones over this connection. */
void images_hold(int meted);
/* Returns a complete and checked image with this hash; NULL: there is none. */
struct image *images_take(const uint8_t hash[SHA256_BYTES], uint64_t bytes);
void images_give(struct image *image);
/* Its bundle, aligned to 8. */
const void *image_data(const struct image *image);
