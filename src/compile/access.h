/* access.h: loads and stores, with the checks that the interpreter makes. */
#pragma once

#include "compile/plan.h"
#include "compile/value.h"

void make_load(struct emit *e, const struct access_form *a); /* one address for all, or one element behind the other */
void make_store(struct emit *e, const struct access_form *a);
void strided_load(struct emit *e, const struct access_form *a); /* lanes are apart by a known number of bytes */
void strided_store(struct emit *e, const struct access_form *a);
void scattered_load(struct emit *e, const struct access_form *a); /* each lane's element of shared memory */
void make_param(struct emit *e, const struct access_form *a);
