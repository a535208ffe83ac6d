/*
 * slice.h: how long a tenant's hardware time slices are. Pure.
 *
 * The hardware goes round the channel groups that have work, and gives each its slice; so among those with work the
 * shares are as the slices. One round of the whole device is SLICE_ROUND_US long:
 *
 *	slice = clamp(guarantee x round, least, most)          with a guarantee
 *	slice = clamp(weight / 100 x default, least, most)     with a weight alone
 *	high class: SLICE_HIGH_US    low class: SLICE_LOW_US   whatever their shares
 *
 * Least is what a switch costs, a few times over: at less than 2 % the slices are not in proportion any more, and the
 * arbiter's turns alone keep the share. (Published: a switch takes 40 to 100 us; slices of 200 us for low class beside
 * 1 s for high class bring the 99th percentile of a launch from 1188 to 53 us.)
 */
#pragma once

#include <stdint.h>

#define SLICE_ROUND_US 10000u
#define SLICE_LEAST_US 200u
#define SLICE_MOST_US 10000u
#define SLICE_DEFAULT_US 1024u /* the driver's default */
#define SLICE_LOW_US 200u
#define SLICE_HIGH_US 1000000u

/* The values of wire_turn.class_1. */
enum slice_class { SLICE_CLASS_UNSAID, SLICE_CLASS_HIGH, SLICE_CLASS_NORMAL, SLICE_CLASS_LOW };

/* 0: leave the program's slice unchanged. */
static inline uint64_t slice_us(uint32_t class_1, uint32_t guarantee_ppm, uint32_t weight)
{
	uint64_t us;

	if (class_1 == SLICE_CLASS_HIGH)
		return SLICE_HIGH_US;
	if (class_1 == SLICE_CLASS_LOW)
		return SLICE_LOW_US;
	if (guarantee_ppm)
		us = (uint64_t)guarantee_ppm * SLICE_ROUND_US / 1000000;
	else if (weight)
		us = (uint64_t)weight * SLICE_DEFAULT_US / 100;
	else
		return 0;
	return us < SLICE_LEAST_US ? SLICE_LEAST_US : us > SLICE_MOST_US ? SLICE_MOST_US : us;
}
