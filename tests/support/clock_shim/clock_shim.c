/* Moves the wall clock of a process by the seconds in the file $CLOCK_SHIM_FILE, a little-endian int64, at any time.
   Only the wall clock: monotonic clocks, sleeps and file times stay true. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile const int64_t *offset;

__attribute__((constructor)) static void map_offset(void) {
    const char *path = getenv("CLOCK_SHIM_FILE");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0) return;
    void *mapped = mmap(NULL, sizeof *offset, PROT_READ, MAP_SHARED, file, 0);
    close(file);
    if (mapped != MAP_FAILED) offset = mapped;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    long result = syscall(SYS_clock_gettime, clock, now);
    if (result == 0 && offset && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += *offset;
    return (int)result;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    (void)zone;
    struct timespec precise;
    int result = clock_gettime(CLOCK_REALTIME, &precise);
    if (result == 0 && now) {
        now->tv_sec = precise.tv_sec;
        now->tv_usec = precise.tv_nsec / 1000;
    }
    return result;
}

time_t time(time_t *stored) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (stored) *stored = now.tv_sec;
    return now.tv_sec;
}
