/*
 * terms.h: shares of a device's time in requests and answers: checks what users request, and reports what they get.
 */
#pragma once

#include "daemon/ask.h"
#include "model/grant.h"

struct client;
struct tenant;

/* The entry says something about the device's time. */
bool terms_given(json_t *entry);

/*
 * What an entry of "devices" asks of the device's time. With `old`, what it does not say stays as it was; without, the
 * device's default policy holds for an entry that names none. `self` is the tenant that is being changed. Value: false
 * when it was refused.
 */
bool terms_read(struct ask *ask, json_t *entry, const struct device *device, const struct grant_compute *old,
		bool overcommit, const struct tenant *self, struct grant_compute *ret);

/*
 * Whether a grant of one device may have its share of time on `device`, which it is to go to: a place among those that
 * share it, and what it is guaranteed beside what others are. terms_admit(): false: it was refused. terms_fit(): the
 * same without anybody to answer, and without the limits of who asks.
 */
bool terms_admit(struct ask *ask, const struct device *device, const struct tenant *tenant);
bool terms_fit(const struct tenant *tenant, const struct device *device);

/* Adds what a client got of share `i` in the last ten seconds. */
void terms_client_json(struct client *client, unsigned int i, json_t *json);

/* Adds what share `i` was promised of the device's time, and has got, to its description. */
void terms_json(struct tenant *tenant, unsigned int i, json_t *json);

/* The policy of grants that name none. */
enum policy terms_default(struct daemon *daemon, const uint8_t uuid[DEVICE_UUID_BYTES]);

/* "policy" of the request becomes the device's default. Nothing is answered unless it was refused. */
void terms_set_default(struct ask *ask, const struct device *device);

/* "native" of the request: "allow" or "hold" (store_native). Nothing is answered unless it was refused. */
void terms_set_native(struct ask *ask, const struct device *device);
