/*
 * product.h: products of fragments of bytes (mma.sync), by the host's dot products of bytes, where all lanes are
 * together.
 */
#pragma once

#include "compile/value.h"

/* The operation's product is one that compile_op.product describes, and the request has dots. */
void make_product(struct emit *e);
