/*
 * limit.h: what a user who is no owner may create and promise (model/limits.h), and the refusals beyond that.
 *
 * The kernel reports the groups of the user who asks. What a grant's programs do has no such user: the group under
 * which the grant was made counts.
 */
#pragma once

#include "model/limits.h"

#include "daemon/control.h"

#include <stdbool.h>
#include <stdint.h>

struct ask;
struct device;
struct grant;
struct tenant;

/* One more grant, as it is going to be. False: it was refused, as below. */
bool limit_admits(struct ask *ask, const struct grant *g);

/* How many bytes of a device the one who asks may promise beside those of `except`, which may be NULL. */
uint64_t limit_rest_bytes(struct ask *ask, const struct device *device, const struct tenant *except);
bool limit_check_bytes(struct ask *ask, const struct device *device, uint64_t bytes, const struct tenant *except);
bool limit_check_ppm(struct ask *ask, const struct device *device, uint32_t ppm, const struct tenant *except);

/* The part of something shared that the user of the grant may take by limits.mem. UINT64_MAX: all of it. */
uint64_t limit_part(const struct tenant *tenant, uint64_t whole);

/* "limits": {"limits":[{"limit","of","have","most","key"}]}: what bounds the asker; a bound of null is none. */
enum verbs_result limits_ask(struct ask *ask);

/* May one more process begin in the grant; may one more request of its programs wait. A line of the log says why not.
 */
bool limit_admits_process(const struct tenant *tenant);
bool limit_admits_waiting(const struct tenant *tenant);
