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

#define IMAGES_MOST_BYTES (UINT64_C(256) << 20) /* the default; meted.yaml can change it */

/*
 * Creates the connection for a worker that is about to start. Value: the worker's end, owned by the caller; -1: it gets
 * none.
 */
int images_begin(struct worker *worker);
/* Shows the worker the images that are kept for this tenant. */
void images_show(struct worker *worker, const struct tenant *tenant);
void images_end(struct worker *worker);
/* Takes over meted's end of the connection of a worker that another meted started. Below 0: there is none. */
void images_resume(struct worker *worker, int take_fd);
/* The tenant ends: images kept only for it are freed. */
void images_leave(const struct tenant *tenant);
/* Sets the limit of what is kept. */
void images_limit(struct daemon *daemon, uint64_t most_bytes);
void images_stop(struct daemon *daemon);
/* Save all kept images by their descriptors for the next meted ("images"); restore them. */
json_t *images_save(const struct daemon *daemon, struct handover *h);
void images_restore(struct daemon *daemon, struct handover *h);
/* What is kept for this tenant, and how much that has saved: a new reference. */
json_t *images_json(const struct tenant *tenant);
/* For all owners: the bytes kept; since meted was started, how often an image was available, and the bytes saved. */
uint64_t images_kept_bytes(const struct daemon *daemon);
/* Continues the counts of the previous meted. */
void images_counted(struct daemon *daemon, uint64_t hits, uint64_t saved_bytes);
uint64_t images_hits(const struct daemon *daemon);
uint64_t images_saved_bytes(const struct daemon *daemon);
