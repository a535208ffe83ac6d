/* nccl_id.h: how the ranks of a test get one unique id: rank 0 writes it to a file, which the others wait for. */
#pragma once

#include "nccl_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline void nccl_id_get(const struct nccl_table *t, int rank, const char *path, ncclUniqueId *id)
{
	char other[4096];
	FILE *f = NULL;

	if (!rank) {
		snprintf(other, sizeof(other), "%s.new", path);
		if (t->ncclGetUniqueId(id) || !(f = fopen(other, "we")) || fwrite(id, sizeof(*id), 1, f) != 1 ||
		    fclose(f) || rename(other, path))
			exit(3);
		return;
	}
	for (int i = 0; i < 3000 && !(f = fopen(path, "re")); i++)
		usleep(10000);
	if (!f || fread(id, sizeof(*id), 1, f) != 1)
		exit(3);
	fclose(f);
}
