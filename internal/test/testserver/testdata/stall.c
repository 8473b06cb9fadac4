/* Preloaded into MariaDB, it holds up writes to the redo log for as long as the
   file named by GORMFLAKE_STALL exists. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int is_log(int fd)
{
	char link[64], path[4096];
	ssize_t length;

	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	length = readlink(link, path, sizeof path - 1);
	if (length < 0)
		return 0;
	path[length] = 0;
	return strstr(path, "/ib_logfile") != NULL;
}

static void stall(int fd)
{
	const char *file = getenv("GORMFLAKE_STALL");

	while (file && access(file, F_OK) == 0 && is_log(fd))
		usleep(1000);
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t write(int fd, const void *data, size_t size)
{
	stall(fd);
	return NEXT(write)(fd, data, size);
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t offset)
{
	stall(fd);
	return NEXT(pwrite)(fd, data, size, offset);
}

#ifdef __GLIBC__
ssize_t pwrite64(int fd, const void *data, size_t size, off64_t offset)
{
	stall(fd);
	return NEXT(pwrite64)(fd, data, size, offset);
}
#endif

int fsync(int fd)
{
	stall(fd);
	return NEXT(fsync)(fd);
}

int fdatasync(int fd)
{
	stall(fd);
	return NEXT(fdatasync)(fd);
}
