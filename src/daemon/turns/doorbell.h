/*
 * doorbell.h: what a tenant's processes wake meted with.
 *
 * A pipe for each tenant. Its processes get a descriptor that is open for reading and writing: a write never finds the
 * pipe without a reader, so no signal comes when meted is away, and never waits. meted reads from a descriptor of its
 * own, whose flags no process can change. A full pipe loses nothing: it has been rung. Who reads from it, or rings all
 * the time, harms the own tenant alone.
 */
#pragma once

struct tenant;

/* A descriptor to hand to one of the tenant's processes; makes the pipe when there is none. -errno: none. */
int doorbell_for_client(struct tenant *tenant);

/* Takes what was rung out of the pipe. */
void doorbell_quiet(int bell_fd);
