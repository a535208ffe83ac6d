/* version.c: what a library tells of its version, by the number in its name. */
#include "libs/cusolver/solver.h"

const int solver_version = LIBRARY_MAJOR == 11 ? 11703 : 12004;
