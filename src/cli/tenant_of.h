/* tenant_of.h: the owner of a grant in words for people: its user, and the container of its processes. */
#pragma once

#include "client/control.h"

#define TENANT_OF_BYTES 64

/* The user's name; the number if no name is known here. */
const char *tenant_of_user(json_t *grant, char text[TENANT_OF_BYTES]);

/*
 * The container: POD/NAME in a pod; else the identity that meted reports; else the first 12 digits of the one in the
 * names of the processes' control groups (from docker, podman, containerd and CRI-O); "yes" for the grant of a
 * container without a known name; "-" for none.
 */
const char *tenant_of_container(json_t *grant, char text[TENANT_OF_BYTES]);
