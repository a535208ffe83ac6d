/*
 * subordinate.h: maps subordinate user ids to their owners. A user with subordinate ids (subuid(5); useradd(8) assigns
 * 65536 to every user) can act as many users, in user namespaces. The limits of a user apply to all of these ids
 * together.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/*
 * The user to whom /etc/subuid assigns this id. The id itself if it is not assigned, or is assigned to root or meted's
 * own user.
 */
uid_t subordinate_user(uid_t uid);

/*
 * The groups of the user to whom a subordinate id belongs, as the system reports them; valid until the next call, and
 * at most a minute old. False: the id is not a subordinate one.
 */
bool subordinate_groups(uid_t uid, const gid_t **ret, unsigned int *ret_count);
