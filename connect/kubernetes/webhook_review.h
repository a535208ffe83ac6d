/* webhook_review.h: AdmissionReview (admission.k8s.io/v1): a review in, a review with the answer out. Pure. */
#pragma once

#include "connect/kubernetes/webhook_words.h"

#include <stddef.h>

enum review_outcome { REVIEW_MALFORMED, REVIEW_PASSED, REVIEW_CHANGED, REVIEW_REFUSED };

/*
 * *ret: the answer as JSON, or one line on why the input is not a review; owned, NULL: no memory. Anything but the
 * creation of a pod passes unchanged. `make`: creates the templates that a pod's claims need in its namespace, before
 * the review is answered, unless the request is a dry run; value: false: not possible, and the line gives the reason.
 * NULL: claims are not used.
 */
typedef bool review_make(void *owner, const char *name_space, json_t *templates, char line[WORDS_LINE]);
enum review_outcome review_answer(const struct words_options *o, const char *text, size_t size, review_make *make,
				  void *owner, char **ret);
