/* tenant_of.h: the owner of a grant in words for people: its user, and the container of its processes. */
#pragma once

#include "client/control.h"

#define TENANT_OF_BYTES 64

/* The user's name; his number where no name is known here. */
const char *tenant_of_user(json_t *grant, char text[TENANT_OF_BYTES]);

/*
 * The container: in a pod POD/NAME; else the identity that meted tells; else the first 12 digits of the one that the
 * runtime wrote into the names of the processes' control groups (docker, podman, containerd and CRI-O do); "yes" for
 * the grant of a container that cannot be named; "-" for none.
 */
const char *tenant_of_container(json_t *grant, char text[TENANT_OF_BYTES]);
