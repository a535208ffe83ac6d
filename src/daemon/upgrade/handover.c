/* handover.c: see handover.h. */
#include "daemon/upgrade/handover.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define HEAD "mete-handover %010u %020" PRIu64 "\n"
#define HEAD_BYTES 46
#define FILE_MOST ((size_t)256 << 20)

size_t handover_most = FILE_MOST;

struct handover {
	json_t *root;
	json_t *fds; /* numbers */
	bool *left;  /* a reader's: by number, nobody has taken it yet */
	size_t left_count;
	int file; /* a reader's: what it was read from */
	uint64_t stopped_ns;
};

struct handover *handover_new(void)
{
	struct handover *h = calloc(1, sizeof(*h));

	if (!h)
		return NULL;
	h->file = -1;
	h->root = json_object();
	h->fds = json_array();
	if (!h->root || !h->fds || json_object_set(h->root, "fds", h->fds)) {
		json_decref(h->root);
		json_decref(h->fds);
		free(h);
		return NULL;
	}
	return h;
}

json_t *handover_give(struct handover *h, int fd)
{
	json_t *number = fd < 0 ? NULL : json_integer(fd);

	if (!number || json_array_append(h->fds, number)) {
		json_decref(number);
		return json_null();
	}
	return number;
}

void handover_put(struct handover *h, const char *name, json_t *take_part)
{
	json_object_set_new(h->root, name, take_part);
}

static int write_all(int fd, const char *text, size_t bytes, off_t at)
{
	while (bytes) {
		ssize_t n = pwrite(fd, text, bytes, at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EIO;
		text += n;
		bytes -= (size_t)n;
		at += n;
	}
	return 0;
}

static int write_head(int file, uint64_t now_ns)
{
	char head[HEAD_BYTES + 1];

	snprintf(head, sizeof(head), HEAD, HANDOVER_FORMAT, now_ns);
	return write_all(file, head, HEAD_BYTES, 0);
}

/* As the next meted reads it. A meted before this one may have kept a client's unfinished line with a zero byte. */
static json_t *root_read(const char *text, size_t bytes, json_error_t *ret_why)
{
	return json_loadb(text, bytes, JSON_ALLOW_NUL, ret_why);
}

static int write_root(const struct handover *h, int file)
{
	_cleanup_free_ char *text = json_dumps(h->root, JSON_COMPACT);
	int r = text ? write_head(file, h->stopped_ns) : -ENOMEM;

	return r ? r : write_all(file, text, strlen(text), HEAD_BYTES);
}

/* What nobody could read is not left to anybody: this meted goes on. */
static int text_check(const char *text, char *error, size_t size)
{
	json_error_t why = { 0 };
	json_t *root;

	if (!text) {
		snprintf(error, size, "no memory for the handover");
		return -ENOMEM;
	}
	if (strlen(text) + HEAD_BYTES >= handover_most) {
		snprintf(error, size,
			 "what the next meted would have to know is larger than %zu MiB: end programs or grants, or "
			 "restart meted: programs outlive that too",
			 handover_most >> 20);
		return -EFBIG;
	}
	root = root_read(text, strlen(text), &why);
	if (!root) {
		snprintf(error, size,
			 "what the next meted would have to know could not be read (%s): restart meted: programs "
			 "outlive that too",
			 why.text);
		return -EBADMSG;
	}
	json_decref(root);
	return 0;
}

int handover_write(struct handover *h, char *error, size_t size)
{
	_cleanup_close_ int file = memfd_create("mete-handover", MFD_CLOEXEC);
	_cleanup_free_ char *text = json_dumps(h->root, JSON_COMPACT);
	int r = text_check(text, error, size);

	if (r)
		return r;
	r = file < 0 ? -errno : write_head(file, h->stopped_ns);
	if (!r)
		r = write_all(file, text, strlen(text), HEAD_BYTES);
	if (!r)
		return steal_fd(&file);
	snprintf(error, size, "the handover cannot be written: %s", strerror(-r));
	return r;
}

static void keep_open(const struct handover *h, int file, bool open)
{
	json_t *number;
	size_t i;

	json_array_foreach(h->fds, i, number) fcntl((int)json_integer_value(number), F_SETFD, open ? 0 : FD_CLOEXEC);
	fcntl(file, F_SETFD, open ? 0 : FD_CLOEXEC);
}

void handover_seal(struct handover *h, int file, uint64_t now_ns)
{
	write_head(file, now_ns);
	keep_open(h, file, true);
}

void handover_unseal(struct handover *h, int file)
{
	keep_open(h, file, false);
}

int handover_write_back(struct handover *h, int file, const char *why)
{
	handover_put(h, "back", json_string(why));
	handover_put(h, "keeper", json_null());
	return ftruncate(file, 0) ? -errno : write_root(h, file);
}

/* The side that comes. */

static char *read_text(int file, size_t *ret_bytes)
{
	off_t end = lseek(file, 0, SEEK_END);
	char *text = end > HEAD_BYTES && end < (off_t)FILE_MOST ? malloc((size_t)end) : NULL;
	size_t done = 0;

	while (text && done < (size_t)end) {
		ssize_t n = pread(file, text + done, (size_t)end - done, (off_t)done);

		if (n <= 0 && !(n < 0 && errno == EINTR)) {
			free(text);
			return NULL;
		}
		done += n > 0 ? (size_t)n : 0;
	}
	*ret_bytes = done;
	return text;
}

/* Which numbers were given. False: the list makes no sense, or there is no memory. */
static bool note_given(struct handover *h)
{
	json_t *number;
	size_t i;

	json_array_foreach(h->fds, i, number)
	{
		json_int_t fd = json_integer_value(number);

		if (!json_is_integer(number) || fd < 0 || fd > INT_MAX / 2)
			return false;
		if ((size_t)fd >= h->left_count)
			h->left_count = (size_t)fd + 1;
	}
	h->left = calloc(h->left_count + 1, sizeof(*h->left));
	if (!h->left)
		return false;
	json_array_foreach(h->fds, i, number) h->left[json_integer_value(number)] = true;
	keep_open(h, -1, false);
	return json_is_array(h->fds);
}

int handover_read(int take_file, struct handover **ret)
{
	_cleanup_close_ int file = take_file;
	_cleanup_free_ char *text = NULL;
	struct handover *h;
	size_t bytes = 0;
	unsigned int format;
	uint64_t stopped_ns;

	text = read_text(file, &bytes);
	if (!text || sscanf(text, "mete-handover %u %" SCNu64, &format, &stopped_ns) != 2)
		return -EBADMSG;
	if (format < HANDOVER_FORMAT_OLDEST || format > HANDOVER_FORMAT)
		return -EPROTO;
	h = calloc(1, sizeof(*h));
	if (!h)
		return -ENOMEM;
	h->stopped_ns = stopped_ns;
	h->file = steal_fd(&file);
	h->root = root_read(text + HEAD_BYTES, bytes - HEAD_BYTES, NULL);
	h->fds = json_incref(json_object_get(h->root, "fds"));
	if (!note_given(h)) {
		handover_free(h);
		return -EBADMSG;
	}
	*ret = h;
	return 0;
}

json_t *handover_get(const struct handover *h, const char *name)
{
	return h ? json_object_get(h->root, name) : NULL;
}

int handover_take(struct handover *h, const json_t *number)
{
	json_int_t fd = json_is_integer(number) ? json_integer_value(number) : -1;

	if (!h || fd < 0 || (size_t)fd >= h->left_count || !h->left[fd])
		return -1;
	h->left[fd] = false;
	return (int)fd;
}

int handover_take_listener(struct handover *h, const char *place)
{
	return handover_take(h, json_object_get(handover_get(h, "listeners"), place));
}

int handover_return(struct handover *h, const char *why)
{
	json_object_set_new(h->root, "back", json_string(why));
	if (ftruncate(h->file, 0) || write_root(h, h->file))
		return -EIO;
	keep_open(h, h->file, true);
	return h->file;
}

uint64_t handover_stopped_ns(const struct handover *h)
{
	return h->stopped_ns;
}

void handover_set_stopped(struct handover *h, uint64_t stopped_ns)
{
	h->stopped_ns = stopped_ns;
}

void handover_free(struct handover *h)
{
	if (!h)
		return;
	for (size_t fd = 0; h->left && fd < h->left_count; fd++)
		if (h->left[fd])
			close((int)fd);
	if (h->file >= 0)
		close(h->file);
	free(h->left);
	json_decref(h->fds);
	json_decref(h->root);
	free(h);
}
