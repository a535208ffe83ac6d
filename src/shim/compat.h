/*
 * compat.h: keeps the injected libraries loadable on glibc 2.17.
 *
 * Included before everything else in every file of the shim (-include). A function whose default version is newer than
 * 2.17 is bound to its version of that time. All kernel calls go through syscall(), which is no cancellation point, has
 * no large-file or 64-bit-time twin, and is not interposed by a program's own wrappers. A sanitizer's runtime replaces
 * the same functions under their plain names, so sanitized builds bind nothing.
 */
#pragma once

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define COMPAT_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(undefined_behavior_sanitizer)
#define COMPAT_SANITIZED 1
#endif
#endif

#if !defined(COMPAT_SANITIZED) && !defined(__ASSEMBLER__)
#if defined(__x86_64__)
#define COMPAT_OLDEST "GLIBC_2.2.5"
#define COMPAT_DLINFO "GLIBC_2.3.3"
#elif defined(__aarch64__)
#define COMPAT_OLDEST "GLIBC_2.17"
#define COMPAT_DLINFO "GLIBC_2.17"
#endif
#endif

#ifdef COMPAT_OLDEST
#define COMPAT_BIND(name) __asm__(".symver " #name "," #name "@" COMPAT_OLDEST)
COMPAT_BIND(dlopen);
COMPAT_BIND(dlsym);
COMPAT_BIND(dlclose);
COMPAT_BIND(pthread_create);
COMPAT_BIND(pthread_detach);
COMPAT_BIND(pthread_key_create);
COMPAT_BIND(pthread_setspecific);
COMPAT_BIND(pthread_mutex_trylock);
__asm__(".symver dlinfo,dlinfo@" COMPAT_DLINFO);
#endif
