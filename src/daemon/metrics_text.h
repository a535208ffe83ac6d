/* metrics_text.h: the format of metrics, for metrics.c and metrics_dcgm.c. */
#pragma once

#include "model/device.h"

#include <stdbool.h>
#include <stdio.h>

#define METRICS_LABEL_BYTES (2 * DEVICE_NAME_BYTES)

struct daemon;
struct grant;

/* The lines that begin a family. */
void metrics_head(FILE *out, const char *name, const char *help, bool counter);
/* The text of a label: quotes, backslashes and line ends are written by the format's rules. Value: `out`. */
const char *metrics_label(const char *text, char out[METRICS_LABEL_BYTES]);

/* `,container="..."` and so on: the labels that the grant has. */
void metrics_write_labels(FILE *out, const struct grant *g);

/* metrics_dcgm.c: under the names of NVIDIA's exporter. */
void metrics_write_dcgm(FILE *out, struct daemon *daemon);
