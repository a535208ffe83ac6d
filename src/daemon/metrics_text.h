/* metrics_text.h: the text format, for metrics.c and metrics_dcgm.c. */
#pragma once

#include "model/device.h"

#include <stdbool.h>
#include <stdio.h>

#define METRICS_LABEL_BYTES (2 * DEVICE_NAME_BYTES)

struct daemon;
struct grant;

/* Writes the HELP and TYPE lines of a family. */
void metrics_head(FILE *out, const char *name, const char *help, bool counter);
/* Escapes quotes, backslashes and line ends in a label. Value: `out`. */
const char *metrics_label(const char *text, char out[METRICS_LABEL_BYTES]);

/* Writes the labels that the grant has: `,container="..."` and so on. */
void metrics_write_labels(FILE *out, const struct grant *g);

/* metrics_dcgm.c: writes the metrics under the names of NVIDIA's exporter. */
void metrics_write_dcgm(FILE *out, struct daemon *daemon);
