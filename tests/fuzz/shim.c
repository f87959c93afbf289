/* Loaded before the C library: the n-th write, sync or rename of a file in one folder fails, as on a full or a bad disk. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char folder[4096];
static long at = -1, calls = 0;
static int kind = 0; /* an error number, or -1 for a write of half the bytes */

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
  const long now = calls++;
  return kind == ENOSPC ? at >= 0 && now >= at : now == at;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t write(int fd, const void *data, size_t n) {
  if (is_ours_by_number(fd) && fails()) {
    if (kind == -1) return REAL(write)(fd, data, n > 1 ? n / 2 : n);
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
