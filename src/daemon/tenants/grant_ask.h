/* grant_ask.h: the requests about grants on the control socket, and what their files share. */
#pragma once

#include "daemon/ask.h"

struct device;
struct tenant;

#define GRANT_FRESH_NS 5000000000u /* the maximum age of driver data when a grant is created */

/* grant_json.c. NULL: no memory. */
json_t *grant_json(struct tenant *t);
/* "active", "idle", "ending", ...: docs/control.md. */
const char *grant_state(const struct tenant *t);

/*
 * grant_entry.c. A function that returns false, or leaves its result empty, has refused the request. grant_asked()
 * finds the grant that the request names.
 */
enum verbs_result grant_asked(struct ask *ask, struct tenant **ret);
/* Finds the grant that the request names, if the asker may change it. False: answered. */
bool grant_asked_to_change(struct ask *ask, struct tenant **ret);
bool grant_may_change(const struct ask *ask, const struct tenant *t);
enum verbs_result grant_refuse_other(struct ask *ask, const struct tenant *t);
/*
 * Finds the device that an entry of "devices" names in a list. "device" may be omitted if the list, `where`, has one
 * device.
 */
bool grant_entry_device(struct ask *ask, json_t *entry, const struct device *list, unsigned int count,
			const char *where, unsigned int *ret);
/* The bytes that an entry requests of a device; `rest` if it names none. */
bool grant_entry_bytes(struct ask *ask, json_t *entry, const struct device *device, uint64_t rest, uint64_t *ret);
/* True if a device has room for that many bytes beside the quotas of `others`. */
bool grant_check_fit(struct ask *ask, const struct device *d, uint64_t others, uint64_t bytes, bool overcommit);

/*
 * grant_ask.c, for requests that move a grant's memory off its device. grant_asked_drain() reads "drain_s", 0 if it is
 * not given (false: answered). grant_answer_moved() answers according to r and completes the audit entry `id`. The
 * progress is seen in the grant.
 */
bool grant_asked_drain(struct ask *ask, uint32_t *ret_s);
enum verbs_result grant_answer_moved(struct ask *ask, struct tenant *t, int r, uint64_t id, const char *error);

/* grant_create.c: true if "driver" names an unknown kind; the request was then refused. */
bool grant_refuse_kind(struct ask *ask);

/* grant_create.c, grant_ask.c: handlers of requests. */
enum verbs_result grant_create_ask(struct ask *ask);
enum verbs_result grants_ask(struct ask *ask);
enum verbs_result grant_set_ask(struct ask *ask);
enum verbs_result grant_bind_ask(struct ask *ask);
enum verbs_result grant_label_ask(struct ask *ask);
enum verbs_result grant_delete_ask(struct ask *ask);
enum verbs_result grant_end_ask(struct ask *ask);
enum verbs_result grant_release_ask(struct ask *ask);
/* Move its memory off the device, and back. */
enum verbs_result grant_suspend_ask(struct ask *ask);
enum verbs_result grant_resume_ask(struct ask *ask);
/* grant_move.c: moves it to another device. */
enum verbs_result grant_move_ask(struct ask *ask);
