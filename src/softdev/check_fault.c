/* check_fault.c: see check.h. The report of a kernel's fault. */
#include "softdev/check.h"

#include "softdev/context.h"
#include "softdev/demangle.h"
#include "softdev/listing.h"
#include "softdev/module.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* What an instruction does to memory, by its name; behind a guard. */
static const char *access_name(const char *instruction)
{
	const char *p = instruction;

	if (*p == '@')
		p += strcspn(p, " ") + strspn(p + strcspn(p, " "), " ");
	if (!strncmp(p, "st", 2) || !strncmp(p, "sust", 4))
		return "write";
	if (!strncmp(p, "atom", 4) || !strncmp(p, "red", 3))
		return "atomic operation";
	if (!strncmp(p, "sured", 5))
		return "reduction";
	if (!strncmp(p, "ld", 2) || !strncmp(p, "tex", 3) || !strncmp(p, "suld", 4))
		return "read";
	return "access";
}

/* A wild address of an instruction's own space is looked up as any address is, but the space is what helps. */
static const char *space_name(const struct ptx_fault *f, const char *instruction)
{
	static const char *const space[] = { "global", "shared", "local", "parameter" };
	static const char *const word[][2] = {
		{ ".local.", "local" }, { ".shared.", "shared" }, { ".const.", "constant" }, { ".param.", "parameter" }
	};

	for (unsigned i = 0; f->space == PTX_SPACE_DEVICE && i < sizeof(word) / sizeof(word[0]); i++)
		if (strstr(instruction, word[i][0]))
			return word[i][1];
	return space[f->space];
}

static void headline(struct report *r, const struct ptx_fault *f, const struct ptx_launch *l, const char *instruction,
		     const char *error)
{
	const char *what = access_name(instruction), *space = space_name(f, instruction);

	switch (f->kind) {
	case PTX_FAULT_ILLEGAL_ADDRESS:
		report_line(r, "invalid %s of %u bytes in %s memory (%s)", what, f->bytes, space, error);
		break;
	case PTX_FAULT_MISALIGNED:
		report_line(r, "misaligned %s of %u bytes in %s memory (%s)", what, f->bytes, space, error);
		break;
	case PTX_FAULT_ADDRESS_SPACE:
		report_line(r, "%s on %s memory, where there is none (%s)", what, space, error);
		break;
	case PTX_FAULT_TRAP:
		report_line(r, "trap (%s)", error);
		break;
	case PTX_FAULT_ASSERT:
		report_line(r, "failed assertion (%s)", error);
		break;
	case PTX_FAULT_BARRIER_NUMBER:
		report_line(r, "barrier %" PRIu64 ", but they are numbered 0 to 15 (%s)", f->address, error);
		break;
	case PTX_FAULT_BARRIER_COUNT:
		report_line(r, "barrier for %" PRIu64 " threads, which is no multiple of 32 (%s)", f->address, error);
		break;
	case PTX_FAULT_BARRIER_DIVERGENT:
		report_line(r, "barrier in divergent code: other threads of the warp wait at another barrier (%s)",
			    error);
		break;
	case PTX_FAULT_HANDLE:
		report_line(r, "0x%" PRIx64 " is no live texture or surface of this context (%s)", f->address, error);
		break;
	case PTX_FAULT_SURFACE:
		report_line(r, "%s outside a surface, at x = %" PRId64 " (%s)", what, (int64_t)f->address, error);
		break;
	case PTX_FAULT_INVALID_PC:
		report_line(r, "call or jump to 0x%" PRIx64 ", where no such function or label is (%s)", f->address,
			    error);
		break;
	case PTX_FAULT_STACK_OVERFLOW:
		report_line(r, "stack overflow: the calls of a thread need more than its %u bytes of stack; "
			    "CU_LIMIT_STACK_SIZE sets them (%s)",
			    l->stack_bytes, error);
		break;
	case PTX_FAULT_TIMEOUT:
		report_line(r, "the kernel ran for longer than METE_SOFT_TIMEOUT allows (%s)", error);
		break;
	case PTX_FAULT_DEADLOCK:
		report_line(r, "deadlock: %u threads of the block wait at barriers that cannot complete (%s)",
			    f->threads, error);
		break;
	default:
		report_line(r, "the kernel cannot go on (%s)", error);
	}
}

static void place(struct report *r, const struct ptx_fault *f, const struct ptx_launch *l,
		  const struct source *source, const char *instruction)
{
	const struct ptx_text *text = f->text < source->count ? &source->text[f->text] : NULL;
	const uint32_t *g = l->grid, *b = l->block;
	char name[512], where[600];

	report_line(r, "  in kernel %s, grid (%u,%u,%u) of blocks (%u,%u,%u)",
		    demangle(l->kernel->name, name, sizeof(name)) ? name : l->kernel->name, g[0], g[1], g[2], b[0],
		    b[1], b[2]);
	if (f->function && strcmp(f->function, l->kernel->name))
		report_line(r, "  in function %s, called by it",
			    demangle(f->function, name, sizeof(name)) ? name : f->function);
	if (f->line && instruction[0])
		report_line(r, "  at %s (PTX line %u)", instruction, f->line);
	else if (f->line)
		report_line(r, "  at PTX line %u", f->line);
	if (f->line && text && listing_source(text->text, text->bytes, f->line, where, sizeof(where)))
		report_line(r, "  at %s", where);
	if (f->line && text && listing_inlined(text->text, text->bytes, f->line, where, sizeof(where)))
		report_line(r, "  inlined at %s", where);
}

static void thread(struct report *r, const struct ptx_fault *f)
{
	const uint32_t *t = f->thread, *b = f->block;
	char others[64] = "";

	if (f->bytes && f->threads > 1)
		snprintf(others, sizeof(others), ", and %u more of its warp", f->threads - 1);
	report_line(r, "  by thread (%u,%u,%u) of block (%u,%u,%u)%s", t[0], t[1], t[2], b[0], b[1], b[2], others);
}

/* An offset in memory of the block or thread. */
static void offset(struct report *r, const struct ptx_fault *f, const struct ptx_launch *l)
{
	static const char *const owner[] = { "", "the block's shared memory", "the thread's local memory",
					     "the kernel's parameters" };
	const int64_t at = f->space == PTX_SPACE_SHARED ? (int32_t)f->address : (int64_t)f->address;
	const int64_t bytes = (int64_t)f->space_bytes;
	const uint32_t reserved = l->kernel->reserved_bytes;
	char parts[96] = "", system[32] = "";

	if (reserved)
		snprintf(system, sizeof(system), "%u reserved, ", reserved);
	if (f->space == PTX_SPACE_SHARED)
		snprintf(parts, sizeof(parts), " (%s%u static, %u dynamic)", system, l->kernel->shared_bytes,
			 l->shared_bytes);
	if (at < 0)
		report_line(r, "  address is %" PRId64 " bytes before the beginning of %s", -at, owner[f->space]);
	else if (at >= bytes)
		report_line(r, "  address is %" PRId64 " bytes after the end of %s, %" PRId64 " bytes%s", at - bytes,
			    owner[f->space], bytes, parts);
	else
		report_line(r, "  address is offset %" PRId64 " of %s, %" PRId64 " bytes%s", at, owner[f->space], bytes,
			    parts);
}

void report_fault(const struct ptx_launch *l, const struct function *f, const struct context *c, CUresult error)
{
	const struct ptx_fault *fault = &l->fault;
	const struct source *source = f->module->library ? &f->module->library->source : &f->module->source;
	const struct ptx_text *text = fault->text < source->count ? &source->text[fault->text] : NULL;
	struct report r = { 0 };
	char instruction[200] = "";
	const char *name = "?";

	soft_cuGetErrorName(error, &name);
	if (text)
		listing_line(text->text, text->bytes, fault->line, instruction, sizeof(instruction));
	headline(&r, fault, l, instruction, name);
	place(&r, fault, l, source, instruction);
	thread(&r, fault);
	if (fault->bytes && fault->space == PTX_SPACE_DEVICE && !strcmp(space_name(fault, instruction), "local"))
		report_line(&r, "  address is far outside the thread's local memory");
	else if (fault->bytes && fault->space == PTX_SPACE_DEVICE)
		report_address(&r, fault->address, fault->bytes, c);
	else if (fault->bytes)
		offset(&r, fault, l);
	report_send(&r);
}
