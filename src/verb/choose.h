/*
 * choose.h: the driver, the devices and the shares of a grant: from --mem, --device and --soft to the request to meted.
 *
 * --mem and --device are paired in order; one --mem applies to every --device; DEVICE:SIZE gives both at once; "all" is
 * every device of the driver; "any" is one that meted chooses, if the caller supports that. Shares of the device's time
 * (terms.h) are paired likewise. Without --device the grant is on the first device that CUDA_VISIBLE_DEVICES shows, or
 * device 0; or on one that meted chooses, with --place or if meted's placement.rule says so. Without --mem it gets all
 * memory that is not promised yet. The driver is the first in the order of model/device.h that has a device: a
 * vendor's, else the software device. An option with a kind's name requests that kind.
 */
#pragma once

#include "base/size.h"
#include "client/control.h"
#include "verb/verb.h"
#include "model/policy.h"

#define CHOOSE_MAX_DEVICES 16

struct share {
	const char *device; /* as written; points into the command line or into the list of devices */
	size_t device_length;
	char mem_text[48]; /* as written; "": all that is left */
	struct size mem;
	struct policy_wish wish; /* of the device's time */
	json_t *chosen;		 /* the device's row in the list; borrowed; NULL: any */
};

struct choice {
	json_t *list; /* meted's answer to "devices"; owned */
	const char *driver; /* a device's kind: "nvidia", "soft", ... (model/device.h) */
	struct share share[CHOOSE_MAX_DEVICES];
	size_t count;
	bool takes_any; /* the caller supports --device any; set before choose_devices() */
	bool any; /* meted places a grant without --device */
	const char *placement; /* --place: the rule for that; NULL: meted's own */
};

/* Parses the command line without querying the machine. Value: 0 or -EINVAL. */
int choose_parse(struct choice *ch, const struct command_line *c, struct fault *f);

/* The driver whose answer choose_devices() needs, for request_devices_of(). NULL: all drivers. */
const char *choose_awaits(const struct choice *ch, const struct command_line *c);

/* Finds the devices in meted's list, whose reference it takes. Value: 0 or a negative errno. */
int choose_devices(struct choice *ch, const struct command_line *c, json_t *list, struct fault *f);

/* The "devices" of a request to meted. */
json_t *choose_request(const struct choice *ch);

void choose_deinit(struct choice *ch);

/* True if CUDA_VISIBLE_DEVICES, read by CUDA's rules, shows the device. *ret_set: the variable is set. */
bool visible_shows(json_t *list, const char *driver, json_t *device, bool *ret_set);

/*
 * The device of that driver (NULL: of any) that a word names, in the forms of device_find(). Value: a borrowed row, or
 * NULL.
 */
json_t *device_listed(json_t *list, const char *driver, const char *word, size_t length);

/*
 * The device that a word names; with `soft` only the software device. Value: 0 and a borrowed row, -ENODEV, or -EINVAL
 * if the word is ambiguous.
 */
int device_named(json_t *list, const char *word, bool soft, json_t **ret, struct fault *f);

const char *device_text(json_t *device, const char *key);
json_int_t device_number(json_t *device, const char *key);
