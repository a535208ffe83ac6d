/*
 * limit.h: what a user who is not an owner may create and promise (model/limits.h), and the refusals beyond that.
 *
 * The kernel reports the groups of a user who sends a request. Programs of a grant send none: for them the group under
 * which the grant was created counts.
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

/* True if this grant may be created in addition. False: it was refused. */
bool limit_admits(struct ask *ask, const struct grant *g);

/* The bytes of a device that the asker may promise in addition to those of all grants but `except` (may be NULL). */
uint64_t limit_rest_bytes(struct ask *ask, const struct device *device, const struct tenant *except);
bool limit_check_bytes(struct ask *ask, const struct device *device, uint64_t bytes, const struct tenant *except);
bool limit_check_ppm(struct ask *ask, const struct device *device, uint32_t ppm, const struct tenant *except);

/* The part of a shared resource that the user of the grant may take by limits.mem. UINT64_MAX: all of it. */
uint64_t limit_part(const struct tenant *tenant, uint64_t whole);

/*
 * Handles "limits" -> {"limits":[{"limit","of","have","most","key"}]}: the limits of the asker; a value of null is
 * unlimited.
 */
enum verbs_result limits_ask(struct ask *ask);

/*
 * True if one more process may start in the grant; if one more request of its programs may wait. A line of the log
 * gives the reason for a refusal.
 */
bool limit_admits_process(const struct tenant *tenant);
bool limit_admits_waiting(const struct tenant *tenant);
