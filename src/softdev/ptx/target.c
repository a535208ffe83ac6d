/* target.c: .version and .target: which there are, and which of them this device or this assembler takes. */
#include "softdev/ptx/parse.h"

#include "wire/soft_capability.h"

#include <stdint.h>
#include <string.h>

/* The last minor version of each major one that has ended. */
static const uint8_t last_minor[] = { 0, 5, 3, 2, 3, 1, 5, 8, 8 };

/* The decimal digits at the beginning of `n`, which are taken from it; UINT32_MAX: there are none. */
static uint32_t take_digits(struct name *n)
{
	uint32_t v = 0;

	if (!n->bytes || n->p[0] < '0' || n->p[0] > '9')
		return UINT32_MAX;
	for (; n->bytes && n->p[0] >= '0' && n->p[0] <= '9'; n->p++, n->bytes--)
		v = v < 10000 ? v * 10 + (uint32_t)(n->p[0] - '0') : v;
	return v;
}

/* .version 9.0: two numbers, which the lexer reads as a fraction. */
void parse_version(struct parser *p)
{
	struct name written = p->lex.now.name, left = written;
	uint32_t major, minor;

	if (p->lex.now.kind != TOK_F64 && p->lex.now.kind != TOK_INT) {
		parse_unexpected(p, "a version");
		return;
	}
	if (p->version) {
		parse_fail(p, "a second .version directive");
		return;
	}
	major = take_digits(&left);
	if (!left.bytes || *left.p != '.') {
		parse_fail(p, "%.*s is not a version: write two numbers, as in 8.7", (int)written.bytes, written.p);
		return;
	}
	left.p++;
	left.bytes--;
	minor = take_digits(&left);
	if (left.bytes || minor == UINT32_MAX) {
		parse_fail(p, "%.*s is not a version: write two numbers, as in 8.7", (int)written.bytes, written.p);
		return;
	}
	if (!major || (major < sizeof(last_minor) && minor > last_minor[major])) {
		parse_fail(p, "there is no PTX version %u.%u", major, minor);
		return;
	}
	if (minor > 9 || major * 10 + minor > PTX_VERSION_MAX) {
		complain(p->program->complaint, PTX_TOO_NEW_VERSION, p->lex.now.line, NULL,
			 "PTX version %u.%u is newer than %u.x, the newest that this device reads", major, minor,
			 PTX_VERSION_MAX / 10);
		parse_stop(p);
		return;
	}
	p->version = major * 10 + minor;
	lex_next(&p->lex);
}

/* The name of a chip. What is behind its digits and one letter is not read. */
struct chip {
	struct name name;
	uint32_t arch, line;
	bool exact, family; /* sm_90a, sm_100f */
};

/* METE_SOFT_CC sets what a device is, and nothing of an assembler's target. */
static void refuse_target(struct parser *p, const struct chip *c)
{
	char remedy[SOFT_REMEDY_BYTES];

	if (p->program->chosen)
		complain(p->program->complaint, PTX_TOO_NEW_TARGET, c->line, NULL,
			 "target %.*s does not run on sm_%u: %s", (int)c->name.bytes, c->name.p, p->program->arch,
			 soft_target_remedy(c->arch, remedy));
	else
		complain(p->program->complaint, PTX_TOO_NEW_TARGET, c->line, NULL,
			 "target %.*s does not run on this device (sm_%u): %s", (int)c->name.bytes, c->name.p,
			 p->program->arch, soft_capability_remedy(c->arch, remedy));
	parse_stop(p);
}

static bool read_chip(struct name n, uint32_t line, struct chip *ret)
{
	static const char *const names[] = { "sm_", "compute_" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		uint32_t bytes = (uint32_t)strlen(names[i]);
		struct name left = n;

		if (n.bytes < bytes || memcmp(n.p, names[i], bytes))
			continue;
		left.p += bytes;
		left.bytes -= bytes;
		*ret = (struct chip){ .name = n, .arch = take_digits(&left), .line = line };
		ret->exact = left.bytes && *left.p == 'a';
		ret->family = left.bytes && *left.p == 'f';
		return true;
	}
	return false;
}

static bool chip_known(const struct chip *c)
{
	if (c->arch == UINT32_MAX || !soft_target_known(c->arch))
		return false;
	return c->exact ? c->arch >= 90 : c->family ? c->arch >= 100 : true;
}

static bool option_known(struct name n)
{
	static const char *const options[] = { "texmode_unified", "texmode_independent", "debug", "map_f64_to_f32" };

	for (size_t i = 0; i < sizeof(options) / sizeof(*options); i++)
		if (name_is(n, options[i]))
			return true;
	return false;
}

/* .target sm_90a, texmode_unified, debug: the first word is a chip; of several the last one counts. */
void parse_target(struct parser *p)
{
	struct chip chip = { 0 };
	bool first = true;
	struct name n;
	uint32_t line;

	do {
		line = p->lex.now.line;
		n = parse_name(p);
		if (parse_failed(p))
			return;
		if (read_chip(n, line, &chip) ? !chip_known(&chip) : first || !option_known(n)) {
			complain(p->program->complaint, PTX_INVALID, line, NULL, "there is no target%s %.*s",
				 first ? "" : " or option of one", (int)n.bytes, n.p);
			parse_stop(p);
			return;
		}
		first = false;
	} while (parse_accept(p, ','));
	if (chip.arch > p->program->arch || (chip.exact && chip.arch != p->program->arch) ||
	    (chip.family && chip.arch / 10 != p->program->arch / 10))
		refuse_target(p, &chip);
	p->target = chip.arch;
}
