/*
 * held.h: whether the guard holds a process for a grant, according to the kernel: for meted with guard.grants
 * `required`. None of the information comes from the process.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#define HELD_WHY 160

/*
 * bpf: the account under which the kernel's programs keep the process is the grant's. dmem: the process is in the
 * cgroup that is limited for the grant. notify: a supervisor counts for the grant, and the process has a filter of
 * system calls; the kernel does not report whose filter it is, so a program that installs one itself counts as held.
 *
 * Value: 1: it is held. 0: it is not, or this is not known; `why` says which, in words that follow "the process".
 */
int held_for(uint64_t grant, pid_t pid, int pidfd, char why[HELD_WHY]);
