/* limit_words.c: see limit_words.h. */
#include "daemon/settings/limit_words.h"

#include "daemon/log.h"
#include "daemon/settings/settings.h"

#include <errno.h>
#include <grp.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#define USERS "limits.users"
#define GROUPS "limits.groups"

bool limit_words_are(const char *key)
{
	return !strcmp(key, USERS) || !strcmp(key, GROUPS);
}

static bool is_group(const char *of)
{
	return !strncmp(of, GROUPS ".", strlen(GROUPS ".")); /* a name may hold dots as well */
}

static const char *name_of(const char *of)
{
	return of + strlen(is_group(of) ? GROUPS "." : USERS ".");
}

static bool find_id(bool group, const char *name, uint32_t *ret)
{
	const struct group *g = group ? getgrnam(name) : NULL;
	const struct passwd *p = group ? NULL : getpwnam(name);
	unsigned long n;
	char *end;

	if (g || p) {
		*ret = g ? g->gr_gid : p->pw_uid;
		return true;
	}
	errno = 0;
	n = strtoul(name, &end, 10);
	*ret = (uint32_t)n;
	return *name >= '0' && *name <= '9' && !*end && !errno && n < UINT32_MAX;
}

/* Another entry for the same user or group, by another name; NULL: none. */
static const struct limits_entry *find_twin(const struct limits *l, const struct limits_entry *e)
{
	for (const struct limits_entry *o = l->entry; o < l->entry + l->count; o++)
		if (o != e && o->known && o->group == e->group && o->id == e->id)
			return o;
	return NULL;
}

int limit_words_name(struct limits *l, const char *of, bool must_be, char *why, size_t size)
{
	struct limits_entry *e = limits_add(l, is_group(of), name_of(of));
	const struct limits_entry *twin;

	if (!e && l->count == LIMITS_ENTRIES) {
		snprintf(why, size, "%.100s: there are more than %u users and groups: give the users a group in common",
			 of, LIMITS_ENTRIES);
		return -EINVAL;
	}
	if (!e) {
		snprintf(why, size, "%.100s is no name of a %s: write one as useradd(8) has them, or a number", of,
			 is_group(of) ? "group" : "user");
		return -EINVAL;
	}
	e->known = find_id(e->group, e->name, &e->id);
	twin = e->known ? find_twin(l, e) : NULL;
	if (twin) {
		snprintf(why, size, "%.100s is the same %s as %s above: keep one of the two", of,
			 e->group ? "group" : "user", twin->name);
		return -EINVAL;
	}
	if (e->known && (e->group || e->id))
		return 0;
	if (e->known)
		snprintf(why, size, "%.100s: root has no limits: remove it", of);
	else
		snprintf(why, size, "%.100s: this machine has no such %s: correct the name, or write a number", of,
			 e->group ? "group" : "user");
	if (!must_be)
		log_line("%s; what is said there is not used", why);
	return must_be ? -EINVAL : 0;
}

/* The row of a word that may be said of a user; the others are for all users together. */
static const struct setting *row_of(const char *word)
{
	char key[128];
	const struct setting *s;

	snprintf(key, sizeof(key), "limits.%.100s", word);
	s = setting_find(key);
	return s && s->offset < offsetof(struct options, limits.most) + sizeof(((struct limits *)NULL)->most) ? s
													      : NULL;
}

static unsigned int number_of(const struct setting *s)
{
	return (unsigned int)((s->offset - offsetof(struct options, limits.most)) / sizeof(uint64_t));
}

int limit_words_set(struct limits *l, const char *of, const char *word, const char *value, char *why, size_t size)
{
	struct limits_entry *e = limits_add(l, is_group(of), name_of(of));
	const struct setting *s = row_of(word);
	char what[200];
	uint64_t n;

	if (!s) {
		snprintf(why, size,
			 "unknown key %.100s.%.60s; grants, processes, mem, cores, waiting and sockets are known there",
			 of, word);
		return -EINVAL;
	}
	if (!e) {
		snprintf(why, size, "%.100s: no memory", of);
		return -ENOMEM;
	}
	if (e->given >> number_of(s) & 1) {
		snprintf(why, size, "%.100s.%s is given twice: keep one of the two", of, word);
		return -EINVAL;
	}
	if (setting_number(s, value, &n, what, sizeof(what))) {
		snprintf(why, size, "%.100s.%s %s", of, word, what);
		return -EINVAL;
	}
	e->given |= 1u << number_of(s);
	e->most[number_of(s)] = n;
	return 0;
}

static void print_entry(const struct limits_entry *e, FILE *out)
{
	fprintf(out, "    \"%s\":\n", e->name);
	for (unsigned int i = 0; i < setting_count; i++) {
		const struct setting *s = strncmp(settings[i].key, "limits.", 7) ? NULL : row_of(settings[i].key + 7);

		if (s && e->given >> number_of(s) & 1)
			fprintf(out, "      %s: %" PRIu64 "\n", s->key + 7, e->most[number_of(s)]);
	}
}

void limit_words_print(const struct limits *l, FILE *out)
{
	fputs("\n  # For one user or the members of a group, by name or number: what stands there holds instead, the\n"
	      "  # user's before the groups', and of several groups the most generous. All keys but all_grants.\n",
	      out);
	if (!l->count)
		fputs("  # users:\n  #   alice:\n  #     grants: 256\n  # groups:\n  #   students:\n  #     mem: 10\n",
		      out);
	for (int group = 0; group < 2; group++) {
		bool begun = false;

		for (unsigned int i = 0; i < l->count; i++) {
			if (l->entry[i].group != group)
				continue;
			if (!begun)
				fputs(group ? "  groups:\n" : "  users:\n", out);
			begun = true;
			print_entry(&l->entry[i], out);
		}
	}
}
