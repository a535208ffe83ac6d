"""
Made-up wrong PTX: files with one mistake each, for the comparison of assemblers (judge_test.py).

`cases()` yields (name, text, options). Some are written by hand, about limits and declarations; the others come from the
lines of GOOD by MUTATIONS. Right ones are among them: at a limit, and where a mutation happens to give a right program.
"""
import re

HEAD = ".version {version}\n.target {target}\n.address_size 64\n"

REGISTERS = """	.reg .pred %p<4>;
	.reg .b16 %h<6>;
	.reg .b32 %r<12>;
	.reg .f32 %f<8>;
	.reg .b64 %rd<8>;
	.reg .f64 %d<6>;
"""

# Right instructions, of which each is made wrong in several ways.
GOOD = """
	mov.u32 %r1, %tid.x;
	mov.b32 %f1, %r1;
	mov.b64 {%r2, %r3}, %rd1;
	mov.u64 %rd2, cells;
	mov.pred %p1, %p2;
	add.s32 %r1, %r2, %r3;
	add.f32 %f1, %f2, %f3;
	add.rn.f64 %d1, %d2, %d3;
	add.cc.u32 %r1, %r2, 5;
	addc.u32 %r1, %r2, %r3;
	sub.s64 %rd1, %rd2, 7;
	mul.lo.s32 %r1, %r2, %r3;
	mul.wide.u32 %rd1, %r2, %r3;
	mul.rn.f32 %f1, %f2, 0f3F800000;
	mad.lo.s32 %r1, %r2, %r3, %r4;
	mad.wide.s32 %rd1, %r2, %r3, %rd4;
	fma.rn.f32 %f1, %f2, %f3, %f4;
	fma.rn.f64 %d1, %d2, %d3, %d4;
	div.s32 %r1, %r2, %r3;
	div.rn.f32 %f1, %f2, %f3;
	rem.u32 %r1, %r2, %r3;
	abs.s32 %r1, %r2;
	neg.f32 %f1, %f2;
	min.u32 %r1, %r2, %r3;
	max.f32 %f1, %f2, %f3;
	sqrt.rn.f32 %f1, %f2;
	rsqrt.approx.f32 %f1, %f2;
	rcp.rn.f64 %d1, %d2;
	sin.approx.f32 %f1, %f2;
	ex2.approx.f32 %f1, %f2;
	popc.b32 %r1, %r2;
	clz.b64 %r1, %rd2;
	bfind.u32 %r1, %r2;
	brev.b32 %r1, %r2;
	bfe.u32 %r1, %r2, 3, 4;
	bfi.b32 %r1, %r2, %r3, 3, 4;
	prmt.b32 %r1, %r2, %r3, 0x5410;
	and.b32 %r1, %r2, 255;
	or.pred %p1, %p2, %p3;
	not.b64 %rd1, %rd2;
	lop3.b32 %r1, %r2, %r3, %r4, 0x96;
	shl.b32 %r1, %r2, 3;
	shr.s64 %rd1, %rd2, %r3;
	shf.l.wrap.b32 %r1, %r2, %r3, %r4;
	setp.lt.s32 %p1, %r2, %r3;
	setp.gt.f32 %p1|%p2, %f2, 0f00000000;
	setp.eq.and.u32 %p1, %r2, %r3, %p2;
	set.lt.u32.s32 %r1, %r2, %r3;
	selp.b32 %r1, %r2, %r3, %p1;
	slct.s32.s32 %r1, %r2, %r3, %r4;
	cvt.u64.u32 %rd1, %r2;
	cvt.rn.f32.s32 %f1, %r2;
	cvt.rzi.s32.f32 %r1, %f2;
	cvt.f64.f32 %d1, %f2;
	cvt.rn.f16.f32 %h1, %f2;
	cvta.to.global.u64 %rd1, %rd2;
	ld.param.u64 %rd1, [at];
	ld.global.u32 %r1, [%rd2+4];
	ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd2];
	ld.shared.u32 %r1, [tile+4];
	ld.const.u32 %r1, [table];
	st.global.f32 [%rd1], %f2;
	st.shared.v2.u32 [tile], {%r1, %r2};
	st.local.u32 [spill], %r1;
	atom.global.add.u32 %r1, [%rd2], %r3;
	atom.shared.cas.b32 %r1, [tile], %r3, %r4;
	red.global.add.f32 [%rd2], %f3;
	bar.sync 0;
	barrier.sync 1, 64;
	membar.gl;
	fence.acq_rel.gpu;
	shfl.sync.down.b32 %r1, %r2, 1, 31, -1;
	vote.sync.ballot.b32 %r1, %p1, -1;
	activemask.b32 %r1;
	dp4a.u32.u32 %r1, %r2, %r3, %r4;
	add.f16 %h1, %h2, %h3;
	fma.rn.f16x2 %r1, %r2, %r3, %r4;
	prefetch.global.L2 [%rd1];
	ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [tile];
	mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, %f4}, {%r1, %r2}, {%r3}, {%f1, %f2, %f3, %f4};
	cp.async.ca.shared.global [tile], [%rd1], 16;
	bra done;
	@%p1 bra done;
	@!%p1 add.s32 %r1, %r1, 1;
	call (out), twice, (in);
	trap;
	nanosleep.u32 100;
"""


def program(body="", version="8.7", target="sm_90", before="", params=".param .u64 at", attributes="", inside=""):
    return (HEAD.format(version=version, target=target) + ".global .align 4 .u32 cells[64];\n.const .align 4 .u32 table[4] = { 1, 2, 3, 4 };\n"
            ".shared .align 16 .b8 tile[64];\n.func (.param .b32 result) twice(.param .b32 number)\n{\n\t.reg .b32 %r<3>;\n"
            "\tld.param.b32 %r1, [number];\n\tadd.s32 %r2, %r1, %r1;\n\tst.param.b32 [result], %r2;\n\tret;\n}\n" + before +
            f".visible .entry k({params})\n{attributes}{{\n{REGISTERS}\t.local .align 4 .b8 spill[16];\n\t.param .b32 in, out;\n".replace(
                "\t.param .b32 in, out;\n", "\t.param .b32 in;\n\t.param .b32 out;\n") + inside + body + "done:\n\tret;\n}\n")


def split(line):
    """(guard and opcode, [operands]) of an instruction."""
    m = re.match(r"\s*((?:@!?%\w+ )?[\w.:]+)\s*(.*);", line)
    return m.group(1), re.findall(r"(?:\{[^}]*\}|\[[^\]]*\]|\([^)]*\)|[^,])+", m.group(2)) if m.group(2) else []


def join(op, operands):
    return f"\t{op} {', '.join(o.strip() for o in operands)};\n"


OTHER = {"%p1": "%r1", "%r1": "%rd1", "%rd1": "%r1", "%f1": "%d1", "%d1": "%f1", "%h1": "%r1"}


def replaced(operands, i, new):
    return operands[:i] + [new] + operands[i + 1:]


def other_width(register):
    """A register of another width; None: the operand is none."""
    m = re.match(r"^\s*(%(?:p|rd|r|f|d|h))(\d)\s*$", register)
    return OTHER[m.group(1) + "1"].rstrip("1") + m.group(2) if m else None


def mutations(line):
    """(what is wrong, line)."""
    op, operands = split(line)
    n = len(operands)
    yield "as it is", join(op, operands)
    yield "no semicolon", join(op, operands).replace(";", "")
    yield "unknown modifier", join(op + ".sideways", operands)
    yield "misspelt", join(op.replace(op.split(".")[0].split()[-1], op.split(".")[0].split()[-1] + "x", 1), operands)
    parts = op.split(".")
    for i in range(1, len(parts)):
        yield f"without .{parts[i]}", join(".".join(parts[:i] + parts[i + 1:]), operands)
        yield f".{parts[i]} twice", join(".".join(parts[:i + 1] + parts[i:]), operands)
    for new in ("u8", "f32", "b64", "s16", "pred", "f64"):
        if len(parts) > 1 and parts[-1] != new:
            yield f"type .{new}", join(".".join(parts[:-1] + [new]), operands)
    if n:
        yield "one operand less", join(op, operands[:-1])
        yield "one operand more", join(op, operands + ["%r9"])
        yield "backwards", join(op, operands[::-1])
    for i in range(n):
        yield f"operand {i + 1}: undeclared", join(op, replaced(operands, i, "%nobody"))
        yield f"operand {i + 1}: a label", join(op, replaced(operands, i, "done"))
        yield f"operand {i + 1}: 3", join(op, replaced(operands, i, "3"))
        yield f"operand {i + 1}: a float", join(op, replaced(operands, i, "0f40400000"))
        yield f"operand {i + 1}: in brackets", join(op, replaced(operands, i, f"[{operands[i].strip()}]"))
        if other_width(operands[i]):
            yield f"operand {i + 1}: other width", join(op, replaced(operands, i, other_width(operands[i])))
    yield "guard is no predicate", join("@%r5 " + re.sub(r"^@\S+ ", "", op), operands)


def by_hand():
    """(name, text[, options]): limits, declarations, directives, targets and versions."""
    def shared(n, used=True, name="big"):
        return dict(inside=f"\t.shared .align 4 .b8 {name}[{n}];\n", body=f"\tst.shared.u32 [{name}], %r1;\n" if used else "")

    for n in (1024, 49152 - 64, 49152, 49153, 65536, 100000, 232448, 1 << 20, 1 << 31, 1 << 33, 999999999999):
        yield f"shared {n}", program(**shared(n))
        yield f"shared {n}, not used", program(**shared(n, False))
        yield f"module's shared {n}", program(before=f".shared .align 4 .b8 big[{n}];\n", body="\tst.shared.u32 [big], %r1;\n")
        yield f"module's shared {n}, not used", program(before=f".shared .align 4 .b8 big[{n}];\n")
        if n < 1 << 31:  # NVIDIA's takes memory for all of it
            yield f"const {n}", program(before=f".const .align 4 .b8 big[{n}];\n", body="\tld.const.u32 %r1, [big];\n")
            yield f"const {n}, not used", program(before=f".const .align 4 .b8 big[{n}];\n")
        yield f"global {n}", program(before=f".global .align 4 .b8 big[{n}];\n", body="\tld.global.u32 %r1, [big];\n")
        yield f"local {n}", program(inside=f"\t.local .align 4 .b8 big[{n}];\n", body="\tst.local.u32 [big], %r1;\n")
        yield f"local {n}, not used", program(inside=f"\t.local .align 4 .b8 big[{n}];\n")
        if n < 1 << 31:
            yield f"parameter {n}", program(params=f".param .u64 at, .param .align 4 .b8 big[{n}]", body="\tld.param.u32 %r1, [big];\n")
    yield "two shared 30000", program(inside="\t.shared .b8 a[30000];\n\t.shared .b8 b[30000];\n", body="\tst.shared.u8 [a], %r1;\n\tst.shared.u8 [b], %r1;\n")
    yield "two const 40000", program(before=".const .b8 a[40000];\n.const .b8 b[40000];\n", body="\tld.const.u8 %r1, [a];\n\tld.const.u8 %r2, [b];\n")
    yield "shared by a function 60000", program(before=".shared .b8 big[60000];\n.func f()\n{\n\t.reg .b32 %r<2>;\n\tst.shared.u8 [big], %r1;\n\tret;\n}\n",
                                                body="\tcall f, ();\n")
    yield "shared by a function that nobody calls 60000", program(before=".shared .b8 big[60000];\n.func f()\n{\n\t.reg .b32 %r<2>;\n"
                                                                         "\tst.shared.u8 [big], %r1;\n\tret;\n}\n")
    yield "dynamic shared", program(before=".extern .shared .align 16 .b8 dynamic[];\n", body="\tst.shared.u32 [dynamic], %r1;\n")
    for n in (4088, 4089, 4096, 4352, 32756, 32757, 32764, 40000):
        for version, target in (("8.7", "sm_90"), ("8.0", "sm_90"), ("8.7", "sm_75")):
            yield f"parameters 8 + {n}, {version}, {target}", program(params=f".param .u64 at, .param .align 4 .b8 big[{n}]", version=version, target=target)
    for word in ("maxnreg", "maxntid", "reqntid", "minnctapersm", "maxnctapersm", "reqnctapercluster", "maxclusterrank"):
        for n in ("-1", "0", "1", "8", "9", "16", "17", "32", "255", "256", "257", "1024", "1025", "2048", "99999", "32, 32", "32, 33", "1, 1, 64", "1, 1, 65", "1, 2, 3, 4", ""):
            yield f".{word} {n}", program(attributes=f".{word} {n}\n")
    for a, b in ((".maxntid 64\n", ".reqntid 32\n"), (".maxntid 64\n", ".maxntid 32\n"), (".maxnreg 32\n", ".maxnreg 64\n"), (".reqntid 64\n", ".maxnreg 32\n"),
                 (".explicitcluster\n", ""), (".explicitcluster\n", ".reqnctapercluster 2\n"), (".reqnctapercluster 2\n", ".maxclusterrank 4\n"),
                 (".noreturn\n", ""), (".pragma \"nounroll\";\n", ""), (".pragma \"what\";\n", ""), (".minnctapersm 2\n", ".maxntid 64\n"),
                 (".minnctapersm 2\n", "")):
        yield f"{a.strip()} {b.strip()}", program(attributes=a + b)
    for align in (0, 1, 2, 3, 4, 6, 8, 16, 128, 256, 512, 1024, 4096, -4):
        for space in ("global", "shared", "const"):
            yield f".{space} .align {align}", program(before=f".{space} .align {align} .b32 x;\n", body=f"\tld.{space}.u32 %r1, [x];\n")
    yield ".align 2 of .u64", program(before=".global .align 2 .u64 x;\n", body="\tld.global.u64 %rd1, [x];\n")
    declarations = {
        "register twice": "\t.reg .b32 %r1;\n", "register of no type": "\t.reg %z;\n", "register of .b8": "\t.reg .b8 %z;\n", "register .b128": "\t.reg .b128 %z;\n",
        "label twice": "done:\n", "label as register": "%r1:\n", "variable twice": "\t.local .b8 spill[4];\n", "negative size": "\t.local .b8 z[-4];\n",
        "no size": "\t.local .b8 z[];\n", "size 0": "\t.local .b8 z[0];\n", "parameter as register": "\t.reg .b32 at;\n", "vector register": "\t.reg .v4 .f32 %v;\n",
        "registers <0>": "\t.reg .b32 %z<0>;\n", "registers <-1>": "\t.reg .b32 %z<-1>;\n", "registers <100000>": "\t.reg .b32 %z<100000>;\n",
        "entry in an entry": ".entry inner()\n{\n\tret;\n}\n", "global in a kernel": "\t.global .b32 z;\n", "const in a kernel": "\t.const .b32 z;\n",
        "version again": ".version 8.0\n", "unknown directive": "\t.sideways 3;\n", "shared with a value": "\t.shared .b32 z = 3;\n", "empty statement": "\t;\n",
        "block not closed": "\t{\n", "block closed twice": "\t}\n\t}\n", "string": "\t\"hello\";\n", "loc without file": "\t.loc 7 1 1\n",
        "register out of its block": "\t{ .reg .b32 %z; }\n\tmov.u32 %z, 1;\n", "label in another block": "\t{ inside: }\n\tbra inside;\n",
        "branch out of a block": "\t{ bra done; }\n", "table of branches": "\tall: .branchtargets done, nowhere;\n\tbrx.idx %r1, all;\n",
    }
    for name, inside in declarations.items():
        yield f"declared: {name}", program(inside=inside)
    lines = {
        "unknown special register": "mov.u32 %r1, %tid.w;", "write to a special register": "mov.u32 %tid.x, %r1;", "tid as a vector": "mov.v4.u32 {%r1,%r2,%r3,%r4}, %tid;",
        "unknown parameter": "ld.param.u64 %rd1, [nothing];", "behind the parameter": "ld.param.u64 %rd1, [at+8];", "before the parameter": "ld.param.u64 %rd1, [at-8];",
        "misaligned parameter": "ld.param.u64 %rd1, [at+4];", "write to a parameter": "st.param.u64 [at], %rd1;", "write to const": "st.const.u32 [table], %r1;",
        "shared as global": "ld.global.u32 %r1, [tile];", "global as shared": "ld.shared.u32 %r1, [cells];", "behind an array": "ld.global.u32 %r1, [cells+256];",
        "misaligned": "ld.global.u32 %r1, [cells+2];", "misaligned vector": "ld.global.v2.u32 {%r1, %r2}, [cells+4];", "v3": "ld.global.v3.u32 {%r1, %r2, %r3}, [%rd1];",
        "v8": "ld.global.v8.u32 {%r1,%r2,%r3,%r4,%r5,%r6,%r7,%r8}, [%rd1];", "v4 of 64": "ld.global.v4.u64 {%rd1,%rd2,%rd3,%rd4}, [%rd1];",
        "32-bit address": "ld.global.u32 %r1, [%r2];", "32-bit address of shared": "ld.shared.u32 %r1, [%r2];", "64-bit address of shared": "ld.shared.u32 %r1, [%rd2];",
        "bar 16": "bar.sync 16;", "bar 0, 33": "bar.sync 0, 33;", "bar 0, 2048": "bar.sync 0, 2048;", "bar -1": "bar.sync -1;", "div without mode": "div.f32 %f1, %f2, %f3;",
        "sqrt without mode": "sqrt.f32 %f1, %f2;", "ex2 rn": "ex2.rn.f32 %f1, %f2;", "f64 approx": "sin.approx.f64 %d1, %d2;", "ftz of f64": "add.ftz.f64 %d1, %d2, %d3;",
        "sat of an integer": "add.sat.u32 %r1, %r2, %r3;", "sat of s32": "add.sat.s32 %r1, %r2, %r3;", "mul of 32 without half": "mul.u32 %r1, %r2, %r3;",
        "shift by 64 bits": "shl.b32 %r1, %r2, %rd3;", "shift type": "shl.u32 %r1, %r2, 3;", "and type": "and.u32 %r1, %r2, %r3;", "add type": "add.b32 %r1, %r2, %r3;",
        "min b32": "min.b32 %r1, %r2, %r3;", "neg u32": "neg.u32 %r1, %r2;", "abs u32": "abs.u32 %r1, %r2;", "popc u32": "popc.u32 %r1, %r2;",
        "cvt f16 without mode": "cvt.f16.f32 %h1, %f2;", "cvt int with mode": "cvt.rn.u32.s32 %r1, %r2;", "cvt to f32 of f64 without mode": "cvt.f32.f64 %f1, %d2;",
        "cvt to int without mode": "cvt.s32.f32 %r1, %f2;", "cvt to int rn": "cvt.rn.s32.f32 %r1, %f2;", "cvt rni same": "cvt.rni.f32.f32 %f1, %f2;",
        "cvt same type": "cvt.f32.f32 %f1, %f2;", "cvt sat": "cvt.sat.u8.u32 %h1, %r2;", "shfl without sync": "shfl.down.b32 %r1, %r2, 1, 31;",
        "vote without sync": "vote.ballot.b32 %r1, %p1;", "atom f16": "atom.global.add.f16 %h1, [%rd1], %h2;", "atom f16 noftz": "atom.global.add.noftz.f16 %h1, [%rd1], %h2;",
        "atom u8": "atom.global.add.u8 %h1, [%rd1], %h2;", "atom s64": "atom.global.add.s64 %rd1, [%rd2], %rd3;", "atom u64": "atom.global.add.u64 %rd1, [%rd2], %rd3;",
        "atom sub": "atom.global.sub.u32 %r1, [%rd1], %r2;", "atom const": "atom.const.add.u32 %r1, [table], %r2;", "red cas": "red.global.cas.b32 [%rd1], %r1, %r2;",
        "atom min f32": "atom.global.min.f32 %f1, [%rd1], %f2;", "atom and u32": "atom.global.and.u32 %r1, [%rd1], %r2;", "cas u32": "atom.global.cas.u32 %r1, [%rd1], %r2, %r3;",
        "ld acquire without scope": "ld.acquire.global.u32 %r1, [%rd1];", "ld volatile cached": "ld.volatile.global.ca.u32 %r1, [%rd1];", "st nc": "st.global.nc.u32 [%rd1], %r1;",
        "ld nc of shared": "ld.shared.nc.u32 %r1, [tile];", "ld wt": "ld.global.wt.u32 %r1, [%rd1];", "st wt": "st.global.wt.u32 [%rd1], %r1;", "ld pred": "ld.global.pred %p1, [%rd1];",
        "cp.async 5": "cp.async.ca.shared.global [tile], [%rd1], 5;", "cp.async cg 8": "cp.async.cg.shared.global [tile], [%rd1], 8;", "cp.async more": "cp.async.ca.shared.global [tile], [%rd1], 4, 8;",
        "cp.async into global": "cp.async.ca.global.shared [%rd1], [tile], 4;", "call with too many": "call (out), twice, (in, in);", "call with too few": "call (out), twice;",
        "call without result": "call twice, (in);", "call of nobody": "call nobody, ();", "call of a variable": "call cells, ();", "call of itself": "call k, (at);",
        "call by a register": "call (out), %rd1, (in);", "label without end": "here:", "register pair of another width": "mov.b64 {%r1, %rd2}, %rd3;", "vector in mov": "mov.b64 {%r1, %r2, %r3}, %rd3;",
        "lut 256": "lop3.b32 %r1, %r2, %r3, %r4, 256;", "lut -1": "lop3.b32 %r1, %r2, %r3, %r4, -1;", "bfe of f32": "bfe.u32 %r1, %f2, 1, 2;", "f32 register as u32": "add.u32 %r1, %f2, %r3;",
        "b32 register as f32": "add.f32 %f1, %r2, %f3;", "s32 as u32": "add.u32 %r1, %r2, -3;", "large immediate": "add.u32 %r1, %r2, 0x1ffffffff;", "64-bit immediate": "add.u64 %rd1, %rd2, 0x1ffffffff;",
        "immediate 16": "mov.u16 %h1, 70000;", "int immediate for f32": "add.f32 %f1, %f2, 3;", "float immediate for u32": "add.u32 %r1, %r2, 1.5;", "decimal float": "add.f32 %f1, %f2, 1.5;",
        "f64 immediate for f32": "add.f32 %f1, %f2, 0d3FF0000000000000;", "f32 immediate for f64": "add.f64 %d1, %d2, 0f3F800000;", "too short hex float": "mov.f32 %f1, 0f3F8;",
        "bad number": "mov.u32 %r1, 0x;", "octal 8": "mov.u32 %r1, 08;", "character": "mov.u32 %r1, 'a';", "constant expression": "mov.u32 %r1, 3 + 4 * (2 - 1);", "division by zero": "mov.u32 %r1, 3 / 0;",
        "two guards": "@%p1 @%p2 add.s32 %r1, %r2, %r3;", "guard undeclared": "@%nobody bra done;", "not a statement": "%r1 = %r2 + 3;", "discard address": "discard.global.L2 [%rd1], 100;",
        "redux f32": "redux.sync.add.f32 %f1, %f2, -1;", "redux": "redux.sync.add.s32 %r1, %r2, -1;", "match": "match.any.sync.b32 %r1, %r2, -1;", "isspacep": "isspacep.global %p1, %rd1;",
        "elect": "elect.sync %r1|%p1, -1;", "mapa": "mapa.u64 %rd1, %rd2, 1;", "griddepcontrol": "griddepcontrol.wait;", "setmaxnreg": "setmaxnreg.inc.sync.aligned.u32 64;",
        "setmaxnreg 33": "setmaxnreg.inc.sync.aligned.u32 33;", "brkpt": "brkpt;", "pmevent 16": "pmevent 16;", "pmevent": "pmevent 3;", "nanosleep of a label": "nanosleep.u32 done;",
        "mbarrier": "mbarrier.init.shared.b64 [tile], 4;", "mbarrier 32": "mbarrier.init.shared.b32 [tile], 4;", "fns": "fns.b32 %r1, %r2, 0, 1;", "copysign": "copysign.f32 %f1, %f2, %f3;",
        "testp": "testp.finite.f32 %p1, %f2;", "testp s32": "testp.finite.s32 %p1, %r2;", "mul24": "mul24.lo.u32 %r1, %r2, %r3;", "sad": "sad.u32 %r1, %r2, %r3, %r4;", "szext": "szext.clamp.s32 %r1, %r2, 3;",
        "bmsk": "bmsk.clamp.b32 %r1, %r2, 3;", "tanh": "tanh.approx.f32 %f1, %f2;", "istypep": "istypep.texref %p1, %rd1;", "alloca": "alloca.u64 %rd1, 16;", "stacksave": "stacksave.u64 %rd1;",
        "prefetch": "prefetch.shared.L1 [tile];", "prefetchu": "prefetchu.L1 [%rd1];", "exit with operand": "exit 3;", "ret with operand": "ret %r1;", "vadd": "vadd.s32.s32.s32 %r1, %r2, %r3;",
        "mma of wrong count": "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f1,%f2,%f3}, {%r1,%r2}, {%r3}, {%f1,%f2,%f3,%f4};",
        "mma of wrong shape": "mma.sync.aligned.m16n8k9.row.col.f32.f16.f16.f32 {%f1,%f2,%f3,%f4}, {%r1,%r2}, {%r3}, {%f1,%f2,%f3,%f4};",
        "mma col row": "mma.sync.aligned.m16n8k8.col.row.f32.f16.f16.f32 {%f1,%f2,%f3,%f4}, {%r1,%r2}, {%r3}, {%f1,%f2,%f3,%f4};",
        "ldmatrix x3": "ldmatrix.sync.aligned.m8n8.x3.shared.b16 {%r1,%r2,%r3}, [tile];", "ldmatrix count": "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r1}, [tile];",
        "wgmma fence": "wgmma.fence.sync.aligned;", "tensor map": "cp.async.bulk.commit_group;", "bulk": "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%rd1], 24, [tile];",
        "max3": "max.f32 %f1, %f2, %f3, %f4;", "bf16": "add.rn.bf16 %h1, %h2, %h3;", "fma bf16": "fma.rn.bf16 %h1, %h2, %h3, %h4;", "f16 min": "min.f16 %h1, %h2, %h3;", "e4m3": "cvt.rn.satfinite.e4m3x2.f32 %h1, %f2, %f3;",
        "tcgen05": "tcgen05.fence::before_thread_sync;", "st.async": "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r1], %r2, [%r3];", "cluster": "barrier.cluster.arrive;", "cluster rank": "mov.u32 %r1, %cluster_ctarank;",
        "createpolicy": "createpolicy.fractional.L2::evict_last.b64 %rd1, 0.5;", "cache hint": "ld.global.L2::cache_hint.u32 %r1, [%rd1], %rd2;", "applypriority": "applypriority.global.L2::evict_normal [%rd1], 128;",
        "multimem": "multimem.ld_reduce.global.add.u32 %r1, [%rd1];", "add.f32x2": "add.rn.f32x2 %rd1, %rd2, %rd3;", "ld 256": "ld.global.v8.b32 {%r1,%r2,%r3,%r4,%r5,%r6,%r7,%r8}, [%rd1];", "b128": "mov.b128 %rd1, {%rd2, %rd3};",
    }
    for name, line in lines.items():
        yield f"line: {name}", program(body=f"\t{line}\n")
        for version, target in (("8.7", "sm_75"), ("8.7", "sm_80"), ("6.3", "sm_75"), ("8.7", "sm_120"), ("8.7", "sm_90a")):
            yield f"line: {name}, {version}, {target}", program(body=f"\t{line}\n", version=version, target=target)
    for version in ("0.9", "1.0", "3.2", "5.0", "6.0", "6.3", "7.0", "7.8", "8.0", "8.6", "8.7", "8.8", "9.0", "9.9", "10.0", "99.9", "8", "x", "8.7.1", "-8.7"):
        for target in ("sm_75", "sm_90", "sm_100"):
            yield f".version {version} .target {target}", program(version=version, target=target)
    for target in ("sm_20", "sm_50", "sm_71", "sm_75", "sm_76", "sm_80, sm_90", "sm_90a", "sm_90f", "sm_100a", "sm_100f", "sm_103f", "sm_120a", "sm_121", "sm_130", "sm_999", "compute_90", "sm_", "90",
                   "sm_90, debug", "sm_90, texmode_independent", "sm_90, texmode_unified", "sm_90, sideways", "sm_90 sm_80", ""):
        yield f".target {target}", program(target=target)
        yield f".target {target} for sm_120", program(target=target), "sm_120"
    body = program()
    for name, text in {
            "no version": body.split("\n", 1)[1], "no target": body.replace(".target sm_90\n", ""), "no address size": body.replace(".address_size 64\n", ""),
            "address size 32": body.replace("size 64", "size 32"), "address size 48": body.replace("size 64", "size 48"), "target first": ".target sm_90\n.version 8.7\n.address_size 64\n" + body.split("\n", 3)[3],
            "empty": "", "only a comment": "// nothing\n", "only a head": HEAD.format(version="8.7", target="sm_90"), "not closed": body.rsplit("}", 1)[0], "closed twice": body + "}\n",
            "comment not closed": body + "/* so\n", "rubbish behind": body + "hello\n", "the kernel twice": body + body[body.index(".visible .entry"):], "NUL": body.replace("ret;", "ret;\0", 1),
            "no kernel name": body.replace(".entry k(", ".entry ("), "kernel with a result": body.replace(".entry k(", ".entry (.param .b32 r) k("), "register as parameter": body.replace(".param .u64 at", ".reg .u64 at"),
            "parameter twice": body.replace(".param .u64 at", ".param .u64 at, .param .u64 at"), "parameter .pred": body.replace(".param .u64 at", ".param .pred at"), "parameter .u8": body.replace(".param .u64 at", ".param .u8 at"),
            "parameter without space": body.replace(".param .u64 at", ".u64 at"), "parameter ptr": body.replace(".param .u64 at", ".param .u64 .ptr .global .align 4 at"),
            "kernel declared": body + ".visible .entry other(.param .u64 at);\n", "extern function": program(before=".extern .func f();\n"), "extern function called": program(before=".extern .func f();\n", body="\tcall f, ();\n"),
            "extern variable": program(before=".extern .global .b32 z;\n"), "extern variable used": program(before=".extern .global .b32 z;\n", body="\tld.global.u32 %r1, [z];\n"),
            "function declared": program(before=".func f();\n"), "function declared and called": program(before=".func f();\n", body="\tcall f, ();\n"), "weak": program(before=".weak .global .b32 z;\n"),
            "visible and extern": program(before=".visible .extern .global .b32 z;\n"), "function as the kernel": program(before=".func k()\n{\n\tret;\n}\n"), "variable as the kernel": program(before=".global .b32 k;\n"),
            "prototype differs": program(before=".func f(.param .b32 a);\n.func f(.param .b64 a)\n{\n\tret;\n}\n"), "function without ret": program(before=".func f()\n{\n}\n"), "kernel without ret": body.replace("done:\n\tret;\n", "done:\n"),
            "values too many": program(before=".global .b32 z[2] = { 1, 2, 3 };\n"), "values too few": program(before=".global .b32 z[4] = { 1, 2 };\n"), "value of a name": program(before=".global .b64 z = cells;\n"),
            "value of a 32-bit name": program(before=".global .b32 z = cells;\n"), "value of nobody": program(before=".global .b64 z = nobody;\n"), "value is a float": program(before=".global .b32 z = 1.5;\n"),
            "float is an integer": program(before=".global .f32 z = 1;\n"), "value too large": program(before=".global .b8 z = 300;\n"), "value in braces": program(before=".global .b32 z = { 1 };\n"),
            "values without braces": program(before=".global .b32 z[2] = 1, 2;\n"), "two of a line": program(before=".global .b32 y, z;\n"), "shared with a value": program(before=".shared .b32 z = 3;\n"),
            "register at the module": program(before=".reg .b32 %z;\n"), "local at the module": program(before=".local .b32 z;\n"), "param at the module": program(before=".param .b32 z;\n"),
            "const of a function's address": program(before=".const .b64 z = twice;\n"), "managed": program(before=".global .attribute(.managed) .b32 z;\n"), "attribute unknown": program(before=".global .attribute(.sideways) .b32 z;\n"),
            "alias": program(before=".weak .func f();\n.alias f, twice;\n"), "alias of nobody": program(before=".weak .func f();\n.alias f, nobody;\n"), "section": program(before=".section .debug_str { .b8 1 }\n"),
            "file": program(before=".file 1 \"a.cu\"\n", body="\t.loc 1 1 1\n\tmov.u32 %r1, 3;\n"), "name begins with a digit": program(before=".global .b32 1z;\n"), "name of a percent": program(before=".global .b32 %;\n"),
            "texture reference": program(before=".global .texref t;\n"), "array of textures": program(before=".global .texref t[2];\n"), "tensor map": program(before=".global .align 64 .b8 m[128];\n"),
            "uses of one register": program(body="\tmov.u32 %r11, %r10;\n"), "register behind the last": program(body="\tmov.u32 %r12, 1;\n"), "long line": program(body="\tadd.u32 %r1, %r2, " + "(" * 500 + "1" + ")" * 500 + ";\n"),
            "branch into another function": program(before=".func f()\n{\n\tbra done;\n}\n"), "parameters of a function of 8192 bytes": program(before=".func f(.param .b8 a[8192])\n{\n\tret;\n}\n"),
    }.items():
        yield f"text: {name}", text


def cases():
    for case in by_hand():
        yield case[0], case[1], case[2] if len(case) > 2 else None
    for line in GOOD.strip("\n").split("\n"):
        for what, wrong in mutations(line):
            yield f"{line.strip()} | {what}", program(body=wrong), None
