/*
 * doorbell.h: the doorbell by which a tenant's processes wake meted.
 *
 * It is a pipe for each tenant. The tenant's processes get a descriptor that is open for reading and writing: a write
 * always finds a reader, so it causes no signal while meted is away, and it never blocks. meted reads from a
 * descriptor of its own, whose flags no process can change. A full pipe loses nothing, because it means that the bell
 * has been rung. A process that reads from the pipe, or rings all the time, harms only its own tenant.
 */
#pragma once

struct tenant;

/* Returns a descriptor for one of the tenant's processes; creates the pipe if there is none. Value: -errno: none. */
int doorbell_for_client(struct tenant *tenant);

/* Empties the pipe. */
void doorbell_quiet(int bell_fd);
