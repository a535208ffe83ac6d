/*
 * lanewise.h: an access of all lanes at any addresses by one load or store of the host for each lane.
 *
 * The host's gathers and scatters move one element of a lane, and take as long as some loads or stores for each. A
 * vector of several elements is moved whole here, and rows of elements become columns of lanes between registers.
 */
#pragma once

#include "compile/plan.h"
#include "compile/value.h"

/* Whether that is the faster way. */
bool lanewise_pays(const struct emit *e, const struct access_form *a);
/* `places`: a pointer for each lane, checked, a multiple of `align`. v: each element, as lanes of its own width. */
void lanewise_load(struct emit *e, const struct access_form *a, LLVMValueRef places, uint32_t align, LLVMValueRef v[4]);
/* v is overwritten. The lanes store in their order. */
void lanewise_store(struct emit *e, const struct access_form *a, LLVMValueRef places, LLVMValueRef v[4]);
