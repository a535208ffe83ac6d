/* own_library.h: recognises a loaded library of mete's own, which takes the place of a driver's. */
#pragma once

struct link_map;

/* "the software device", "the shim" ...; NULL: it is somebody else's. */
const char *own_library(const struct link_map *map);
