/*
 * rows_mem.h: memory, atomics, warp-wide instructions, control. Read twice by rows.h. The rows with a % in front are
 * what forms.c chooses when it has seen the operands; the plain names above them say what may be written.
 */

RF("{ld,ldu}.{b8,u8,s8,b16,u16,s16,f16,bf16,b32,u32,s32,f32,f16x2,b64,u64,s64,f64,b128}", FORM_LD, 0)
RF("st.async.{b8,b16,b32,b64}", FORM_ST, 0) /* with release, which the decoder takes out: done when it is issued */
RF("st.{b8,u8,s8,b16,u16,s16,f16,bf16,b32,u32,s32,f32,f16x2,b64,u64,s64,f64,b128}", FORM_ST, 0)
#define LOAD_ROW(t)                                                                                                    \
	RH("%ld." #t, ld_##t##_1, FORM_INTERNAL, 0)                                                                    \
	RH("%ld.shared." #t, lds_##t##_1, FORM_INTERNAL, 0)                                                            \
	RH("%ld.kparam." #t, ldk_##t##_1, FORM_INTERNAL, 0)                                                            \
	RH("%ld.frame." #t, ldf_##t##_1, FORM_INTERNAL, 0)
#define LOAD_ROWS(t)                                                                                                  \
	LOAD_ROW(t)                                                                                                    \
	RH("%ld.v2." #t, ld_##t##_2, FORM_INTERNAL, 0)                                                                 \
	RH("%ld.v4." #t, ld_##t##_4, FORM_INTERNAL, 0)                                                                 \
	RH("%ld.shared.v2." #t, lds_##t##_2, FORM_INTERNAL, 0)                                                         \
	RH("%ld.shared.v4." #t, lds_##t##_4, FORM_INTERNAL, 0)                                                         \
	RH("%ld.kparam.v2." #t, ldk_##t##_2, FORM_INTERNAL, 0)                                                         \
	RH("%ld.kparam.v4." #t, ldk_##t##_4, FORM_INTERNAL, 0)                                                         \
	RH("%ld.frame.v2." #t, ldf_##t##_2, FORM_INTERNAL, 0)                                                          \
	RH("%ld.frame.v4." #t, ldf_##t##_4, FORM_INTERNAL, 0)
#define STORE_ROW(t)                                                                                                   \
	RH("%st." #t, st_##t##_1, FORM_INTERNAL, 0)                                                                    \
	RH("%st.shared." #t, sts_##t##_1, FORM_INTERNAL, 0)                                                            \
	RH("%st.frame." #t, stf_##t##_1, FORM_INTERNAL, 0)
#define STORE_ROWS(t)                                                                                                 \
	STORE_ROW(t)                                                                                                   \
	RH("%st.v2." #t, st_##t##_2, FORM_INTERNAL, 0)                                                                 \
	RH("%st.v4." #t, st_##t##_4, FORM_INTERNAL, 0)                                                                 \
	RH("%st.shared.v2." #t, sts_##t##_2, FORM_INTERNAL, 0)                                                         \
	RH("%st.shared.v4." #t, sts_##t##_4, FORM_INTERNAL, 0)                                                         \
	RH("%st.frame.v2." #t, stf_##t##_2, FORM_INTERNAL, 0)                                                          \
	RH("%st.frame.v4." #t, stf_##t##_4, FORM_INTERNAL, 0)
EACH_WIDTH(LOAD_ROWS, STORE_ROWS)
LOAD_ROW(b128)
STORE_ROW(b128)

#define STRONG_ROWS(t)                                                                                                \
	RH("%ld.strong." #t, ldv_##t##_1, FORM_INTERNAL, 0)                                                            \
	RH("%ld.strong.v2." #t, ldv_##t##_2, FORM_INTERNAL, 0)                                                         \
	RH("%ld.strong.v4." #t, ldv_##t##_4, FORM_INTERNAL, 0)                                                         \
	RH("%st.strong." #t, stv_##t##_1, FORM_INTERNAL, 0)                                                            \
	RH("%st.strong.v2." #t, stv_##t##_2, FORM_INTERNAL, 0)                                                         \
	RH("%st.strong.v4." #t, stv_##t##_4, FORM_INTERNAL, 0)
EACH_STRONG(STRONG_ROWS)

RF("cvta.{u64,s64,b64}", FORM_CVTA, 0)
RF("isspacep", FORM_ISSPACEP, 0)
RH("%isspacep", isspacep, FORM_INTERNAL, 0)
R1("%cvta.shared.u64", cvta_shared, u64, u64, a + (u64)(uintptr_t)w->block->shared)
R1("%cvta.to.shared.u64", cvta_to_shared, u64, u64, a - (u64)(uintptr_t)w->block->shared)
RH("%local_address.b64", local_address, FORM_INTERNAL, 0)
RH("%param_address.b64", param_address, FORM_INTERNAL, 0)
/* 32-bit addresses of local memory and parameters, which only compilers with short pointers write. */
RH("%local_offset.b32", local_offset, FORM_INTERNAL, 0)
R1("%local_widen.u64", local_widen, u64, u64, a < w->local_stride ? local_begin(w, i) + a : a)
R1("%local_widen.b32", local_widen_32, u64, u32,
   local_begin(w, i) + (a < w->local_stride ? a : (u32)(a - (u32)local_begin(w, i))))
R1("%param_widen.u64", param_widen, u64, u64, a < w->block->launch->kernel->param_bytes ? params_begin(w) + a : a)
R1("%param_widen.b32", param_widen_32, u64, u32,
   params_begin(w) + (a < w->block->launch->kernel->param_bytes ? a : (u32)(a - (u32)params_begin(w))))
RH("%dynamic_shared.b32", dynamic_shared, FORM_INTERNAL, 0)
RH("%special.b32", special_32, FORM_INTERNAL, 0)
RH("%special.b64", special_64, FORM_INTERNAL, 0)

/* d, [a], b {, c}: for each operation the spelling, its red, and the two rows that run. */
#define ATOM(op, fn, count, t)                                                                                        \
	RF("atom." op, FORM_ATOM, count, t, t, t)                                                                      \
	RF("red." op, FORM_RED, count, t, t, t)                                                                        \
	RH("%atom." op, fn, FORM_INTERNAL, 0)                                                                          \
	RH("%atom.shared." op, fn##_shared, FORM_INTERNAL, 0)
ATOM("add.{u32,s32}", atom_add_32, 2, TY_u32)
ATOM("add.{u64,s64}", atom_add_64, 2, TY_u64)
ATOM("add.f32", atom_add_f32, 2, TY_f32)
ATOM("add.f64", atom_add_f64, 2, TY_f64)
ATOM("add.f16", atom_add_f16, 2, TY_f16)
ATOM("add.bf16", atom_add_bf16, 2, TY_bf16)
ATOM("add.f16x2", atom_add_f16x2, 2, TY_f16x2)
ATOM("add.bf16x2", atom_add_bf16x2, 2, TY_bf16x2)
ATOM("min.u32", atom_min_u32, 2, TY_u32)
ATOM("min.s32", atom_min_s32, 2, TY_s32)
ATOM("min.u64", atom_min_u64, 2, TY_u64)
ATOM("min.s64", atom_min_s64, 2, TY_s64)
ATOM("max.u32", atom_max_u32, 2, TY_u32)
ATOM("max.s32", atom_max_s32, 2, TY_s32)
ATOM("max.u64", atom_max_u64, 2, TY_u64)
ATOM("max.s64", atom_max_s64, 2, TY_s64)
ATOM("inc.u32", atom_inc, 2, TY_u32)
ATOM("dec.u32", atom_dec, 2, TY_u32)
ATOM("and.b32", atom_and_32, 2, TY_b32)
ATOM("and.b64", atom_and_64, 2, TY_b64)
ATOM("or.b32", atom_or_32, 2, TY_b32)
ATOM("or.b64", atom_or_64, 2, TY_b64)
ATOM("xor.b32", atom_xor_32, 2, TY_b32)
ATOM("xor.b64", atom_xor_64, 2, TY_b64)
ATOM("exch.b32", atom_exch_32, 2, TY_b32)
ATOM("exch.b64", atom_exch_64, 2, TY_b64)
ATOM("cas.b16", atom_cas_16, 3, TY_b16)
ATOM("cas.{b32,u32,s32}", atom_cas_32, 3, TY_b32)
ATOM("cas.{b64,u64,s64}", atom_cas_64, 3, TY_b64)

/* Order. Loads and stores of a warp are done in program order, so a fence of the host is all there is to do. */
RH("membar.{cta,gl,sys}", fence, FORM_PLAIN, 1, TY_none)
RH("fence{,.sc,.acq_rel}.{cta,cluster,gpu,sys}", fence, FORM_PLAIN, 1, TY_none)
RF("{prefetch,prefetchu}{,.tensormap}", FORM_NOTHING, 0)
RF("{discard.b32,discard,applypriority,nanosleep.u32,pmevent,brkpt}", FORM_NOTHING, 0)
#define PRIORITY "L2::{evict_last,evict_normal,evict_first,evict_unchanged}{,.L2::evict_first,.L2::evict_unchanged}.b64"
RF("createpolicy.fractional." PRIORITY, FORM_POLICY, 0)
RF("createpolicy.range{,.global}." PRIORITY, FORM_POLICY, 0)
RF("createpolicy.cvt.L2.b64", FORM_POLICY, 0)
RF("griddepcontrol.{wait,launch_dependents}", FORM_NOTHING, 0)
RF("setmaxnreg.{inc,dec}.sync.aligned.u32", FORM_NOTHING, 0)

/* Across the warp. */
RH("shfl.sync.<up,down,bfly,idx>.b32", shfl, FORM_SYNC, 5, TY_b32, TY_b32, TY_u32, TY_u32, TY_u32)
RH("shfl.<up,down,bfly,idx>.b32", shfl, FORM_PLAIN, 4, TY_b32, TY_b32, TY_u32, TY_u32)
RH("vote.sync.<all,any,uni>.pred", vote, FORM_SYNC, 3, TY_pred, TY_pred, TY_u32)
RH("vote.<all,any,uni>.pred", vote, FORM_PLAIN, 2, TY_pred, TY_pred)
RH("vote.sync.ballot.b32", ballot, FORM_SYNC, 3, TY_u32, TY_pred, TY_u32)
RH("vote.ballot.b32", ballot, FORM_PLAIN, 2, TY_u32, TY_pred)
RH("activemask.b32", activemask, FORM_PLAIN, 1, TY_u32)
RH("match.any.sync.b32", match_any_32, FORM_SYNC, 3, TY_u32, TY_u32, TY_u32)
RH("match.any.sync.b64", match_any_64, FORM_SYNC, 3, TY_u32, TY_u64, TY_u32)
RH("match.all.sync.b32", match_all_32, FORM_SYNC, 3, TY_u32, TY_u32, TY_u32)
RH("match.all.sync.b64", match_all_64, FORM_SYNC, 3, TY_u32, TY_u64, TY_u32)
RH("redux.sync.<add,min,max,and,or,xor>.{u32,b32}", redux_u32, FORM_SYNC, 3, TY_u32, TY_u32, TY_u32)
RH("redux.sync.<add,min,max>.s32", redux_s32, FORM_SYNC, 3, TY_s32, TY_s32, TY_u32)
RH("elect.sync", elect, FORM_SYNC, 2, TY_u32, TY_u32)
RH("bar.warp.sync", sync_nothing, FORM_SYNC, 2, TY_none, TY_u32)
RH("%nothing", nothing, FORM_INTERNAL, 0)
RH("%strong", strong_access, FORM_INTERNAL, 0)

/* Control. */
RF("bra{,.uni}", FORM_BRA, 0)
RF("brx.idx{,.uni}", FORM_BRX, 0)
RF("call{,.uni}", FORM_CALL, 0)
RF("ret{,.uni}", FORM_RET, 0)
RF("exit", FORM_EXIT, 0)
RH("trap", trap, FORM_PLAIN, 1, TY_none)
RF("{bar,barrier}{,.cta}.<sync,arrive>{,.aligned}", FORM_BAR, 0)
RF("{bar,barrier}{,.cta}.red.<popc,and,or>{,.aligned}.{u32,pred}", FORM_BAR, 1)

/* Functions that every program has. Operands are places in the frame's local memory. */
RH("%setcondition", builtin_set_condition, FORM_INTERNAL, 0)
RH("%vprintf", builtin_vprintf, FORM_INTERNAL, 0)
RH("%malloc", builtin_malloc, FORM_INTERNAL, 0)
RH("%free", builtin_free, FORM_INTERNAL, 0)
RH("%native", builtin_native, FORM_INTERNAL, 0)
RH("%assertfail", builtin_assertfail, FORM_INTERNAL, 0)
