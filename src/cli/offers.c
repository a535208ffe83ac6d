/* offers.c: see offers.h. Words of the file become options, so that they are judged where options are. */
#include "cli/offers.h"
#include "base/cleanup.h"
#include "base/text_distance.h"
#include "client/grants.h"
#include "cli/keys.h"
#include "client/place.h"
#include "verb/terms.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROGRAMS_MOST 64
#define CLIENTS_MOST 1024
#define VALUES_MOST 256 /* of one offer */

/* Of an offer, beside the words of a share; the others are of the whole server. */
static const char *const offer_words[] = { "name", "soft", "clients", "max-clients", "max-programs" };
/* Neither belongs into the file. */
static const char *const line_words[] = { "config", "json", "verbose" };

static bool listed(const char *const *list, size_t count, const char *word)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(list[i], word))
			return true;
	return false;
}

#define LISTED(list, word) listed(list, sizeof(list) / sizeof(*(list)), word)

static bool is_of_offer(const char *word)
{
	return terms_is_share(word) || LISTED(offer_words, word);
}

/* The file. */

struct reading {
	const char *path;
	const struct verb *verb;
	struct fault *f;
};

static const struct option_spec *option_of(const struct verb *verb, const char *word)
{
	for (const struct option_spec *o = verb->options; o->name; o++)
		if (!strcmp(o->name, word))
			return o;
	return NULL;
}

static const char *nearest(const struct verb *verb, const char *word, bool of_offer)
{
	const char *best = NULL;
	unsigned int least = 3;

	for (const struct option_spec *o = verb->options; o->name; o++) {
		unsigned int distance = text_distance(word, o->name);

		if (LISTED(line_words, o->name) || is_of_offer(o->name) != of_offer)
			continue;
		if (strlen(word) > 2 && !strncmp(word, o->name, 3))
			distance = 1;
		if (distance < least) {
			least = distance;
			best = o->name;
		}
	}
	return best;
}

static int add_value(struct reading *r, struct command_line *line, const struct option_spec *option, json_t *value,
		     const char *where)
{
	char *text = NULL;
	int n = 0;

	if (!option->value && json_is_boolean(value)) {
		if (json_is_true(value))
			line->given[line->given_count++] = (struct given){ option, NULL };
		return 0;
	}
	if (option->value && json_is_string(value) && strlen(json_string_value(value)) == json_string_length(value))
		n = asprintf(&text, "%s", json_string_value(value));
	else if (option->value && json_is_integer(value))
		n = asprintf(&text, "%lld", (long long)json_integer_value(value));
	else if (option->value && json_is_real(value))
		n = asprintf(&text, "%.15g", json_real_value(value));
	else
		return fault_set(r->f, -EINVAL, "%s: %s\"%s\": give it %s", r->path, where, option->name,
				 option->value ? "a text or a number" : "true or false");
	if (n < 0 || line->given_count == VALUES_MOST) {
		if (n >= 0)
			free(text);
		return fault_set(r->f, -E2BIG, "%s: %s\"%s\": too many values; give fewer", r->path, where,
				 option->name);
	}
	line->given[line->given_count++] = (struct given){ option, text };
	return 0;
}

static int add_word(struct reading *r, struct command_line *line, const char *word, json_t *value, bool of_offer,
		    const char *where)
{
	const struct option_spec *option = option_of(r->verb, word);
	const char *meant;
	json_t *one;
	size_t i;
	int e = 0;

	if (!option || LISTED(line_words, word) || is_of_offer(word) != of_offer) {
		meant = nearest(r->verb, word, of_offer);
		if (meant)
			return fault_set(r->f, -EINVAL, "%s: %s\"%.40s\": no such word; did you mean \"%s\"?", r->path,
					 where, word, meant);
		return fault_set(r->f, -EINVAL, "%s: %s\"%.40s\": no such word; `mete serve --help` lists them",
				 r->path, where, word);
	}
	if (!json_is_array(value))
		return add_value(r, line, option, value, where);
	if (!option->repeats)
		return fault_set(r->f, -EINVAL, "%s: %s\"%s\": a list; give it one value", r->path, where, word);
	json_array_foreach(value, i, one) if (!e) e = add_value(r, line, option, one, where);
	return e;
}

static int line_make(struct reading *r, struct command_line *line)
{
	*line = (struct command_line){ .verb = r->verb, .given = calloc(VALUES_MOST, sizeof(*line->given)) };
	return line->given ? 0 : fault_set(r->f, -ENOMEM, "no memory for %s; end other programs", r->path);
}

static int read_offer(struct reading *r, struct offers *o, json_t *object)
{
	struct offer *offer = &o->offer[o->count];
	const char *word;
	json_t *value;
	char where[32];
	int e;

	snprintf(where, sizeof(where), "offer %zu: ", o->count + 1);
	if (!json_is_object(object))
		return fault_set(r->f, -EINVAL, "%s: %snot an object; write {\"name\": ..., \"mem\": ...}", r->path,
				 where);
	e = line_make(r, &offer->line);
	if (e)
		return e;
	o->count++;
	json_object_foreach(object, word, value) if (!e) e = add_word(r, &offer->line, word, value, true, where);
	return e;
}

static int read_file(struct reading *r, struct offers *o)
{
	json_error_t at;
	json_t *file = json_load_file(r->path, JSON_REJECT_DUPLICATES, &at), *value, *offer;
	const char *word;
	size_t i;
	int e;

	if (!file && at.line < 0)
		return fault_set(r->f, -ENOENT, "%s: %s; write the file, or offer with options", r->path,
				 strerror(errno));
	if (!file)
		return fault_set(r->f, -EINVAL, "%s line %d: %s; correct the JSON there", r->path, at.line, at.text);
	e = json_is_object(file) ? line_make(r, &o->file)
				 : fault_set(r->f, -EINVAL, "%s: not an object; write {\"offers\": [...]}", r->path);
	if (!e && !json_array_size(json_object_get(file, "offers")))
		e = fault_set(r->f, -EINVAL, "%s: it offers nothing; write \"offers\": [{\"name\": ...}]", r->path);
	if (!e && json_array_size(json_object_get(file, "offers")) > OFFERS_MOST)
		e = fault_set(r->f, -EINVAL, "%s: more than %d offers; write fewer", r->path, OFFERS_MOST);
	json_object_foreach(file, word, value) if (!e && strcmp(word, "offers")) e =
		add_word(r, &o->file, word, value, false, "");
	json_array_foreach(json_object_get(file, "offers"), i, offer) if (!e) e = read_offer(r, o, offer);
	json_decref(file);
	return e;
}

/* The command line. */

static int check_no_offer(const struct command_line *line, const char *path, struct fault *f)
{
	for (size_t i = 0; i < line->given_count; i++)
		if (is_of_offer(line->given[i].option->name))
			return fault_set(f, -EINVAL,
					 "--%s beside --config %s: what is offered stands in the file; change "
					 "it there, or leave --config away",
					 line->given[i].option->name, path);
	return 0;
}

static int offer_from_options(struct reading *r, struct offers *o, const struct command_line *line)
{
	struct command_line *to = &o->offer[0].line;
	int e = line_make(r, to);

	if (e)
		return e;
	o->count = 1;
	for (size_t i = 0; i < line->given_count; i++) {
		const struct given *g = &line->given[i];
		char *text = g->value ? strdup(g->value) : NULL;

		if (!is_of_offer(g->option->name) || to->given_count == VALUES_MOST || (g->value && !text)) {
			free(text);
			continue;
		}
		to->given[to->given_count++] = (struct given){ g->option, text };
	}
	return 0;
}

/* The file to read: *path "" when options say everything. */
static int find_file(const struct command_line *line, char path[PATH_MAX], struct fault *f)
{
	const char *given = option_value(line, "config");
	struct fault ignored;
	char settings[PATH_MAX];
	bool offered = false;

	*path = 0;
	if (given)
		return path_join(path, "%s", given)
			       ? check_no_offer(line, given, f)
			       : fault_set(f, -ENAMETOOLONG, "--config: the path is too long; use a shorter one");
	for (size_t i = 0; i < line->given_count; i++)
		offered |= is_of_offer(line->given[i].option->name);
	if (offered || settings_dir(settings, &ignored) || !path_join(path, "%s/serve.json", settings) ||
	    access(path, F_OK))
		*path = 0;
	return 0;
}

/* Judgement. */

static int read_count(const struct offer *offer, const char *word, unsigned int usual, unsigned int *ret,
		      struct fault *f)
{
	const char *text = option_value(&offer->line, word);
	unsigned long n;
	char *end;

	*ret = usual;
	if (!text)
		return 0;
	errno = 0;
	n = strtoul(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || errno || n < 1 || n > 100000)
		return fault_set(f, -EINVAL, "--%s %s: not a whole number from 1 to 100000", word, text);
	*ret = (unsigned int)n;
	return 0;
}

/* "alice,bob", and again. */
static int read_clients(struct offer *offer, struct fault *f)
{
	const char **list = NULL;
	size_t count = 0;

	for (size_t i = 0; i < offer->line.given_count; i++) {
		const struct given *g = &offer->line.given[i];

		if (strcmp(g->option->name, "clients"))
			continue;
		for (const char *p = g->value;; p++) {
			size_t n = strcspn(p, ",");
			const char **more = realloc(list, (count + 2) * sizeof(*list));

			if (!more || count == CLIENTS_MOST) {
				offer->clients = more ? more : list;
				return fault_set(f, -E2BIG, "--clients: more than %d; make two offers", CLIENTS_MOST);
			}
			list = more;
			list[count] = strndup(p, n);
			list[count + 1] = NULL;
			offer->clients = list;
			if (!list[count] || keys_check_name(list[count], f))
				return fault_set(
					f, -EINVAL,
					"--clients %s: \"%.*s\" is no client's name; name them as the keys, with "
					"commas: alice,bob",
					g->value, (int)n, p);
			count++;
			p += n;
			if (!*p)
				break;
		}
	}
	return 0;
}

static int judge(struct offers *o, size_t at, struct fault *f)
{
	struct offer *offer = &o->offer[at];
	const char *name = option_value(&offer->line, "name");
	struct fault ignored;
	int r;

	if (!name && o->count > 1)
		return fault_set(f, -EINVAL, "it has no \"name\"; clients ask for it by name: give it one");
	if (!name)
		name = "default";
	if (grant_name_check(name, &ignored) || strlen(name) > OFFER_NAME_MOST)
		return fault_set(
			f, -EINVAL,
			"--name %.40s: an offer's name has 1 to %d ASCII letters, digits, \".\", \"_\" and \"-\" and "
			"begins with a letter or digit; give one like half",
			*name ? name : "\"\"", OFFER_NAME_MOST);
	snprintf(offer->name, sizeof(offer->name), "%s", name);
	for (size_t i = 0; i < at; i++)
		if (!strcmp(o->offer[i].name, name))
			return fault_set(f, -EINVAL, "there is an offer %s already; give each a name of its own", name);
	r = choose_parse(&offer->choice, &offer->line, f);
	if (!r)
		r = read_clients(offer, f);
	if (!r)
		r = read_count(offer, "max-clients", 0, &offer->clients_most, f);
	if (!r)
		r = read_count(offer, "max-programs", PROGRAMS_MOST, &offer->programs_most, f);
	return r;
}

/* Says which offer of the file it was. */
static int in_file(const struct offers *o, size_t at, int r, struct fault *f)
{
	struct fault inner = *f;

	if (!r || !*o->path)
		return r;
	return fault_set(f, r, "%s: offer %zu%s%s: %.700s", o->path, at + 1, *o->offer[at].name ? " " : "",
			 o->offer[at].name, inner.text);
}

int offers_read(struct offers *o, const struct command_line *line, struct fault *f)
{
	struct reading r = { .path = o->path, .verb = line->verb, .f = f };
	int e;

	*o = (struct offers){ 0 };
	e = find_file(line, o->path, f);
	if (!e)
		e = *o->path ? read_file(&r, o) : offer_from_options(&r, o, line);
	for (size_t i = 0; !e && i < o->count; i++)
		e = in_file(o, i, judge(o, i, f), f);
	return e;
}

int offers_devices(struct offers *o, json_t *answer, struct fault *f)
{
	int r = 0;

	for (size_t i = 0; !r && i < o->count; i++)
		r = in_file(o, i, choose_devices(&o->offer[i].choice, &o->offer[i].line, json_incref(answer), f), f);
	json_decref(answer);
	return r;
}

const char *offers_value(const struct offers *o, const struct command_line *line, const char *name)
{
	const char *given = option_value(line, name);

	return given ? given : option_value(&o->file, name);
}

bool offers_given(const struct offers *o, const struct command_line *line, const char *name)
{
	return option_given(line, name) || option_given(&o->file, name);
}

bool offer_allows(const struct offer *offer, const char *client)
{
	for (size_t i = 0; offer->clients && offer->clients[i]; i++)
		if (!strcmp(offer->clients[i], client))
			return true;
	return !offer->clients;
}

struct offer *offers_find(struct offers *o, const char *name, const char *client)
{
	for (size_t i = 0; i < o->count; i++)
		if ((!name || !*name || !strcmp(o->offer[i].name, name)) && offer_allows(&o->offer[i], client))
			return &o->offer[i];
	return NULL;
}

json_t *offer_json(const struct offer *offer)
{
	json_t *devices = json_array();

	for (size_t i = 0; i < offer->choice.count; i++) {
		const struct share *s = &offer->choice.share[i];
		uint64_t total = (uint64_t)device_number(s->chosen, "total_bytes");
		json_t *row = json_pack("{s:I, s:s, s:I}", "index", (json_int_t)device_number(s->chosen, "index"),
					"name", device_text(s->chosen, "name"), "total_bytes", (json_int_t)total);

		if (s->mem.bytes)
			json_object_set_new(row, "mem_bytes", json_integer((json_int_t)s->mem.bytes));
		else if (*s->mem_text)
			json_object_set_new(row, "mem_pct", json_real(s->mem.pct));
		terms_request(&s->wish, row);
		json_array_append_new(devices, row);
	}
	return json_pack("{s:s, s:s, s:o, s:i, s:i}", "name", offer->name, "driver", offer->choice.driver, "devices",
			 devices, "max_clients", (int)offer->clients_most, "max_programs", (int)offer->programs_most);
}

const char *offer_text(const struct offer *offer, char *text, size_t size)
{
	size_t used = 0;

	*text = 0;
	for (size_t i = 0; i < offer->choice.count && used < size; i++) {
		const struct share *s = &offer->choice.share[i];

		used += (size_t)snprintf(text + used, size - used, "%sdevice %lld (%s): %s", used ? "; " : "",
					 (long long)device_number(s->chosen, "index"), device_text(s->chosen, "name"),
					 *s->mem_text ? s->mem_text : "the memory that is not promised");
		if (used < size && s->wish.policy >= 0)
			used += (size_t)snprintf(text + used, size - used, ", policy %s",
						 policy_name((enum policy)s->wish.policy));
		if (used < size && s->wish.cores_pct != 0)
			used += (size_t)snprintf(text + used, size - used, ", %g %% of its time", s->wish.cores_pct);
		if (used < size && s->wish.limit_pct != 0)
			used += (size_t)snprintf(text + used, size - used, ", at most %g %%", s->wish.limit_pct);
	}
	return text;
}

static void line_deinit(struct command_line *line)
{
	for (size_t i = 0; i < line->given_count; i++)
		free((char *)(uintptr_t)line->given[i].value);
	free(line->given);
	*line = (struct command_line){ 0 };
}

void offers_deinit(struct offers *o)
{
	for (size_t i = 0; i < o->count; i++) {
		struct offer *offer = &o->offer[i];

		line_deinit(&offer->line);
		choose_deinit(&offer->choice);
		for (size_t k = 0; offer->clients && offer->clients[k]; k++)
			free((char *)(uintptr_t)offer->clients[k]);
		free((void *)(uintptr_t)offer->clients);
	}
	line_deinit(&o->file);
}
