/*
 * Synchronous writes by libnfs, an NFS client that others wrote: `writes URL SIZE IN_FLIGHT SECONDS CONNECTIONS`.
 * Writes blocks of 4 KiB anywhere into a file of SIZE bytes, which it makes first if there is none of that size, so many at
 * a time, each FILE_SYNC, and prints how many were answered in a second. `scripts/bench` compiles it.
 */
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <nfsc/libnfs.h>

enum { BLOCK = 4096, PIECE = 1 << 20, CONNECTIONS_MAX = 64, IN_FLIGHT_MAX = 1024 };

struct connection {
	struct nfs_context *nfs;
	struct nfsfh *file;
};

static struct connection connections[CONNECTIONS_MAX];
static uint64_t blocks, done, noise = 88172645463325252u;
static int flying, stopping;
static char block[BLOCK], piece[PIECE];

static double now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* xorshift64 */
static uint64_t random64(void)
{
	noise ^= noise << 13;
	noise ^= noise >> 7;
	return noise ^= noise << 17;
}

static void must(int good, const char *what, struct nfs_context *nfs)
{
	if (good)
		return;
	fprintf(stderr, "%s: %s\n", what, nfs_get_error(nfs));
	exit(1);
}

static void next_write(struct connection *connection);

static void answered(int result, struct nfs_context *nfs, void *data, void *connection)
{
	(void)data;
	must(result == BLOCK, "write", nfs);
	done++;
	flying--;
	if (!stopping)
		next_write(connection);
}

static void next_write(struct connection *connection)
{
	uint64_t at = random64() % blocks * BLOCK, word = random64();
	memcpy(block, &word, sizeof word); /* libnfs copies it. */
	must(nfs_pwrite_async(connection->nfs, connection->file, at, BLOCK, block, answered, connection) == 0, "write",
	     connection->nfs);
	flying++;
}

static void make_file(struct nfs_context *nfs, const char *name, uint64_t size)
{
	struct nfs_stat_64 stat;
	struct nfsfh *file;
	if (nfs_stat64(nfs, name, &stat) == 0 && stat.nfs_size == size)
		return;
	must(nfs_creat(nfs, name, 0666, &file) == 0, "create", nfs);
	for (uint64_t at = 0; at < size;) {
		int wrote;
		for (size_t i = 0; i < PIECE; i += sizeof(uint64_t)) {
			uint64_t word = random64();
			memcpy(piece + i, &word, sizeof word);
		}
		wrote = nfs_pwrite(nfs, file, at, PIECE, piece);
		must(wrote > 0, "fill", nfs);
		at += (uint64_t)wrote;
	}
	must(nfs_fsync(nfs, file) == 0 && nfs_close(nfs, file) == 0, "fill", nfs);
}

static void connect_to(struct connection *connection, const char *address, uint64_t size, int is_first)
{
	struct nfs_context *nfs = connection->nfs = nfs_init_context();
	struct nfs_url *url = nfs_parse_url_full(nfs, address);
	must(url != NULL, address, nfs);
	must(nfs_mount(nfs, url->server, url->path) == 0, "mount", nfs);
	if (is_first)
		make_file(nfs, url->file, size);
	must(nfs_open(nfs, url->file, O_RDWR | O_SYNC, &connection->file) == 0, "open", nfs);
	nfs_destroy_url(url);
}

int main(int count, char **args)
{
	struct pollfd polls[CONNECTIONS_MAX];
	uint64_t size = count == 6 ? strtoull(args[2], NULL, 10) : 0;
	int in_flight = count == 6 ? atoi(args[3]) : 0, many = count == 6 ? atoi(args[5]) : 0;
	double begun, span = count == 6 ? atof(args[4]) : 0;

	if (size < PIECE || size % PIECE || many < 1 || many > CONNECTIONS_MAX || in_flight < many ||
	    in_flight > IN_FLIGHT_MAX) {
		fprintf(stderr, "usage: %s URL SIZE IN_FLIGHT SECONDS CONNECTIONS\n", args[0]);
		return 2;
	}
	for (size_t i = 0; i < BLOCK; i += sizeof(uint64_t)) {
		uint64_t word = random64();
		memcpy(block + i, &word, sizeof word);
	}
	blocks = size / BLOCK;
	for (int i = 0; i < many; i++)
		connect_to(&connections[i], args[1], size, i == 0);
	begun = now();
	for (int i = 0; i < in_flight; i++)
		next_write(&connections[i % many]);
	while (flying > 0) {
		for (int i = 0; i < many; i++) {
			polls[i].fd = nfs_get_fd(connections[i].nfs);
			polls[i].events = (short)nfs_which_events(connections[i].nfs);
			polls[i].revents = 0;
		}
		poll(polls, (nfds_t)many, 100);
		for (int i = 0; i < many; i++)
			must(!polls[i].revents || nfs_service(connections[i].nfs, polls[i].revents) == 0, "connection",
			     connections[i].nfs);
		stopping = now() - begun >= span;
	}
	printf("%.1f\n", (double)done / (now() - begun));
	return 0;
}
