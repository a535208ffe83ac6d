/*
 * yaml.h: reads YAML as JSON: NVIDIA's own CDI file is YAML.
 *
 * Scalars become texts, except plain true, false, null and whole numbers. Anchors and aliases are refused, because CDI
 * needs none.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>

/* The first document of a text of so many bytes. NULL: it cannot be read, and one line gives the reason. */
json_t *yaml_load(const char *text, size_t bytes, char *why, size_t size);
