/*
 * control.h: libmete: requests to meted, the daemon that meters GPUs, about grants, devices, events and metrics.
 *
 * The library implements the control protocol. docs/control.md describes its requests, fields and refusals. Requests
 * and answers are JSON as text, so a program can use any JSON library.
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
 * Results: 0: success; above 0: an enum mete_outcome; below 0: a negative errno. If a result is not 0, the fault
 * contains a line for people that names the thing, the value and the remedy. Output arguments are written only if the
 * result is 0.
 *
 * Only one thread at a time may use a connection. The library prints nothing, takes no signals, and changes nothing in
 * its process but descriptors and memory. It starts a process only in mete_control_open() with METE_CONTROL_START or
 * METE_CONTROL_STORED, in mete_grants() and in mete_start(). A program with several threads should use
 * METE_CONTROL_FIND, because the code between fork and exec is not safe in such a program.
 *
 * Compatibility: programs that are built with this header work with every libmete.so.0. Functions and outcomes may be
 * added and are never changed. A program must treat an unknown outcome as METE_REFUSED.
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

/* The version of the control protocol in this library; the answer to `hello` contains the same number. */
#define METE_CONTROL_PROTOCOL 1

#define METE_CODE_BYTES 64   /* the size of a refusal's code, with the terminating 0 */
#define METE_PATH_BYTES 4096 /* the size of a path, with the terminating 0 */

enum mete_outcome {
	METE_NOBODY = 1, /* no meted listens */
	METE_REFUSED = 2, /* meted refuses the request; the fault contains its line, and the code its word */
	METE_LOST = 3, /* meted exited before it answered; it is unknown whether it executed the request */
};

/* Which meted to connect to. */
enum mete_how {
	METE_CONTROL_FIND = 0, /* only a running one */
	METE_CONTROL_STORED = 1, /* start this user's own if its store contains grants */
	METE_CONTROL_START = 2, /* start this user's own if none runs */
};

/* A line for people that describes a failure. */
struct mete_fault {
	char text[1024];
};

/* A connection to meted. */
struct mete_control;

/* Returns the library's version: "0.1.0". */
const char *mete_version(void);

/*
 * Connects to meted. It checks that the peer runs as root or as this user, and that it uses the same protocol.
 * METE_RUNTIME_DIR names meted's directory. Without it, the function uses the system's meted if one exists, else this
 * user's own. It waits up to 20 s.
 *
 * METE_NOBODY: no meted runs there. -EHOSTDOWN: the system's meted should run but does not. -EACCES, -EPERM: this user
 * may not send it requests. -EPROTO: it uses another protocol.
 */
int mete_control_open(struct mete_control **ret, enum mete_how how, struct mete_fault *fault);

/* Closes a connection; accepts NULL. */
void mete_control_close(struct mete_control *control);

/*
 * Sends a request and waits up to 20 s for the answer, a JSON object on one line, which the caller frees with free().
 * `request` is a JSON object with an "op". `code`, if not NULL, receives the word of a refusal, else "".
 *
 * -EINVAL: the request is not a JSON object. -ETIMEDOUT: no answer arrived; close the connection. METE_LOST: open
 * another connection.
 */
int mete_control_ask(struct mete_control *control, const char *request, char **ret_answer, char code[METE_CODE_BYTES],
		     struct mete_fault *fault);

/*
 * The same in two steps, for a program that must not block. Several requests may be outstanding; the answers arrive in
 * the order of the requests. mete_control_receive() returns -EAGAIN if the next answer has not arrived; poll the
 * descriptor for reading.
 */
int mete_control_send(struct mete_control *control, const char *request, struct mete_fault *fault);
int mete_control_receive(struct mete_control *control, char **ret_answer, char code[METE_CODE_BYTES],
			 struct mete_fault *fault);
int mete_control_fd(const struct mete_control *control);

/* Return meted's runtime directory, its process id, and whether it is the system's meted or this user's own. */
const char *mete_control_dir(const struct mete_control *control);
pid_t mete_control_pid(const struct mete_control *control);
bool mete_control_is_system(const struct mete_control *control);

/*
 * Returns the grants as the JSON array "grants" that docs/control.md describes; the caller frees it with free(). `name`
 * selects one grant; NULL: all. The function opens its own connection, and starts this user's own meted if its store
 * contains grants. Without a meted and a store, the array is empty. METE_REFUSED: no grant has that name.
 */
int mete_grants(const char *name, char **ret_grants, struct mete_fault *fault);

/* Starts this user's own meted in an existing directory that only this user can access; returns when meted listens. */
int mete_start(const char *dir, struct mete_fault *fault);

/* The parts of an installed mete. */
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
 * Writes the location of a part, which is relative to this library. METE_LIBDIR, a folder that contains shim/,
 * overrides the folders of libraries. -ENOENT: the part is not installed. -EINVAL: the part does not exist.
 */
int mete_place(enum mete_part part, char path[METE_PATH_BYTES], struct mete_fault *fault);

#ifdef __cplusplus
}
#endif
