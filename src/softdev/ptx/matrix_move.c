/*
 * matrix_move.c: fragments between registers and memory: wmma.load and wmma.store, ldmatrix and stmatrix, movmatrix.
 *
 * matrix.h says how a fragment lies in registers.
 */
#include "softdev/ptx/matrix.h"
#include "softdev/ptx/once.h"
#include "softdev/ptx/reach.h"
#include "softdev/ptx/tile.h"

struct cell {
	u32 row, column;
};

/* Where element `sub` of a lane's register belongs. */
static struct cell cell_of(const struct matrix_use *u, const struct fragment *f, u32 reg, u32 lane, u32 sub)
{
	const u32 e = u->bits >= 32 ? 1 : 32u / u->bits, rows = u->m / 8u, group = lane / 4, part = lane % 4;
	u32 tile = reg % f->tiles, deep;

	switch (u->which) {
	case 'a':
		return (struct cell){ group + tile % rows * 8, tile / rows * 4 * e + part * e + sub };
	case 'b':
		deep = u->k / (4 * e);
		return (struct cell){ tile % deep * 4 * e + part * e + sub, group + tile / deep * 8 };
	default:
		if (u->bits == 16)
			return (struct cell){ group + tile % rows * 8, tile / rows * 8 + part * 2 + sub };
		tile = reg / 2;
		return (struct cell){ group + tile % rows * 8, tile / rows * 8 + part * 2 + reg % 2 };
	}
}

/* The whole matrix in memory: its first byte, checked from end to end or, with gaps between, line by line. */
static u8 *matrix_memory(struct warp *w, const struct op *o, const struct matrix_use *u, u64 ld, bool write)
{
	const u32 lane = (u32)__builtin_ctz(w->mask);
	const u32 rows = u->which == 'b' ? u->k : u->m, columns = u->which == 'a' ? u->k : u->n;
	const u64 lines = u->a_col ? columns : rows, line = (u64)(u->a_col ? rows : columns) * u->bits / 8;
	const u64 first = lane_value(w, o->a, lane, u->shared) + o->list->imm, step = ld * u->bits / 8;
	u8 *memory = NULL;

	for (u64 i = lines; i-- > 0;) {
		memory = reach_bytes(w, o, lane, first + i * step, u->shared, line, u->bits < 16 ? 4 : u->bits / 8u,
				     write);
		if (!memory)
			return NULL;
	}
	return memory;
}

static u64 leading(const struct warp *w, const struct op *o, const struct matrix_use *u)
{
	if (o->b != LOC_NONE)
		return ((const u32 *)at(w, o->b))[__builtin_ctz(w->mask)];
	return u->which == 'b'	 ? (u->a_col ? u->k : u->n)
	       : u->which == 'a' ? (u->a_col ? u->m : u->k)
				 : (u->a_col ? u->m : u->n);
}

static u64 offset_of(const struct matrix_use *u, u64 ld, struct cell c)
{
	return (u->a_col ? c.column * ld + c.row : c.row * ld + c.column) * u->bits / 8;
}

/* Whether the elements of a register lie side by side in memory. */
static bool side_by_side(const struct matrix_use *u)
{
	return u->bits < 8 || u->bits >= 32 || (u->which == 'b' ? u->a_col : !u->a_col);
}

void wmma_load(struct warp *w, const struct op *o)
{
	const struct matrix_use *u = o->list->what;
	const u32 bytes = u->bits == 64 ? 8 : 4, step = u->bits / 8u;
	const u64 ld = leading(w, o, u);
	const u8 *memory = matrix_memory(w, o, u, ld, false);
	const bool together = side_by_side(u);

	for (u32 r = 0; memory && r < u->d.count; r++) {
		u8 *d = at(w, o->list->loc[u->d.first + r]);

		for (u32 i = 0; i < LANES; i++) {
			if (!(w->mask & lane_bit[i]))
				continue;
			for (u32 k = 0; k < (together ? 1 : 4 / step); k++)
				memcpy(d + i * bytes + k * step, memory + offset_of(u, ld, cell_of(u, &u->d, r, i, k)),
				       together ? bytes : step);
		}
	}
}

void wmma_store(struct warp *w, const struct op *o)
{
	const struct matrix_use *u = o->list->what;
	const u32 bytes = u->bits == 64 ? 8 : 4, step = u->bits / 8u;
	const u64 ld = leading(w, o, u);
	u8 *memory = matrix_memory(w, o, u, ld, true);
	const bool together = side_by_side(u);

	for (u32 r = 0; memory && r < u->d.count; r++) {
		const u8 *s = at(w, o->list->loc[u->d.first + r]);

		for (u32 i = 0; i < LANES; i++) {
			if (!(w->mask & lane_bit[i]))
				continue;
			for (u32 k = 0; k < (together ? 1 : 4 / step); k++)
				memcpy(memory + offset_of(u, ld, cell_of(u, &u->d, r, i, k)), s + i * bytes + k * step,
				       together ? bytes : step);
		}
	}
}

static void give_tile(struct warp *w, u32 loc, const u16 *tile)
{
	u32 *d = at(w, loc), v;

	if (w->mask == ~0u) {
		memcpy(d, tile, TILE_BYTES);
		return;
	}
	for (u32 i = 0; i < LANES; i++) {
		memcpy(&v, tile + i * 2, sizeof(v));
		d[i] = w->mask & lane_bit[i] ? v : d[i];
	}
}

/* A row of 16 small elements, without gaps between them, becomes a byte for each. */
static void unpack_row(u8 *to, const u8 *from, u32 bits)
{
	for (u32 i = 0; i < 16; i++) {
		const u32 at = i * bits, pair = from[at / 8] | (u32)from[at / 8 + 1] << 8;

		to[i] = (u8)(pair >> at % 8 & ((1u << bits) - 1));
	}
}

/* Lane 8 i + r names row r of matrix i: the 16 bytes of a row whose address lane i has. NULL: a fault. */
static u8 *row_of(struct warp *w, const struct op *o, const struct matrix_use *u, u32 i, bool write)
{
	return reach_bytes(w, o, i, lane_value(w, o->a, i, u->shared) + o->list->imm, u->shared, 16, 16, write);
}

/*
 * Matrices of 16 x 16 bytes: a lane gets four neighbours of a column, and four of the eighth column after it. All rows
 * are read before a register is written, which may be one of an address.
 */
static void load_turned(struct warp *w, const struct op *o, const struct matrix_use *u)
{
	u8 row[LANES][16], tile[8 * 16];

	for (u32 i = 0; i < u->d.count * 8u; i++) {
		const u8 *from = row_of(w, o, u, i, false);

		if (!from)
			return;
		if (u->unpack)
			unpack_row(row[i], from, u->unpack);
		else
			memcpy(row[i], from, 16);
	}
	for (u32 k = 0; k < u->d.count; k++) {
		for (u32 i = 0; i < sizeof(tile); i++)
			tile[i] = row[k / 2 * 16 + i % 16][i / 16 + k % 2 * 8];
		give_tile(w, o->list->loc[u->d.first + k], (const u16 *)(const void *)tile);
	}
}

/* Matrices of 16 x 8 bytes, as accumulators lie: a lane has two neighbours of a row, and of the eighth row after it. */
static void store_turned(struct warp *w, const struct op *o, const struct matrix_use *u)
{
	u8 fragment[4][LANES * 4];

	for (u32 i = 0; i < u->d.count; i++)
		memcpy(fragment[i], at(w, o->list->loc[u->d.first + i]), sizeof(fragment[i]));
	for (u32 i = 0; i < u->d.count * 8u; i++) {
		const u32 n = i % 8;
		u8 *to = row_of(w, o, u, i, true);

		if (!to)
			return;
		for (u32 m = 0; m < 16; m++)
			to[m] = fragment[i / 8][(m % 8 * 4 + n / 2) * 4 + n % 2 + m / 8 * 2];
	}
}

/* All rows as they are. False: something is special about them, or an address is wrong. */
static bool load_rows(struct warp *w, const struct op *o, const struct matrix_use *u)
{
	const u32 *address = at(w, o->a), first = (u32)o->list->imm, count = u->d.count * 8u;
	const struct block *b = w->block;
	u32 from[LANES], odd = 0, last = 0; /* a result may take the addresses' place */
	u16 tile[64];

	if (!u->shared || u->unpack)
		return false;
	for (u32 i = 0; i < count; i++) {
		from[i] = address[i] + first;
		odd |= from[i] % 16;
		last = from[i] > last ? from[i] : last;
	}
	if (odd || (u64)last + 16 > b->shared_bytes)
		return false;
	for (u32 k = 0; k < u->d.count; k++) {
		const bool plain = !u->trans && w->mask == ~0u;
		u16 *to = plain ? at(w, o->list->loc[u->d.first + k]) : tile;

		for (u32 i = 0; i < 8; i++)
			memcpy(to + i * 8, b->shared + from[k * 8 + i], 16);
		if (u->trans)
			tile_turn(tile, tile);
		if (!plain)
			give_tile(w, o->list->loc[u->d.first + k], tile);
	}
	return true;
}

void ldmatrix(struct warp *w, const struct op *o)
{
	const struct matrix_use *u = o->list->what;
	u16 tile[4][64];

	if (u->bytes) {
		load_turned(w, o, u);
		return;
	}
	if (load_rows(w, o, u))
		return;
	for (u32 i = 0; i < u->d.count * 8u; i++) {
		const u8 *row = row_of(w, o, u, i, false);

		if (!row)
			return;
		if (u->unpack)
			unpack_row((u8 *)(tile[i / 8] + i % 8 * 8), row, u->unpack);
		else
			memcpy(tile[i / 8] + i % 8 * 8, row, 16);
	}
	for (u32 i = 0; i < u->d.count; i++) {
		if (u->trans)
			tile_turn(tile[i], tile[i]);
		give_tile(w, o->list->loc[u->d.first + i], tile[i]);
	}
}

void stmatrix(struct warp *w, const struct op *o)
{
	const struct matrix_use *u = o->list->what;
	u16 tile[4][64];

	if (u->bytes) {
		store_turned(w, o, u);
		return;
	}
	for (u32 i = 0; i < u->d.count; i++) {
		memcpy(tile[i], at(w, o->list->loc[u->d.first + i]), sizeof(tile[i]));
		if (u->trans)
			tile_turn(tile[i], tile[i]);
	}
	for (u32 i = 0; i < u->d.count * 8u; i++) {
		u8 *row = row_of(w, o, u, i, true);

		if (!row)
			return;
		memcpy(row, tile[i / 8] + i % 8 * 8, 16);
	}
}

void movmatrix(struct warp *w, const struct op *o)
{
	u16 tile[64];

	tile_turn(tile, at(w, o->a));
	give_tile(w, o->d, tile);
}

void matrix_multiply(struct warp *w, const struct op *o)
{
	module_isa(w->frame->function->module)->multiply(w, o);
}
