/*
 * images.h: images of kernels that clients have sent, kept for the next workers of the same owner.
 *
 * A worker asks for memory before it gets an image. When it has computed the hash, meted seals the memory and shows it
 * to later workers of the same owner, so that clients need not send it again. An owner is a grant. If the creator of
 * the grant requested it (`images` of grant_create), the owner is the creator's uid and that word, and what is kept
 * outlives the grant. No owner can see or request the images of another.
 *
 * meted does not read images: a worker verifies the hash before it uses one. Any of this may fail, or be lost with a
 * killed meted, at any time; images are then sent again.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

struct daemon;
struct handover;
struct tenant;
struct worker;

#define IMAGES_MOST_BYTES (UINT64_C(256) << 20) /* unless meted.yaml says otherwise */

/* The connection of a worker that is to be started. Value: its end, the caller's; -1: it gets none. */
int images_begin(struct worker *worker);
/* Shows the worker what is kept for this tenant. */
void images_show(struct worker *worker, const struct tenant *tenant);
void images_end(struct worker *worker);
/* The end of a worker's connection that another meted began; takes it. Below 0: there is none. */
void images_resume(struct worker *worker, int take_fd);
/* The tenant ends: what was kept for it alone goes. */
void images_leave(const struct tenant *tenant);
/* How much may be kept from now on. */
void images_limit(struct daemon *daemon, uint64_t most_bytes);
void images_stop(struct daemon *daemon);
/* From one meted to the next ("images"): all that is kept, by its descriptors. */
json_t *images_save(const struct daemon *daemon, struct handover *h);
void images_restore(struct daemon *daemon, struct handover *h);
/* What is kept for this tenant, and what that has saved: a new reference. */
json_t *images_json(const struct tenant *tenant);
/* Of all: bytes that are kept; times that an image was there, and their bytes, since meted was started. */
uint64_t images_kept_bytes(const struct daemon *daemon);
/* So many were counted by the meted before this one. */
void images_counted(struct daemon *daemon, uint64_t hits, uint64_t saved_bytes);
uint64_t images_hits(const struct daemon *daemon);
uint64_t images_saved_bytes(const struct daemon *daemon);
