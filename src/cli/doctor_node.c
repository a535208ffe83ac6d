/*
 * doctor_node.c: the checks of `mete doctor` that are about the machine's service: is it there and does it start with
 * the machine, are its settings right, can its store be written, does the clock make sense, does HTTP answer.
 *
 * What only root may see is said to be so to others; it is no fault.
 */
#include "cli/doctor.h"

#include "base/cleanup.h"
#include "base/size.h"
#include "verb/choose.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/timex.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CONFIG_FILE "/etc/mete/meted.yaml"
#define STATE_DIR "/var/lib/mete"
#define ANSWER_MS 5000
#define DAY_S 86400
#define CERTIFICATE_DAYS 14 /* before its end one is to be renewed */
#define LITTLE_BYTES (UINT64_C(64) << 20)
#define NOTHING_BYTES (UINT64_C(1) << 20)

/* Service. */

static bool systemctl_says(const char *what, const char *unit, char word[64])
{
	const char *const argv[] = { "systemctl", what, unit, NULL };
	int r = doctor_ask_program(argv, word, 64);

	word[strcspn(word, "\n")] = 0;
	return !r;
}

static void check_service(struct doctor *d)
{
	static const char again[] = "journalctl -u meted gives the reason; then systemctl reset-failed meted.service "
				    "meted.socket; systemctl restart meted.socket meted";
	char enabled[64], active[64];
	bool starts, runs;

	if (access("/run/systemd/system", F_OK))
		return;
	starts = systemctl_says("is-enabled", "meted.service", enabled);
	runs = systemctl_says("is-active", "meted.service", active);
	if (!*enabled || strstr(enabled, "Failed") || strstr(enabled, "not-found"))
		doctor_add(d, "service", STATUS_NOTE,
			   "install the package meted to have shares for all users that survive restarts",
			   "there is no meted.service: `mete run` starts a private meted for its user");
	else if (!runs)
		doctor_add(d, "service", STATUS_WARNING,
			   !strcmp(active, "failed") ? again : "systemctl enable --now meted.socket meted",
			   "meted.service is %s", active);
	else if (!starts)
		doctor_add(d, "service", STATUS_WARNING, "systemctl enable meted",
			   "meted.service runs, but does not start with the machine (%s)", enabled);
	else
		doctor_add(d, "service", STATUS_OK, NULL, "meted.service runs and starts with the machine");
}

static void check_config(struct doctor *d)
{
	const char *const argv[] = { d->place.meted, "--system", "--check-config", NULL };
	char said[700];
	int r;

	/* The store is looked at as well, also of a service without a file. */
	if ((access(CONFIG_FILE, F_OK) && access(STATE_DIR, F_OK)) || !*d->place.meted)
		return;
	r = doctor_ask_program(argv, said, sizeof(said));
	said[strcspn(said, "\n")] = 0;
	if (!r)
		doctor_add(d, "settings", STATUS_OK, NULL, "%s", said);
	else
		doctor_add(d, "settings", STATUS_WARNING,
			   "correct it; `meted --system --check-config` lists all errors, meted.yaml(5) all keys", "%s",
			   strncmp(said, "meted: ", 7) ? said : said + 7);
}

/* What the unit's sandbox takes away: what it says, as systemd has put the file and its drop-ins together. */
struct unit {
	char said[4096];
};

static bool unit_read(struct unit *u)
{
	const char *const argv[] = { "systemctl", "show", "-p", "MainPID", "-p", "IPAddressAllow", "-p",
				     "IPAddressDeny", "-p", "ProtectHome", "-p", "PrivateTmp", "meted.service", NULL };

	return !doctor_ask_program(argv, u->said, sizeof(u->said));
}

/* The words behind "NAME=", up to the line's end; NULL: it is not said. */
static const char *unit_value(const struct unit *u, const char *name, char value[1024])
{
	size_t n = strlen(name);

	for (const char *line = u->said; line; line = strchr(line, '\n'), line = line ? line + 1 : NULL)
		if (!strncmp(line, name, n) && line[n] == '=') {
			snprintf(value, 1024, "%.*s", (int)strcspn(line + n + 1, "\n"), line + n + 1);
			return value;
		}
	return NULL;
}

static bool unit_is(const struct unit *u, const char *name, const char *words)
{
	char value[1024];

	return unit_value(u, name, value) && *value && strstr(words, value);
}

static bool begins_with_one(const char *text, const char *const *beginnings)
{
	for (; *beginnings; beginnings++)
		if (!strncmp(text, *beginnings, strlen(*beginnings)))
			return true;
	return false;
}

/* Every address is denied, and nothing is allowed but this machine's own. */
static bool is_shut_off(const struct unit *u)
{
	static const char *const loopback[] = { "127.", "::1", NULL };
	char deny[1024], allow[1024], *save = NULL;

	if (!unit_value(u, "IPAddressDeny", deny) || (!strstr(deny, "0.0.0.0/0") && !strstr(deny, "::/0")))
		return false;
	if (!unit_value(u, "IPAddressAllow", allow))
		*allow = 0;
	for (char *word = strtok_r(allow, " ", &save); word; word = strtok_r(NULL, " ", &save))
		if (!begins_with_one(word, loopback))
			return false;
	return true;
}

static void check_network(struct doctor *d, const struct control *control, const char *address)
{
	static const char *const loopback[] = { "127.", "[::1]", NULL };
	struct unit u;
	char pid[1024];

	if (!*address || begins_with_one(address, loopback) || !unit_read(&u) || !unit_value(&u, "MainPID", pid) ||
	    strtol(pid, NULL, 10) != (long)control->daemon_pid || !is_shut_off(&u))
		return;
	doctor_add(
		d, "network", STATUS_WARNING,
		"allow the clients' network: printf '[Service]\\nIPAddressAllow=10.0.0.0/8\\n' > "
		"/etc/systemd/system/meted.service.d/network.conf (mkdir -p the folder), systemctl daemon-reload, "
		"systemctl restart meted",
		"meted serves HTTP at %s, but meted.service lets in no address beyond this machine: connections from "
		"other machines time out",
		address);
}

/* A file that a setting names, as `meted --print-config` writes it: `  cert: "/etc/mete/http.crt"`. */
static void check_hidden(struct doctor *d, const struct unit *u, char *line)
{
	static const char *const homes[] = { "/home/", "/root/", "/run/user/", NULL };
	static const char *const temporary[] = { "/tmp/", "/var/tmp/", NULL };
	char *path = strstr(line, ": \"/"), *key = line + strspn(line, " ");
	const char *by = NULL;

	if (!path || *key == '#')
		return;
	*path = 0;
	path += 3;
	path[strcspn(path, "\"")] = 0;
	if (begins_with_one(path, homes) && unit_is(u, "ProtectHome", "yes tmpfs"))
		by = "ProtectHome";
	else if (begins_with_one(path, temporary) && unit_is(u, "PrivateTmp", "yes"))
		by = "PrivateTmp";
	if (by)
		doctor_add(d, "settings", STATUS_WARNING, "move the file to /etc/mete, and change the setting",
			   "%s %s: meted.service does not see that folder (%s=)", key, path, by);
}

static void check_files(struct doctor *d)
{
	const char *const argv[] = { d->place.meted, "--system", "--print-config", NULL };
	static char said[65536];
	char *save = NULL;
	struct unit u;

	if (access(CONFIG_FILE, F_OK) || !*d->place.meted || !unit_read(&u) ||
	    doctor_ask_program(argv, said, sizeof(said)))
		return;
	for (char *line = strtok_r(said, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		check_hidden(d, &u, line);
}

static void check_clock(struct doctor *d)
{
	struct timex timex = { 0 };
	time_t now = time(NULL);
	char text[40] = "?";
	struct tm tm;
	struct stat st;

	if (localtime_r(&now, &tm))
		strftime(text, sizeof(text), "%F %T %z", &tm);
	if (!stat("/proc/self/exe", &st) && st.st_mtime > now + DAY_S)
		doctor_add(d, "clock", STATUS_WARNING, "set the clock (timedatectl); history and logs use its time",
			   "the clock says %s, which is before mete was installed", text);
	else if (adjtimex(&timex) == TIME_ERROR)
		doctor_add(d, "clock", STATUS_NOTE,
			   "run timedatectl set-ntp true if you compare its times with those of other machines",
			   "%s; the clock is not synchronised", text);
	else
		doctor_add(d, "clock", STATUS_OK, NULL, "%s, synchronised", text);
}

void doctor_check_node(struct doctor *d)
{
	check_service(d);
	check_config(d);
	check_files(d);
	check_clock(d);
}

/* Drivers and devices, as meted has them. */

/* Of NVIDIA's library without a card, and of the software device's, their own checks speak. */
void doctor_check_drivers(struct doctor *d, json_t *drivers)
{
	json_t *driver;
	size_t i;

	json_array_foreach(drivers, i, driver)
	{
		const char *state = device_text(driver, "state"), *kind = device_text(driver, "kind");
		bool failed = !strcmp(state, "failed");

		if (failed || (!strcmp(state, "empty") && strcmp(kind, "nvidia") && strcmp(kind, "soft")))
			doctor_add(d, kind, failed ? STATUS_WARNING : STATUS_NOTE, device_text(driver, "remedy"),
				   "meted has no device of the %s driver: %s", kind, device_text(driver, "status"));
	}
}

static const char *remedy_of(const char *state, json_t *device)
{
	if (!strcmp(state, "lost"))
		return "it returns by itself when the driver finds it again; see dmesg for the reason";
	if (json_is_true(json_object_get(device, "drained")))
		return "`mete uncordon` returns it to service when the work on it is done";
	return !strcmp(state, "draining") ? "it is empty when its last program has ended: `mete ps`"
					  : "`mete uncordon` returns it to service";
}

void doctor_check_devices(struct doctor *d, json_t *devices)
{
	json_t *device;
	size_t i;

	json_array_foreach(devices, i, device)
	{
		const char *state = device_text(device, "state"), *reason = device_text(device, "reason");

		if (*state && strcmp(state, "active"))
			doctor_add(d, "device", !strcmp(state, "lost") ? STATUS_WARNING : STATUS_NOTE,
				   remedy_of(state, device), "device %lld (%s) is %s%s%s",
				   (long long)device_number(device, "index"), device_text(device, "uuid"), state,
				   *reason ? ": " : "", reason);
		if (!strcmp(device_text(device, "native"), "allow"))
			doctor_add(
				d, "shares of time", STATUS_NOTE, "`mete policy DEVICE --native hold` holds them back",
				"device %lld (%s): programs with the policy native are not held back, so no share is "
				"guaranteed",
				(long long)device_number(device, "index"), device_text(device, "uuid"));
	}
}

/* Folders of a meted that runs. */

static void check_modes(struct doctor *d, const struct control *control)
{
	static const struct {
		const char *name;
		mode_t system, own;
	} parts[] = { { "", S_IFDIR | 0755, S_IFDIR | 0700 },
		      { "/control.sock", S_IFSOCK | 0666, S_IFSOCK | 0600 },
		      { "/grants", S_IFDIR | 0755, S_IFDIR | 0700 },
		      { "/pages", S_IFDIR | 0700, S_IFDIR | 0700 } };
	char path[PATH_MAX];
	struct stat st;

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		mode_t wanted = control->system ? parts[i].system : parts[i].own;

		if (!path_join(path, "%s%s", control->dir, parts[i].name) || stat(path, &st) || st.st_mode == wanted)
			continue;
		doctor_add(d, "runtime directory", STATUS_WARNING,
			   control->system ? "systemctl restart meted.socket meted.service"
					   : "end meted; the next one sets the mode",
			   "%s has mode %04o, not %04o", path, (unsigned int)st.st_mode & 07777,
			   (unsigned int)wanted & 07777);
	}
}

/* What SQLite's header says (fileformat.html, 1.3): the magic, and at byte 60 the user's version. Value: -1: no store.
 */
static long store_version(const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	unsigned char head[64];

	if (fd < 0 || read(fd, head, sizeof(head)) != sizeof(head) || memcmp(head, "SQLite format 3", 16))
		return -1;
	return (long)((uint32_t)head[60] << 24 | (uint32_t)head[61] << 16 | (uint32_t)head[62] << 8 | head[63]);
}

static void check_store(struct doctor *d, const char *dir)
{
	char path[PATH_MAX], room[SIZE_TEXT_BYTES];
	struct statvfs vfs;
	uint64_t left;
	long version;

	if (!*dir || !path_join(path, "%s/mete.db", dir))
		return;
	if (access(path, R_OK) && errno == EACCES) {
		doctor_add(d, "store", STATUS_NOTE, NULL, "%s: only root can read it", path);
		return;
	}
	version = store_version(path);
	if (statvfs(dir, &vfs) || version < 0) {
		doctor_add(d, "store", STATUS_WARNING,
			   "see meted's log for details, and docs/operating.md for how to restore it",
			   "%s does not exist or is not a store", path);
		return;
	}
	left = (uint64_t)vfs.f_bavail * vfs.f_frsize;
	size_format(left, room);
	if (vfs.f_flag & ST_RDONLY)
		doctor_add(d, "store", STATUS_FAILED, "mount it for writing, or name another state_dir in " CONFIG_FILE,
			   "%s is on a read-only file system", path);
	else if (left < LITTLE_BYTES)
		doctor_add(d, "store", left < NOTHING_BYTES ? STATUS_FAILED : STATUS_WARNING,
			   "free disk space; on a full disk meted refuses new grants",
			   "%s: its file system has %s left", path, room);
	else
		doctor_add(d, "store", STATUS_OK, NULL, "%s, version %ld, %s free", path, version, room);
}

/* One request by the socket. Value: its status; 0: no answer. */
static unsigned int http_status(const char *dir)
{
	static const char request[] = "GET /healthz HTTP/1.0\r\nHost: localhost\r\n\r\n";
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct timeval patience = { .tv_sec = ANSWER_MS / 1000 };
	char said[64] = "";
	unsigned int status = 0;

	if (fd < 0 ||
	    snprintf(address.sun_path, sizeof(address.sun_path), "%s/http.sock", dir) >= (int)sizeof(address.sun_path))
		return 0;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) ||
	    send(fd, request, sizeof(request) - 1, MSG_NOSIGNAL) < 0 || recv(fd, said, sizeof(said) - 1, 0) <= 0)
		return 0;
	return sscanf(said, "HTTP/1.%*u %u", &status) == 1 ? status : 0;
}

static void check_http(struct doctor *d, const struct control *control, const char *address)
{
	char path[PATH_MAX];
	unsigned int status;

	if (!path_join(path, "%s/http.sock", control->dir) || access(path, F_OK))
		return;
	if (access(path, W_OK)) {
		doctor_add(d, "http", STATUS_NOTE, NULL, "%s: only root and its group may connect", path);
		return;
	}
	status = http_status(control->dir);
	if (status != 200)
		doctor_add(d, "http", STATUS_WARNING,
			   "journalctl -u meted (or meted.log) gives the reason; restart meted",
			   "%s answers %s%.0u to GET /healthz", path, status ? "" : "nothing", status);
	else
		doctor_add(d, "http", STATUS_OK, NULL, "console and metrics answer at %s%s%s", path,
			   *address ? " and " : "", address);
}

/* A certificate that ends soon, or has ended, by the wall clock. */
static void check_certificate(struct doctor *d, const json_t *ends)
{
	static const char remedy[] = "renew the certificate of http.cert, then restart meted, which reads it when it "
				     "starts";
	time_t when = (time_t)json_integer_value(ends), left = when - time(NULL);
	char text[40] = "?";
	struct tm tm;

	if (!json_is_integer(ends) || left > CERTIFICATE_DAYS * DAY_S)
		return;
	if (localtime_r(&when, &tm))
		strftime(text, sizeof(text), "%F %T %z", &tm);
	if (left < 0)
		doctor_add(d, "certificate", STATUS_WARNING, remedy,
			   "it has expired at %s: clients refuse the console and the metrics", text);
	else
		doctor_add(d, "certificate", STATUS_WARNING, remedy, "it expires at %s", text);
}

static void list_words(const json_t *words, char *text, size_t size)
{
	size_t i, used = 0;
	json_t *word;

	*text = 0;
	json_array_foreach(words, i, word)
	{
		if (used < size)
			used += (size_t)snprintf(text + used, size - used, "%s%s", i ? ", " : "",
						 json_string_value(word));
	}
}

/* Of workers, which come with the first program behind a wall. */
static void check_fence(struct doctor *d, json_t *fence)
{
	char held[200], missing[200];

	if (!json_is_object(fence))
		return;
	list_words(json_object_get(fence, "held"), held, sizeof(held));
	list_words(json_object_get(fence, "missing"), missing, sizeof(missing));
	if (*missing)
		doctor_add(
			d, "workers' fence", STATUS_NOTE,
			"docs/protection.md explains each, meted's log gives the reason; workers.demand requires them",
			"a filter of system calls%s%s; not: %s", *held ? ", " : "", held, missing);
	else
		doctor_add(d, "workers' fence", STATUS_OK, NULL, "a filter of system calls, %s", held);
}

void doctor_check_meted(struct doctor *d, const struct control *control, json_t *hello)
{
	check_modes(d, control);
	check_store(d, device_text(hello, "state_dir"));
	check_http(d, control, device_text(hello, "http"));
	check_certificate(d, json_object_get(hello, "http_certificate_ends"));
	check_fence(d, json_object_get(hello, "fence"));
	check_network(d, control, device_text(hello, "http"));
}
