/* video.h: the operation of a video instruction, from forms_video.c to video.c. */
#pragma once

#include "softdev/ptx/engine.h"

enum video_op {
	VIDEO_ADD,
	VIDEO_SUB,
	VIDEO_AVERAGE,
	VIDEO_DIFFERENCE,
	VIDEO_MIN,
	VIDEO_MAX,
	VIDEO_SHL,
	VIDEO_SHR,
	VIDEO_MAD,
	VIDEO_SET,
};

enum video_compare { VIDEO_EQ, VIDEO_NE, VIDEO_LT, VIDEO_LE, VIDEO_GT, VIDEO_GE };

struct video_use {
	uint8_t op, compare; /* enum video_op, enum video_compare */
	uint8_t parts;	     /* 1, 2, 4 */
	bool signed_d, signed_a, signed_b;
	bool saturate, wrap, plus_one;
	bool minus_a, minus_b, minus_c;
	uint8_t second; /* VIDEO_ADD, VIDEO_MIN, VIDEO_MAX; VIDEO_SET: none */
	uint8_t shift;	/* of the result of mad */
	uint8_t from[3], bits[3]; /* one part: first bit and width in d, a, b */
	uint8_t pick[2][4];	  /* several: which element of the pair b:a */
	uint8_t mask;		  /* several: elements that are written */
};
