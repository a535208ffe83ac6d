/*
 * images_test.c: images that come in pieces, or from meted: each is what its hash says or is not there, and what meted
 * may keep lies in its own memory and can be changed by nobody.
 */
#include "remote/worker/code.h"
#include "remote/worker/images.h"
#include "remote/worker/keep.h"

#include "base/tap.h"
#include "wire/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#define BYTES 20000u

static uint8_t image[BYTES];
static const uint8_t zeroes[BYTES];
static int meted = -1; /* the end that meted would have */
static int room_fd = -1; /* memory that it has made */

static void name(const uint8_t *data, size_t bytes, uint8_t ret[SHA256_BYTES])
{
	struct sha256 s;

	sha256_begin(&s);
	sha256_add(&s, data, bytes);
	sha256_end(&s, ret);
}

static void fill(unsigned int seed)
{
	for (unsigned int i = 0; i < BYTES; i++)
		image[i] = (uint8_t)(i * seed >> 4);
}

static int send_piece(const uint8_t hash[SHA256_BYTES], uint64_t whole, uint64_t at, uint64_t bytes)
{
	static _Alignas(8) uint8_t message[sizeof(struct code_piece) + BYTES + 8];
	struct code_piece p = { .whole = whole, .at = at, .bytes = bytes };
	struct work work = { .in = { .data = message, .size = sizeof(p) + (bytes + 7) / 8 * 8 } };

	memcpy(p.hash, hash, sizeof(p.hash));
	memset(message, 0, sizeof(message));
	memcpy(message, &p, sizeof(p));
	memcpy(message + sizeof(p), image + at, bytes);
	return worker_code_piece(&work);
}

static bool is_there(const uint8_t hash[SHA256_BYTES])
{
	struct image *i = images_take(hash, BYTES);
	bool same = i && !memcmp(image_data(i), image, BYTES) && !((const uint8_t *)image_data(i))[BYTES];

	if (i)
		images_give(i);
	return same;
}

/* As meted shows one, or gives memory for one. Value: its descriptor. */
static int send_memory(enum worker_image_type type, const uint8_t hash[SHA256_BYTES], const uint8_t *data, size_t room)
{
	struct worker_image word = { .type = type, .version = WORKER_IMAGE_VERSION, .bytes = BYTES };
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec io = { &word, sizeof(word) };
	struct msghdr msg = {
		.msg_iov = &io, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)
	};
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
	int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	memcpy(word.hash, hash, sizeof(word.hash));
	ok(fd >= 0 && !ftruncate(fd, (off_t)room) && pwrite(fd, data, BYTES < room ? BYTES : room, 0) > 0);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(int));
	is(sendmsg(meted, &msg, 0), sizeof(word));
	return fd;
}

static void show(const uint8_t hash[SHA256_BYTES], const uint8_t *data, size_t room)
{
	close(send_memory(WORKER_IMAGE_HELD, hash, data, room));
}

/* What the worker tells meted. Value: enum worker_image_type; 0: nothing. */
static unsigned int told(uint8_t ret_hash[SHA256_BYTES], int *ret_fd)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))];
	struct worker_image word;
	struct iovec io = { &word, sizeof(word) };
	struct msghdr msg = {
		.msg_iov = &io, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)
	};
	struct cmsghdr *c;

	*ret_fd = -1;
	if (recvmsg(meted, &msg, MSG_DONTWAIT) != sizeof(word))
		return 0;
	c = CMSG_FIRSTHDR(&msg);
	if (c)
		memcpy(ret_fd, CMSG_DATA(c), sizeof(int));
	memcpy(ret_hash, word.hash, SHA256_BYTES);
	is(word.bytes, BYTES);
	return word.type;
}

static void test_pieces(void)
{
	uint8_t hash[SHA256_BYTES], other[SHA256_BYTES];

	fill(3);
	name(image, BYTES, hash);
	ok(!is_there(hash));
	is(send_piece(hash, BYTES, 0, 12000), 0);
	ok(!is_there(hash)); /* not whole */
	is(send_piece(hash, BYTES, 12000, 8000), 0);
	ok(is_there(hash));
	memcpy(other, hash, sizeof(other));
	other[0] ^= 1;
	send_piece(other, BYTES, 0, BYTES);
	ok(!is_there(other)); /* it is not what its name says */
	send_piece(other, BYTES, 0, BYTES);
	ok(!is_there(other));
	is(send_piece(hash, CODE_IMAGE_MOST + 1, 0, 8), -EPROTO);
}

static void test_held(void)
{
	uint8_t good[SHA256_BYTES], bad[SHA256_BYTES], shorter[SHA256_BYTES], hash[SHA256_BYTES];
	int ends[2], fd;

	fill(5);
	name(image, BYTES, good);
	memcpy(bad, good, sizeof(bad));
	bad[1] ^= 1;
	memcpy(shorter, good, sizeof(shorter));
	shorter[2] ^= 1;
	ok(!socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends));
	meted = ends[0];
	show(good, image, worker_image_room(BYTES));
	show(bad, image, worker_image_room(BYTES));
	show(shorter, image, 4096);
	images_hold(ends[1]);
	ok(is_there(good));
	ok(is_there(good));
	is(told(hash, &fd), WORKER_IMAGE_USED); /* once */
	ok(!memcmp(hash, good, sizeof(hash)) && fd < 0);
	ok(!is_there(bad)); /* a name that stands for other bytes */
	ok(!is_there(shorter)); /* memory that does not hold it */
	is(told(hash, &fd), 0);
	/* And can be sent then. */
	fill(6);
	name(image, BYTES, bad);
	close(send_memory(WORKER_IMAGE_ROOM, good, image, 4096)); /* an answer that comes too late */
	room_fd = send_memory(WORKER_IMAGE_ROOM, bad, zeroes, worker_image_room(BYTES));
	send_piece(bad, BYTES, 0, BYTES);
	ok(is_there(bad));
}

static void test_kept(void)
{
	uint8_t hash[SHA256_BYTES], back[BYTES];
	int fd;

	is(told(hash, &fd), WORKER_IMAGE_ROOM);
	ok(fd < 0);
	is(told(hash, &fd), WORKER_IMAGE_KEEP);
	ok(fd < 0); /* the memory is meted's */
	is(pread(room_fd, back, BYTES, 0), BYTES);
	ok(!memcmp(back, image, BYTES));
	/* The worker cannot write to it any more. */
	is(fcntl(room_fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE), 0);
	close(room_fd);
	ok(is_there(hash));
	/* meted does not answer: the image comes all the same. */
	fill(8);
	name(image, BYTES, hash);
	send_piece(hash, BYTES, 0, BYTES);
	ok(is_there(hash));
	is(told(hash, &fd), WORKER_IMAGE_ROOM);
	is(told(hash, &fd), 0);
	/* meted ends, and is asked again. */
	close(meted);
	usleep((KEEP_REST_MS + 100) * 1000);
	fill(7);
	name(image, BYTES, hash);
	send_piece(hash, BYTES, 0, BYTES);
	ok(is_there(hash));
}

int main(void)
{
	tap_begin();
	test_pieces();
	test_held();
	test_kept();
	return tap_end();
}
