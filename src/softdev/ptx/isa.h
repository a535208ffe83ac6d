/*
 * isa.h: names of what is built once per instruction set of the host, with PTX_ISA as the set's name: isa_avx2,
 * rows_int_avx2.
 */
#pragma once

#include "softdev/ptx/engine.h"

#define ISA_JOIN_(name, isa) name##_##isa
#define ISA_JOIN(name, isa) ISA_JOIN_(name, isa)
#define ISA_NAME(name) ISA_JOIN(name, PTX_ISA)
#define ISA_TEXT_(isa) #isa
#define ISA_TEXT_OF(isa) ISA_TEXT_(isa)
#define ISA_TEXT ISA_TEXT_OF(PTX_ISA)
