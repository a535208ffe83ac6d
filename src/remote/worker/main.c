/*
 * main.c: mete-worker, which executes the calls of one client and ends with it.
 *
 * meted starts workers that wait (--wait) and hands clients to them. By hand, for trying out: --listen waits for one
 * client at a socket of its own, outside any sandbox, and runs under the grant of METE_SOCKET when that is set, else
 * without a limit.
 */
#include "remote/libs/serve.h"
#include "remote/worker/driver.h"
#include "remote/worker/hand.h"
#include "remote/worker/images.h"
#include "remote/worker/output.h"
#include "remote/worker/own_account.h"
#include "remote/worker/sandbox.h"
#include "remote/worker/serve.h"
#include "remote/worker/standing.h"
#include "remote/worker/traffic.h"
#include "remote/worker/warm.h"
#include "remote/worker/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { EXIT_TROUBLE = 1, EXIT_USAGE = 2 };

static const char help[] = "Usage: mete-worker --listen PATH [--driver FILE] [--ready-fd N]\n"
			   "Executes the calls of one client on the driver; meted starts workers by itself.\n"
			   "\n"
			   "  --listen PATH    wait at this unix socket for one client\n"
			   "  --driver FILE    the driver library; default: mete's shim, which uses\n"
			   "                   METE_DRIVER under the grant of METE_SOCKET\n"
			   "  --ready-fd N     write one byte to descriptor N, and close it, when the socket\n"
			   "                   listens\n"
			   "  --wait DEVICES   as meted starts it: contexts on these devices, then wait for\n"
			   "                   a client\n"
			   "  --nodes          with --wait: the driver speaks to device nodes\n"
			   "  --observe        with --nodes: unknown commands to them are logged, not\n"
			   "                   refused\n"
			   "  --images         with --wait: meted keeps images of kernels\n"
			   "  --no-namespaces  with --wait: stay in the machine's namespaces\n"
			   "  --uid N          with --wait: the user to become, if root; default:\n"
			   "                   mete-worker\n";

struct options {
	const char *listen, *driver, *wait;
	int ready_fd;
	uid_t uid; /* 0: none chosen */
	bool nodes, observe, images, no_namespaces;
};

static int complain(const char *text)
{
	fprintf(stderr, "mete-worker: %s\n", text);
	return EXIT_TROUBLE;
}

static int read_options(struct options *o, int argc, char **argv)
{
	static const struct option long_options[] = { { "listen", required_argument, NULL, 'l' },
						      { "driver", required_argument, NULL, 'd' },
						      { "ready-fd", required_argument, NULL, 'r' },
						      { "wait", required_argument, NULL, 'w' },
						      { "nodes", no_argument, NULL, 'n' },
						      { "observe", no_argument, NULL, 'o' },
						      { "images", no_argument, NULL, 'i' },
						      { "uid", required_argument, NULL, 'u' },
						      { "no-namespaces", no_argument, NULL, 's' },
						      { "help", no_argument, NULL, 'h' },
						      { 0 } };
	int option;

	*o = (struct options){ .ready_fd = -1 };
	while ((option = getopt_long(argc, argv, "", long_options, NULL)) >= 0) {
		if (option == 'l')
			o->listen = optarg;
		else if (option == 'd')
			o->driver = optarg;
		else if (option == 'r')
			o->ready_fd = atoi(optarg);
		else if (option == 'w')
			o->wait = optarg;
		else if (option == 'n')
			o->nodes = true;
		else if (option == 'o')
			o->observe = true;
		else if (option == 'i')
			o->images = true;
		else if (option == 's')
			o->no_namespaces = true;
		else if (option == 'u')
			o->uid = (uid_t)strtoul(optarg, NULL, 10);
		else if (option == 'h')
			return fputs(help, stdout), 0;
		else
			return EXIT_USAGE;
	}
	if (!o->listen != !o->wait && optind == argc)
		return -1;
	complain("it wants --listen PATH, or --wait DEVICES (mete-worker --help)");
	return EXIT_USAGE;
}

static int start_driver(const struct options *o, struct cuda_table *driver, char path[PATH_MAX])
{
	char why[PATH_MAX + 256];
	CUresult r;

	if (o->driver)
		snprintf(path, PATH_MAX, "%s", o->driver);
	else if (!driver_find_shim(path, PATH_MAX))
		return complain("mete's shim (shim/libcuda.so.1) is not beside it: install all of mete, or set "
				"METE_LIBDIR");
	if (!driver_open(path, driver, why, sizeof(why)))
		return complain(why);
	r = driver->cuInit(0);
	if (r == CUDA_SUCCESS)
		return 0;
	snprintf(why, sizeof(why), "the driver does not start: CUDA error %d", (int)r);
	return complain(why);
}

/* Value: a client's socket, or -1. */
static int wait_for_client(const struct options *o)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), client = -1;

	if (strlen(o->listen) >= sizeof(address.sun_path)) {
		complain("--listen: the path is too long for a socket");
		return -1;
	}
	strcpy(address.sun_path, o->listen);
	unlink(o->listen);
	if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) || listen(fd, 1)) {
		complain(strerror(errno));
		return -1;
	}
	if (o->ready_fd >= 0) {
		ssize_t n = write(o->ready_fd, "\n", 1);

		(void)n; /* who waited has gone */
		close(o->ready_fd);
	}
	while (client < 0 && ((client = accept4(fd, NULL, NULL, SOCK_CLOEXEC)) >= 0 || errno == EINTR))
		;
	close(fd);
	unlink(o->listen);
	return client;
}

static int listen_by_hand(const struct options *o)
{
	static struct cuda_table driver;
	static struct wall wall;
	char path[PATH_MAX] = "";
	int r = start_driver(o, &driver, path), client;

	if (r)
		return r;
	own_account_open();
	forward_libraries_open(&driver, path);
	client = wait_for_client(o);
	if (client < 0)
		return EXIT_TROUBLE;
	r = serve_prepare(&wall);
	if (!r)
		r = output_open();
	if (r)
		return complain(strerror(-r));
	return serve_hear(client) ? serve(&wall, &driver, client, "", -1, NULL) : EXIT_TROUBLE;
}

/* What it writes to standard error goes to meted by a pipe. It waits for nobody there: a line is lost instead. */
static void write_without_waiting(void)
{
	struct stat st;

	if (!fstat(STDERR_FILENO, &st) && S_ISFIFO(st.st_mode))
		fcntl(STDERR_FILENO, F_SETFL, O_NONBLOCK);
}

/* Everything that needs files, sockets or privileges; then nothing does any more. */
static bool make_ready(struct warm *warm, struct wall *wall, struct sandbox *sandbox, const char *shim,
		       const char *devices, char *why, size_t why_bytes)
{
	int r;

	/*
	 * Before any library is loaded: NVIDIA's look for the driver by its name while they start, and get the shim,
	 * which decides with its first call whether it meters this process.
	 */
	setenv("METE_SOCKET", WORKER_SOCKET, 1);
	setenv("METE_LOG", "stderr", 1);
	if (!warm_up(warm, shim, devices, why, why_bytes))
		return false;
	own_account_open();
	forward_libraries_open(&warm->driver, shim);
	r = serve_prepare(wall);
	if (!r)
		r = output_open();
	if (r || listen(WORKER_LISTEN_FD, 8)) {
		snprintf(why, why_bytes, "the shared memory cannot be made: %s", strerror(r ? -r : errno));
		return false;
	}
	/* Until here it goes with meted; from here it sees meted's end by the connection, and outlives it with a
	 * client. */
	prctl(PR_SET_PDEATHSIG, 0);
	write_without_waiting();
	return sandbox_enter(sandbox, why, why_bytes);
}

static int refuse(int client, const char *grant, CUresult r)
{
	if (r == CUDA_ERROR_OUT_OF_MEMORY)
		wall_refuse(client, WALL_FULL,
			    "grant %s has no room for a context: end other programs under it, or give it more memory",
			    grant);
	else
		wall_refuse(client, WALL_NO_DEVICE, "grant %s: the driver does not start: CUDA error %d", grant,
			    (int)r);
	return EXIT_TROUBLE;
}

static int wait_for_meted(const struct options *o)
{
	static struct warm warm;
	static struct wall wall;
	static struct sandbox sandbox;
	struct worker_word word;
	char shim[PATH_MAX], why[PATH_MAX + 256];
	bool whole;
	int client;
	CUresult r;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	standing_reset();
	traffic_open();
	if (o->nodes)
		watch_open();
	whole = driver_find_shim(shim, sizeof(shim));
	sandbox_begin(&sandbox,
		      !o->nodes	   ? SANDBOX_NONE
		      : o->observe ? SANDBOX_OBSERVED
				   : SANDBOX_LISTED,
		      !o->no_namespaces, o->uid);
	if (!whole)
		snprintf(why, sizeof(why), "the shim is not beside mete-worker: install all of mete");
	if (!whole || !make_ready(&warm, &wall, &sandbox, shim, o->wait, why, sizeof(why))) {
		hand_ready(why, 0, NULL, 0);
		return complain(why);
	}
	if (!hand_ready(NULL, sandbox.fence | WORKER_FENCE_CGROUP, warm.context_bytes, warm.count))
		return EXIT_TROUBLE;
	client = hand_wait(&word);
	if (client < 0)
		return 0;
	word.grant[sizeof(word.grant) - 1] = 0;
	if (o->images)
		images_hold(WORKER_IMAGES_FD);
	if (!serve_hear(client))
		return EXIT_TROUBLE;
	r = warm_take(&warm);
	if (r != CUDA_SUCCESS)
		return refuse(client, word.grant, r);
	if (!own_account_there()) {
		wall_refuse(client, WALL_NO_DEVICE,
			    "grant %s: the worker's shim does not meter, so nothing would be charged; "
			    "install mete whole, from one release",
			    word.grant);
		return complain("the shim in this worker has no account: it serves nobody");
	}
	return serve(&wall, &warm.shim, client, word.grant, WORKER_LISTEN_FD, hand_accept);
}

int main(int argc, char **argv)
{
	struct options o;
	int r = read_options(&o, argc, argv);

	if (r >= 0)
		return r;
	signal(SIGPIPE, SIG_IGN);
	r = o.wait ? wait_for_meted(&o) : listen_by_hand(&o);
	/* Not exit(): threads of the driver's may be at work. */
	fflush(NULL);
	_exit(r);
}
