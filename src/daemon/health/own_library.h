/* own_library.h: is a library that has been loaded one of ours, which stand in for a driver's? */
#pragma once

struct link_map;

/* "the software device", "the shim" ...; NULL: it is somebody else's. */
const char *own_library(const struct link_map *map);
