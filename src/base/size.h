/*
 * size.h: amounts of memory as people write and read them.
 *
 * Read:    1048576   512M   8G   8GiB   8 GiB   1.5G   8GB   8MB   25%
 *          A bare letter and the form with "i" are powers of 1024; the form with "B" alone is a power of 1000, as
 *          on the label of a memory module. Letters may be small or large. A fraction is cut to whole bytes.
 *          A percentage is of a device that the caller knows and this module does not.
 * Written: "512 B", "1.5 GiB", "8 GiB": at most one decimal, powers of 1024.
 *
 * Every text that is refused has its own reason (enum size_fault), so that the caller can say what is wrong.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SIZE_LIMIT_BYTES ((UINT64_C(1) << 40) - 512) /* beyond any device; what an account word can count */
#define SIZE_HOST_LIMIT_BYTES (UINT64_C(1) << 50)    /* beyond any machine's memory or disk */
#define SIZE_TEXT_BYTES 32u

struct size {
	uint64_t bytes; /* 0 for a percentage */
	double pct;	/* 0 for a number of bytes */
};

enum size_fault {
	SIZE_EMPTY = 1,
	SIZE_NO_NUMBER, /* does not begin with a digit */
	SIZE_NEGATIVE,
	SIZE_ZERO,	  /* or less than one byte */
	SIZE_BAD_UNIT,	  /* a number, then something that is no unit */
	SIZE_OVERFLOW,	  /* does not fit 64 bits */
	SIZE_ABSURD,	  /* above the limit */
	SIZE_BAD_PERCENT, /* above 100 % */
};

/* Value: 0, or an enum size_fault; *ret is written only on 0. */
int size_parse(const char *text, struct size *ret);
/* The same for the host's memory or a disk: up to SIZE_HOST_LIMIT_BYTES, and no percentage (SIZE_BAD_UNIT). */
int size_parse_host(const char *text, uint64_t *ret_bytes);

/* The reason with its remedy, one clause without a full stop: for "mete: --mem TEXT: REASON". */
const char *size_fault_text(int fault);
const char *size_host_fault_text(int fault);

/* Writes a size for people. Value: text. */
const char *size_format(uint64_t bytes, char text[SIZE_TEXT_BYTES]);
