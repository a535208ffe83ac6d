"""<api>_shim.h, <api>_shim_entry.S, <api>_shim_table.c: the exports of the shim and the tables behind them.

An export is one indirect jump through shim_table. The table starts out with lazy entries: each keeps the arguments, lets
shim_start() bind the tables, and goes on through the table. shim_bind() fills shim_real with the driver's own functions
and shim_table with those of them that pass, and with shim_<symbol> for the calls that are treated.
"""

import re

from .text import banner, failure, ret

ENTRY = r"""
#if defined(__x86_64__)

.macro ENTRY symbol, index
	.globl	\symbol
	.type	\symbol, @function
	.p2align 4
\symbol:
	.cfi_startproc
	endbr64
	jmp	*shim_table+8*\index(%rip)
	.cfi_endproc
	.size	\symbol, .-\symbol
.endm

/* Lazy entry: the index travels in r11, which no call passes anything in. */
.macro LAZY index
.Llazy_\index:
	endbr64
	movl	$\index, %r11d
	jmp	.Lstart
.endm

.macro SLOT index
	.quad	.Llazy_\index
.endm

	.text
	.p2align 4
	.type	shim_lazy, @function
shim_lazy:
	.cfi_startproc
.Lstart:
	pushq	%rdi
	pushq	%rsi
	pushq	%rdx
	pushq	%rcx
	pushq	%r8
	pushq	%r9
	pushq	%rax
	pushq	%r11
	subq	$136, %rsp
	.cfi_adjust_cfa_offset 200
	movups	%xmm0, (%rsp)
	movups	%xmm1, 16(%rsp)
	movups	%xmm2, 32(%rsp)
	movups	%xmm3, 48(%rsp)
	movups	%xmm4, 64(%rsp)
	movups	%xmm5, 80(%rsp)
	movups	%xmm6, 96(%rsp)
	movups	%xmm7, 112(%rsp)
	call	shim_start
	movq	%rax, %r10
	movups	(%rsp), %xmm0
	movups	16(%rsp), %xmm1
	movups	32(%rsp), %xmm2
	movups	48(%rsp), %xmm3
	movups	64(%rsp), %xmm4
	movups	80(%rsp), %xmm5
	movups	96(%rsp), %xmm6
	movups	112(%rsp), %xmm7
	addq	$136, %rsp
	popq	%r11
	popq	%rax
	popq	%r9
	popq	%r8
	popq	%rcx
	popq	%rdx
	popq	%rsi
	popq	%rdi
	.cfi_adjust_cfa_offset -200
	jmp	*(%r10,%r11,8)
	.cfi_endproc
	.size	shim_lazy, .-shim_lazy

#elif defined(__aarch64__)

/* ldar pairs with the release in shim_bind(): whoever sees a bound entry sees shim_real filled as well. */
.macro ENTRY symbol, index
	.globl	\symbol
	.type	\symbol, %function
	.p2align 4
\symbol:
	.cfi_startproc
	hint	#34
	adrp	x17, shim_table+8*\index
	add	x17, x17, :lo12:shim_table+8*\index
	ldar	x16, [x17]
	br	x16
	.cfi_endproc
	.size	\symbol, .-\symbol
.endm

.macro LAZY index
.Llazy_\index:
	hint	#34
	mov	w16, #\index
	b	.Lstart
.endm

.macro SLOT index
	.quad	.Llazy_\index
.endm

	.text
	.p2align 4
	.type	shim_lazy, %function
shim_lazy:
	.cfi_startproc
.Lstart:
	stp	x29, x30, [sp, #-224]!
	.cfi_adjust_cfa_offset 224
	.cfi_rel_offset x29, 0
	.cfi_rel_offset x30, 8
	mov	x29, sp
	stp	x0, x1, [sp, #16]
	stp	x2, x3, [sp, #32]
	stp	x4, x5, [sp, #48]
	stp	x6, x7, [sp, #64]
	stp	x8, x16, [sp, #80]
	stp	q0, q1, [sp, #96]
	stp	q2, q3, [sp, #128]
	stp	q4, q5, [sp, #160]
	stp	q6, q7, [sp, #192]
	bl	shim_start
	mov	x17, x0
	ldp	q6, q7, [sp, #192]
	ldp	q4, q5, [sp, #160]
	ldp	q2, q3, [sp, #128]
	ldp	q0, q1, [sp, #96]
	ldp	x8, x16, [sp, #80]
	ldp	x6, x7, [sp, #64]
	ldp	x4, x5, [sp, #48]
	ldp	x2, x3, [sp, #32]
	ldp	x0, x1, [sp, #16]
	ldp	x29, x30, [sp], #224
	.cfi_adjust_cfa_offset -224
	.cfi_restore x29
	.cfi_restore x30
	add	x17, x17, x16, lsl #3
	ldar	x16, [x17]
	br	x16
	.cfi_endproc
	.size	shim_lazy, .-shim_lazy

#else
#error "no entries for this processor"
#endif
"""


def entries(head, count, exports, passed=None):
    """The exports, (name, number) each, over a shim_table of so many slots. `passed`: from this one on they are nobody's calls."""
    out = [head, "\t.hidden shim_table", "\t.hidden shim_start", ENTRY]
    out += [f"\tLAZY {i}" for i in range(count)]
    out += [""] + [f"\tENTRY {s}, {i}" for s, i in exports]
    out += ["", "\t.data", "\t.globl\tshim_table", "\t.type\tshim_table, %object", "\t.p2align 6", "shim_table:"]
    out += [f"\tSLOT {i}" for i in range(count if passed is None else passed)]
    out += ["\t.size\tshim_table, .-shim_table"]
    if passed is not None:
        out += ["\t.globl\tshim_passed", "\t.hidden\tshim_passed", "shim_passed:", *(f"\tSLOT {i}" for i in range(passed, count))]
    return "\n".join([*out, '\t.section .note.GNU-stack, "", %progbits', ""])


def entry_source(spec):
    return entries(banner(spec, "the exports of the shim"), len(spec.calls), [(c.symbol, c.index) for c in spec.calls])


def treated(spec):
    return [c for c in spec.calls if c.treat not in ("pass", "refuse")]


def shim_header(spec):
    n = spec.name
    hidden = '__attribute__((visibility("hidden")))'
    out = [banner(spec, "the tables of the shim, and the calls that it treats"), "#pragma once", "",
           f'#include "{n}_table.h"', "", "#include <stdbool.h>", "",
           "/* What programs reach, and the driver's own functions. A call that the driver lacks answers not supported. */",
           f"extern struct {n}_table shim_table {hidden};", f"extern struct {n}_table shim_real {hidden};", "",
           "/*",
           " * Written by the shim: called by the first call of the program, and by others that come meanwhile, each on its own",
           " * thread. When it returns, shim_bind() or shim_refuse() has been called, or the caller comes again for ever. Value:",
           " * the table by which this call goes on, shim_table.",
           " */", "void **shim_start(void);", "",
           "/* Binds both tables: `find` gives the driver's function by its symbol, or NULL. Once, under the shim's lock. */",
           "void shim_bind(void *(*find)(void *arg, const char *symbol), void *arg);", "",
           "/* Every call answers `why` from now on (functions that return something else: what the spec says for them). */",
           f"void shim_refuse({spec.result} why);", "",
           "/* After shim_bind(): the driver does not export this call. */",
           f"bool shim_missing(enum {n}_call call);", ""]
    out += [f"{c.prototype('shim_' + c.symbol)};" for c in treated(spec)]
    if spec.door:
        out += [DOOR_HEADER.replace("$n", n)]
    for name in spec.bodies:
        out += ["", f"/* Every call with the generated body {name}. */",
                " \\\n\t".join([f"#define {spec.upper}_TREATED_{name}(X)",
                                *(f"X({c.symbol})" for c in spec.calls if c.treat == name)])]
    return "\n".join([*out, ""])


def map_source(spec):
    """The version script of the exports: each node has those before it."""
    out, before = [f"# Generated by apigen.py from {spec.name}.toml; a change belongs there."], ""
    for node, symbols in spec.nodes.items():
        out += [f"{node} {{", "global:", *(f"\t{s};" for s in symbols), *(["local:", "\t*;"] if not before else []), f"}}{before};"]
        before = f" {node}"
    return "\n".join([*out, ""])


def kinds_of_failure(spec):
    """Distinct (return type, value) of calls that do not return the API's result."""
    kinds = {}
    for c in spec.calls:
        if c.returns != spec.result:
            kinds.setdefault((c.returns, c.otherwise), len(kinds))
    return kinds


def shim_source(spec):
    n, up = spec.name, spec.upper
    kinds = kinds_of_failure(spec)
    out = [banner(spec, "the tables of the shim"), f'#include "{n}_shim.h"', *(f'#include "{i}"' for i in spec.body_includes),
           *([f'#include "{spec.inside}"'] if spec.inside else []),
           "", "#include <stdint.h>", "",
           f"struct {n}_table shim_real;", f"static {spec.result} refusal;", "",
           "/* Any call may land here: arguments are the caller's to clean away, in every convention that we build for. */",
           f"static {spec.result} not_supported(void)", "{", f"\treturn {spec.not_supported};", "}", "",
           f"static {spec.result} refused(void)", "{",
           "\treturn __atomic_load_n(&refusal, __ATOMIC_RELAXED);", "}", ""]
    for (ctype, value), i in kinds.items():
        out += [f"static {ctype}{'' if ctype.endswith('*') else ' '}otherwise_{i}(void)", "{",
                f"\treturn {value};" if value else "\treturn;", "}", ""]
    for c in treated(spec):
        if c.treat != "custom":
            out += body(spec, c)
        if spec.inside:
            out += marked(spec, c)
    out += ["/* What the calls that return something else than the result answer when nothing can execute them. */",
            f"static void *const otherwise[{up}_CALL_COUNT] = {{"]
    out += [f"\t[{up}_CALL_{c.symbol}] = (void *)otherwise_{kinds[(c.returns, c.otherwise)]}," for c in spec.calls
            if c.returns != spec.result] or ["\t0"]
    out += ["};", "", f"static void *const treated[{up}_CALL_COUNT] = {{"]
    way = "inside" if spec.inside else "shim"
    out += [f"\t[{up}_CALL_{c.symbol}] = (void *){way}_{c.symbol}," for c in treated(spec)]
    out += [f"\t[{up}_CALL_{c.symbol}] = {failing(spec, c, kinds)}," for c in spec.calls if c.treat == "refuse"]
    if all(c.treat == "pass" for c in spec.calls):
        out += ["\t0"]
    out += ["};", "", SHIM_TAIL.replace("$n", n).replace("$UP", up).replace("$RESULT", spec.result)]
    if spec.door:
        out += door_source(spec)
    return "\n".join(out)


def behind_door(spec):
    return [c for c in spec.calls if c.treat != "refuse" and c.returns == spec.result and not spec.outside.match(c.symbol)]


def door_source(spec):
    """Every call once more, as one that is inside the door while it runs."""
    calls, out = behind_door(spec), [f'#include "{spec.door}"', "", f"static struct {spec.name}_table inner;", "static bool doored;", ""]
    for c in calls:
        goes = f"__atomic_load_n(&inner.{c.symbol}, __ATOMIC_ACQUIRE)"
        enter, leave, call = "door_enter", "door_leave", [f"\tr = {goes}({c.names()});"]
        if c.straight:
            enter, leave = "door_in", "door_out"
            call = [f"\tif (__builtin_expect({goes} == shim_{c.symbol} && {c.straight}, 1))",
                    f"\t\tr = shim_real.{c.symbol}({c.names()});", "\telse", f"\t{call[0]}"]
        out += [c.prototype("door_" + c.symbol).replace(spec.result, f"static {spec.result}", 1), "{", f"\t{spec.result} r;", "",
                f"\t{enter}();", *call, f"\t{leave}();", "\treturn r;", "}", ""]
    out += [f"static void *const doors[{spec.upper}_CALL_COUNT] = {{"]
    out += [f"\t[{spec.upper}_CALL_{c.symbol}] = (void *)door_{c.symbol}," for c in calls]
    return [*out, "};", "", DOOR_TAIL.replace("$n", spec.name).replace("$UP", spec.upper)]


def marked(spec, call):
    """The call as programs reach it: while it runs, the library's own calls of its exports pass."""
    return [f"static {call.prototype('inside_' + call.symbol)}", "{", f"\t{call.returns} r;", "",
            "\tif (!inside_enter())", f"\t\treturn shim_real.{call.symbol}({call.names()});",
            f"\tr = shim_{call.symbol}({call.names()});", "\tinside_leave();", "\treturn r;", "}", ""]


def failing(spec, call, kinds):
    if call.returns == spec.result:
        return "(void *)not_supported"
    return f"(void *)otherwise_{kinds[(call.returns, call.otherwise)]}"


def body(spec, call):
    mapped, told = mapping(spec, call)
    words = {"MAPPED": mapped, "TOLD": told, "SYMBOL": call.symbol, "CALL": f"{spec.upper}_CALL_{call.symbol}", "REAL": f"shim_real.{call.symbol}",
             "ARGS": call.names(), "RETURNS": call.returns, "FAILURE": failure(spec, call),
             "BYTES": gate_bytes(call), "STREAM": call.stream or "NULL",
             "PER_THREAD": "true" if call.per_thread else "false"}
    text = spec.bodies[call.treat].substitute(words).strip("\n")
    text = "\n".join(line for line in text.split("\n") if line != "\t")  # of a word that stands for nothing
    return [call.prototype("shim_" + call.symbol), "{", text, "}", ""]


def mapping(spec, call):
    """The arguments as the driver is to see them, and what is done afterwards with what it wrote."""
    maps = spec.body_maps[call.treat]
    args = [(a.name, a.type.removeprefix("const ")) for a in call.args]
    seen = [maps["args"][ctype].substitute(ARG=name) if ctype in maps["args"] else name for name, ctype in args]
    told = [maps["told"][ctype].substitute(ARG=name) for name, ctype in args if ctype in maps["told"]]
    return ", ".join(seen), "\n\t".join(told)


def gate_bytes(call):
    """The bytes of a copy, as C; 0 where the program passes no description."""
    if not call.gate_bytes:
        return "0"
    pointers = sorted(set(re.findall(r"(\w+)->|\*(?=[A-Za-z_])(\w+)", call.gate_bytes)))
    guards = [a or b for a, b in pointers if any((a or b) == x.name and x.pointer for x in call.args)]
    text = re.sub(r"([A-Za-z_]\w*(?:->\w+)?)", r"(uint64_t)\1", call.gate_bytes)
    return f"({' && '.join(guards)} ? {text} : 0)" if guards else text


def gates_header(spec):
    """Which calls submit work, for the test that compares them with what the shim does: engine, call, kinds of arguments."""
    def kinds(call):
        return "".join("p" if a.pointer else "h" if spec.kind_of(a.type) not in (None, "address") else "n" for a in call.args)

    out = [banner(spec, "the calls that submit work"),
           "/* GATED(engine, symbol, kinds); NOT_GATED(symbol, kinds); TREATED(treat, symbol): not, but with a body */"]
    for c in spec.calls:
        if c.gate != "not":
            out.append(f'GATED({c.gate}, {c.symbol}, "{kinds(c)}")')
        elif c.gate_reason:
            out.append(f'NOT_GATED({c.symbol}, "{kinds(c)}")')
            if c.treat not in ("pass", "custom"):
                out.append(f"TREATED({c.treat}, {c.symbol})")
    return "\n".join([*out, ""])


SHIM_TAIL = """static void *failing(enum $n_call call)
{
	return otherwise[call] ? otherwise[call] : (void *)not_supported;
}

bool shim_missing(enum $n_call call)
{
	return ((void **)&shim_real)[call] == failing(call);
}

void shim_bind(void *(*find)(void *arg, const char *symbol), void *arg)
{
	void **real = (void **)&shim_real, **table = (void **)&shim_table;
	unsigned int i;

	for (i = 0; i < $UP_CALL_COUNT; i++) {
		void *f = find(arg, $n_call_name[i]);

		real[i] = f ? f : failing(i);
	}
	/* Release: pairs with the jump through the table; who reaches shim_<symbol> sees shim_real filled. */
	for (i = 0; i < $UP_CALL_COUNT; i++)
		__atomic_store_n(&table[i], treated[i] ? treated[i] : real[i], __ATOMIC_RELEASE);
}

void shim_refuse($RESULT why)
{
	void **table = (void **)&shim_table;
	unsigned int i;

	__atomic_store_n(&refusal, why, __ATOMIC_RELAXED);
	for (i = 0; i < $UP_CALL_COUNT; i++)
		__atomic_store_n(&table[i], otherwise[i] ? otherwise[i] : (void *)refused, __ATOMIC_RELEASE);
}
"""

DOOR_HEADER = """
/* After shim_bind(): from now on calls pass the door. Once. */
void shim_use_doors(void);

/* What a call goes to, behind the door where there is one. */
void shim_put(enum $n_call call, void *function);

/* What programs are to be given for the call; NULL: it passes no door. */
void *shim_door(enum $n_call call);
"""

DOOR_TAIL = """void shim_use_doors(void)
{
	void **table = (void **)&shim_table;
	unsigned int i;

	inner = shim_table;
	doored = true;
	for (i = 0; i < $UP_CALL_COUNT; i++)
		if (doors[i])
			__atomic_store_n(&table[i], doors[i], __ATOMIC_RELEASE);
}

void shim_put(enum $n_call call, void *function)
{
	void **table = doored && doors[call] ? (void **)&inner : (void **)&shim_table;

	__atomic_store_n(&table[call], function, __ATOMIC_RELEASE);
}

void *shim_door(enum $n_call call)
{
	return doored ? doors[call] : NULL;
}
"""
