/*
 * source.c: see source.h. The kernel is asked by sock_diag(7) for the peer's socket, which is on this machine as well
 * when the address is of loopback: "exact" lookup, one socket, whatever number there are.
 */
#include "daemon/http/source.h"

#include "base/cleanup.h"
#include "daemon/http/address.h"
#include "daemon/subordinate.h"

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#define ESTABLISHED 1 /* TCP_ESTABLISHED; later, a socket has no user any more */

struct question {
	struct nlmsghdr head;
	struct inet_diag_req_v2 body;
};

static bool fill_end(const struct sockaddr_storage *a, __be32 address[4], __be16 *port)
{
	const struct sockaddr_in *four = (const void *)a;
	const struct sockaddr_in6 *six = (const void *)a;

	if (a->ss_family == AF_INET) {
		memcpy(address, &four->sin_addr, sizeof(four->sin_addr));
		*port = four->sin_port;
	} else if (a->ss_family == AF_INET6) {
		memcpy(address, &six->sin6_addr, sizeof(six->sin6_addr));
		*port = six->sin6_port;
	}
	return a->ss_family == AF_INET || a->ss_family == AF_INET6;
}

/* From the peer to us, as the peer's socket has it. */
static bool fill_question(int fd, struct question *q)
{
	struct sockaddr_storage peer, own;
	socklen_t peer_size = sizeof(peer), own_size = sizeof(own);

	*q = (struct question){
		.head = { .nlmsg_len = sizeof(*q), .nlmsg_type = SOCK_DIAG_BY_FAMILY, .nlmsg_flags = NLM_F_REQUEST },
		.body = { .sdiag_protocol = IPPROTO_TCP, .idiag_states = UINT32_MAX }
	};
	if (getpeername(fd, (struct sockaddr *)&peer, &peer_size) ||
	    getsockname(fd, (struct sockaddr *)&own, &own_size))
		return false;
	q->body.sdiag_family = (uint8_t)peer.ss_family;
	q->body.id.idiag_cookie[0] = q->body.id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
	return fill_end(&peer, q->body.id.idiag_src, &q->body.id.idiag_sport) &&
	       fill_end(&own, q->body.id.idiag_dst, &q->body.id.idiag_dport);
}

static void find_uid(int fd, uid_t *ret)
{
	_cleanup_close_ int diag = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_SOCK_DIAG);
	struct {
		struct nlmsghdr head;
		struct inet_diag_msg body;
		char rest[256];
	} answer;
	struct question q;

	if (diag < 0 || !fill_question(fd, &q) || send(diag, &q, sizeof(q), 0) != sizeof(q) ||
	    recv(diag, &answer, sizeof(answer), 0) < (ssize_t)offsetof(typeof(answer), rest) ||
	    answer.head.nlmsg_type != SOCK_DIAG_BY_FAMILY || answer.body.idiag_state != ESTABLISHED)
		return;
	*ret = answer.body.idiag_uid;
}

static struct unproven_source source_of_uid(uid_t uid)
{
	struct unproven_source s = { .bytes = { [8] = 1 } }; /* no address has that */

	memcpy(s.bytes + 12, &uid, sizeof(uid));
	return s;
}

struct unproven_source source_of(int fd, const struct sockaddr *peer, uid_t *ret_uid)
{
	*ret_uid = (uid_t)-1;
	if (peer && peer->sa_family == AF_INET && !address_is_loopback(peer))
		return unproven_source_of((const void *)&((const struct sockaddr_in *)(const void *)peer)->sin_addr, 4);
	if (peer && peer->sa_family == AF_INET6 && !address_is_loopback(peer))
		return unproven_source_of((const void *)&((const struct sockaddr_in6 *)(const void *)peer)->sin6_addr,
					  16);
	find_uid(fd, ret_uid);
	return source_of_uid(subordinate_user(*ret_uid));
}
