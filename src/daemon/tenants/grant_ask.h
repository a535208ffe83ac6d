/* grant_ask.h: the requests about grants on the control socket, and what their files share. */
#pragma once

#include "daemon/ask.h"

struct device;
struct tenant;

#define GRANT_FRESH_NS 5000000000u /* what the drivers said is believed for this long when a grant is made */

/* grant_json.c; NULL: no memory. */
json_t *grant_json(struct tenant *t);
/* "active", "idle", "ending", ...: docs/control.md. */
const char *grant_state(const struct tenant *t);

/*
 * grant_entry.c. What says false or leaves its result empty has refused the request. The grant that is named; whether
 * who asks may change it, and the answer when not.
 */
enum verbs_result grant_asked(struct ask *ask, struct tenant **ret);
/* The grant that is asked for, where the asker may change it. False: answered. */
bool grant_asked_to_change(struct ask *ask, struct tenant **ret);
bool grant_may_change(const struct ask *ask, const struct tenant *t);
enum verbs_result grant_refuse_other(struct ask *ask, const struct tenant *t);
/* The device that an entry of "devices" names, in a list; "device" may be left out where the list, `where`, has one. */
bool grant_entry_device(struct ask *ask, json_t *entry, const struct device *list, unsigned int count,
			const char *where, unsigned int *ret);
/* The bytes that an entry asks of a device; `rest` when it names none. */
bool grant_entry_bytes(struct ask *ask, json_t *entry, const struct device *device, uint64_t rest, uint64_t *ret);
/* Whether a device has that many bytes beside what `others` were promised. */
bool grant_check_fit(struct ask *ask, const struct device *d, uint64_t others, uint64_t bytes, bool overcommit);

/*
 * grant_ask.c: for requests that take a grant's memory from its device. The "drain_s" that is asked for, 0 when none is
 * (false: answered); the answer to r, which ends the audit entry `id`. What becomes of the grant is seen in the grant.
 */
bool grant_asked_drain(struct ask *ask, uint32_t *ret_s);
enum verbs_result grant_answer_moved(struct ask *ask, struct tenant *t, int r, uint64_t id, const char *error);

/* grant_create.c: whether "driver" names no kind that there is; the request was then refused. */
bool grant_refuse_kind(struct ask *ask);

/* grant_create.c, grant_ask.c: the verbs. */
enum verbs_result grant_create_ask(struct ask *ask);
enum verbs_result grants_ask(struct ask *ask);
enum verbs_result grant_set_ask(struct ask *ask);
enum verbs_result grant_bind_ask(struct ask *ask);
enum verbs_result grant_label_ask(struct ask *ask);
enum verbs_result grant_delete_ask(struct ask *ask);
enum verbs_result grant_end_ask(struct ask *ask);
enum verbs_result grant_release_ask(struct ask *ask);
/* Its memory leaves the device, or returns. */
enum verbs_result grant_suspend_ask(struct ask *ask);
enum verbs_result grant_resume_ask(struct ask *ask);
/* grant_move.c: it goes to another device. */
enum verbs_result grant_move_ask(struct ask *ask);
