/*
 * quantity.h: Kubernetes' quantities as numbers: "4Gi", "1500m", "1e3", "0.5". Pure.
 *
 * Exact: no floating point is used. As in Kubernetes, fractions are rounded up. Source: k8s.io/apimachinery,
 * pkg/api/resource, the grammar above type Quantity.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define QUANTITY_TEXT 24

/*
 * In whole units, or in thousandths. *ret_exact (may be NULL): nothing was rounded up. Value: 0; -EINVAL: not a
 * quantity; -ERANGE: below zero or above 2^63 - 1.
 */
int quantity_units(const char *text, uint64_t *ret, bool *ret_exact);
int quantity_milli(const char *text, uint64_t *ret, bool *ret_exact);

/* Bytes in Kubernetes' form: with the largest of Ki to Ei that leaves a whole number. */
void quantity_print_bytes(uint64_t bytes, char text[QUANTITY_TEXT]);
