/* Preloaded into a server, it puts the wall clock ahead by as many seconds as
   GORMFLAKE_CLOCK says. Monotonic clocks stay right. */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

/* Times after this one, in 2001, are the wall clock's. */
#define LATEST_MONOTONIC 1000000000

static long ahead;

__attribute__((constructor)) static void set(void)
{
	const char *seconds = getenv("GORMFLAKE_CLOCK");

	if (seconds)
		ahead = atol(seconds);
}

int clock_gettime(clockid_t id, struct timespec *now)
{
	int result = syscall(SYS_clock_gettime, id, now);

	if (result == 0 && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE))
		now->tv_sec += ahead;
	return result;
}

int gettimeofday(struct timeval *now, void *zone)
{
	struct timespec t;

	(void)zone;
	clock_gettime(CLOCK_REALTIME, &t);
	now->tv_sec = t.tv_sec;
	now->tv_usec = t.tv_nsec / 1000;
	return 0;
}

time_t time(time_t *now)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	if (now)
		*now = t.tv_sec;
	return t.tv_sec;
}

/* A thread waits in the kernel, whose clock is right. Converts the time until which it
   waits to a time of the kernel's clock, and returns this clock. */
static clockid_t right(const struct timespec *until, struct timespec *fixed)
{
	*fixed = *until;
	if (until->tv_sec < LATEST_MONOTONIC)
		return CLOCK_MONOTONIC;
	fixed->tv_sec -= ahead;
	return CLOCK_REALTIME;
}

int pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex, const struct timespec *until)
{
	struct timespec fixed;
	clockid_t id = right(until, &fixed);

	return pthread_cond_clockwait(cond, mutex, id, &fixed);
}

int sem_timedwait(sem_t *sem, const struct timespec *until)
{
	struct timespec fixed;
	clockid_t id = right(until, &fixed);

	return sem_clockwait(sem, id, &fixed);
}
