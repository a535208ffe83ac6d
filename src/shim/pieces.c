/*
 * pieces.c: see pieces.h. The table, and what the driver is asked for each piece.
 *
 * What is away keeps its reservation of addresses, so nothing else comes to lie there. The host's memory for it is the
 * process's own and no driver's, because that would end with the context that it was made in; it is pinned while it is
 * copied.
 */
#include "shim/pieces.h"
#include "core/account.h"
#include "core/gate.h"
#include "core/tick.h"
#include "cuda_shim.h"
#include "shim/movable.h"
#include "shim/vmm.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#define PACKED_KEPT_BYTES (64ull << 20)
#define WHOLE_PART 16 /* of the quota: large pieces that are empty are kept for so long */
#define WHOLE_NS 200000000u
#define ENDED_NS 1000000000u

pthread_mutex_t pieces_lock = PTHREAD_MUTEX_INITIALIZER;
struct piece pieces[PIECES];
uint32_t piece_count;
static uint64_t packed_bytes;			      /* guarded by the lock as well */
static _Atomic uint32_t away_units[WIRE_MAX_DEVICES]; /* what the page says: it may be replaced */

static uint64_t ended_bytes, ended_ns; /* of the packed piece that was trimmed last */

uint64_t pieces_ended_bytes(void)
{
	uint64_t bytes;

	pthread_mutex_lock(&pieces_lock);
	bytes = tick_now() - ended_ns < ENDED_NS ? ended_bytes : 0;
	pthread_mutex_unlock(&pieces_lock);
	return bytes;
}

uint64_t pieces_packed_bytes(void)
{
	uint64_t bytes;

	pthread_mutex_lock(&pieces_lock);
	bytes = packed_bytes;
	pthread_mutex_unlock(&pieces_lock);
	return bytes;
}

uint32_t piece_units(const struct piece *p)
{
	return (uint32_t)wire_units(p->bytes);
}

/* What can leave, for meted to see. */
static void publish_locked(unsigned int device)
{
	uint32_t units = 0;

	for (uint32_t i = 0; i < piece_count; i++)
		if (pieces[i].bytes && pieces[i].device == device && pieces[i].resident && !pieces[i].fixed)
			units += piece_units(&pieces[i]);
	atomic_store_explicit(&accounts[device].wire->movable_units, units, memory_order_relaxed);
}

void pieces_publish(unsigned int device)
{
	pthread_mutex_lock(&pieces_lock);
	publish_locked(device);
	pthread_mutex_unlock(&pieces_lock);
}

/* More are away, or less (a difference modulo 2^32). */
void pieces_away(unsigned int device, uint32_t units)
{
	uint32_t now = atomic_fetch_add_explicit(&away_units[device], units, memory_order_relaxed) + units;

	atomic_store_explicit(&accounts[device].wire->away_units, now, memory_order_release);
}

void movable_tell(unsigned int device)
{
	pieces_away(device, 0);
	pieces_publish(device);
}

/* The driver's side of a piece ---------------------------------------------------------------------------------- */

static CUmemAllocationProp prop_of(CUdevice real)
{
	return (CUmemAllocationProp){ .type = CU_MEM_ALLOCATION_TYPE_PINNED,
				      .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = real } };
}

uint64_t pieces_granularity(CUdevice real)
{
	CUmemAllocationProp prop = prop_of(real);
	size_t bytes = 0;

	if (shim_real.cuMemGetAllocationGranularity(&bytes, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM) != CUDA_SUCCESS)
		return 0;
	return bytes;
}

static CUresult map(CUdevice real, CUdeviceptr at, uint64_t bytes, CUmemGenericAllocationHandle handle)
{
	CUmemAccessDesc access = { .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = real },
				   .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
	CUresult r = shim_real.cuMemMap(at, bytes, 0, handle, 0);

	if (r != CUDA_SUCCESS)
		return r;
	r = shim_real.cuMemSetAccess(at, bytes, &access, 1);
	if (r != CUDA_SUCCESS)
		shim_real.cuMemUnmap(at, bytes);
	return r;
}

static CUresult map_at(const struct piece *p)
{
	return map(p->real, p->at, p->bytes, p->handle);
}

/* The last part is there no more. */
static void drop_part(struct piece *p)
{
	const struct piece_part *part = &p->parts[--p->part_count];

	p->bytes -= part->bytes;
	shim_real.cuMemUnmap(p->at + p->bytes, part->bytes);
	shim_real.cuMemRelease(part->handle);
}

CUresult piece_show(struct piece *p)
{
	CUresult r = shim_real.cuMemAddressReserve(&p->at, p->bytes, 0, 0, 0);

	if (r == CUDA_SUCCESS) {
		r = map_at(p);
		if (r == CUDA_SUCCESS)
			return r;
		shim_real.cuMemAddressFree(p->at, p->bytes);
	}
	p->at = 0;
	return r;
}

void piece_hide(struct piece *p)
{
	if (!p->at)
		return;
	shim_real.cuMemUnmap(p->at, p->bytes);
	shim_real.cuMemAddressFree(p->at, p->bytes);
	p->at = 0;
}

CUresult piece_back(struct piece *p)
{
	CUmemAllocationProp prop = p->own ? p->prop : prop_of(p->real);
	CUresult r = shim_real.cuMemCreate(&p->handle, p->bytes, &prop, p->flags);

	if (r != CUDA_SUCCESS)
		return r;
	r = p->own ? piece_show(p) : map_at(p);
	if (r != CUDA_SUCCESS)
		shim_real.cuMemRelease(p->handle);
	return r;
}

/* It has its size all the same: when it comes back it is of one handle. */
void piece_unback(struct piece *p)
{
	uint64_t bytes = p->bytes;

	while (p->part_count)
		drop_part(p);
	if (p->own)
		piece_hide(p);
	else
		shim_real.cuMemUnmap(p->at, p->bytes);
	shim_real.cuMemRelease(p->handle);
	p->bytes = bytes;
}

/* Making and ending pieces -------------------------------------------------------------------------------------- */

/* The maps of a packed piece, for as large as it may grow, and its parts. */
#define MAP_WORDS PACK_WORDS((uint32_t)(LARGE_ROOM_BYTES / WIRE_UNIT_BYTES))

struct maps {
	uint64_t taken[MAP_WORDS], begins[MAP_WORDS];
	struct piece_part parts[PIECE_PARTS];
};

static bool maps_new(struct piece *p)
{
	int saved = errno;
	struct maps *maps = mmap(NULL, sizeof(*maps), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	errno = saved;
	if (maps == MAP_FAILED)
		return false;
	p->pack = (struct pack){ .taken = maps->taken, .begins = maps->begins, .units = piece_units(p) };
	p->parts = maps->parts;
	return true;
}

static void maps_free(struct piece *p)
{
	int saved = errno;

	if (p->pack.taken)
		munmap(p->pack.taken, sizeof(struct maps));
	errno = saved;
}

/* The place of a new piece. PIECES: there is none. */
static uint32_t insert(const struct piece *p)
{
	uint32_t i = 0;

	pthread_mutex_lock(&pieces_lock);
	while (i < piece_count && pieces[i].bytes)
		i++;
	if (i < PIECES) {
		pieces[i] = *p;
		if (i == piece_count)
			piece_count++;
		packed_bytes += p->packed ? p->bytes : 0;
		publish_locked(p->device);
	}
	pthread_mutex_unlock(&pieces_lock);
	return i;
}

/* Charged and inside the gate: the gate is left. */
static CUresult piece_make(struct piece *p, struct charge *c, uint32_t *ret_place)
{
	CUresult r = shim_real.cuMemAddressReserve(&p->at, p->room, 0, 0, 0);

	if (r == CUDA_SUCCESS) {
		r = piece_back(p);
		if (r == CUDA_SUCCESS) {
			p->resident = true;
			*ret_place = insert(p);
			if (*ret_place < PIECES) {
				gate_leave();
				return r;
			}
			piece_unback(p);
			r = CUDA_ERROR_OUT_OF_MEMORY;
		}
		shim_real.cuMemAddressFree(p->at, p->room);
	}
	charge_cancel(c);
	return r;
}

CUresult piece_new(unsigned int device, CUdevice real, uint64_t bytes, uint64_t room, uint32_t *ret_place)
{
	struct piece p = { .bytes = bytes,
			   .room = room ? room : bytes,
			   .real = real,
			   .device = device,
			   .packed = room,
			   .whole = !room };
	struct charge c = { 0 };
	CUresult r;

	if (room && !maps_new(&p))
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (charge_begin_moving(&c, device, wire_units(bytes)) != CHARGE_HELD)
		r = CUDA_ERROR_OUT_OF_MEMORY;
	else
		r = piece_make(&p, &c, ret_place);
	if (r != CUDA_SUCCESS)
		maps_free(&p);
	return r;
}

uint32_t piece_to_grow(unsigned int device, uint64_t bytes, uint64_t least, uint64_t *ret_must, uint64_t *ret_most)
{
	uint32_t i;

	pthread_mutex_lock(&pieces_lock);
	for (i = 0; i < piece_count; i++) {
		struct piece *p = &pieces[i];
		uint64_t tail, must;

		if (!p->bytes || !p->packed || p->device != device || !p->resident || p->grows ||
		    p->part_count == PIECE_PARTS)
			continue;
		tail = (uint64_t)pack_tail(&p->pack) * WIRE_UNIT_BYTES;
		must = tail < bytes ? (bytes - tail + least - 1) / least * least : least;
		if (must > p->room - p->bytes)
			continue;
		p->grows = true;
		*ret_must = must;
		*ret_most = p->room - p->bytes;
		break;
	}
	pthread_mutex_unlock(&pieces_lock);
	return i < piece_count ? i : PIECES;
}

/* Nobody else changes the piece's size meanwhile. */
static CUresult part_make(const struct piece *p, struct piece_part *part)
{
	CUmemAllocationProp prop = prop_of(p->real);
	CUresult r = shim_real.cuMemCreate(&part->handle, part->bytes, &prop, 0);

	if (r != CUDA_SUCCESS)
		return r;
	r = map(p->real, p->at + p->bytes, part->bytes, part->handle);
	if (r != CUDA_SUCCESS)
		shim_real.cuMemRelease(part->handle);
	return r;
}

static void part_add(struct piece *p, const struct piece_part *part)
{
	pthread_mutex_lock(&pieces_lock);
	p->parts[p->part_count++] = *part;
	p->bytes += part->bytes;
	pack_end_at(&p->pack, piece_units(p));
	packed_bytes += part->bytes;
	publish_locked(p->device);
	pthread_mutex_unlock(&pieces_lock);
}

static void grown(struct piece *p)
{
	pthread_mutex_lock(&pieces_lock);
	p->grows = false;
	pthread_mutex_unlock(&pieces_lock);
}

/* A part at the end of a piece in which no block lies. It is the piece's no more, which changes in nothing meanwhile.
 */
static struct piece *take_tail(struct piece_part *ret)
{
	struct piece *found = NULL;

	pthread_mutex_lock(&pieces_lock);
	for (uint32_t i = 0; i < piece_count && !found; i++) {
		struct piece *p = &pieces[i];

		if (!p->bytes || !p->part_count || !p->resident || p->grows)
			continue;
		*ret = p->parts[p->part_count - 1];
		if ((uint64_t)pack_tail(&p->pack) * WIRE_UNIT_BYTES < ret->bytes)
			continue;
		found = p;
		p->grows = true;
		p->part_count--;
		p->bytes -= ret->bytes;
		pack_end_at(&p->pack, piece_units(p));
		packed_bytes -= ret->bytes;
		publish_locked(p->device);
	}
	pthread_mutex_unlock(&pieces_lock);
	return found;
}

bool pieces_drop_tails(void)
{
	struct piece_part part;
	struct piece *p;
	bool any = false;

	while ((p = take_tail(&part))) {
		gate_enter();
		shim_real.cuMemUnmap(p->at + p->bytes, part.bytes);
		shim_real.cuMemRelease(part.handle);
		account_give(p->device, (uint32_t)wire_units(part.bytes));
		gate_leave();
		grown(p);
		any = true;
	}
	return any;
}

CUresult piece_grow(uint32_t place, uint64_t bytes)
{
	struct piece *p = &pieces[place];
	struct piece_part part = { .bytes = bytes };
	struct charge c = { 0 };
	CUresult r = CUDA_ERROR_OUT_OF_MEMORY;

	if (bytes && charge_begin_moving(&c, p->device, wire_units(bytes)) == CHARGE_HELD) {
		r = p->resident ? part_make(p, &part) : r;
		if (r == CUDA_SUCCESS) {
			part_add(p, &part);
			gate_leave();
		} else {
			charge_cancel(&c);
		}
	}
	grown(p);
	return r;
}

bool piece_host_new(struct piece *p)
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

void piece_host_free(struct piece *p)
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
		piece_unback(p);
		account_give(p->device, piece_units(p));
		gate_leave();
	} else {
		pieces_away(p->device, -piece_units(p));
	}
	shim_real.cuMemAddressFree(p->at, p->room);
	piece_host_free(p);
	maps_free(p);
}

bool piece_is_empty(const struct piece *p)
{
	return p->bytes && !p->grows && (p->packed ? !p->pack.used : !p->whole);
}

/* What a trim leaves. */
struct leftover {
	uint64_t packed_bytes;
	uint64_t whole_bytes[WIRE_MAX_DEVICES];
	uint64_t whole_since_ns; /* those that have been empty for longer go */
};

static bool is_left(const struct piece *p, struct leftover *left)
{
	uint64_t *whole = &left->whole_bytes[p->device];

	if (p->packed && p->bytes <= left->packed_bytes) {
		left->packed_bytes -= p->bytes;
		return true;
	}
	if (p->bytes > *whole || p->emptied_ns < left->whole_since_ns)
		return false;
	*whole -= p->bytes;
	return true;
}

/* Takes one empty piece out. */
static bool take_empty(struct leftover left, struct piece *ret)
{
	bool found;
	uint32_t i;

	pthread_mutex_lock(&pieces_lock);
	for (i = 0; i < piece_count; i++)
		if (piece_is_empty(&pieces[i]) && !is_left(&pieces[i], &left))
			break;
	found = i < piece_count;
	if (found) {
		*ret = pieces[i];
		pieces[i].bytes = 0;
		packed_bytes -= ret->packed ? ret->bytes : 0;
		ended_bytes = ret->packed ? ret->bytes : ended_bytes;
		ended_ns = ret->packed ? tick_now() : ended_ns;
	}
	pthread_mutex_unlock(&pieces_lock);
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

/* One that may be kept as large buffers are. */
static bool any_large_empty(unsigned int device)
{
	bool any = false;

	pthread_mutex_lock(&pieces_lock);
	for (uint32_t i = 0; i < piece_count && !any; i++)
		any = pieces[i].device == device && (!pieces[i].packed || pieces[i].room == LARGE_ROOM_BYTES) &&
		      piece_is_empty(&pieces[i]);
	pthread_mutex_unlock(&pieces_lock);
	return any;
}

bool movable_trim(bool all)
{
	struct leftover left = { 0 };
	struct piece p = { 0 };
	bool any = false;

	if (!all) {
		left.packed_bytes = PACKED_KEPT_BYTES;
		left.whole_since_ns = tick_now() - WHOLE_NS;
		for (unsigned int i = 0; i < account_count; i++)
			left.whole_bytes[i] = any_large_empty(i) ? kept_whole_bytes(i) : 0;
	}
	while (take_empty(left, &p)) {
		piece_end(&p);
		pieces_publish(p.device);
		p.bytes = 0;
		any = true;
	}
	return any;
}

/* The program's own --------------------------------------------------------------------------------------------- */

bool movable_own_new(const struct movable_own *own, uint32_t *ret_place, CUresult *ret_r)
{
	struct piece p = { .bytes = own->bytes,
			   .real = own->prop.location.id,
			   .device = own->device,
			   .own = true,
			   .whole = true,
			   .resident = true,
			   .id = own->id,
			   .flags = own->flags,
			   .prop = own->prop };
	struct charge c = { 0 };

	*ret_r = CUDA_ERROR_OUT_OF_MEMORY;
	if (charge_begin_moving(&c, p.device, wire_units(p.bytes)) != CHARGE_HELD)
		return true;
	*ret_r = shim_real.cuMemCreate(&p.handle, p.bytes, &p.prop, p.flags);
	if (*ret_r != CUDA_SUCCESS) {
		charge_cancel(&c);
		return true;
	}
	*ret_place = insert(&p);
	if (*ret_place < PIECES) {
		gate_leave();
		return true;
	}
	shim_real.cuMemRelease(p.handle);
	charge_cancel(&c);
	return false;
}

bool movable_own_handle(uint32_t place, CUmemGenericAllocationHandle *ret)
{
	bool resident;

	pthread_mutex_lock(&pieces_lock);
	resident = pieces[place].resident;
	*ret = pieces[place].handle;
	pthread_mutex_unlock(&pieces_lock);
	return resident;
}

bool movable_own_leaves(uint32_t place, CUmemGenericAllocationHandle *ret)
{
	*ret = pieces[place].handle;
	return !pieces[place].fixed;
}

void movable_own_end(uint32_t place, bool charged)
{
	struct piece p;

	pthread_mutex_lock(&pieces_lock);
	p = pieces[place];
	pieces[place].bytes = 0;
	publish_locked(p.device);
	pthread_mutex_unlock(&pieces_lock);
	if (p.resident) {
		gate_enter();
		shim_real.cuMemRelease(p.handle);
		if (charged)
			account_give(p.device, piece_units(&p));
		gate_leave();
	} else {
		pieces_away(p.device, -piece_units(&p));
	}
	piece_host_free(&p);
}

static void fix(uint32_t place, uint32_t more)
{
	pthread_mutex_lock(&pieces_lock);
	pieces[place].fixed += more;
	publish_locked(pieces[place].device);
	pthread_mutex_unlock(&pieces_lock);
}

/* meted sees first that it stays, and is then asked whether it may: for no more memory. */
bool movable_own_keep(uint32_t place)
{
	fix(place, 1);
	if (account_ask(pieces[place].device, 0) == ACCOUNT_GRANTED)
		return true;
	fix(place, (uint32_t)-1);
	return false;
}

void movable_own_keep_no_more(uint32_t place)
{
	fix(place, (uint32_t)-1);
}

void pieces_reset(void)
{
	pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;

	pieces_lock = unlocked;
	memset(pieces, 0, piece_count * sizeof *pieces);
	piece_count = 0;
	memset(away_units, 0, sizeof away_units);
	packed_bytes = ended_bytes = 0;
}
