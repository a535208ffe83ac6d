/* own_library.h: recognises a loaded library of mete's own that replaces a driver's library. */
#pragma once

struct link_map;

/* Value: "the software device", "the shim" ...; NULL: another vendor's library. */
const char *own_library(const struct link_map *map);
