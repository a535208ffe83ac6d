/* text_distance.c: see text_distance.h. */
#include "base/text_distance.h"

#include <string.h>

unsigned int text_distance(const char *a, const char *b)
{
	unsigned int row[64], columns = (unsigned int)strlen(b);

	if (columns >= sizeof(row) / sizeof(*row))
		return ~0u;
	for (unsigned int j = 0; j <= columns; j++)
		row[j] = j;
	for (unsigned int i = 1; a[i - 1]; i++) {
		unsigned int corner = row[0];

		row[0] = i;
		for (unsigned int j = 1; j <= columns; j++) {
			unsigned int best = corner + (a[i - 1] != b[j - 1]);

			corner = row[j];
			if (row[j] + 1 < best)
				best = row[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			row[j] = best;
		}
	}
	return row[columns];
}
