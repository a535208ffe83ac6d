/*
 * device_runtime.c: functions of the runtime library in kernels (libcudadevrt) that PTX can express: the grid's barrier
 * by its handle, and memory of the device's heap. A program that declares one and does not define it gets this text.
 *
 * Sources: the declarations in the toolkit's cuda_device_runtime_api.h; the programming guide says that memory which a
 * kernel takes by cudaMalloc comes of the heap of its malloc. The grid's barrier is two words of the workspace whose
 * address is the handle: who arrives counts, the last one changes the second word, for which the others wait. The
 * words are not those of the barrier that the toolkit's headers have inline.
 */
#include "softdev/ptx/text.h"

#include <string.h>

#define INVALID_VALUE "1" /* cudaErrorInvalidValue */
#define NO_MEMORY "2"	  /* cudaErrorMemoryAllocation */
#define COUNT "32"	  /* in the workspace */
#define PHASE "36"
#define RESULT "(.param .b32 r)"

#define SYNCHRONIZE(name)                                                                                              \
	".weak .func " RESULT " " name "(.param .b64 handle, .param .b32 flags)\n"                                     \
	"{\n"                                                                                                          \
	".reg .pred %p<4>;\n.reg .b32 %r<12>;\n.reg .b64 %h;\n"                                                        \
	"ld.param.u64 %h, [handle];\n"                                                                                 \
	"mov.u32 %r0, " INVALID_VALUE ";\n"                                                                            \
	"setp.eq.u64 %p0, %h, 0;\n"                                                                                    \
	"@%p0 bra done;\n"                                                                                             \
	"barrier.sync 0;\n"                                                                                            \
	"mov.u32 %r1, %tid.x;\nmov.u32 %r2, %tid.y;\nmov.u32 %r3, %tid.z;\n"                                           \
	"or.b32 %r1, %r1, %r2;\nor.b32 %r1, %r1, %r3;\n"                                                               \
	"setp.ne.u32 %p1, %r1, 0;\n"                                                                                   \
	"@%p1 bra arrived;\n"                                                                                          \
	"mov.u32 %r4, %nctaid.x;\nmov.u32 %r5, %nctaid.y;\nmov.u32 %r6, %nctaid.z;\n"                                  \
	"mul.lo.u32 %r4, %r4, %r5;\nmul.lo.u32 %r4, %r4, %r6;\nsub.u32 %r4, %r4, 1;\n"                                 \
	"fence.sc.gpu;\n"                                                                                              \
	"ld.volatile.u32 %r7, [%h+" PHASE "];\n"                                                                       \
	"atom.inc.u32 %r8, [%h+" COUNT "], %r4;\n"                                                                     \
	"setp.eq.u32 %p2, %r8, %r4;\n"                                                                                 \
	"@%p2 bra last;\n"                                                                                             \
	"wait:\n"                                                                                                      \
	"ld.volatile.u32 %r9, [%h+" PHASE "];\n"                                                                       \
	"setp.eq.u32 %p3, %r9, %r7;\n"                                                                                 \
	"@%p3 bra wait;\n"                                                                                             \
	"bra fenced;\n"                                                                                                \
	"last:\n"                                                                                                      \
	"atom.add.u32 %r9, [%h+" PHASE "], 1;\n"                                                                       \
	"fenced:\n"                                                                                                    \
	"fence.sc.gpu;\n"                                                                                              \
	"arrived:\n"                                                                                                   \
	"barrier.sync 0;\n"                                                                                            \
	"mov.u32 %r0, 0;\n"                                                                                            \
	"done:\n"                                                                                                      \
	"st.param.b32 [r], %r0;\nret;\n"                                                                               \
	"}\n"

/* Stores a number of threads and, as the second, `grids`. */
#define TELL(name, threads, grids)                                                                                     \
	".weak .func " RESULT " " name "(.param .b64 first, .param .b64 second, .param .b64 handle)\n"                 \
	"{\n"                                                                                                          \
	".reg .pred %p<4>;\n.reg .b32 %r<32>;\n.reg .b64 %h, %a, %b;\n"                                                \
	"ld.param.u64 %a, [first];\nld.param.u64 %b, [second];\nld.param.u64 %h, [handle];\n"                          \
	"mov.u32 %r0, " INVALID_VALUE ";\n"                                                                            \
	"setp.eq.u64 %p0, %h, 0;\n"                                                                                    \
	"@%p0 bra done;\n" threads "setp.ne.u64 %p1, %a, 0;\nsetp.ne.u64 %p2, %b, 0;\n"                                \
	"@%p1 st.u32 [%a], %r1;\nmov.u32 %r2, " grids ";\n@%p2 st.u32 [%b], %r2;\n"                                    \
	"mov.u32 %r0, 0;\n"                                                                                            \
	"done:\n"                                                                                                      \
	"st.param.b32 [r], %r0;\nret;\n"                                                                               \
	"}\n"

#define PRODUCT(to, of)                                                                                                \
	"mov.u32 " to ", %" of ".x;\nmov.u32 %r20, %" of ".y;\nmul.lo.u32 " to ", " to ", %r20;\n"                     \
	"mov.u32 %r20, %" of ".z;\nmul.lo.u32 " to ", " to ", %r20;\n"
/* x + size.x * (y + size.y * z) */
#define RANK(to, of, size)                                                                                             \
	"mov.u32 " to ", %" of ".z;\nmov.u32 %r20, %" size ".y;\nmov.u32 %r21, %" of ".y;\n"                           \
	"mad.lo.u32 " to ", " to ", %r20, %r21;\nmov.u32 %r20, %" size ".x;\nmov.u32 %r21, %" of ".x;\n"               \
	"mad.lo.u32 " to ", " to ", %r20, %r21;\n"

#define MALLOC(name)                                                                                                   \
	".weak .func " RESULT " " name "(.param .b64 to, .param .b64 bytes)\n"                                         \
	"{\n"                                                                                                          \
	".reg .pred %p<2>;\n.reg .b32 %r;\n.reg .b64 %to, %a, %n;\n.param .b64 n;\n.param .b64 a;\n"                   \
	"ld.param.u64 %to, [to];\nld.param.u64 %n, [bytes];\n"                                                         \
	"mov.u32 %r, " INVALID_VALUE ";\n"                                                                             \
	"setp.eq.u64 %p0, %to, 0;\n"                                                                                   \
	"@%p0 bra done;\n"                                                                                             \
	"st.param.b64 [n], %n;\n"                                                                                      \
	"call.uni (a), malloc, (n);\n"                                                                                 \
	"ld.param.b64 %a, [a];\n"                                                                                      \
	"st.u64 [%to], %a;\n"                                                                                          \
	"setp.eq.u64 %p1, %a, 0;\n"                                                                                    \
	"selp.u32 %r, " NO_MEMORY ", 0, %p1;\n"                                                                        \
	"done:\n"                                                                                                      \
	"st.param.b32 [r], %r;\nret;\n"                                                                                \
	"}\n"

#define FREE(name)                                                                                                     \
	".weak .func " RESULT " " name "(.param .b64 what)\n"                                                          \
	"{\n"                                                                                                          \
	".reg .b64 %a;\n.param .b64 a;\n"                                                                              \
	"ld.param.u64 %a, [what];\nst.param.b64 [a], %a;\n"                                                            \
	"call.uni free, (a);\n"                                                                                        \
	"st.param.b32 [r], 0;\nret;\n"                                                                                 \
	"}\n"

static const char functions[] =
	".version 7.0\n.target sm_50\n.address_size 64\n"
	".extern .func (.param .b64 a) malloc (.param .b64 n);\n"
	".extern .func free (.param .b64 a);\n"
	/* The only scope is the grid's, 1; a launch that is not cooperative has no workspace. */
	".weak .func (.param .b64 h) cudaCGGetIntrinsicHandle(.param .b32 scope)\n"
	"{\n"
	".reg .pred %p;\n.reg .b32 %r<4>;\n.reg .b64 %h;\n"
	"ld.param.u32 %r0, [scope];\n"
	"mov.u32 %r1, %envreg2;\nmov.u32 %r2, %envreg1;\nmov.b64 %h, {%r1, %r2};\n"
	"setp.eq.u32 %p, %r0, 1;\n"
	"selp.b64 %h, %h, 0, %p;\n"
	"st.param.b64 [h], %h;\nret;\n"
	"}\n" SYNCHRONIZE("cudaCGSynchronize") SYNCHRONIZE("cudaCGSynchronizeGrid") TELL(
		"cudaCGGetSize", PRODUCT("%r1", "nctaid") PRODUCT("%r3", "ntid") "mul.lo.u32 %r1, %r1, %r3;\n", "1")
		TELL("cudaCGGetRank",
		     RANK("%r1", "ctaid", "nctaid") PRODUCT("%r3", "ntid")
			     RANK("%r4", "tid", "ntid") "mad.lo.u32 %r1, %r1, %r3, %r4;\n",
		     "0") MALLOC("cudaMalloc") MALLOC("__cudaCDP2Malloc") FREE("cudaFree") FREE("__cudaCDP2Free");

static const struct ptx_text text = { functions, sizeof(functions) - 1 };

static const char *const name[] = { "cudaCGGetIntrinsicHandle",
				    "cudaCGSynchronize",
				    "cudaCGSynchronizeGrid",
				    "cudaCGGetSize",
				    "cudaCGGetRank",
				    "cudaMalloc",
				    "__cudaCDP2Malloc",
				    "cudaFree",
				    "__cudaCDP2Free" };

const struct ptx_text *device_runtime_text(const struct program *p)
{
	for (const struct symbol *s = p->function; s; s = s->next)
		for (size_t i = 0; !s->body && i < sizeof(name) / sizeof(name[0]); i++)
			if (name_is(s->name, name[i]))
				return &text;
	return NULL;
}
