/*
 * coverage_test.c: which forms of a checklist the engine has, as docs/coverage-ptx.md tells.
 *
 *	coverage_test CHECKLIST PAGE [--write]
 *
 * The answer to each form is the decoder's own: the instruction table knows the opcode, or the engine refuses it with a
 * reason, or with none. So the page cannot promise what a module that is loaded would not get.
 */
#include "base/tap.h"
#include "softdev/ptx/forms.h"

#include <stdlib.h>
#include <string.h>

/* Families whose name is more than the first word; a longer one stands before what it begins with. */
static const char *const long_families[] = { "cp.async.bulk.prefetch.tensor",
					     "cp.async.bulk.tensor",
					     "cp.reduce.async.bulk.tensor",
					     "cp.async.bulk",
					     "cp.reduce.async.bulk",
					     "cp.async",
					     "mma.sp::ordered_metadata",
					     "mma.sp",
					     "wgmma.mma_async.sp" };

/* What is refused, and why that is not a matter of one multiprocessor. */
static const char *const beyond[] = { "tcgen05", "multimem" };

enum { LINE = 256, FAMILIES = 256, FORMS = 8192, MISSING_SHOWN = 6 };

struct family {
	char name[64];
	unsigned forms, done, refused;
	const char *reason; /* of the first refused form */
	char missing[MISSING_SHOWN * 100];
	unsigned missing_count;
};

static struct family families[FAMILIES];
static unsigned family_count;
static char page[1 << 17];
static size_t page_bytes;

__attribute__((format(printf, 1, 2))) static void write_page(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	page_bytes += (size_t)vsnprintf(page + page_bytes, sizeof(page) - page_bytes, fmt, ap);
	va_end(ap);
	if (page_bytes >= sizeof(page)) {
		printf("Bail out! the page is too long\n");
		exit(1);
	}
}

static bool begins(const char *opcode, const char *with)
{
	const size_t n = strlen(with);

	return !strncmp(opcode, with, n) && (!opcode[n] || opcode[n] == '.');
}

static struct family *family_of(const char *opcode)
{
	char name[64];
	size_t n = strcspn(opcode, ".");

	for (size_t i = 0; i < sizeof(long_families) / sizeof(long_families[0]); i++)
		if (begins(opcode, long_families[i])) {
			n = strlen(long_families[i]);
			break;
		}
	snprintf(name, sizeof(name), "%.*s", (int)n, opcode);
	for (unsigned i = 0; i < family_count; i++)
		if (!strcmp(families[i].name, name))
			return &families[i];
	if (family_count == FAMILIES) {
		printf("Bail out! more than %d families\n", FAMILIES);
		exit(1);
	}
	memcpy(families[family_count].name, name, sizeof(name));
	return &families[family_count++];
}

static void look_up(const struct insn_table *table, const char *opcode)
{
	struct family *f = family_of(opcode);
	const struct name name = { opcode, (uint32_t)strlen(opcode) };
	struct form_words words;
	struct insn_match match;
	const char *reason;

	f->forms++;
	form_words(name, &words);
	if (insn_find(table, words.key, &match)) {
		f->done++;
		return;
	}
	reason = form_refusal(name);
	if (reason) {
		f->refused++;
		f->reason = f->reason ? f->reason : reason;
		return;
	}
	if (f->missing_count++ < MISSING_SHOWN) {
		const size_t n = strlen(f->missing);

		snprintf(f->missing + n, sizeof(f->missing) - n, "%s`%s`", n ? ", " : "", opcode);
	}
}

static bool is_beyond(const char *family)
{
	for (size_t i = 0; i < sizeof(beyond) / sizeof(beyond[0]); i++)
		if (!strcmp(family, beyond[i]))
			return true;
	return false;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct family *)a)->name, ((const struct family *)b)->name);
}

static void write_rows(bool of_beyond)
{
	write_page("| family | forms | done | refused | unknown |\n|---|---|---|---|---|\n");
	for (unsigned i = 0; i < family_count; i++) {
		const struct family *f = &families[i];

		if (is_beyond(f->name) != of_beyond)
			continue;
		write_page("| `%s` | %u | %u | ", f->name, f->forms, f->done);
		if (f->refused)
			write_page("%u: %s", f->refused, f->reason);
		write_page(" | ");
		if (f->missing_count)
			write_page("%u: %s%s", f->missing_count, f->missing,
				   f->missing_count > MISSING_SHOWN ? " and others" : "");
		write_page(" |\n");
	}
}

static void make_page(void)
{
	unsigned forms = 0, done = 0, refused = 0;

	qsort(families, family_count, sizeof(families[0]), by_name);
	for (unsigned i = 0; i < family_count; i++) {
		forms += families[i].forms;
		done += families[i].done;
		refused += families[i].refused;
	}
	write_page("# Coverage of PTX\n\n"
		   "Generated from the engine's instruction table and a checklist (`meson compile ptx-coverage-page`); "
		   "do not "
		   "edit.\n\n"
		   "The checklist, `tests/ptx/checklist.txt`, has the instruction forms that compilers of PTX write: "
		   "those of "
		   "LLVM's back end, which\nfollows the manual, and those of the manual that LLVM leaves to inline "
		   "assembly.\n\n"
		   "%u forms: %u done, %u refused with a reason, %u unknown.\n\n"
		   "- **done**: a module with it loads\n"
		   "- **refused**: loading the module says why\n"
		   "- **unknown**: loading the module says \"unknown instruction\"\n\n",
		   forms, done, refused, forms - done - refused);
	write_rows(false);
	write_page(
		"\n## Beyond one multiprocessor\n\nTensor memory, and memory of several devices at one address: no device of "
		"this kind has been made of the host's cores.\n\n");
	write_rows(true);
}

static char *read_whole(const char *path)
{
	FILE *f = fopen(path, "rb");
	char *text = calloc(1, sizeof(page) * 2);

	if (!f || !text) {
		printf("Bail out! cannot read %s\n", path);
		exit(1);
	}
	text[fread(text, 1, sizeof(page) * 2 - 1, f)] = 0;
	fclose(f);
	return text;
}

int main(int argc, char **argv)
{
	const struct insn_table *table = insn_table_get(isa_find(NULL));
	char *list, *old, *rest = NULL;

	if (argc < 3 || !table) {
		printf("Bail out! coverage_test CHECKLIST PAGE [--write]\n");
		return 1;
	}
	list = read_whole(argv[1]);
	for (char *line = strtok_r(list, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		if (*line != '#')
			look_up(table, line);
	make_page();
	if (argc > 3) {
		FILE *f = fopen(argv[2], "wb");

		return !f || fwrite(page, 1, page_bytes, f) != page_bytes || fclose(f);
	}
	tap_begin();
	old = read_whole(argv[2]);
	tap_ok(!strcmp(old, page), "%s is what the engine says; write it anew with: meson compile ptx-coverage-page",
	       argv[2]);
	ok(family_count > 50);
	free(old);
	free(list);
	return tap_end();
}
