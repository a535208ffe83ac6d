/* duration.h: a duration as people write it: "90", "90s", "5m", "1h", "7d". */
#pragma once

#include <stdbool.h>

/* False: it is none of these, or longer than `most_s`. */
bool duration_parse(const char *text, long most_s, long *ret_s);

/* "9m 58s", "45s", "2h 10m", "3d 4h". Value: `text`. */
const char *duration_format(long s, char text[32]);
