/*
 * movable.c: see movable.h.
 *
 * A new packed piece is an eighth of those that there are, up to PACKED_MOST_BYTES, so that a small program does not
 * pay for a large piece; where the quota has no room for that, it is as large as it must be.
 *
 * What is away keeps its reservation of addresses, so nothing else comes to lie there. The host's memory for it is the
 * process's own and no driver's, because that would end with the context that it was made in; it is pinned while it is
 * copied.
 */
#include "shim/movable.h"
#include "base/setting.h"
#include "core/account.h"
#include "core/capture.h"
#include "core/charge.h"
#include "core/gate.h"
#include "core/log.h"
#include "core/pack.h"
#include "core/tick.h"
#include "cuda_shim.h"
#include "shim/devices.h"
#include "shim/start.h"
#include "shim/stash.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#define PIECES 16384u
#define PACKED_LEAST_BYTES (2ull << 20)
#define PACKED_MOST_BYTES (64ull << 20)
#define PACKED_PART 8
#define BLOCK_MOST_BYTES (8ull << 20) /* what is larger has a piece of its own */
#define LATE 256u
#define WHOLE_PART 16 /* of the quota: large pieces that are empty are kept for so long */
#define WHOLE_NS 200000000u
#define STAGE_BYTES (8ull << 20)
#define COPY_BYTES (64ull << 20)

struct piece {
	CUdeviceptr at;
	uint64_t bytes; /* 0: a free place */
	CUmemGenericAllocationHandle handle;
	CUdevice real;
	unsigned int device;
	bool packed;
	bool resident;
	bool whole;	     /* not packed: the block is there */
	uint64_t emptied_ns; /* not packed: since when it is not */
	struct pack pack;
	void *host;		/* while it is away, and on its way; else NULL */
	struct stash_part part; /* where it is away and `host` is NULL: on the disk */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards all below */
static struct piece pieces[PIECES];
static uint32_t piece_count; /* places that have ever been used are below */
static uint32_t serial;
static struct record late[LATE]; /* blocks that were freed while a stream was being captured */
static uint32_t late_count;
static _Atomic int wanted;			      /* 0: not known yet */
static uint64_t packed_bytes;			      /* of all packed pieces */
static _Atomic uint32_t away_units[WIRE_MAX_DEVICES]; /* what the page says: it may be replaced */

bool movable_wanted(void)
{
	const char *word;
	int is = atomic_load_explicit(&wanted, memory_order_relaxed);

	if (!is) {
		word = setting_get("METE_SPILL");
		is = word && !strcmp(word, "1") ? 1 : -1;
		atomic_store_explicit(&wanted, is, memory_order_relaxed);
	}
	return is > 0;
}

static uint32_t units_of(const struct piece *p)
{
	return (uint32_t)wire_units(p->bytes);
}

/* What can leave, for meted to see. */
static void publish_locked(unsigned int device)
{
	uint32_t units = 0;

	for (uint32_t i = 0; i < piece_count; i++)
		if (pieces[i].bytes && pieces[i].device == device && pieces[i].resident)
			units += units_of(&pieces[i]);
	atomic_store_explicit(&accounts[device].wire->movable_units, units, memory_order_relaxed);
}

static void publish(unsigned int device)
{
	pthread_mutex_lock(&lock);
	publish_locked(device);
	pthread_mutex_unlock(&lock);
}

/* More are away, or less (a difference modulo 2^32). */
static void away_add(unsigned int device, uint32_t units)
{
	uint32_t now = atomic_fetch_add_explicit(&away_units[device], units, memory_order_relaxed) + units;

	atomic_store_explicit(&accounts[device].wire->away_units, now, memory_order_release);
}

void movable_tell(unsigned int device)
{
	away_add(device, 0);
	publish(device);
}

/* The driver's side of a piece ---------------------------------------------------------------------------------- */

static CUmemAllocationProp prop_of(CUdevice real)
{
	return (CUmemAllocationProp){ .type = CU_MEM_ALLOCATION_TYPE_PINNED,
				      .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = real } };
}

static uint64_t granularity(CUdevice real)
{
	CUmemAllocationProp prop = prop_of(real);
	size_t bytes = 0;

	if (shim_real.cuMemGetAllocationGranularity(&bytes, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM) != CUDA_SUCCESS)
		return 0;
	return bytes;
}

/* Memory at the piece's addresses. Inside the gate, charged. */
static CUresult back(struct piece *p)
{
	CUmemAccessDesc access = { .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = p->real },
				   .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
	CUmemAllocationProp prop = prop_of(p->real);
	CUresult r = shim_real.cuMemCreate(&p->handle, p->bytes, &prop, 0);

	if (r != CUDA_SUCCESS)
		return r;
	r = shim_real.cuMemMap(p->at, p->bytes, 0, p->handle, 0);
	if (r == CUDA_SUCCESS) {
		r = shim_real.cuMemSetAccess(p->at, p->bytes, &access, 1);
		if (r == CUDA_SUCCESS)
			return r;
		shim_real.cuMemUnmap(p->at, p->bytes);
	}
	shim_real.cuMemRelease(p->handle);
	return r;
}

static void unback(struct piece *p)
{
	shim_real.cuMemUnmap(p->at, p->bytes);
	shim_real.cuMemRelease(p->handle);
}

/* Making and ending pieces -------------------------------------------------------------------------------------- */

static bool bits_new(struct pack *pack, uint64_t bytes)
{
	uint32_t units = (uint32_t)wire_units(bytes), words = PACK_WORDS(units);
	int saved = errno;
	uint64_t *bits =
		mmap(NULL, 2 * words * sizeof *bits, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	errno = saved;
	if (bits == MAP_FAILED)
		return false;
	*pack = (struct pack){ .taken = bits, .begins = bits + words, .units = units };
	return true;
}

static void bits_free(struct pack *pack)
{
	int saved = errno;

	if (pack->taken)
		munmap(pack->taken, 2 * PACK_WORDS(pack->units) * sizeof *pack->taken);
	errno = saved;
}

/* The place of a new piece. PIECES: there is none. */
static uint32_t insert(const struct piece *p)
{
	uint32_t i = 0;

	pthread_mutex_lock(&lock);
	while (i < piece_count && pieces[i].bytes)
		i++;
	if (i < PIECES) {
		pieces[i] = *p;
		if (i == piece_count)
			piece_count++;
		packed_bytes += p->packed ? p->bytes : 0;
		publish_locked(p->device);
	}
	pthread_mutex_unlock(&lock);
	return i;
}

/* Charged and inside the gate: the gate is left. */
static CUresult piece_make(struct piece *p, struct charge *c, uint32_t *ret_place)
{
	CUresult r = shim_real.cuMemAddressReserve(&p->at, p->bytes, 0, 0, 0);

	if (r == CUDA_SUCCESS) {
		r = back(p);
		if (r == CUDA_SUCCESS) {
			p->resident = true;
			*ret_place = insert(p);
			if (*ret_place < PIECES) {
				gate_leave();
				return r;
			}
			unback(p);
			r = CUDA_ERROR_OUT_OF_MEMORY;
		}
		shim_real.cuMemAddressFree(p->at, p->bytes);
	}
	charge_cancel(c);
	return r;
}

static CUresult piece_new(unsigned int device, CUdevice real, uint64_t bytes, bool packed, uint32_t *ret_place)
{
	struct piece p = { .bytes = bytes, .real = real, .device = device, .packed = packed, .whole = !packed };
	struct charge c = { 0 };
	CUresult r;

	if (packed && !bits_new(&p.pack, bytes))
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (charge_begin_moving(&c, device, wire_units(bytes)) != CHARGE_HELD)
		r = CUDA_ERROR_OUT_OF_MEMORY;
	else
		r = piece_make(&p, &c, ret_place);
	if (r != CUDA_SUCCESS)
		bits_free(&p.pack);
	return r;
}

static bool host_new(struct piece *p)
{
	int saved = errno;

	p->host = mmap(NULL, p->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p->host == MAP_FAILED)
		p->host = NULL;
	/* A child of fork() has no use for it, and would keep it for as long as it lives. */
	if (p->host) {
		madvise(p->host, p->bytes, MADV_DONTFORK);
		madvise(p->host, p->bytes, MADV_HUGEPAGE); /* quicker to pin */
	}
	errno = saved;
	return p->host;
}

static void host_free(struct piece *p)
{
	int saved = errno;

	if (p->host)
		munmap(p->host, p->bytes);
	p->host = NULL;
	errno = saved;
}

/* Nobody knows of the piece any more. */
static void piece_end(struct piece *p)
{
	if (p->resident) {
		gate_enter();
		unback(p);
		account_give(p->device, units_of(p));
		gate_leave();
	} else {
		away_add(p->device, -units_of(p));
	}
	shim_real.cuMemAddressFree(p->at, p->bytes);
	host_free(p);
	bits_free(&p->pack);
}

static bool is_empty(const struct piece *p)
{
	return p->bytes && (p->packed ? !p->pack.used : !p->whole);
}

/* What a trim leaves. */
struct leftover {
	uint64_t packed_bytes;
	uint64_t whole_bytes[WIRE_MAX_DEVICES];
	uint64_t whole_since_ns; /* those that have been empty for longer go */
};

static bool is_left(const struct piece *p, struct leftover *left)
{
	uint64_t *room = p->packed ? &left->packed_bytes : &left->whole_bytes[p->device];

	if (*room < p->bytes || (!p->packed && p->emptied_ns < left->whole_since_ns))
		return false;
	*room -= p->bytes;
	return true;
}

/* Takes one empty piece out. */
static bool take_empty(struct leftover left, struct piece *ret)
{
	bool found;
	uint32_t i;

	pthread_mutex_lock(&lock);
	for (i = 0; i < piece_count; i++)
		if (is_empty(&pieces[i]) && !is_left(&pieces[i], &left))
			break;
	found = i < piece_count;
	if (found) {
		*ret = pieces[i];
		pieces[i].bytes = 0;
		packed_bytes -= ret->packed ? ret->bytes : 0;
	}
	pthread_mutex_unlock(&lock);
	return found && ret->bytes;
}

/*
 * A program that allocates large buffers in each step gets the same ones again. Processes of the same tenant could lack
 * what is kept: where there are others it is nothing.
 */
static uint64_t kept_whole_bytes(unsigned int device)
{
	uint64_t quota, held;

	account_info(device, &quota, &held);
	return held == (uint64_t)account_held_units(device) * WIRE_UNIT_BYTES ? quota / WHOLE_PART : 0;
}

static bool any_whole_empty(unsigned int device)
{
	bool any = false;

	pthread_mutex_lock(&lock);
	for (uint32_t i = 0; i < piece_count && !any; i++)
		any = pieces[i].device == device && !pieces[i].packed && is_empty(&pieces[i]);
	pthread_mutex_unlock(&lock);
	return any;
}

bool movable_trim(bool all)
{
	struct leftover left = { 0 };
	struct piece p = { 0 };
	bool any = false;

	if (!all) {
		left.packed_bytes = PACKED_MOST_BYTES;
		left.whole_since_ns = tick_now() - WHOLE_NS;
		for (unsigned int i = 0; i < account_count; i++)
			left.whole_bytes[i] = any_whole_empty(i) ? kept_whole_bytes(i) : 0;
	}
	while (take_empty(left, &p)) {
		piece_end(&p);
		publish(p.device);
		p.bytes = 0;
		any = true;
	}
	return any;
}

/* Blocks -------------------------------------------------------------------------------------------------------- */

/* What a record says of its block in `extra`. */
#define PLACE(extra) ((extra)&0x3fffu)
#define SLACK(extra) ((extra) >> 14 & 0x1ffu) /* bytes between the end of the block and that of its last unit */
#define POOL(extra) ((extra) >> 23)	      /* MOVABLE_POOLS: none's */
_Static_assert(PIECES == 0x4000 && WIRE_UNIT_BYTES == 0x200 && MOVABLE_POOLS == 0x1ff, "they fit into a word");

static uint32_t extra_of(uint32_t place, uint32_t units, uint64_t bytes, uint32_t pool)
{
	return place | (uint32_t)((uint64_t)units * WIRE_UNIT_BYTES - bytes) << 14 | pool << 23;
}

/* In a packed piece that there is. PIECES: in none. */
static uint32_t take_packed(unsigned int device, uint32_t units, CUdeviceptr *ret)
{
	uint32_t i, at = PACK_NONE;

	pthread_mutex_lock(&lock);
	for (i = 0; i < piece_count; i++) {
		struct piece *p = &pieces[i];

		if (!p->bytes || !p->packed || p->device != device || !p->resident)
			continue;
		at = pack_take(&p->pack, units);
		if (at == PACK_NONE)
			continue;
		*ret = p->at + (uint64_t)at * WIRE_UNIT_BYTES;
		break;
	}
	pthread_mutex_unlock(&lock);
	return at == PACK_NONE ? PIECES : i;
}

static uint64_t round_up(uint64_t bytes, uint64_t to)
{
	return (bytes + to - 1) / to * to;
}

static CUresult new_packed(unsigned int device, CUdevice real, uint64_t bytes, uint64_t least)
{
	uint64_t wish = packed_bytes / PACKED_PART, must = round_up(bytes, least);
	uint32_t place;
	CUresult r;

	if (wish < PACKED_LEAST_BYTES)
		wish = PACKED_LEAST_BYTES;
	if (wish > PACKED_MOST_BYTES)
		wish = PACKED_MOST_BYTES;
	wish = round_up(wish < must ? must : wish, least);
	r = CUDA_ERROR_OUT_OF_MEMORY;
	/* Not by asking meted for more than must be: others may have to make room for it. */
	if (wish > must && account_credit_units(device) >= wire_units(wish))
		r = piece_new(device, real, wish, true, &place);
	if (r != CUDA_SUCCESS)
		r = piece_new(device, real, must, true, &place);
	return r;
}

/* One that was freed a moment ago. PIECES: there is none. */
static uint32_t take_whole(unsigned int device, uint64_t bytes, CUdeviceptr *ret)
{
	uint32_t i;

	pthread_mutex_lock(&lock);
	for (i = 0; i < piece_count; i++) {
		struct piece *p = &pieces[i];

		if (p->bytes != bytes || p->packed || p->whole || p->device != device || !p->resident)
			continue;
		p->whole = true;
		*ret = p->at;
		break;
	}
	pthread_mutex_unlock(&lock);
	return i < piece_count ? i : PIECES;
}

static CUresult take(unsigned int device, CUdevice real, uint64_t bytes, CUdeviceptr *ret, uint32_t *ret_place)
{
	uint64_t least = granularity(real);
	CUresult r = CUDA_SUCCESS;

	if (!least || wire_units(bytes) > WIRE_MAX_UNITS)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (bytes > BLOCK_MOST_BYTES) {
		*ret_place = take_whole(device, round_up(bytes, least), ret);
		if (*ret_place < PIECES)
			return CUDA_SUCCESS;
		r = piece_new(device, real, round_up(bytes, least), false, ret_place);
		if (r == CUDA_SUCCESS)
			*ret = pieces[*ret_place].at;
		return r;
	}
	for (;;) {
		*ret_place = take_packed(device, (uint32_t)wire_units(bytes), ret);
		if (*ret_place < PIECES)
			return CUDA_SUCCESS;
		r = new_packed(device, real, bytes, least);
		if (r != CUDA_SUCCESS)
			return r;
	}
}

static void give(uint32_t place, CUdeviceptr at, uint32_t units)
{
	struct piece *p = &pieces[place];

	pthread_mutex_lock(&lock);
	if (p->packed) {
		pack_give(&p->pack, (uint32_t)((at - p->at) / WIRE_UNIT_BYTES), units);
	} else {
		p->whole = false;
		p->emptied_ns = tick_now();
	}
	pthread_mutex_unlock(&lock);
}

/* The block's record is added. */
static CUresult record_block(struct record *r, uint32_t place, CUdeviceptr at)
{
	r->key = record_pointer(at);
	r->units = __atomic_add_fetch(&serial, 1, __ATOMIC_RELAXED);
	if (records_add(r))
		return CUDA_SUCCESS;
	give(place, at, r->size_units);
	return CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult make(unsigned int device, CUdevice real, face_context context, uint32_t pool, uint64_t bytes,
		     CUdeviceptr *ret)
{
	struct record record = { .kind = RECORD_MOVABLE,
				 .size_units = (uint32_t)wire_units(bytes),
				 .context = context,
				 .device = (uint8_t)device };
	CUdeviceptr at = 0;
	uint32_t place = 0;
	CUresult r = take(device, real, bytes, &at, &place);

	if (r != CUDA_SUCCESS)
		return r;
	record.extra = extra_of(place, record.size_units, bytes, pool);
	r = record_block(&record, place, at);
	if (r == CUDA_SUCCESS)
		*ret = at;
	return r;
}

bool movable_alloc(uint64_t bytes, CUdeviceptr *ret_pointer, CUresult *ret_r)
{
	face_context context;
	unsigned int device;
	CUdevice real;

	if (!movable_wanted() || charge_current(&context, &device) != CHARGE_HELD || !devices_real(device, &real) ||
	    !shim_has(CUDA_CALL_cuMemCreate) || capture_going())
		return false; /* of a capture the driver says whether it may be */
	*ret_r = make(device, real, context, MOVABLE_POOLS, bytes, ret_pointer);
	return true;
}

CUresult movable_alloc_pool(unsigned int device, uint32_t pool, uint64_t bytes, CUdeviceptr *ret)
{
	CUdevice real;

	if (!devices_real(device, &real))
		return CUDA_ERROR_INVALID_DEVICE;
	return make(device, real, NULL, pool, bytes, ret);
}

CUresult movable_renew(struct record *r, uint32_t pool, uint64_t bytes, CUdeviceptr *ret)
{
	CUdeviceptr at = r->key;
	CUresult result;

	r->extra = extra_of(PLACE(r->extra), r->size_units, bytes, pool);
	result = record_block(r, PLACE(r->extra), at);
	if (result == CUDA_SUCCESS)
		*ret = at;
	return result;
}

bool movable_pool(const struct record *r, uint32_t *ret_pool, uint64_t *ret_bytes)
{
	*ret_pool = POOL(r->extra);
	*ret_bytes = (uint64_t)r->size_units * WIRE_UNIT_BYTES - SLACK(r->extra);
	return *ret_pool < MOVABLE_POOLS;
}

void movable_forget(const struct record *r)
{
	give(PLACE(r->extra), r->key, r->size_units);
}

/* Work in flight may use the block until the next one that is freed while nothing is captured; without a place, for
 * ever. */
static void free_late(const struct record *r)
{
	pthread_mutex_lock(&lock);
	if (late_count < LATE)
		late[late_count++] = *r;
	pthread_mutex_unlock(&lock);
}

static bool take_late(struct record *ret)
{
	bool any;

	pthread_mutex_lock(&lock);
	any = late_count;
	if (any)
		*ret = late[--late_count];
	pthread_mutex_unlock(&lock);
	return any;
}

/* As the driver's own call it waits for the device. A capture would be spoilt by that. */
void movable_free(const struct record *r)
{
	struct record before;

	if (capture_going()) {
		free_late(r);
		return;
	}
	shim_real.cuCtxSynchronize();
	movable_forget(r);
	while (take_late(&before))
		movable_forget(&before);
	movable_trim(false);
}

/* The piece that has the address. */
static const struct piece *piece_of_locked(CUdeviceptr p)
{
	for (uint32_t i = 0; i < piece_count; i++)
		if (pieces[i].bytes && p >= pieces[i].at && p - pieces[i].at < pieces[i].bytes)
			return &pieces[i];
	return NULL;
}

bool movable_has(CUdeviceptr p)
{
	bool has;

	if (!p || !piece_count)
		return false;
	pthread_mutex_lock(&lock);
	has = piece_of_locked(p);
	pthread_mutex_unlock(&lock);
	return has;
}

bool movable_find(CUdeviceptr p, struct movable_block *ret)
{
	const struct piece *piece;
	struct record record;
	uint32_t at = PACK_NONE;
	CUdeviceptr base = 0;

	if (!p || !piece_count)
		return false;
	pthread_mutex_lock(&lock);
	piece = piece_of_locked(p);
	if (piece) {
		at = piece->packed ? pack_find(&piece->pack, (uint32_t)((p - piece->at) / WIRE_UNIT_BYTES)) : 0;
		base = piece->at + (uint64_t)at * WIRE_UNIT_BYTES;
	}
	pthread_mutex_unlock(&lock);
	if (at == PACK_NONE || !records_find(record_pointer(base), &record) || record.kind != RECORD_MOVABLE)
		return false;
	ret->base = base;
	ret->bytes = (uint64_t)record.size_units * WIRE_UNIT_BYTES - SLACK(record.extra);
	ret->serial = record.units;
	ret->context = record.context;
	ret->pool = POOL(record.extra);
	return p - base < ret->bytes;
}

/* Leaving and returning ----------------------------------------------------------------------------------------- */

/* Nobody else is inside the door: the table stands still. */
static bool concerns(const struct piece *p, unsigned int device, bool resident)
{
	return p->bytes && p->device == device && p->resident == resident;
}

static uint64_t bytes_in_all(unsigned int device, bool resident)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < piece_count; i++)
		if (concerns(&pieces[i], device, resident))
			bytes += pieces[i].bytes;
	return bytes;
}

struct way {
	uint64_t done, all;
	movable_fn go_on;
	void *stage;	   /* STAGE_BYTES of the driver's; NULL: none yet */
	char *window;	   /* two of STAGE_BYTES, through which memory goes to the disk; NULL: it does not */
	bool pinned;	   /* the window */
	unsigned int turn; /* of the two, the one that is next */
};

static bool on_the_way(struct way *w)
{
	/* Above 0: what meted sees before is a program whose work has not ended. */
	return w->go_on(w->all ? (unsigned int)(1 + w->done * 99 / w->all) : 100);
}

/* A driver behind a fence takes no memory but its own. */
static CUresult copy_staged(char *host, CUdeviceptr at, uint64_t bytes, bool out, struct way *w)
{
	CUresult r = CUDA_SUCCESS;

	if (!w->stage)
		r = shim_real.cuMemHostAlloc(&w->stage, STAGE_BYTES, 0);
	for (uint64_t n, i = 0; r == CUDA_SUCCESS && i < bytes; i += n) {
		n = bytes - i < STAGE_BYTES ? bytes - i : STAGE_BYTES;
		if (!out)
			memcpy(w->stage, host + i, n);
		r = out ? shim_real.cuMemcpyDtoH_v2(w->stage, at + i, n)
			: shim_real.cuMemcpyHtoD_v2(at + i, w->stage, n);
		if (out && r == CUDA_SUCCESS)
			memcpy(host + i, w->stage, n);
	}
	return r;
}

static CUresult copy_part(char *host, CUdeviceptr at, uint64_t bytes, bool out, struct way *w)
{
	CUresult r = CUDA_ERROR_INVALID_VALUE;

	if (!w->stage)
		r = out ? shim_real.cuMemcpyDtoH_v2(host, at, bytes) : shim_real.cuMemcpyHtoD_v2(at, host, bytes);
	return r == CUDA_ERROR_INVALID_VALUE ? copy_staged(host, at, bytes, out, w) : r;
}

static enum movable_result copy_all(struct piece *p, bool out, struct way *w)
{
	for (uint64_t at = 0, n; at < p->bytes; at += n) {
		CUresult r;

		n = p->bytes - at < COPY_BYTES ? p->bytes - at : COPY_BYTES;
		r = copy_part((char *)p->host + at, p->at + at, n, out, w);
		if (r != CUDA_SUCCESS) {
			log_line("memory does not move: the driver answers %d to a copy of %llu bytes", (int)r,
				 (unsigned long long)n);
			return MOVABLE_FAULT;
		}
		w->done += n;
		if (!on_the_way(w))
			return MOVABLE_FAULT;
	}
	return MOVABLE_DONE;
}

/* Where it cannot be pinned, the driver goes through memory of its own. */
static enum movable_result copy(struct piece *p, bool out, struct way *w)
{
	bool pinned = !w->stage && shim_real.cuMemHostRegister_v2(p->host, p->bytes, 0) == CUDA_SUCCESS;
	enum movable_result r = copy_all(p, out, w);

	if (pinned)
		shim_real.cuMemHostUnregister(p->host);
	return r;
}

/* Memory goes by way of the disk. False: there is none for the window. */
static bool way_by_disk(struct way *w)
{
	int saved = errno;

	w->window = mmap(NULL, 2 * STAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	errno = saved;
	if (w->window == MAP_FAILED) {
		w->window = NULL;
		return false;
	}
	madvise(w->window, 2 * STAGE_BYTES, MADV_DONTFORK);
	w->pinned = shim_real.cuMemHostRegister_v2(w->window, 2 * STAGE_BYTES, 0) == CUDA_SUCCESS;
	return true;
}

static char *next_window(struct way *w)
{
	return w->window + (w->turn++ % 2) * STAGE_BYTES;
}

static uint64_t part_at(const struct piece *p, uint64_t at)
{
	return p->bytes - at < STAGE_BYTES ? p->bytes - at : STAGE_BYTES;
}

static bool has_come(struct way *w, uint64_t bytes)
{
	w->done += bytes;
	return on_the_way(w);
}

/* While one window is written the other one is filled. The last is still being written in the end. */
static enum movable_result copy_to_disk(struct piece *p, struct way *w)
{
	for (uint64_t at = 0, n; at < p->bytes; at += n) {
		char *window = next_window(w);

		n = part_at(p, at);
		if (copy_part(window, p->at + at, n, true, w) != CUDA_SUCCESS)
			return MOVABLE_FAULT;
		if (!stash_wait())
			return MOVABLE_DISK;
		stash_begin_write(&p->part, at, window, n);
		if (!has_come(w, n))
			return MOVABLE_FAULT;
	}
	return MOVABLE_DONE;
}

/* While one window is emptied the other one is read. */
static enum movable_result copy_from_disk(struct piece *p, struct way *w)
{
	char *window = next_window(w);

	stash_begin_read(&p->part, 0, window, part_at(p, 0));
	for (uint64_t at = 0, n; at < p->bytes; at += n) {
		char *here = window;

		n = part_at(p, at);
		if (!stash_wait())
			return MOVABLE_DISK;
		if (at + n < p->bytes) {
			window = next_window(w);
			stash_begin_read(&p->part, at + n, window, part_at(p, at + n));
		}
		if (copy_part(here, p->at + at, n, false, w) != CUDA_SUCCESS || !has_come(w, n))
			return MOVABLE_FAULT;
	}
	return stash_is_whole(&p->part) ? MOVABLE_DONE : MOVABLE_DISK;
}

static void way_end(struct way *w)
{
	int saved = errno;

	stash_wait();
	if (w->pinned)
		shim_real.cuMemHostUnregister(w->window);
	if (w->window)
		munmap(w->window, 2 * STAGE_BYTES);
	errno = saved;
	if (w->stage)
		shim_real.cuMemFreeHost(w->stage);
}

static void free_hosts(unsigned int device, bool resident)
{
	for (uint32_t i = 0; i < piece_count; i++)
		if (concerns(&pieces[i], device, resident))
			host_free(&pieces[i]);
}

/* The account follows each piece: what is away is counted before it is refunded. */
static void let_go(struct piece *p)
{
	gate_enter();
	unback(p);
	p->resident = false;
	away_add(p->device, units_of(p));
	account_give(p->device, units_of(p));
	gate_leave();
}

/* meted says where to, and by that way it goes. */
static enum movable_result way_out(unsigned int device, struct way *w)
{
	enum stash_place place = stash_begin(device, w->all);

	return place == STASH_NOWHERE || (place == STASH_DISK && !way_by_disk(w)) ? MOVABLE_HOST : MOVABLE_DONE;
}

enum movable_result movable_leave(unsigned int device, movable_fn go_on)
{
	struct way w = { .all = bytes_in_all(device, true), .go_on = go_on };
	enum movable_result r = on_the_way(&w) ? MOVABLE_DONE : MOVABLE_FAULT;

	if (r == MOVABLE_DONE)
		r = way_out(device, &w);
	for (uint32_t i = 0; r == MOVABLE_DONE && i < piece_count; i++) {
		struct piece *p = &pieces[i];

		if (!concerns(p, device, true) || is_empty(p))
			continue;
		if (w.window)
			r = copy_to_disk(p, &w);
		else
			r = host_new(p) ? copy(p, true, &w) : MOVABLE_HOST;
	}
	if (!stash_wait() && r == MOVABLE_DONE)
		r = MOVABLE_DISK;
	way_end(&w);
	if (r != MOVABLE_DONE) {
		free_hosts(device, true);
		stash_end();
		return r;
	}
	movable_trim(true);
	for (uint32_t i = 0; i < piece_count; i++)
		if (concerns(&pieces[i], device, true))
			let_go(&pieces[i]);
	publish(device);
	return MOVABLE_DONE;
}

static enum movable_result bring_back(struct piece *p, struct way *w)
{
	struct charge c = { 0 };

	if (charge_begin_moving(&c, p->device, units_of(p)) != CHARGE_HELD)
		return MOVABLE_DEVICE;
	if (back(p) != CUDA_SUCCESS) {
		charge_cancel(&c);
		return MOVABLE_DEVICE;
	}
	p->resident = true;
	away_add(p->device, -units_of(p));
	gate_leave();
	return w->window ? copy_from_disk(p, w) : copy(p, false, w);
}

enum movable_result movable_return(unsigned int device, movable_fn go_on)
{
	struct way w = { .all = bytes_in_all(device, false), .go_on = go_on };
	enum movable_result r = MOVABLE_DONE;
	uint32_t i;

	if (stash_open() && !way_by_disk(&w))
		return MOVABLE_HOST;
	for (i = 0; r == MOVABLE_DONE && i < piece_count; i++)
		if (concerns(&pieces[i], device, false))
			r = bring_back(&pieces[i], &w);
	way_end(&w);
	if (r == MOVABLE_DONE) {
		free_hosts(device, true);
		stash_end();
	}
	/* Nothing has run meanwhile: what the host has still stands. */
	for (i = 0; r != MOVABLE_DONE && i < piece_count; i++)
		if (concerns(&pieces[i], device, true))
			let_go(&pieces[i]);
	publish(device);
	return r;
}

void movable_reset(void)
{
	pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;

	lock = unlocked;
	stash_reset();
	memset(pieces, 0, piece_count * sizeof *pieces);
	piece_count = late_count = 0;
	memset(away_units, 0, sizeof away_units);
	packed_bytes = 0;
}
