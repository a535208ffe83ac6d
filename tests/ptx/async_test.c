/*
 * async_test.c: asynchronous copies, barriers in memory, clusters of blocks, and vector atomics: kernels written here as
 * texts, results computed in C.
 */
#include "harness.h"

#define HEAD ".version 8.7\n.target sm_90\n.address_size 64\n"
#define REGS                                                                                                           \
	".reg .b64 %p<8>; .reg .b64 %d<8>; .reg .b32 %r<24>; .reg .pred %q<4>; .reg .b32 %t; .reg .b16 %h<4>;\n"       \
	"ld.param.u64 %p0, [pa]; ld.param.u64 %p1, [pb]; mov.u32 %t, %tid.x;\n"
#define KERNEL(name) ".visible .entry " name "(.param .u64 pa, .param .u64 pb)\n{\n" REGS

static struct ptx_module *load_one(const char *text)
{
	return load_text(text, strlen(text), NULL);
}

/* cp.async: sizes, what is read of them, zeroes for the rest. */
static void test_copies(void)
{
	static const char text[] = HEAD KERNEL("k")
		".shared .align 16 .b8 s[4096]; mov.u32 %r0, s; mad.lo.u32 %r1, %t, 64, %r0;\n"
		"mad.wide.u32 %p2, %t, 64, %p0; mad.wide.u32 %p3, %t, 64, %p1;\n"
		"mov.u32 %r9, -1; st.shared.v4.b32 [%r1+48], {%r9, %r9, %r9, %r9};\n"
		"cp.async.ca.shared.global [%r1], [%p2], 4; cp.async.ca.shared.global [%r1+4], [%p2+4], 4, 2;\n"
		"cp.async.ca.shared.global.L2::128B [%r1+8], [%p2+8], 8; and.b32 %r2, %t, 15;\n"
		"cp.async.cg.shared.global [%r1+16], [%p2+16], 16, %r2; setp.lt.u32 %q0, %t, 7;\n"
		"cp.async.cg.shared::cta.global [%r1+32], [%p2+32], 16, %q0;\n"
		"@%q0 cp.async.cg.shared.global [%r1+48], [%p2+48], 16;\n"
		"cp.async.commit_group; cp.async.wait_group 0; cp.async.wait_all;\n"
		"mov.u32 %r3, 0; mov.u32 %r4, 0;\n"
		"loop: add.u32 %r5, %r1, %r3; ld.shared.b32 %r6, [%r5]; cvt.u64.u32 %d0, %r3; add.u64 %d1, %p3, %d0;\n"
		"st.global.b32 [%d1], %r6; add.u32 %r3, %r3, 4; setp.lt.u32 %q1, %r3, 64; @%q1 bra loop; ret;\n}\n";
	struct ptx_module *m;
	uint8_t *a, *d, want[64];
	int wrong = 0;

	device_reset();
	a = device_alloc(4096);
	d = device_alloc(4096);
	for (int i = 0; i < 4096; i++)
		a[i] = (uint8_t)random_bits();
	m = load_one(text);
	is(m ? launch(m, "k", DIM(1), DIM(32), ARGS(PTR(a), PTR(d))) : -1, 0);
	for (unsigned t = 0; t < 32; t++) {
		memcpy(want, a + t * 64, 64);
		memset(want + 6, 0, 2);
		memset(want + 16 + t % 16, 0, 16 - t % 16);
		if (t < 7)
			memset(want + 32, 0, 16);
		else
			memset(want + 48, 0xff, 16);
		wrong += memcmp(want, d + t * 64, 64) != 0;
	}
	is(wrong, 0);
	ptx_module_free(m);
}

/* Two warps meet at a barrier in memory again and again; each round counts what all have written before. */
static void test_barriers(void)
{
	static const char text[] = HEAD KERNEL("rounds")
		".shared .align 8 .b64 bar; .shared .align 4 .b32 sum[16]; setp.eq.u32 %q0, %t, 0;\n"
		"mov.u32 %r0, 0; mov.u32 %r6, sum; setp.lt.u32 %q1, %t, 16; mad.lo.u32 %r7, %t, 4, %r6; @%q1 st.shared.u32 [%r7], %r0;\n"
		"@%q0 mbarrier.init.shared::cta.b64 [bar], 64; bar.sync 0;\n"
		"round: mad.lo.u32 %r7, %r0, 4, %r6; red.shared.add.u32 [%r7], %t;\n"
		"mbarrier.arrive.release.cta.shared::cta.b64 %d0, [bar];\n"
		"wait: mbarrier.try_wait.acquire.cta.shared::cta.b64 %q1, [bar], %d0, 100; @!%q1 bra wait;\n"
		"ld.shared.u32 %r1, [%r7]; mad.lo.u32 %r2, %r0, 64, %t; mad.wide.u32 %p2, %r2, 4, %p1; st.global.u32 [%p2], %r1;\n"
		"add.u32 %r0, %r0, 1; setp.lt.u32 %q2, %r0, 10; @%q2 bra round; ret;\n}\n"
		KERNEL("counts")
		".shared .align 8 .b64 bar; mov.u32 %r0, bar; cvt.u64.u32 %d3, %r0; cvta.shared.u64 %d3, %d3;\n"
		"mbarrier.init.shared.b64 [%r0], 5; mbarrier.arrive.b64 %d0, [%d3]; mbarrier.pending_count.b64 %r1, %d0;\n"
		"mbarrier.arrive.noComplete.shared.b64 %d1, [%r0], 2; mbarrier.pending_count.b64 %r2, %d1;\n"
		"mbarrier.arrive_drop.shared.b64 %d1, [%r0]; mbarrier.test_wait.shared.b64 %q0, [%r0], %d0; selp.u32 %r3, 1, 0, %q0;\n"
		"mbarrier.test_wait.parity.shared.b64 %q0, [%r0], 1; selp.u32 %r4, 1, 0, %q0;\n"
		"mbarrier.arrive.shared.b64 _, [%r0]; mbarrier.test_wait.shared.b64 %q0, [%r0], %d0; selp.u32 %r5, 1, 0, %q0;\n"
		"mbarrier.test_wait.parity.shared.b64 %q0, [%r0], 0; selp.u32 %r6, 1, 0, %q0;\n"
		"mbarrier.arrive.shared.b64 %d1, [%r0]; mbarrier.pending_count.b64 %r7, %d1;\n"
		"mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r0], 64; mbarrier.arrive.shared::cta.b64 %d2, [%r0], 3;\n"
		"mbarrier.test_wait.shared.b64 %q0, [%r0], %d2; selp.u32 %r8, 1, 0, %q0;\n"
		"mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%r0], 64;\n"
		"mbarrier.test_wait.shared.b64 %q0, [%r0], %d2; selp.u32 %r9, 1, 0, %q0; mbarrier.inval.shared.b64 [%r0];\n"
		"st.global.v4.u32 [%p1], {%r1, %r2, %r3, %r4}; st.global.v4.u32 [%p1+16], {%r5, %r6, %r7, %r8};\n"
		"st.global.u32 [%p1+32], %r9; ret;\n}\n";
	static const uint32_t want[9] = { 5, 4, 0, 1, 1, 1, 4, 0, 1 };
	struct ptx_module *m;
	uint32_t *d;
	int wrong = 0;

	device_reset();
	d = device_alloc(4096);
	m = load_one(text);
	is(m ? launch(m, "rounds", DIM(3), DIM(64), ARGS(0, PTR(d))) : -1, 0);
	for (int i = 0; i < 640; i++)
		wrong += d[i] != 63 * 32;
	is(wrong, 0);
	is(m ? launch(m, "counts", DIM(1), DIM(1), ARGS(0, PTR(d))) : -1, 0);
	for (int i = 0; i < 9; i++)
		if (d[i] != want[i]) {
			printf("# value %d: %u instead of %u\n", i, d[i], want[i]);
			wrong++;
		}
	is(wrong, 0);
	ptx_module_free(m);
}

static void test_bulk(void)
{
	static const char text[] = HEAD KERNEL("k")
		".shared .align 128 .b8 s[1088]; .shared .align 8 .b64 bar; .reg .b128 %x; setp.eq.u32 %q0, %t, 0; mov.u32 %r0, s; mov.u32 %r1, bar;\n"
		"@%q0 mbarrier.init.shared.b64 [%r1], 1; fence.mbarrier_init.release.cluster; bar.sync 0;\n"
		"elect.sync _|%q1, 0xffffffff; @!%q1 bra wait;\n"
		"mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1], 1040; mov.b128 %x, {%p0, %p1};\n"
		"st.async.shared::cluster.mbarrier::complete_tx::bytes.b128 [%r0+1024], %x, [%r1];\n"
		"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r0], [%p0], 512, [%r1];\n"
		"cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r0+512], [%p0+512], 512, [%r1];\n"
		"wait: mbarrier.try_wait.parity.shared::cta.b64 %q2, [%r1], 0; @!%q2 bra wait;\n"
		"mad.lo.u32 %r2, %t, 32, %r0; ld.shared.u32 %r3, [%r2]; add.u32 %r3, %r3, 1; st.shared.u32 [%r2], %r3;\n"
		"fence.proxy.async.shared::cta; bar.sync 0; @!%q0 bra done;\n"
		"cp.async.bulk.global.shared::cta.bulk_group [%p1], [%r0], 1024;\n"
		"cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%p1+1024], [%r0], 1024;\n"
		"cp.reduce.async.bulk.global.shared::cta.bulk_group.max.s32 [%p1+2048], [%r0], 1024;\n"
		"cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%p1+3072], [%r0], 16;\n"
		"ld.shared.v2.u64 {%d0, %d1}, [%r0+1024]; st.global.v2.u64 [%p1+3216], {%d0, %d1};\n"
		"mov.u64 %d2, 24; add.u32 %r4, %r0, 1024; st.shared.u64 [%r0+1048], %d0;\n"
		"st.bulk.weak.shared::cta [%r4], %d2, 0; ld.shared.v2.u64 {%d0, %d1}, [%r0+1024]; st.global.v2.u64 [%p1+3232], {%d0, %d1};\n"
		"ld.shared.v2.u64 {%d0, %d1}, [%r0+1040]; st.global.v2.u64 [%p1+3248], {%d0, %d1};\n"
		"mov.u16 %h0, 0x8421; cp.async.bulk.global.shared::cta.bulk_group.cp_mask [%p1+3136], [%r0], 64, %h0;\n"
		"st.async.release.gpu.global.b32 [%p1+3200], %r1; st.async.mmio.release.sys.global.b8 [%p1+3204], %r3;\n"
		"cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0; cp.async.bulk.prefetch.L2.global [%p0], 64;\n"
		"done: ret;\n}\n";
	struct ptx_module *m;
	int32_t *a, *d;
	float *sum;
	const uint64_t *pair;
	int wrong = 0;

	device_reset();
	a = device_alloc(1024);
	d = device_alloc(4096);
	sum = (float *)(d + 768);
	for (int i = 0; i < 256; i++) {
		a[i] = (int32_t)random_bits();
		d[256 + i] = i;
		d[512 + i] = i * 1000;
	}
	memset((uint8_t *)d + 3136, 0x5a, 64);
	a[0] = 0x3fbfffff; /* 1.5 when one is added to its bits */
	sum[0] = 2;
	m = load_one(text);
	is(m ? launch(m, "k", DIM(1), DIM(32), ARGS(PTR(a), PTR(d))) : -1, 0);
	for (int i = 0; i < 256; i++) {
		const int32_t v = (int32_t)((uint32_t)a[i] + (i % 8 == 0));

		wrong += d[i] != v || d[256 + i] != (int32_t)((uint32_t)v + (uint32_t)i) ||
			 d[512 + i] != (v > i * 1000 ? v : i * 1000);
	}
	is(wrong, 0);
	is(sum[0] == 3.5f, 1);
	for (int i = 0; i < 64; i++) { /* bytes 0, 5, 10 and 15 of each 16 */
		const uint8_t *to = (const uint8_t *)d + 3136, *from = (const uint8_t *)d;

		wrong += to[i] != (i % 16 % 5 ? 0x5a : from[i]);
	}
	is(wrong, 0);
	is(d[800] != 0, 1);
	pair = (const uint64_t *)(const void *)(d + 804);
	ok(pair[0] == (uint64_t)(uintptr_t)a && pair[1] == (uint64_t)(uintptr_t)d);
	ok(!pair[2] && !pair[3] && !pair[4] && pair[5] == (uint64_t)(uintptr_t)a);
	is(d[801] & 255, d[0] & 255);
	ptx_module_free(m);
}

/* Blocks that ask for the work of others get none, all of a cluster are told, and each block's work is done once. */
static void test_takeover(void)
{
	static const char text[] =
		".version 9.0\n.target sm_100\n.address_size 64\n.visible .entry k(.param .u64 pa)\n.reqnctapercluster 2, 1, 1\n{\n"
		".shared .align 16 .b8 s[16]; .shared .align 8 .b64 bar; .reg .b64 %p, %d; .reg .b32 %b, %x, %y, %z, %one, %rank;\n"
		".reg .b128 %h; .reg .pred %q, %w, %t;\n"
		"ld.param.u64 %p, [pa]; mov.u32 %b, %ctaid.x; mov.u32 %one, 1; mov.u32 %rank, %cluster_ctarank;\n"
		"mbarrier.init.shared.b64 [bar], 1; fence.mbarrier_init.release.cluster;\n"
		"barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;\n"
		"again: mad.wide.u32 %d, %b, 4, %p; red.global.add.u32 [%d], %one;\n"
		"mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 16; setp.ne.u32 %t, %rank, 0; @%t bra wait;\n"
		"clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.multicast::cluster::all.b128 [s], [bar];\n"
		"wait: mbarrier.try_wait.parity.shared::cta.b64 %w, [bar], 0; @!%w bra wait;\n"
		"ld.shared.b128 %h, [s]; clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %q, %h;\n"
		"@%q clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {%b, %y, _, _}, %h;\n"
		"@%q clusterlaunchcontrol.query_cancel.get_first_ctaid::z.b32.b128 %z, %h; @%q add.u32 %b, %b, %rank; @%q bra again;\n"
		"barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned; ret; }\n";
	const struct ptx_options options = { .arch = 100 };
	struct ptx_module *m;
	uint32_t *done;
	int wrong = 0;

	device_reset();
	done = device_alloc(64);
	memset(done, 0, 64);
	m = load_text(text, strlen(text), &options);
	is(m ? launch(m, "k", DIM(8), DIM(1), ARGS(PTR(done))) : -1, 0);
	for (int i = 0; i < 8; i++)
		wrong += done[i] != 1;
	is(wrong, 0);
	ptx_module_free(m);
}

static const char cluster_text[] = HEAD
	".visible .entry fixed(.param .u64 pa, .param .u64 pb)\n.reqnctapercluster 4, 1, 1\n{\n" REGS
	".shared .align 4 .b32 own[32]; .shared .align 4 .b32 count;\n"
	"mov.u32 %r0, %ctaid.x; mad.lo.u32 %r1, %r0, 100, %t; mov.u32 %r2, own; mad.lo.u32 %r3, %t, 4, %r2; st.shared.u32 [%r3], %r1;\n"
	"mov.u32 %r13, 0; st.shared.u32 [count], %r13;\n"
	"barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;\n"
	"mov.u32 %r4, %cluster_ctarank; add.u32 %r5, %r4, 1; and.b32 %r5, %r5, 3;\n"
	"mapa.shared::cluster.u32 %r6, %r3, %r5; ld.shared::cluster.u32 %r7, [%r6];\n"
	"cvt.u64.u32 %d0, %r3; cvta.shared.u64 %d0, %d0; mapa.u64 %d1, %d0, %r5; ld.u32 %r8, [%d1]; sub.u32 %r9, %r7, %r8;\n"
	"getctarank.u64 %r10, %d1; getctarank.shared::cluster.u32 %r11, %r6; isspacep.shared::cluster %q0, %d1; isspacep.shared %q1, %d1;\n"
	"selp.u32 %r12, 1, 0, %q0; @%q1 add.u32 %r12, %r12, 2;\n"
	"mov.u32 %r14, count; mov.u32 %r15, 0; mapa.shared::cluster.u32 %r14, %r14, %r15; red.shared::cluster.add.u32 [%r14], 1;\n"
	"barrier.cluster.arrive; barrier.cluster.wait; ld.shared.u32 %r16, [count];\n"
	"mad.lo.u32 %r17, %r0, 32, %t; mad.wide.u32 %p2, %r17, 32, %p1; st.global.v4.u32 [%p2], {%r7, %r9, %r10, %r11};\n"
	"st.global.v4.u32 [%p2+16], {%r12, %r16, %r4, %r5}; ret;\n}\n"
	/* ids of a two-dimensional cluster */
	KERNEL("ids")
	"mov.u32 %r0, %ctaid.x; mov.u32 %r1, %ctaid.y; mov.u32 %r2, %nctaid.x; mad.lo.u32 %r3, %r1, %r2, %r0; mad.wide.u32 %p2, %r3, 64, %p1;\n"
	"mov.u32 %r4, %clusterid.x; mov.u32 %r5, %clusterid.y; mov.u32 %r6, %nclusterid.x; mov.u32 %r7, %nclusterid.y; st.global.v4.u32 [%p2], {%r4, %r5, %r6, %r7};\n"
	"mov.u32 %r4, %cluster_ctaid.x; mov.u32 %r5, %cluster_ctaid.y; mov.u32 %r6, %cluster_nctaid.x; mov.u32 %r7, %cluster_nctaid.y; st.global.v4.u32 [%p2+16], {%r4, %r5, %r6, %r7};\n"
	"mov.u32 %r4, %cluster_ctarank; mov.u32 %r5, %cluster_nctarank; mov.pred %q0, %is_explicit_cluster; selp.u32 %r6, 1, 0, %q0; mov.u32 %r7, 7; st.global.v4.u32 [%p2+32], {%r4, %r5, %r6, %r7}; ret;\n}\n"
	/* each block sends words into the next one, whose barrier counts their bytes; then one copy goes to all */
	KERNEL("send")
	".shared .align 16 .b8 box[256]; .shared .align 16 .b8 all[64]; .shared .align 8 .b64 bar; .shared .align 8 .b64 bar2; setp.eq.u32 %q0, %t, 0;\n"
	"@%q0 mbarrier.init.shared.b64 [bar], 1; @%q0 mbarrier.init.shared.b64 [bar2], 1; @%q0 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 256; @%q0 mbarrier.arrive.expect_tx.shared.b64 _, [bar2], 64;\n"
	"barrier.cluster.arrive; barrier.cluster.wait; mov.u32 %r0, %cluster_ctarank; mov.u32 %r1, %cluster_nctarank; add.u32 %r2, %r0, 1; rem.u32 %r2, %r2, %r1;\n"
	"mov.u32 %r3, box; mad.lo.u32 %r3, %t, 8, %r3; mapa.shared::cluster.u32 %r3, %r3, %r2; mov.u32 %r4, bar; mapa.shared::cluster.u32 %r4, %r4, %r2;\n"
	"mad.lo.u32 %r5, %r0, 1000, %t; st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [%r3], {%r5, %t}, [%r4];\n"
	"setp.eq.u32 %q2, %r0, 0; and.pred %q2, %q2, %q0; mov.u32 %r6, all; mov.u32 %r7, bar2; mov.u16 %h0, 0xffff;\n"
	"@%q2 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r6], [%p0], 64, [%r7], %h0;\n"
	"w1: mbarrier.try_wait.parity.shared.b64 %q1, [bar], 0; @!%q1 bra w1; w2: mbarrier.try_wait.parity.shared.b64 %q1, [bar2], 0; @!%q1 bra w2;\n"
	"mov.u32 %r8, box; mad.lo.u32 %r8, %t, 8, %r8; ld.shared.v2.u32 {%r9, %r10}, [%r8]; and.b32 %r11, %t, 15; mad.lo.u32 %r11, %r11, 4, %r6; ld.shared.u32 %r12, [%r11];\n"
	"mad.lo.u32 %r13, %r0, 32, %t; mad.wide.u32 %p2, %r13, 16, %p1; mov.u32 %r14, 0; st.global.v4.u32 [%p2], {%r9, %r10, %r12, %r14};\n"
	"barrier.cluster.arrive; barrier.cluster.wait; ret;\n}\n"
	/* lanes of odd number leave before the barrier; the guard leaves lane 0 of block 1 out of the wait */
	KERNEL("leave")
	"and.b32 %r0, %t, 1; setp.ne.u32 %q0, %r0, 0; @%q0 ret; mov.u32 %r1, %cluster_ctarank; setp.ge.u32 %q1, %t, 2;\n"
	"atom.global.add.u32 %r2, [%p1], 1; barrier.cluster.arrive; @%q1 barrier.cluster.wait; ld.volatile.global.u32 %r3, [%p1]; @!%q1 barrier.cluster.wait;\n"
	"mad.lo.u32 %r4, %r1, 32, %t; mad.wide.u32 %p2, %r4, 4, %p1; @%q1 st.global.u32 [%p2+4], %r3; ret;\n}\n"
	/* an address of a block that is not there */
	KERNEL("wild")
	".shared .align 4 .b32 x; mov.u32 %r0, x; mov.u32 %r1, 5; mapa.shared::cluster.u32 %r2, %r0, %r1; ret;\n}\n";

static int launch_cluster(struct ptx_module *m, const char *name, struct dims grid, struct dims cluster, const uint64_t *arg,
			  enum ptx_fault_kind *ret_fault)
{
	struct ptx_launch l = { .cluster = { cluster.x, cluster.y, cluster.z } };
	int r = launch_with(&l, m, name, grid, DIM(32), arg);

	if (ret_fault)
		*ret_fault = l.fault.kind;
	return r;
}

static void test_clusters(unsigned threads)
{
	enum ptx_fault_kind fault;
	struct ptx_module *m;
	uint32_t *a, *d;
	int wrong = 0;

	device_reset();
	a = device_alloc(4096);
	d = device_alloc(1 << 16);
	for (uint32_t i = 0; i < 16; i++)
		a[i] = i * i;
	m = load_one(cluster_text);
	if (!tap_ok(m != NULL, "clusters, %u threads", threads))
		return;
	is(launch(m, "fixed", DIM(32), DIM(32), ARGS(0, PTR(d))), 0);
	for (uint32_t i = 0; i < 32 * 32; i++) {
		const uint32_t block = i / 32, next = block / 4 * 4 + (block + 1) % 4;
		const uint32_t want[8] = { next * 100 + i % 32, 0,	   next % 4, next % 4, 1,
					   block % 4 ? 0 : 128,	block % 4, next % 4 };

		wrong += memcmp(d + i * 8, want, sizeof(want)) != 0;
	}
	is(wrong, 0);
	is(launch_cluster(m, "ids", DIM(4, 6), DIM(2, 3, 1), ARGS(0, PTR(d)), NULL), 0);
	for (uint32_t i = 0; i < 24; i++) {
		const uint32_t x = i % 4, y = i / 4;
		const uint32_t want[12] = { x / 2, y / 3, 2, 2, x % 2, y % 3, 2, 3, x % 2 + y % 3 * 2, 6, 1, 7 };

		wrong += memcmp(d + i * 16, want, sizeof(want)) != 0;
	}
	is(wrong, 0);
	is(launch(m, "ids", DIM(4, 6), DIM(32), ARGS(0, PTR(d))), 0);
	for (uint32_t i = 0; i < 24; i++) {
		const uint32_t want[12] = { i % 4, i / 4, 4, 6, 0, 0, 1, 1, 0, 1, 0, 7 };

		wrong += memcmp(d + i * 16, want, sizeof(want)) != 0;
	}
	is(wrong, 0);
	for (uint32_t size = 1; size <= 16; size *= 2) {
		is(launch_cluster(m, "send", DIM(size), DIM(size, 1, 1), ARGS(PTR(a), PTR(d)), NULL), 0);
		for (uint32_t i = 0; i < size * 32; i++) {
			const uint32_t from = (i / 32 + size - 1) % size;

			wrong += d[i * 4] != from * 1000 + i % 32 || d[i * 4 + 1] != i % 32 ||
				 d[i * 4 + 2] != a[i % 16];
		}
	}
	is(wrong, 0);
	memset(d, 0, 4096);
	is(launch_cluster(m, "leave", DIM(3), DIM(3, 1, 1), ARGS(0, PTR(d)), NULL), 0);
	for (uint32_t i = 0; i < 96; i++)
		wrong += i % 32 >= 2 && d[1 + i] != (i % 2 ? 0 : 48);
	is(wrong, 0);
	is(launch_cluster(m, "ids", DIM(4, 6), DIM(3, 1, 1), ARGS(0, PTR(d)), NULL), -EINVAL);
	is(launch_cluster(m, "ids", DIM(32, 1), DIM(32, 1, 1), ARGS(0, PTR(d)), NULL), -EINVAL);
	is(launch_cluster(m, "fixed", DIM(8), DIM(2, 1, 1), ARGS(0, PTR(d)), NULL), -EINVAL);
	is(launch_cluster(m, "wild", DIM(4), DIM(4, 1, 1), ARGS(0, 0), &fault), 1);
	is(fault, PTX_FAULT_ILLEGAL_ADDRESS);
	ptx_module_free(m);
}

/* Vectors of atomics, whose results may lie where a later source does. */
static void test_vector_atomics(void)
{
	static const char text[] = HEAD KERNEL("k")
		".reg .f32 %f<9>; cvt.rn.f32.u32 %f0, %t; mov.f32 %f1, 0f40000000; mov.f32 %f2, 0f3F800000; mov.f32 %f3, 0f3F000000;\n"
		"red.global.add.v4.f32 [%p0], {%f0, %f1, %f2, %f3}; bar.warp.sync 0xffffffff; setp.ne.u32 %q0, %t, 0; @%q0 ret;\n"
		"atom.relaxed.gpu.global.add.v2.f32 {%f1, %f0}, [%p0+16], {%f0, %f1};\n"
		"st.global.v2.f32 [%p1], {%f1, %f0}; ret;\n}\n";
	struct ptx_module *m;
	float *a, *d;

	device_reset();
	a = device_alloc(64);
	d = device_alloc(64);
	a[4] = 10;
	a[5] = 20;
	m = load_one(text);
	is(m ? launch(m, "k", DIM(1), DIM(32), ARGS(PTR(a), PTR(d))) : -1, 0);
	is(a[0] == 496 && a[1] == 64 && a[2] == 32 && a[3] == 16, 1);
	is(a[4] == 10 && a[5] == 22 && d[0] == 10 && d[1] == 20, 1);
	ptx_module_free(m);
}

int main(void)
{
	tap_begin();
	for (unsigned threads = 1; threads <= 4; threads += 3) {
		device_open(threads);
		test_copies();
		test_barriers();
		test_bulk();
	test_takeover();
		test_clusters(threads);
		test_vector_atomics();
		device_close();
	}
	return tap_end();
}
