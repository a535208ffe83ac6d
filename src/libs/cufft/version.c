/* version.c: what a library tells of its version, by the number in its name. */
#include "libs/cufft/fft.h"

const int fft_version = LIBRARY_MAJOR == 11 ? 11400 : 12000;
