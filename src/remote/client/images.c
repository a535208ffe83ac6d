/*
 * images.c: see images.h. An image is gone through twice, for its name and to be sent, so that no copy of it is made; a
 * worker works out the name for itself, so a program that changes it meanwhile only harms its own load.
 */
#include "remote/client/images.h"

#include "cuda_remote.h"
#include "remote/client/call.h"
#include "remote/client/visible.h"
#include "remote/image.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SENT_MOST 1024u
#define FILE_MOST (INT64_C(1) << 31)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the following */
static struct {
	unsigned int session;
	uint8_t hash[SHA256_BYTES];
} sent[SENT_MOST]; /* a ring: what is forgotten is sent again */
static unsigned int sent_count;

void images_forget(void)
{
	pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;

	lock = unlocked;
	sent_count = 0;
}

static bool was_sent(const struct session *session, const uint8_t hash[SHA256_BYTES])
{
	unsigned int count = sent_count < SENT_MOST ? sent_count : SENT_MOST;

	for (unsigned int i = 0; i < count; i++)
		if (sent[i].session == session->index && !memcmp(sent[i].hash, hash, SHA256_BYTES))
			return true;
	return false;
}

/* Whether this is the first time. */
static bool note_sent(const struct session *session, const uint8_t hash[SHA256_BYTES])
{
	bool first;

	pthread_mutex_lock(&lock);
	first = !was_sent(session, hash);
	if (first) {
		sent[sent_count % SENT_MOST].session = session->index;
		memcpy(sent[sent_count % SENT_MOST].hash, hash, SHA256_BYTES);
		sent_count++;
	}
	pthread_mutex_unlock(&lock);
	return first;
}

void images_held(const struct session *session, const void *hashes, size_t bytes)
{
	const uint8_t *hash = hashes;

	for (size_t at = 0; bytes - at >= SHA256_BYTES && at < CODE_HELD_MOST * SHA256_BYTES; at += SHA256_BYTES)
		note_sent(session, hash + at);
}

/* ---- naming ---- */

static void archs_of(const struct session *session, struct image_archs *ret)
{
	ret->count = 0;
	for (int d = 0; d < session_devices; d++) {
		int major = 0, minor = 0;
		int32_t local;

		if (visible_find(d, &local) != session)
			continue;
		if (ret->count == IMAGE_MOST_ARCHS ||
		    client_cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, d) ||
		    client_cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, d)) {
			ret->count = 0; /* nothing is left away */
			return;
		}
		ret->arch[ret->count++] = (uint32_t)(major * 10 + minor);
	}
}

struct naming {
	struct sha256 hash;
	uint64_t bytes;
};

static void name_piece(void *to, const void *data, size_t bytes)
{
	struct naming *n = to;

	sha256_add(&n->hash, data, bytes);
	n->bytes += bytes;
}

/* The bundle, or just the bytes. */
static bool go_through(struct session *session, const struct image_source *s, image_sink sink, void *to)
{
	struct image_archs archs;

	if (s->plain) {
		sink(to, s->image, s->bound);
		return true;
	}
	archs_of(session, &archs);
	return image_bundle(s->image, s->bound, &archs, sink, to);
}

bool images_name(struct session *session, struct image_source *s)
{
	struct naming n = { .bytes = 0 };

	sha256_begin(&n.hash);
	if (!go_through(session, s, name_piece, &n) || n.bytes > CODE_IMAGE_MOST)
		return false;
	sha256_end(&n.hash, s->hash);
	s->whole = n.bytes;
	return true;
}

/* ---- sending ---- */

struct sending {
	struct session *session;
	struct code_piece piece;
	uint8_t *data; /* CODE_PIECE_BYTES */
	CUresult result;
};

static void flush(struct sending *s)
{
	struct client_call c;

	if (!s->piece.bytes || s->result != CUDA_SUCCESS)
		return;
	client_request(&c, CALL_CODE_PIECE);
	c.session = s->session;
	if (client_begin_room(&c, false, sizeof(s->piece) + s->piece.bytes + CALL_ALIGN)) {
		remote_put(&c.out, &s->piece, sizeof(s->piece));
		remote_put(&c.out, s->data, s->piece.bytes);
		client_send(&c);
	}
	s->result = client_end(&c);
	s->piece.at += s->piece.bytes;
	s->piece.bytes = 0;
}

static void send_piece(void *to, const void *data, size_t bytes)
{
	struct sending *s = to;
	const uint8_t *from = data;

	while (bytes && s->result == CUDA_SUCCESS) {
		size_t part = CODE_PIECE_BYTES - s->piece.bytes;

		if (part > bytes)
			part = bytes;
		if (part > s->piece.whole - s->piece.at - s->piece.bytes)
			return; /* it has grown since it was named */
		memcpy(s->data + s->piece.bytes, from, part);
		s->piece.bytes += part;
		from += part;
		bytes -= part;
		if (s->piece.bytes == CODE_PIECE_BYTES)
			flush(s);
	}
}

CUresult images_send(struct session *session, const struct image_source *source, bool again)
{
	struct sending s = { .session = session, .piece.whole = source->whole };

	if (!note_sent(session, source->hash) && !again)
		return CUDA_SUCCESS;
	memcpy(s.piece.hash, source->hash, sizeof(s.piece.hash));
	s.data = malloc(CODE_PIECE_BYTES);
	if (!s.data)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (!go_through(session, source, send_piece, &s))
		s.result = CUDA_ERROR_INVALID_IMAGE; /* it has changed since it was named */
	flush(&s);
	free(s.data);
	return s.result;
}

/* ---- files ---- */

CUresult images_file(const char *path, struct image_source *s, void **ret)
{
	int before = errno, fd = open(path, O_RDONLY | O_CLOEXEC);
	CUresult r = CUDA_ERROR_FILE_NOT_FOUND;
	struct stat st;
	char *p = NULL;
	off_t at = 0;

	if (fd < 0)
		goto end;
	if (syscall(SYS_fstat, fd, &st) < 0 || !S_ISREG(st.st_mode))
		goto end;
	if (!st.st_size || st.st_size > FILE_MOST) {
		r = CUDA_ERROR_INVALID_IMAGE;
		goto end;
	}
	p = calloc(1, (size_t)st.st_size + 1);
	r = p ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
	while (p && at < st.st_size) {
		ssize_t n = read(fd, p + at, (size_t)(st.st_size - at));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			r = CUDA_ERROR_FILE_NOT_FOUND;
			break;
		}
		at += n;
	}
	s->image = p;
	s->bound = p ? (size_t)st.st_size + 1 : 0;
end:
	if (fd >= 0)
		close(fd);
	errno = before;
	*ret = p;
	return r;
}
