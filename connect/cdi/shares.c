/* shares.c: see shares.h. */
#include "connect/cdi/shares.h"

#include "base/cleanup.h"
#include "base/text_distance.h"
#include "client/grants.h"
#include "verb/verb.h"
#include "connect/cdi/plain_file.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

/* What a named share is about; other options of the hook say whose it is. */
static const char *const not_words[] = { "share", "grant", "runtime-dir" };

static const struct {
	const char *name, *part;
} usual[] = { { "small", "25" }, { "medium", "50" }, { "large", "100" } };

static json_t *usual_shares(void)
{
	json_t *shares = json_object();

	for (size_t i = 0; i < sizeof(usual) / sizeof(*usual); i++)
		json_object_set_new(
			shares, usual[i].name,
			json_pack("[s,o,s,s]", "--mem", json_sprintf("%s%%", usual[i].part), "--cores", usual[i].part));
	return shares;
}

static bool is_word(const struct option_spec *o)
{
	for (size_t i = 0; i < sizeof(not_words) / sizeof(*not_words); i++)
		if (!strcmp(o->name, not_words[i]))
			return false;
	return true;
}

static const struct option_spec *word_find(const char *word, const char **ret_nearest)
{
	unsigned int least = 3;

	*ret_nearest = NULL;
	for (const struct option_spec *o = verb_find("cdi hook")->options; o->name; o++) {
		unsigned int distance = text_distance(word, o->name);

		if (!is_word(o))
			continue;
		if (!distance)
			return o;
		if (distance < least) {
			least = distance;
			*ret_nearest = o->name;
		}
	}
	return NULL;
}

static bool add_value(json_t *words, const struct option_spec *o, json_t *value)
{
	json_t *text = NULL;

	if (!o->value) {
		if (json_is_true(value))
			json_array_append_new(words, json_sprintf("--%s", o->name));
		return json_is_boolean(value);
	}
	if (json_is_string(value) && strlen(json_string_value(value)) == json_string_length(value))
		text = json_incref(value);
	else if (json_is_integer(value))
		text = json_sprintf("%lld", (long long)json_integer_value(value));
	else if (json_is_real(value))
		text = json_sprintf("%.15g", json_real_value(value));
	if (!text)
		return false;
	json_array_append_new(words, json_sprintf("--%s", o->name));
	json_array_append_new(words, text);
	return true;
}

static int read_word(const char *path, const char *share, json_t *words, const char *word, json_t *value,
		     struct fault *f)
{
	const char *nearest;
	const struct option_spec *o = word_find(word, &nearest);
	json_t *one;
	size_t i;
	bool good = true;

	if (!o && nearest)
		return fault_set(f, -EINVAL, "%s: share %s: \"%.40s\": no such word; did you mean \"%s\"?", path, share,
				 word, nearest);
	if (!o)
		return fault_set(f, -EINVAL, "%s: share %s: \"%.40s\": no such word; `mete create --help` lists them",
				 path, share, word);
	if (json_is_array(value) && o->repeats)
		json_array_foreach (value, i, one)
			good &= add_value(words, o, one);
	else
		good = add_value(words, o, value);
	return good ? 0
		    : fault_set(f, -EINVAL, "%s: share %s: \"%s\": give it %s", path, share, word,
				o->value ? "a text or a number" : "true or false");
}

/* As CDI takes it for a device, and as it fits into a grant's name. */
static bool name_fits(const char *name)
{
	if (!name || !isalnum((unsigned char)*name) || strlen(name) > SHARE_NAME_MOST ||
	    !isalnum((unsigned char)name[strlen(name) - 1]))
		return false;
	for (const char *p = name; *p; p++)
		if (!isalnum((unsigned char)*p) && !strchr("._-", *p))
			return false;
	return true;
}

static int read_count(const char *path, const char *share, json_t *value, json_t *counts, struct fault *f)
{
	json_int_t count = json_integer_value(value);

	if (!json_is_integer(value) || count < 1 || count > SHARE_COUNT_MOST)
		return fault_set(f, -EINVAL, "%s: share %s: \"count\": give it a number from 1 to %d", path, share,
				 SHARE_COUNT_MOST);
	json_object_set(counts, share, value);
	return 0;
}

static int read_share(const char *path, json_t *entry, size_t at, json_t *shares, json_t *counts, struct fault *f)
{
	const char *name = json_string_value(json_object_get(entry, "name")), *word;
	json_t *words, *value;
	int r = 0;

	if (!json_is_object(entry) || !name_fits(name))
		return fault_set(
			f, -EINVAL,
			"%s: share %zu: \"name\" must be 1 to %d letters, digits, '.', '_' and '-', between letters or "
			"digits",
			path, at + 1, SHARE_NAME_MOST);
	if (json_object_get(shares, name))
		return fault_set(f, -EINVAL, "%s: share %s stands there twice; rename one", path, name);
	words = json_array();
	json_object_set_new(shares, name, words);
	json_object_foreach (entry, word, value)
		if (!r && !strcmp(word, "count"))
			r = read_count(path, name, value, counts, f);
		else if (!r && strcmp(word, "name"))
			r = read_word(path, name, words, word, value, f);
	return r;
}

json_t *shares_read(const char *path, json_t **ret_counts, struct fault *f)
{
	json_t *file, *list, *entry, *shares, *counts;
	_cleanup_free_ char *text = NULL;
	char trouble[256] = "";
	json_error_t why;
	size_t i, size;
	int r = 0;

	if (ret_counts)
		*ret_counts = NULL;
	if (!path && access(SHARES_FILE, F_OK))
		return usual_shares();
	path = path ? path : SHARES_FILE;
	if (plain_file_read(path, &text, &size, trouble, sizeof(trouble))) {
		fault_set(f, -EINVAL, "%s: %s", path, trouble);
		return NULL;
	}
	if (size > SHARES_FILE_MOST) {
		fault_set(f, -EFBIG, "%s: it has more than 1 MiB; name a file of shares", path);
		return NULL;
	}
	file = json_loadb(text, size, JSON_REJECT_DUPLICATES, &why);
	list = json_object_get(file, "shares");
	if (!file || !json_is_array(list) || json_object_size(file) != 1) {
		if (!file)
			fault_set(f, -EINVAL, "%s: line %d: %s", path, why.line, why.text);
		else
			fault_set(f, -EINVAL, "%s: it must be {\"shares\": [...]}, and nothing else", path);
		json_decref(file);
		return NULL;
	}
	if (json_array_size(list) > SHARES_MOST) {
		fault_set(f, -E2BIG, "%s: %zu shares; at most %u", path, json_array_size(list), SHARES_MOST);
		json_decref(file);
		return NULL;
	}
	shares = json_object();
	counts = json_object();
	json_array_foreach (list, i, entry)
		if (!r)
			r = read_share(path, entry, i, shares, counts, f);
	json_decref(file);
	if (!r && ret_counts)
		*ret_counts = json_incref(counts);
	json_decref(counts);
	if (!r)
		return shares;
	json_decref(shares);
	return NULL;
}

int shares_fault(const char *path, const char *name, int r, struct fault *f)
{
	const struct fault own = *f;

	if (!path && access(SHARES_FILE, F_OK))
		return fault_set(f, r, "share %s, which is there without a file: %.800s", name, own.text);
	return fault_set(f, r, "%s: share %s: %.800s", path ? path : SHARES_FILE, name, own.text);
}

void shares_words(json_t *list, const char **ret, size_t most)
{
	json_t *word;
	size_t i, n = 0;

	json_array_foreach (list, i, word)
		if (n + 1 < most)
			ret[n++] = json_string_value(word);
	ret[n] = NULL;
}
