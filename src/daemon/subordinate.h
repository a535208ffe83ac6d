/*
 * subordinate.h: maps subordinate user ids to their owners. A user with subordinate ids (subuid(5); useradd(8) assigns
 * 65536 to every user) can act as many users, in user namespaces. The limits of a user apply to all of these ids
 * together.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* The user whom /etc/subuid gives this id; the id itself where it gives it to nobody, or to root or meted's own user.
 */
uid_t subordinate_user(uid_t uid);

/*
 * The groups of the user whom the id belongs to, by the system's word, until the next call; within a minute of a
 * change. False: it is a user's own id.
 */
bool subordinate_groups(uid_t uid, const gid_t **ret, unsigned int *ret_count);
