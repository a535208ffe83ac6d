/*
 * movable.c: see movable.h. Blocks in pieces.
 *
 * A new packed piece is an eighth of those that there are, up to a 64th of the quota and PACKED_MOST_BYTES, so that a
 * small program does not pay for a large piece; where the quota has no room for that, it is as large as it must be.
 * Under a small quota, of which pieces of this size would waste much, a piece grows at its end instead, as blocks need
 * it.
 *
 * A large block has a piece of its own. If the driver's granule would waste too much of that, it shares a piece with
 * others: one that grows at its end by what each of them needs, and has room for small blocks in between.
 */
#include "shim/movable.h"
#include "base/setting.h"
#include "core/account.h"
#include "core/capture.h"
#include "core/charge.h"
#include "core/tick.h"
#include "cuda_shim.h"
#include "shim/devices.h"
#include "shim/pieces.h"
#include "shim/start.h"

#include <pthread.h>
#include <string.h>

#define PACKED_LEAST_BYTES (2ull << 20)
#define PACKED_MOST_BYTES (64ull << 20)
#define PACKED_PART 8
#define QUOTA_PART 64
#define TIGHT_BYTES (256ull << 20)
#define TIGHT_PART 128
#define BLOCK_MOST_BYTES (8ull << 20) /* what is larger has a piece of its own, or */
#define LARGE_PART 64		      /* if that would waste more than this part of it, one that grows */
#define LATE 256u

static uint32_t serial;
static struct record late[LATE]; /* blocks that were freed while a stream was being captured; by pieces_lock */
static uint32_t late_count;
static _Atomic int wanted; /* 0: not known yet */

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

	pthread_mutex_lock(&pieces_lock);
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
	pthread_mutex_unlock(&pieces_lock);
	return at == PACK_NONE ? PIECES : i;
}

static uint64_t round_up(uint64_t bytes, uint64_t to)
{
	return (bytes + to - 1) / to * to;
}

/* Of a large quota what pieces leave unused is little, and to grow them is not worth its calls of the driver. */
static bool is_tight(unsigned int device)
{
	return account_quota_bytes(device) <= TIGHT_BYTES;
}

/* More than must be, so that the driver is not called for each few blocks. */
static uint64_t packed_wish(unsigned int device, uint64_t least)
{
	uint64_t wish = pieces_packed_bytes() / (is_tight(device) ? TIGHT_PART : PACKED_PART);
	uint64_t most = account_quota_bytes(device) / QUOTA_PART;

	if (wish > most)
		wish = most;
	if (wish < PACKED_LEAST_BYTES)
		wish = PACKED_LEAST_BYTES;
	return round_up(wish > PACKED_MOST_BYTES ? PACKED_MOST_BYTES : wish, least);
}

/* Not by asking meted for more than must be: others may have to make room for it. */
static uint64_t packed_size(unsigned int device, uint64_t must, uint64_t wish, uint64_t least)
{
	uint64_t credit = (uint64_t)account_credit_units(device) * WIRE_UNIT_BYTES / least * least;

	if (wish > credit)
		wish = credit;
	return wish > must ? wish : must;
}

static CUresult new_piece(unsigned int device, CUdevice real, uint64_t bytes, uint64_t most, uint64_t least)
{
	uint64_t size = packed_size(device, bytes, most, least);
	uint64_t room = is_tight(device) ? PACKED_ROOM_BYTES : 0;
	uint32_t place;
	CUresult r = piece_new(device, real, size, room > size ? room : size, &place);

	if (r != CUDA_SUCCESS && size > bytes)
		r = piece_new(device, real, bytes, room > bytes ? room : bytes, &place);
	return r;
}

/* False: no piece can grow so far. */
static bool grow_piece(unsigned int device, uint64_t bytes, uint64_t least, CUresult *ret_r)
{
	uint64_t wish = packed_wish(device, least), must, most, size;
	uint32_t place = piece_to_grow(device, bytes, least, &must, &most);

	if (place == PIECES)
		return false;
	size = packed_size(device, must, wish < most ? wish : most, least);
	*ret_r = piece_grow(place, size);
	/* By no more than it must. Another thread may have changed the piece meanwhile. */
	if (*ret_r != CUDA_SUCCESS && size > must) {
		place = piece_to_grow(device, bytes, least, &must, &most);
		if (place == PIECES)
			return false;
		*ret_r = piece_grow(place, must);
	}
	return true;
}

/* A piece of its own would waste much of a block of this size. */
static bool shares(uint64_t bytes, uint64_t least)
{
	return bytes > BLOCK_MOST_BYTES && round_up(bytes, least) - bytes > bytes / LARGE_PART &&
	       round_up(bytes, least) <= LARGE_ROOM_BYTES / 2;
}

/* By no more than it needs. */
static CUresult new_shared(unsigned int device, CUdevice real, uint64_t bytes, uint64_t least)
{
	uint64_t must, most;
	uint32_t place = piece_to_grow(device, bytes, least, &must, &most);

	if (place < PIECES)
		return piece_grow(place, must);
	return piece_new(device, real, round_up(bytes, least), LARGE_ROOM_BYTES, &place);
}

static CUresult new_packed(unsigned int device, CUdevice real, uint64_t bytes, uint64_t least)
{
	uint64_t wish = packed_wish(device, least), before;
	CUresult r;

	if (shares(bytes, least))
		return new_shared(device, real, bytes, least);
	if (is_tight(device) && grow_piece(device, bytes, least, &r))
		return r;
	before = is_tight(device) ? pieces_ended_bytes() : 0;
	return new_piece(device, real, round_up(bytes, least), before > wish ? before : wish, least);
}

/* One that was freed a moment ago. PIECES: there is none. */
static uint32_t take_whole(unsigned int device, uint64_t bytes, CUdeviceptr *ret)
{
	uint32_t i;

	pthread_mutex_lock(&pieces_lock);
	for (i = 0; i < piece_count; i++) {
		struct piece *p = &pieces[i];

		if (p->bytes != bytes || p->packed || p->whole || p->device != device || !p->resident)
			continue;
		p->whole = true;
		*ret = p->at;
		break;
	}
	pthread_mutex_unlock(&pieces_lock);
	return i < piece_count ? i : PIECES;
}

static CUresult take(unsigned int device, CUdevice real, uint64_t bytes, CUdeviceptr *ret, uint32_t *ret_place)
{
	uint64_t least = pieces_granularity(real);
	CUresult r = CUDA_SUCCESS;

	if (!least || wire_units(bytes) > WIRE_MAX_UNITS)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (bytes > BLOCK_MOST_BYTES && !shares(bytes, least)) {
		*ret_place = take_whole(device, round_up(bytes, least), ret);
		if (*ret_place < PIECES)
			return CUDA_SUCCESS;
		r = piece_new(device, real, round_up(bytes, least), 0, ret_place);
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

	pthread_mutex_lock(&pieces_lock);
	if (p->packed)
		pack_give(&p->pack, (uint32_t)((at - p->at) / WIRE_UNIT_BYTES), units);
	else
		p->whole = false;
	if (!p->packed || !p->pack.used)
		p->emptied_ns = tick_now();
	pthread_mutex_unlock(&pieces_lock);
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

bool movable_is_packed(const struct record *r)
{
	return (uint64_t)r->size_units * WIRE_UNIT_BYTES <= BLOCK_MOST_BYTES;
}

void movable_forget(const struct record *r)
{
	give(PLACE(r->extra), r->key, r->size_units);
}

/* Work in flight may use the block until the next one that is freed while nothing is captured; without a place, for
 * ever. */
static void free_late(const struct record *r)
{
	pthread_mutex_lock(&pieces_lock);
	if (late_count < LATE)
		late[late_count++] = *r;
	pthread_mutex_unlock(&pieces_lock);
}

static bool take_late(struct record *ret)
{
	bool any;

	pthread_mutex_lock(&pieces_lock);
	any = late_count;
	if (any)
		*ret = late[--late_count];
	pthread_mutex_unlock(&pieces_lock);
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
		if (pieces[i].bytes && !pieces[i].own && p >= pieces[i].at && p - pieces[i].at < pieces[i].bytes)
			return &pieces[i];
	return NULL;
}

bool movable_has(CUdeviceptr p)
{
	bool has;

	if (!p || !piece_count)
		return false;
	pthread_mutex_lock(&pieces_lock);
	has = piece_of_locked(p);
	pthread_mutex_unlock(&pieces_lock);
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
	pthread_mutex_lock(&pieces_lock);
	piece = piece_of_locked(p);
	if (piece) {
		at = piece->packed ? pack_find(&piece->pack, (uint32_t)((p - piece->at) / WIRE_UNIT_BYTES)) : 0;
		base = piece->at + (uint64_t)at * WIRE_UNIT_BYTES;
	}
	pthread_mutex_unlock(&pieces_lock);
	if (at == PACK_NONE || !records_find(record_pointer(base), &record) || record.kind != RECORD_MOVABLE)
		return false;
	ret->base = base;
	ret->bytes = (uint64_t)record.size_units * WIRE_UNIT_BYTES - SLACK(record.extra);
	ret->serial = record.units;
	ret->context = record.context;
	ret->pool = POOL(record.extra);
	return p - base < ret->bytes;
}
void movable_reset(void)
{
	stash_reset();
	pieces_reset();
	late_count = 0;
}
