#include "train/ranks.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

/* What is used of the library, as its header declares it; its handles are pointers to objects. */
typedef struct calls {
    int (*init)(int *, char ***);
    int (*initialized)(int *);
    int (*finalize)(void);
    int (*rank)(void *, int *);
    int (*size)(void *, int *);
    int (*send)(const void *, int, void *, int, int, void *);
    int (*recv)(void *, int, void *, int, int, void *, void *);
    int (*bcast)(void *, int, void *, int, void *);
    void *world, *f32;
    int own_rank, own_size;
    bool begun; /* here, so it is ended here */
} calls;

enum { TAG = 0x686f, MOST = 1 << 26 }; /* floats of one message */

static calls opened;
static char failure[300];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static bool started_by_mpirun(void) {
    const char *size = getenv("OMPI_COMM_WORLD_SIZE");
    return size != NULL && strtol(size, NULL, 10) > 1;
}

static void *library(void) {
    static const char *const names[] = {"libmpi.so.40", "libmpi.so"};
    void *lib = NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names && lib == NULL; i++)
        lib = dlopen(names[i], RTLD_NOW | RTLD_GLOBAL); /* its plugins want its names */
    return lib;
}

/* dlsym gives objects; functions are of the same size wherever there is dlopen. */
static bool find(void *lib, const char *name, void *to) {
    void *found = dlsym(lib, name);
    *(void **)to = found;
    return found != NULL;
}

static void open_once(void) {
    calls *c = &opened;
    void *lib = library();
    if (lib == NULL) {
        snprintf(failure, sizeof failure, "%s", dlerror());
        return;
    }
    bool all = find(lib, "MPI_Init", &c->init) && find(lib, "MPI_Initialized", &c->initialized) &&
               find(lib, "MPI_Finalize", &c->finalize) && find(lib, "MPI_Comm_rank", &c->rank) &&
               find(lib, "MPI_Comm_size", &c->size) && find(lib, "MPI_Send", &c->send) &&
               find(lib, "MPI_Recv", &c->recv) && find(lib, "MPI_Bcast", &c->bcast) &&
               find(lib, "ompi_mpi_comm_world", &c->world) && find(lib, "ompi_mpi_float", &c->f32);
    int is = 0;
    if (!all) {
        snprintf(failure, sizeof failure, "libmpi is not that of Open MPI");
        return;
    }
    c->initialized(&is);
    c->begun = is == 0;
    if ((c->begun && c->init(NULL, NULL) != 0) || c->rank(c->world, &c->own_rank) != 0 ||
        c->size(c->world, &c->own_size) != 0)
        snprintf(failure, sizeof failure, "MPI_Init failed");
}

hone_status hn_ranks_open(hn_ranks *r, hn_error *err) {
    *r = (hn_ranks){.size = 1};
    if (!started_by_mpirun()) return HONE_OK;
    pthread_once(&once, open_once);
    HN_CHECK(err, failure[0] == '\0', HONE_E_UNSUPPORTED,
             "mpirun started %s processes, and Open MPI cannot be used: %s",
             getenv("OMPI_COMM_WORLD_SIZE"), failure);
    r->calls = &opened;
    r->rank = opened.own_rank;
    r->size = opened.own_size;
    return HONE_OK;
}

/* A message of any length, in pieces. */
static hone_status pass(const calls *c, bool sends, float *v, int64_t n, int other, hn_error *err) {
    int status = 0;
    for (int64_t at = 0; at < n && status == 0; at += MOST) {
        int count = (int)(n - at < MOST ? n - at : MOST);
        status = sends ? c->send(v + at, count, c->f32, other, TAG, c->world)
                       : c->recv(v + at, count, c->f32, other, TAG, c->world, NULL);
    }
    HN_CHECK(err, status == 0, HONE_E_IO, "MPI error %d while %s process %d", status,
             sends ? "sending to" : "hearing from", other);
    return HONE_OK;
}

hone_status hn_ranks_sum(const hn_ranks *r, float *v, float *room, int64_t n, hn_error *err) {
    const calls *c = r->calls;
    if (r->size == 1) return HONE_OK;
    for (int step = 1; step < r->size; step *= 2) {
        if (r->rank % (2 * step) != 0) {
            HN_TRY(pass(c, true, v, n, r->rank - step, err));
            break;
        }
        if (r->rank + step >= r->size) continue;
        HN_TRY(pass(c, false, room, n, r->rank + step, err));
        for (int64_t i = 0; i < n; i++) v[i] += room[i];
    }
    int status = 0;
    for (int64_t at = 0; at < n && status == 0; at += MOST)
        status = c->bcast(v + at, (int)(n - at < MOST ? n - at : MOST), c->f32, 0, c->world);
    HN_CHECK(err, status == 0, HONE_E_IO, "MPI error %d while sums are handed out", status);
    return HONE_OK;
}

void hn_ranks_close(hn_ranks *r) {
    calls *c = r->calls;
    r->calls = NULL;
    if (c == NULL || !c->begun) return;
    c->begun = false;
    c->finalize();
}
