/*
 * Inside a lane every program finds /proc/spl in /run/spl, for nobody but a kernel module can make files in /proc. Loaded
 * through /etc/ld.so.preload; `kstats` keeps the files there as `cistern kstat` has them.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <dirent.h>

static const char *moved(const char *path, char *room, size_t size)
{
	if (path == NULL || strncmp(path, "/proc/spl", 9) != 0 || (path[9] != '/' && path[9] != 0))
		return path;
	snprintf(room, size, "/run/spl%s", path + 9);
	return room;
}

#define NEXT(name) __typeof__(&name) next = (__typeof__(&name))dlsym(RTLD_NEXT, #name)
#define MOVED moved(path, room, sizeof room)

#define OPEN(name) \
	int name(const char *path, int flags, ...) \
	{ \
		char room[4096]; \
		va_list rest; \
		va_start(rest, flags); \
		mode_t mode = va_arg(rest, mode_t); \
		va_end(rest); \
		NEXT(name); \
		return next(MOVED, flags, mode); \
	}
OPEN(open)
OPEN(open64)

#define OPENAT(name) \
	int name(int at, const char *path, int flags, ...) \
	{ \
		char room[4096]; \
		va_list rest; \
		va_start(rest, flags); \
		mode_t mode = va_arg(rest, mode_t); \
		va_end(rest); \
		NEXT(name); \
		return next(at, MOVED, flags, mode); \
	}
OPENAT(openat)
OPENAT(openat64)

#define ONE(name, ...) \
	{ \
		char room[4096]; \
		NEXT(name); \
		return next(MOVED __VA_OPT__(,) __VA_ARGS__); \
	}
FILE *fopen(const char *path, const char *mode) ONE(fopen, mode)
FILE *fopen64(const char *path, const char *mode) ONE(fopen64, mode)
DIR *opendir(const char *path) ONE(opendir)
int stat(const char *path, struct stat *to) ONE(stat, to)
int stat64(const char *path, struct stat64 *to) ONE(stat64, to)
int lstat(const char *path, struct stat *to) ONE(lstat, to)
int lstat64(const char *path, struct stat64 *to) ONE(lstat64, to)

int fstatat(int at, const char *path, struct stat *to, int flags)
{
	char room[4096];
	NEXT(fstatat);
	return next(at, MOVED, to, flags);
}

int fstatat64(int at, const char *path, struct stat64 *to, int flags)
{
	char room[4096];
	NEXT(fstatat64);
	return next(at, MOVED, to, flags);
}

int statx(int at, const char *restrict path, int flags, unsigned mask, struct statx *restrict to)
{
	char room[4096];
	NEXT(statx);
	return next(at, MOVED, flags, mask, to);
}
