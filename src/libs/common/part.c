/* part.c: what libraries share that needs no device: versions, and how work is divided; see library.h. */
#include "libs/common/library.h"

#define WORTH_A_BLOCK 65536 /* elements */

int library_property(int major, int minor, int patch, int type)
{
	return type == 0 ? major : type == 1 ? minor : type == 2 ? patch : -1;
}

uint32_t library_blocks(int64_t parts, int64_t each)
{
	int64_t most = 2 * (int64_t)device_threads(), worth = 1 + parts * each / WORTH_A_BLOCK;

	most = most < worth ? most : worth;
	return (uint32_t)(parts < 1 ? 1 : parts < most ? parts : most);
}

void library_part(const struct soft_native *n, int64_t count, int64_t *ret_from, int64_t *ret_to)
{
	*ret_from = (int64_t)((unsigned __int128)count * n->block / n->blocks);
	*ret_to = (int64_t)((unsigned __int128)count * (n->block + 1u) / n->blocks);
}

bool library_reach(struct soft_native *n, uint64_t at, int64_t count, uint64_t each, bool write)
{
	uint64_t bytes;

	if (count <= 0)
		return count == 0 || (n->refuse(n), false);
	if (__builtin_mul_overflow((uint64_t)count, each, &bytes)) {
		n->refuse(n);
		return false;
	}
	return device_reach(n, at, bytes, each, write);
}
