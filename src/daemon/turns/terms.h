/*
 * terms.h: shares of a device's time in requests and answers: checks what users request, and reports what they get.
 */
#pragma once

#include "daemon/ask.h"
#include "model/grant.h"

struct client;
struct tenant;

/* True if the entry names a share of the device's time. */
bool terms_given(json_t *entry);

/*
 * Reads the share of time that an entry of "devices" requests. With `old`, fields that are not given keep their value;
 * without it, an entry without a policy gets the device's default policy. `self`: the tenant that is being changed.
 * Value: false if it was refused.
 */
bool terms_read(struct ask *ask, json_t *entry, const struct device *device, const struct grant_compute *old,
		bool overcommit, const struct tenant *self, struct grant_compute *ret);

/*
 * Whether a grant of one device may have its share of time on `device`, to which it is to move: there must be a place,
 * and room for its guarantee beside those of others. terms_admit(): false: it was refused. terms_fit(): the same
 * without a request to answer, and without the asker's limits.
 */
bool terms_admit(struct ask *ask, const struct device *device, const struct tenant *tenant);
bool terms_fit(const struct tenant *tenant, const struct device *device);

/* Adds what a client has used of share `i` in the last ten seconds. */
void terms_client_json(struct client *client, unsigned int i, json_t *json);

/* Adds the promised and the measured part of the device's time of share `i` to its description. */
void terms_json(struct tenant *tenant, unsigned int i, json_t *json);

/* The default policy of the device. */
enum policy terms_default(struct daemon *daemon, const uint8_t uuid[DEVICE_UUID_BYTES]);

/* Makes "policy" of the request the device's default. Answers only a refusal. */
void terms_set_default(struct ask *ask, const struct device *device);

/* Applies "native" of the request: "allow" or "hold" (store_native). Answers only a refusal. */
void terms_set_native(struct ask *ask, const struct device *device);
