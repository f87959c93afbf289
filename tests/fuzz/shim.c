/* Loaded before the C library: the n-th creation, write, sync or rename of a file in one folder fails, as on a full or a bad
   disk, or kills the process; or allocations fail from the n-th one of 64 KB or more on. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char folder[4096];
static long at = -1;
static atomic_long calls = 0;
static int kind = 0; /* an error number, SHORT for a write of half the bytes, or KILL */
enum { SHORT = -1, KILL = -2 };

void fault_arm(const char *in, long n, int what) {
  strncpy(folder, in, sizeof folder - 1);
  at = n, kind = what, calls = 0;
}
long fault_calls(void) { return calls; }

static int is_ours(const char *path) { return folder[0] && strncmp(path, folder, strlen(folder)) == 0; }

static int is_ours_by_number(int fd) {
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t n = readlink(link, path, sizeof path - 1);
  if (n < 0) return 0;
  path[n] = 0;
  return is_ours(path);
}

/* A full disk stays full; all else happens once. */
static int fails(void) {
  if (kind == ENOMEM) return 0;
  const long now = calls++;
  if (kind == KILL && now == at) kill(getpid(), SIGKILL);
  return kind == ENOSPC ? at >= 0 && now >= at : now == at;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static int opened(__typeof__(&open) real, const char *path, int flags, mode_t mode) {
  if ((flags & O_CREAT) && is_ours(path) && fails() && kind > 0 && kind != EINTR) {
    errno = kind;
    return -1;
  }
  return real(path, flags, mode);
}
#define OPEN(name)                                                              \
  int name(const char *path, int flags, ...) {                                  \
    va_list rest;                                                               \
    va_start(rest, flags);                                                      \
    const mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0; \
    va_end(rest);                                                               \
    return opened(REAL(name), path, flags, mode);                               \
  }
OPEN(open)
OPEN(open64)

ssize_t write(int fd, const void *data, size_t n) {
  if (is_ours_by_number(fd) && fails()) {
    if (kind == SHORT) return REAL(write)(fd, data, n > 1 ? n / 2 : n);
    errno = kind;
    return -1;
  }
  return REAL(write)(fd, data, n);
}
size_t fwrite(const void *data, size_t size, size_t n, FILE *file) {
  if (is_ours_by_number(fileno(file)) && fails() && kind > 0 && kind != EINTR) {
    errno = kind;
    return 0;
  }
  return REAL(fwrite)(data, size, n, file);
}
int fsync(int fd) {
  if (is_ours_by_number(fd) && fails() && kind > 0) {
    errno = kind;
    return -1;
  }
  return REAL(fsync)(fd);
}
int rename(const char *from, const char *to) {
  if (is_ours(to) && fails() && kind > 0 && kind != EINTR) {
    errno = kind;
    return -1;
  }
  return REAL(rename)(from, to);
}

/* Memory is used by every thread, and dlsym itself allocates: these are glibc's own names. */
enum { LARGE = 1 << 16 };
extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

static int is_refused(size_t n) {
  if (kind != ENOMEM || n < LARGE) return 0;
  if (calls++ < at) return 0;
  errno = ENOMEM;
  return 1;
}
void *malloc(size_t n) { return is_refused(n) ? NULL : __libc_malloc(n); }
void *calloc(size_t n, size_t size) { return is_refused(size ? n * size : 0) ? NULL : __libc_calloc(n, size); }
void *realloc(void *before, size_t n) { return is_refused(n) ? NULL : __libc_realloc(before, n); }
void *aligned_alloc(size_t alignment, size_t n) { return is_refused(n) ? NULL : __libc_memalign(alignment, n); }
void *memalign(size_t alignment, size_t n) { return is_refused(n) ? NULL : __libc_memalign(alignment, n); }
int posix_memalign(void **made, size_t alignment, size_t n) {
  if (is_refused(n)) return ENOMEM;
  *made = __libc_memalign(alignment, n);
  return *made == NULL ? ENOMEM : 0;
}
