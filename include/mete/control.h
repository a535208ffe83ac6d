/*
 * control.h: libmete: asking meted, the daemon that meters GPUs, for grants, devices, events and metrics.
 *
 * The library speaks the control protocol, which docs/control.md describes: every request, field and refusal. Requests
 * and answers are JSON as text, so a program reads them with whatever it has.
 *
 *	struct mete_control *control;
 *	struct mete_fault fault;
 *	char *answer;
 *
 *	if (mete_control_open(&control, METE_CONTROL_FIND, &fault))
 *		errx(1, "%s", fault.text);
 *	if (!mete_control_ask(control, "{\"op\": \"grants\"}", &answer, NULL, &fault)) {
 *		puts(answer);
 *		free(answer);
 *	}
 *	mete_control_close(control);
 *
 * Results: 0: done; above 0: an enum mete_outcome; below 0: a negative errno. Where a result is not 0, the fault has a
 * line for people that names the thing, the value and the remedy. Results are written only where the result is 0.
 *
 * A connection belongs to one thread at a time. The library prints nothing, takes no signals, and changes its process
 * in nothing but descriptors and memory. It starts a process only in mete_control_open() with METE_CONTROL_START or
 * METE_CONTROL_STORED, in mete_grants() and in mete_start(). A program with several threads should use
 * METE_CONTROL_FIND: what runs between fork and exec is not made for them.
 *
 * Compatibility: programs built with this header work with every libmete.so.0. Functions and outcomes are added and
 * never changed; a program treats an outcome that it does not know as METE_REFUSED.
 *
 * Build with `pkg-config --cflags --libs mete`.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The control protocol that this library speaks; meted's `hello` has the same number. */
#define METE_CONTROL_PROTOCOL 1

#define METE_CODE_BYTES 64 /* of a refusal's code, with the ending 0 */
#define METE_PATH_BYTES 4096

enum mete_outcome {
	METE_NOBODY = 1, /* no meted listens */
	METE_REFUSED = 2, /* meted refuses; the fault has its line, the code its word */
	METE_LOST = 3, /* meted went away before it answered; whether the request was done is unknown */
};

/* Which meted. */
enum mete_how {
	METE_CONTROL_FIND = 0, /* only one that runs */
	METE_CONTROL_STORED = 1, /* start this user's own where its store has grants */
	METE_CONTROL_START = 2, /* start this user's own where none runs */
};

struct mete_fault {
	char text[1024];
};

/* A connection to meted. */
struct mete_control;

/* The library's version: "0.1.0". */
const char *mete_version(void);

/*
 * Connects, and checks that whoever listens is root or this user and speaks the protocol. METE_RUNTIME_DIR names
 * meted's directory; without it the system's meted is taken where there is one, else this user's own. Waits up to 20 s.
 *
 * METE_NOBODY: no meted runs there. -EHOSTDOWN: the system's meted should run and does not. -EACCES, -EPERM: this user
 * may not ask it. -EPROTO: it speaks another protocol.
 */
int mete_control_open(struct mete_control **ret, enum mete_how how, struct mete_fault *fault);

/* Takes NULL. */
void mete_control_close(struct mete_control *control);

/*
 * Asks, and waits up to 20 s for the answer: a JSON object on one line, for free(). `request` is a JSON object with an
 * "op". `code`, where not NULL, receives the word of a refusal, else "".
 *
 * -EINVAL: the request is no JSON object. -ETIMEDOUT: no answer; close the connection. METE_LOST: open another one.
 */
int mete_control_ask(struct mete_control *control, const char *request, char **ret_answer, char code[METE_CODE_BYTES],
		     struct mete_fault *fault);

/*
 * The same in two halves, for a program that must not wait: several requests may be under way, and answers come in
 * their order. receive: -EAGAIN: the next answer is not there yet; poll the descriptor for reading.
 */
int mete_control_send(struct mete_control *control, const char *request, struct mete_fault *fault);
int mete_control_receive(struct mete_control *control, char **ret_answer, char code[METE_CODE_BYTES],
			 struct mete_fault *fault);
int mete_control_fd(const struct mete_control *control);

/* meted's runtime directory, process and kind: the system's, or this user's own. */
const char *mete_control_dir(const struct mete_control *control);
pid_t mete_control_pid(const struct mete_control *control);
bool mete_control_is_system(const struct mete_control *control);

/*
 * The grants, as the JSON array "grants" that docs/control.md describes, for free(); `name`: this one alone, NULL: all.
 * Connects for itself, and starts this user's own meted where its store has grants; where there is no meted and no
 * store the array is empty. METE_REFUSED: there is no grant of that name.
 */
int mete_grants(const char *name, char **ret_grants, struct mete_fault *fault);

/* Starts this user's own meted in a directory that exists and is this user's alone; returns when it listens. */
int mete_start(const char *dir, struct mete_fault *fault);

/* Parts of an installed mete. */
enum mete_part {
	METE_PART_SHIM = 0, /* folder of the libcuda.so.1 and libnvidia-ml.so.1 that programs of a grant get */
	METE_PART_SOFT = 1, /* folder of the software device's libraries */
	METE_PART_RUNTIME = 2, /* folder of mete's CUDA runtime library */
	METE_PART_REMOTE = 3, /* folder of the libcuda.so.1 of remote and walled programs */
	METE_PART_RELAY = 4, /* the program mete-relay */
	METE_PART_WORKER = 5, /* the program mete-worker */
	METE_PART_METED = 6, /* the program meted */
};

/*
 * Where a part lies, beside this library; METE_LIBDIR, a folder with shim/ in it, overrides the folders of libraries.
 * -ENOENT: it is not installed. -EINVAL: no such part.
 */
int mete_place(enum mete_part part, char path[METE_PATH_BYTES], struct mete_fault *fault);

#ifdef __cplusplus
}
#endif
