/* choose.c: see choose.h. Every text from the command line is judged here, before anything is started or asked. */
#include "verb/choose.h"
#include "model/device.h"
#include "model/placement.h"
#include "verb/terms.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

const char *device_text(json_t *device, const char *key)
{
	const char *text = json_string_value(json_object_get(device, key));

	return text ? text : "";
}

json_int_t device_number(json_t *device, const char *key)
{
	return json_integer_value(json_object_get(device, key));
}

static bool of_driver(json_t *device, const char *driver)
{
	return !driver || !strcmp(device_text(device, "driver"), driver);
}

static bool all_digits(const char *word, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (!isdigit((unsigned char)word[i]))
			return false;
	return length > 0;
}

/* The rows of a driver's devices, as values. The caller frees both. */
struct rows {
	struct device *device;
	json_t **row;
	size_t count;
};

static void rows_free(struct rows *rows)
{
	free(rows->device);
	free(rows->row);
}

static void rows_read(struct rows *rows, json_t *list, const char *driver)
{
	size_t most = json_array_size(list), i;
	json_t *row;

	*rows = (struct rows){ calloc(most + 1, sizeof(*rows->device)), calloc(most + 1, sizeof(json_t *)), 0 };
	if (!rows->device || !rows->row)
		return;
	json_array_foreach (list, i, row) {
		struct device *d = &rows->device[rows->count];

		if (!of_driver(row, driver) || device_uuid_parse(device_text(row, "uuid"), d->uuid))
			continue;
		d->kind = device_kind_named(device_text(row, "driver"));
		d->index = (unsigned int)device_number(row, "index");
		rows->row[rows->count++] = row;
	}
}

json_t *device_listed(json_t *list, const char *driver, const char *word, size_t length)
{
	json_t *found = NULL;
	struct rows rows;
	char spec[80];
	int at;

	if (length >= sizeof(spec))
		return NULL;
	memcpy(spec, word, length);
	spec[length] = 0;
	rows_read(&rows, list, driver);
	at = device_find(rows.device, rows.count, spec);
	if (at >= 0)
		found = rows.row[at];
	rows_free(&rows);
	return found;
}

int device_named(json_t *list, const char *word, bool soft, json_t **ret, struct fault *f)
{
	char why[DEVICE_AMBIGUITY_BYTES];
	struct rows rows;
	int at, r = 0;

	rows_read(&rows, list, soft ? device_kind_name(DEVICE_SOFT) : NULL);
	at = device_find(rows.device, rows.count, word);
	if (at >= 0)
		*ret = rows.row[at];
	else if (at == DEVICE_AMBIGUOUS)
		r = fault_set(f, -EINVAL, "%.64s: %s", word,
			      device_ambiguity(rows.device, rows.count, word, why));
	else
		r = fault_set(f, -ENODEV, "%.64s: no such device; `mete devices` lists them", word);
	rows_free(&rows);
	return r;
}

/* "0 (name), 1 (name)"; of all drivers: "hip:0 (name), soft:0 (name)" */
static void list_devices(json_t *list, const char *driver, char *text, size_t size)
{
	json_t *device;
	size_t i, used = 0;

	snprintf(text, size, "none");
	json_array_foreach (list, i, device)
		if (of_driver(device, driver) && used < size)
			used += (size_t)snprintf(text + used, size - used, "%s%s%s%lld (%s)", used ? ", " : "",
						 driver ? "" : device_text(device, "driver"), driver ? "" : ":",
						 (long long)device_number(device, "index"),
						 device_text(device, "name"));
}

static int add_share(struct choice *ch, const char *device, size_t length, struct fault *f)
{
	if (ch->count == CHOOSE_MAX_DEVICES)
		return fault_set(f, -EINVAL, "--device %.*s: more than %d devices in one grant; make two grants",
				 (int)length, device, CHOOSE_MAX_DEVICES);
	ch->share[ch->count++] = (struct share){ .device = device, .device_length = length };
	return 0;
}

static int parse_mem(struct share *s, const char *text, size_t length, const char *option, struct fault *f)
{
	int r;

	if (length >= sizeof(s->mem_text))
		return fault_set(f, -EINVAL, "%s %.20s...: not a size; write one like 512M, 8G or 25%%", option, text);
	memcpy(s->mem_text, text, length);
	s->mem_text[length] = 0;
	r = size_parse(s->mem_text, &s->mem);
	if (r)
		return fault_set(f, -EINVAL, "%s %s: %s", option, length ? s->mem_text : "\"\"", size_fault_text(r));
	return 0;
}

/* "0", "0,1", "hip:0", "GPU-1a2b", "0:4G", "hip:0:4G", "all" */
static int parse_device(struct choice *ch, const char *text, struct fault *f)
{
	const char *p = text;

	for (;;) {
		size_t kind = device_kind_prefix(p), length = kind + strcspn(p + kind, ",:");
		int r;

		if (!length)
			return fault_set(f, -EINVAL,
					 "--device \"%s\": no device named; write --device 0 (`mete devices` lists "
					 "them)",
					 text);
		r = add_share(ch, p, length, f);
		if (r)
			return r;
		p += length;
		if (*p == ':') {
			length = strcspn(p + 1, ",");
			r = parse_mem(&ch->share[ch->count - 1], p + 1, length, "--device DEVICE:SIZE with", f);
			if (r)
				return r;
			p += 1 + length;
		}
		if (!*p)
			return 0;
		p++;
	}
}

/* Gives the sizes to the devices, in order. */
static int pair(struct choice *ch, const char *const *sizes, size_t count, struct fault *f)
{
	size_t own = 0;

	for (size_t i = 0; i < ch->count; i++)
		own += !!*ch->share[i].mem_text;
	if (own && count)
		return fault_set(f, -EINVAL,
				 "--mem %s: the devices have their sizes already (DEVICE:SIZE); use one form",
				 sizes[0]);
	if (count > 1 && !ch->count)
		return fault_set(f, -EINVAL, "--mem %s: a second size but no --device; name a --device for each --mem",
				 sizes[1]);
	if (count > 1 && count != ch->count)
		return fault_set(
			f, -EINVAL,
			"--mem is given %zu times for %zu devices; give it once for all, or once for each --device",
			count, ch->count);
	if (!ch->count)
		ch->share[ch->count++] = (struct share){ 0 };
	for (size_t i = 0; i < ch->count && count; i++) {
		const char *text = sizes[count > 1 ? i : 0];
		int r = parse_mem(&ch->share[i], text, strlen(text), "--mem", f);

		if (r)
			return r;
	}
	return 0;
}

static bool is_word(const struct share *s, const char *word)
{
	return s->device && s->device_length == strlen(word) && !strncmp(s->device, word, s->device_length);
}

static int parse_placement(struct choice *ch, const struct command_line *c, struct fault *f)
{
	ch->placement = option_value(c, "place");
	if (!ch->placement)
		return 0;
	if (placement_rule_find(ch->placement) < 0)
		return fault_set(f, -EINVAL, "--place %.40s: no such rule; give spread, binpack or fit", ch->placement);
	for (size_t i = 0; i < ch->count; i++)
		if (ch->share[i].device && !is_word(&ch->share[i], "any"))
			return fault_set(f, -EINVAL,
					 "--place %s with --device %.*s: that device is named already; leave --device "
					 "away, or give --device any",
					 ch->placement, (int)ch->share[i].device_length, ch->share[i].device);
	return 0;
}

int choose_parse(struct choice *ch, const struct command_line *c, struct fault *f)
{
	const char *sizes[CHOOSE_MAX_DEVICES + 1];
	size_t count = 0;
	int r;

	*ch = (struct choice){ 0 };
	for (size_t i = 0; i < c->given_count; i++) {
		const struct given *g = &c->given[i];

		if (!strcmp(g->option->name, "device")) {
			r = parse_device(ch, g->value, f);
			if (r)
				return r;
		} else if (!strcmp(g->option->name, "mem")) {
			if (count == CHOOSE_MAX_DEVICES)
				return fault_set(f, -EINVAL, "--mem %s: more than %d sizes; give one for each --device",
						 g->value, CHOOSE_MAX_DEVICES);
			sizes[count++] = g->value;
		}
	}
	r = pair(ch, sizes, count, f);
	return r ? r : (r = terms_parse(ch, c, f)) ? r : parse_placement(ch, c, f);
}

/* Reads CUDA_VISIBLE_DEVICES: the first word that names no device, or one a second time, ends the list. */
static size_t visible_list(json_t *list, const char *driver, const char *text, json_t **ret, size_t most)
{
	size_t count = 0;

	for (const char *p = text; count < most;) {
		size_t length = strcspn(p, ",");
		const char *word = p;
		size_t letters = length;
		json_t *device;

		while (letters && isspace((unsigned char)*word)) {
			word++;
			letters--;
		}
		while (letters && isspace((unsigned char)word[letters - 1]))
			letters--;
		/* Here, unlike in --device, a UUID begins as the driver writes it. */
		device = all_digits(word, letters) || (letters > 4 && !strncasecmp(word, "GPU-", 4)) ?
				 device_listed(list, driver, word, letters) :
				 NULL;
		for (size_t i = 0; device && i < count; i++)
			if (ret[i] == device)
				device = NULL;
		if (!device)
			break;
		ret[count++] = device;
		p += length;
		if (!*p)
			break;
		p++;
	}
	return count;
}

bool visible_shows(json_t *list, const char *driver, json_t *device, bool *ret_set)
{
	const char *text = getenv("CUDA_VISIBLE_DEVICES");
	json_t *shown[64];
	size_t count;

	*ret_set = !!text;
	if (!text)
		return true;
	count = visible_list(list, driver, text, shown, 64);
	for (size_t i = 0; i < count; i++)
		if (shown[i] == device)
			return true;
	return false;
}

static int first_visible(struct choice *ch, json_t **ret, struct fault *f)
{
	const char *text = getenv("CUDA_VISIBLE_DEVICES");
	char known[512];

	list_devices(ch->list, ch->driver, known, sizeof(known));
	if (text && !visible_list(ch->list, ch->driver, text, ret, 1))
		return fault_set(
			f, -ENODEV,
			"CUDA_VISIBLE_DEVICES=%s: hides every device (there are: %s); unset or correct it, or name a "
			"--device",
			text, known);
	if (text)
		return 0;
	*ret = device_listed(ch->list, ch->driver, "0", 1);
	return *ret ? 0 :
		      fault_set(f, -ENODEV, "the %s driver has no device 0; `mete doctor` says what is missing",
				ch->driver);
}

static bool driver_has_device(json_t *list, const char *driver)
{
	json_t *device;
	size_t i;

	json_array_foreach (list, i, device)
		if (of_driver(device, driver))
			return true;
	return false;
}

/* --device all: one share for every device. */
static int expand_all(struct choice *ch, struct fault *f)
{
	struct share all = ch->share[0];
	json_t *device;
	size_t i;
	int r;

	if (ch->count != 1 || !is_word(&all, "all"))
		return 0;
	ch->count = 0;
	json_array_foreach (ch->list, i, device) {
		if (!of_driver(device, ch->driver))
			continue;
		r = add_share(ch, device_text(device, "uuid"), strlen(device_text(device, "uuid")), f);
		if (r)
			return r;
		ch->share[ch->count - 1].mem = all.mem;
		ch->share[ch->count - 1].wish = all.wish;
		memcpy(ch->share[ch->count - 1].mem_text, all.mem_text, sizeof(all.mem_text));
	}
	return 0;
}

/* One that meted chooses; the largest has to be large enough. */
static int check_any(const struct choice *ch, const struct share *s, struct fault *f)
{
	char have[SIZE_TEXT_BYTES];
	uint64_t most = 0;
	json_t *device;
	size_t i;

	if (!ch->takes_any)
		return fault_set(f, -EINVAL,
				 "--device any: not here; name the device (`mete devices` lists them). `mete run` and "
				 "`mete create` take any");
	json_array_foreach(ch->list, i, device) if (of_driver(device, ch->driver) &&
						    (uint64_t)device_number(device, "total_bytes") > most) most =
		(uint64_t)device_number(device, "total_bytes");
	if (!driver_has_device(ch->list, ch->driver))
		return fault_set(f, -ENODEV, "the %s driver has no device; `mete doctor` says what is missing",
				 ch->driver);
	return s->mem.bytes <= most
		       ? 0
		       : fault_set(f, -EINVAL, "--mem %s: more than any device has (%s); give at most that",
				   s->mem_text, size_format(most, have));
}

/* It is named by its UUID, or by its kind and index, so that it is known without a driver. */
static bool names_kind(const struct share *s)
{
	return s->device && strspn(s->device, "0123456789") < s->device_length && !is_word(s, "any") &&
	       !is_word(s, "all");
}

static int choose_one(struct choice *ch, size_t at, struct fault *f)
{
	struct share *s = &ch->share[at];
	uint64_t total_bytes;
	char known[512], have[SIZE_TEXT_BYTES];

	if (is_word(s, "any") || (!s->device && ch->any))
		return check_any(ch, s, f);
	if (!s->device) {
		int r = first_visible(ch, &s->chosen, f);

		if (r)
			return r;
	} else {
		s->chosen = device_listed(ch->list, ch->driver, s->device, s->device_length);
	}
	list_devices(ch->list, s->device && names_kind(s) ? NULL : ch->driver, known, sizeof(known));
	if (!s->chosen)
		return fault_set(f, -ENODEV, "--device %.*s: no such device; there are: %s", (int)s->device_length,
				 s->device, known);
	for (size_t i = 0; i < at; i++)
		if (ch->share[i].chosen == s->chosen)
			return fault_set(f, -EINVAL, "--device %.*s: named twice; name each device once",
					 (int)s->device_length, s->device);
	total_bytes = (uint64_t)device_number(s->chosen, "total_bytes");
	if (s->mem.bytes > total_bytes)
		return fault_set(
			f, -EINVAL, "--mem %s: more than device %lld has (%s); give at most that, or a percentage",
			s->mem_text, (long long)device_number(s->chosen, "index"), size_format(total_bytes, have));
	return 0;
}

/* An older meted has no rule. */
static bool is_placed(const char *rule)
{
	return rule && strcmp(rule, "first");
}

/* A device that is named by its UUID, or as "hip:0", needs no word on its driver. */
static const char *choose_driver(const struct choice *ch, const char *asked)
{
	const struct share *s = ch->count ? &ch->share[0] : NULL;
	json_t *named = NULL;

	if (asked)
		return asked;
	if (s && names_kind(s)) {
		named = device_listed(ch->list, "nvidia", s->device, s->device_length);
		if (!named)
			named = device_listed(ch->list, NULL, s->device, s->device_length);
	}
	if (named)
		return device_text(named, "driver");
	for (size_t i = 0; i < DEVICE_KINDS - 1; i++)
		if (driver_has_device(ch->list, device_kind_name(device_kind_order[i])))
			return device_kind_name(device_kind_order[i]);
	return "soft";
}

/* The kind of driver that an option names. */
static const struct asked_driver {
	const char *option, *lacks;
} asked_drivers[] = {
	{ "soft", " in software" },
	{ "hip", " of AMD's that HIP finds" },
	{ "levelzero", " that Level Zero finds" },
	{ "opencl", " that has OpenCL alone" },
	{ "musa", " of Moore Threads'" },
	{ "maca", " of MetaX'" },
	{ "corex", " of Iluvatar's" },
	{ "ascend", " of Ascend's" },
	{ "cambricon", " of Cambricon's" },
};

/* NULL: none is named. */
static int find_asked(const struct command_line *c, const struct asked_driver **ret, struct fault *f)
{
	*ret = NULL;
	for (size_t i = 0; i < sizeof(asked_drivers) / sizeof(*asked_drivers); i++) {
		if (!option_given(c, asked_drivers[i].option))
			continue;
		if (*ret)
			return fault_set(f, -EINVAL, "--%s with --%s: one of the two; a grant is of one driver",
					 (*ret)->option, asked_drivers[i].option);
		*ret = &asked_drivers[i];
	}
	return 0;
}

const char *choose_awaits(const struct choice *ch, const struct command_line *c)
{
	const struct asked_driver *asked;
	struct fault ignored = { 0 };

	if (find_asked(c, &asked, &ignored) || (!asked && ch->count && names_kind(&ch->share[0])))
		return NULL;
	return asked ? asked->option : "auto";
}

/* No device of the driver that was asked for, or of any: why, and what there is. */
static int refuse_driver(const struct choice *ch, const struct asked_driver *asked, json_t *list, struct fault *f)
{
	const char *state = "", *why = "";
	json_t *driver;
	char known[512];
	size_t i;

	list_devices(ch->list, NULL, known, sizeof(known));
	json_array_foreach (json_object_get(list, "drivers"), i, driver)
		if (asked && !strcmp(device_text(driver, "kind"), asked->option)) {
			state = device_text(driver, "state");
			why = device_text(driver, "status");
		}
	if (!asked)
		return fault_set(f, -ENODEV,
				 "there is no device, not even the software one; `mete doctor` says what is missing");
	if (!strcmp(state, "joined"))
		return fault_set(f, -ENODEV,
				 "--%s: there is no device%s: what its driver finds are devices of other kinds: %s; "
				 "name one by --device KIND:INDEX, or leave --%s away: its programs use them as they "
				 "are",
				 asked->option, asked->lacks, known, asked->option);
	return fault_set(f, -ENODEV,
			 "--%s: there is no device%s%s%s; there are: %s; `mete doctor` says what is missing",
			 asked->option, asked->lacks, *why ? ": " : "", why, known);
}

int choose_devices(struct choice *ch, const struct command_line *c, json_t *list, struct fault *f)
{
	const struct asked_driver *asked;
	int r = find_asked(c, &asked, f);

	if (r)
		return r;
	ch->list = json_incref(json_object_get(list, "devices"));
	/* What CUDA_VISIBLE_DEVICES shows is a choice of the user's. */
	ch->any = ch->takes_any && !getenv("CUDA_VISIBLE_DEVICES") &&
		  (ch->placement || is_placed(json_string_value(json_object_get(list, "placement"))));
	ch->driver = choose_driver(ch, asked ? asked->option : NULL);
	if (!driver_has_device(ch->list, ch->driver))
		r = refuse_driver(ch, asked, list, f);
	json_decref(list);
	if (!r)
		r = expand_all(ch, f);
	for (size_t i = 0; !r && i < ch->count; i++)
		r = choose_one(ch, i, f);
	return r;
}

json_t *choose_request(const struct choice *ch)
{
	json_t *devices = json_array();

	for (size_t i = 0; i < ch->count; i++) {
		const struct share *s = &ch->share[i];
		json_t *row = json_pack("{s:s}", "device", s->chosen ? device_text(s->chosen, "uuid") : "any");

		if (s->mem.bytes)
			json_object_set_new(row, "mem_bytes", json_integer((json_int_t)s->mem.bytes));
		else if (*s->mem_text)
			json_object_set_new(row, "mem_pct", json_real(s->mem.pct));
		terms_request(&s->wish, row);
		json_array_append_new(devices, row);
	}
	return devices;
}

void choose_deinit(struct choice *ch)
{
	json_decref(ch->list);
	*ch = (struct choice){ 0 };
}
