/* connector.h: containers: the verbs `mete cdi ...` and `mete oci`, and what `mete doctor` checks of them. */
#pragma once

#include "verb/connector.h"

extern const struct connector cdi_connector;

/* CDI files and the grants behind them. doctor_cdi.c */
void doctor_check_containers(struct doctor *d);
/* The container runtimes of this machine. doctor_runtimes.c */
void doctor_check_runtimes(struct doctor *d);
/* `mete doctor --image`. doctor_image.c */
int verb_doctor_image(const struct command_line *line);
