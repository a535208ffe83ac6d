/*
 * yaml.h: YAML as JSON: NVIDIA's own CDI file is written in it.
 *
 * Scalars become texts, but for plain true, false, null and whole numbers. Anchors and aliases are refused: nothing of
 * CDI's needs them.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>

/* The first document of a text of so many bytes. NULL: it cannot be read; one line says why. */
json_t *yaml_load(const char *text, size_t bytes, char *why, size_t size);
