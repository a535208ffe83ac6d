/*
 * claim_words.h: the words of a share (model/words.h) as parameters of a ResourceClaim: a word's key in camel case,
 * such as coresLimit. A new row of the table of words is a parameter without a change here.
 */
#pragma once

#include "model/words.h"

#define CLAIM_WORD_BYTES 32u

/* Writes the parameter's name. False: the word is not a parameter; `cores` is a capacity that the claim requests. */
bool claim_word_name(const struct share_word *word, char name[CLAIM_WORD_BYTES]);
/* Returns the word whose parameter has this name, or NULL. */
const struct share_word *claim_word_find(const char *name);
