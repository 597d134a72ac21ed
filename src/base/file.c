#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- reading --------------------------------------------------------------------------------- */

typedef struct file {
    hn_file shown; /* first: an hn_file * is a file * */
    hn_allocator *alloc;
    atomic_int refs;
    void *map;   /* what to unmap, or NULL */
    void *block; /* what to free, or NULL */
    char path[];
} file;

static file *file_create(const char *path, hn_allocator *alloc) {
    size_t length = strlen(path);
    file *f = hn_alloc_zero(alloc, sizeof *f + length + 1, HN_MEM_OTHER);
    if (f == NULL) return NULL;
    memcpy(f->path, path, length);
    f->alloc = alloc;
    atomic_init(&f->refs, 1);
    f->shown.data = (const unsigned char *)"";
    f->shown.path = f->path;
    return f;
}

hn_file *hn_file_ref(hn_file *shown) {
    atomic_fetch_add_explicit(&((file *)shown)->refs, 1, memory_order_relaxed);
    return shown;
}

void hn_file_unref(hn_file *shown) {
    file *f = (file *)shown;
    if (f == NULL || atomic_fetch_sub_explicit(&f->refs, 1, memory_order_acq_rel) > 1) return;
    if (f->map != NULL) munmap(f->map, shown->bytes);
    hn_free(f->alloc, f->block);
    hn_free(f->alloc, f);
}

void hn_file_let_go(const hn_file *shown, const void *from, size_t bytes) {
    const file *f = (const file *)shown;
    size_t page = (size_t)sysconf(_SC_PAGESIZE), begin, end;
    if (f->map == NULL) return;
    begin = (size_t)((const unsigned char *)from - shown->data);
    end = (begin + bytes) / page * page;
    begin = (begin + page - 1) / page * page;
    if (begin < end) madvise((char *)f->map + begin, end - begin, MADV_DONTNEED);
}

static hone_status read_all(int fd, const char *path, unsigned char *dst, size_t bytes,
                            hn_error *err) {
    for (size_t done = 0; done < bytes;) {
        ssize_t n = read(fd, dst + done, bytes - done);
        if (n < 0 && errno == EINTR) continue;
        HN_CHECK(err, n >= 0, HONE_E_IO, "cannot read '%s': %s", path, strerror(errno));
        HN_CHECK(err, n > 0, HONE_E_IO, "'%s' shrank to %zu bytes while %zu were being read", path,
                 done, bytes);
        done += (size_t)n;
    }
    return HONE_OK;
}

hone_status hn_file_open(hn_file **out, const char *path, bool map, hn_allocator *alloc,
                         hn_error *err) {
    hone_status status = HONE_OK;
    file *f = NULL;
    /* Without O_NONBLOCK, opening a pipe nobody writes to would wait for ever. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    HN_CHECK(err, fd >= 0, HONE_E_IO, "cannot open '%s': %s", path, strerror(errno));
    struct stat st;
    HN_CHECK_GOTO(err, fstat(fd, &st) == 0, HONE_E_IO, "cannot examine '%s': %s", path,
                  strerror(errno));
    HN_CHECK_GOTO(err, !S_ISDIR(st.st_mode), HONE_E_IO, "'%s' is a folder, not a file", path);
    HN_CHECK_GOTO(err, S_ISREG(st.st_mode), HONE_E_IO, "'%s' is not a regular file", path);
    HN_CHECK_GOTO(err, (uintmax_t)st.st_size <= PTRDIFF_MAX, HONE_E_LIMIT,
                  "'%s' has %jd bytes, more than this machine can address", path,
                  (intmax_t)st.st_size);
    f = file_create(path, alloc);
    if (f == NULL) {
        status = HN_NOMEM(err);
        goto fail;
    }
    f->shown.bytes = (size_t)st.st_size;
    if (f->shown.bytes > 0 && map) {
        void *at = mmap(NULL, f->shown.bytes, PROT_READ, MAP_PRIVATE, fd, 0);
        HN_CHECK_GOTO(err, at != MAP_FAILED, HONE_E_IO, "cannot map '%s': %s", path,
                      strerror(errno));
        f->map = at;
        f->shown.data = at;
    } else if (f->shown.bytes > 0) {
        f->block = hn_alloc(alloc, f->shown.bytes, HN_MEM_DATA);
        HN_CHECK_GOTO(err, f->block != NULL, HONE_E_NOMEM,
                      "out of memory for the %zu bytes of '%s'", f->shown.bytes, path);
        HN_TRY_GOTO(read_all(fd, path, f->block, f->shown.bytes, err));
        f->shown.data = f->block;
    }
    close(fd);
    *out = &f->shown;
    return HONE_OK;
fail:
    close(fd);
    hn_file_unref((hn_file *)f);
    return status;
}

hone_status hn_file_adopt(hn_file **out, const char *path, void *block, size_t bytes,
                          hn_allocator *alloc, hn_error *err) {
    file *f = file_create(path, alloc);
    if (f == NULL) return HN_NOMEM(err);
    f->block = block;
    f->shown.bytes = bytes;
    if (block != NULL) f->shown.data = block;
    *out = &f->shown;
    return HONE_OK;
}

/* ---- writing --------------------------------------------------------------------------------- */

enum { BUFFER_BYTES = 1 << 16, SUFFIX_BYTES = sizeof ".tmp-XXXXXX" };

struct hn_file_writer {
    hn_allocator *alloc;
    int fd;          /* -1: not open */
    uint64_t offset; /* bytes appended, those in the buffer included */
    size_t used;     /* bytes in the buffer */
    char *path;      /* the target, links resolved */
    char *temporary; /* NULL when the target is written directly */
    unsigned char buffer[BUFFER_BYTES];
};

static void writer_destroy(hn_file_writer *w) {
    if (w->fd >= 0) close(w->fd);
    hn_free(w->alloc, w->temporary);
    hn_free(w->alloc, w->path);
    hn_free(w->alloc, w);
}

void hn_file_write_abort(hn_file_writer *w) {
    if (w == NULL) return;
    if (w->temporary != NULL) unlink(w->temporary);
    writer_destroy(w);
}

/* mkstemp would make the file private; a new file should get the mode the user's umask says. The
 * names only have to differ: O_EXCL refuses one that exists, and the next is tried. */
static int create_beside(hn_file_writer *w, hn_error *err, hone_status *status) {
    static atomic_uint counter;
    size_t length = strlen(w->path);
    w->temporary = hn_alloc(w->alloc, length + SUFFIX_BYTES, HN_MEM_OTHER);
    if (w->temporary == NULL) {
        *status = HN_NOMEM(err);
        return -1;
    }
    int fd = -1;
    for (int attempt = 0; attempt < 1000 && fd < 0; attempt++) {
        uint32_t mixed =
            ((uint32_t)getpid() * 2654435761u) ^ (atomic_fetch_add(&counter, 1) * 40503u);
        snprintf(w->temporary, length + SUFFIX_BYTES, "%s.tmp-%06x", w->path, mixed & 0xffffffu);
        fd = open(w->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd < 0 && errno != EEXIST) break;
    }
    if (fd < 0) {
        *status = HN_FAIL(err, HONE_E_IO, "cannot create '%s': %s", w->temporary, strerror(errno));
        hn_free(w->alloc, w->temporary); /* not ours to remove */
        w->temporary = NULL;
    }
    return fd;
}

hone_status hn_file_write_begin(hn_file_writer **out, const char *path, const char *keep,
                                hn_allocator *alloc, hn_error *err) {
    hone_status status = HONE_OK;
    struct stat target, input;
    bool exists = stat(path, &target) == 0;
    HN_CHECK(err, !exists || !S_ISDIR(target.st_mode), HONE_E_IO,
             "cannot write '%s': it is a folder", path);
    HN_CHECK(err,
             !exists || keep == NULL || stat(keep, &input) != 0 || target.st_dev != input.st_dev ||
                 target.st_ino != input.st_ino,
             HONE_E_ARG, "'%s' is the input '%s' and will not be overwritten; choose another name",
             path, keep);

    char resolved[PATH_MAX];
    if (exists && realpath(path, resolved) != NULL) path = resolved;
    hn_file_writer *w = hn_alloc_zero(alloc, sizeof *w, HN_MEM_OTHER);
    if (w == NULL) return HN_NOMEM(err);
    w->alloc = alloc;
    w->fd = -1;
    size_t length = strlen(path);
    w->path = hn_alloc(alloc, length + 1, HN_MEM_OTHER);
    if (w->path == NULL) {
        status = HN_NOMEM(err);
        goto fail;
    }
    memcpy(w->path, path, length + 1);
    if (exists && !S_ISREG(target.st_mode)) {
        w->fd = open(w->path, O_WRONLY | O_CLOEXEC);
        HN_CHECK_GOTO(err, w->fd >= 0, HONE_E_IO, "cannot open '%s': %s", path, strerror(errno));
    } else {
        w->fd = create_beside(w, err, &status);
        if (w->fd < 0) goto fail;
        HN_CHECK_GOTO(err, !exists || fchmod(w->fd, target.st_mode & 0777) == 0, HONE_E_IO,
                      "cannot set the mode of '%s': %s", w->temporary, strerror(errno));
    }
    *out = w;
    return HONE_OK;
fail:
    hn_file_write_abort(w);
    return status;
}

static hone_status write_all(hn_file_writer *w, const unsigned char *src, size_t bytes,
                             hn_error *err) {
    while (bytes > 0) {
        ssize_t n = write(w->fd, src, bytes);
        if (n < 0 && errno == EINTR) continue;
        HN_CHECK(err, n >= 0, HONE_E_IO, "cannot write '%s': %s", w->path, strerror(errno));
        src += n;
        bytes -= (size_t)n;
    }
    return HONE_OK;
}

hone_status hn_file_write_append(hn_file_writer *w, const void *data, size_t bytes, hn_error *err) {
    if (bytes == 0) return HONE_OK;
    w->offset += bytes;
    if (bytes > BUFFER_BYTES - w->used) {
        HN_TRY(write_all(w, w->buffer, w->used, err));
        w->used = 0;
    }
    if (bytes >= BUFFER_BYTES) return write_all(w, data, bytes, err);
    memcpy(w->buffer + w->used, data, bytes);
    w->used += bytes;
    return HONE_OK;
}

uint64_t hn_file_write_offset(const hn_file_writer *w) { return w->offset; }

hone_status hn_file_write_commit(hn_file_writer *w, hn_error *err) {
    hone_status status = HONE_OK;
    HN_TRY_GOTO(write_all(w, w->buffer, w->used, err));
    if (w->temporary != NULL) {
        HN_CHECK_GOTO(err, fsync(w->fd) == 0, HONE_E_IO, "cannot write '%s': %s", w->path,
                      strerror(errno));
    }
    int fd = w->fd;
    w->fd = -1;
    HN_CHECK_GOTO(err, close(fd) == 0, HONE_E_IO, "cannot write '%s': %s", w->path,
                  strerror(errno));
    if (w->temporary != NULL) {
        HN_CHECK_GOTO(err, rename(w->temporary, w->path) == 0, HONE_E_IO,
                      "cannot rename '%s' to '%s': %s", w->temporary, w->path, strerror(errno));
    }
    writer_destroy(w);
    return HONE_OK;
fail:
    hn_file_write_abort(w);
    return status;
}
