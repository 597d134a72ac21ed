/* replay.c: a main for a fuzz target that runs stored inputs.
 *
 *     fuzz_TARGET [--mutate SECONDS FILE] INPUT...
 *
 * libFuzzer brings its own main; where it is absent (gcc, a cross build) every target is linked
 * with this one, so what fuzzing found once is tested everywhere and forever. Each argument is a
 * file or a folder of files. An input that misbehaves crashes the program or trips a sanitizer, and
 * the last line on stderr names it. With --mutate, changed inputs are run as well, for so long;
 * FILE holds the one that is running. */
#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

/* ---- inputs as they were read, to make others of ---- */

typedef struct input {
    uint8_t *data;
    size_t n_bytes;
} input;

static input *kept;
static int n_kept;

static void keep(uint8_t *data, size_t n_bytes) {
    input *grown = realloc(kept, ((size_t)n_kept + 1) * sizeof *kept);
    if (grown == NULL) abort();
    kept = grown;
    kept[n_kept++] = (input){data, n_bytes};
}

static uint64_t random_state = 1;

/* SplitMix64: the same inputs come in every run. */
static uint64_t pick(uint64_t n) {
    uint64_t z = random_state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (z ^ (z >> 31)) % n;
}

/* One change: a bit, a byte, bytes taken out, or bytes of another input written over. */
static void change(input *x) {
    static const uint8_t odd[] = {0, 1, 0x7f, 0x80, 0xff};
    size_t at = pick(x->n_bytes), n = 1 + pick(8);
    const input *other = &kept[pick((uint64_t)n_kept)];
    switch (pick(4)) {
        case 0: x->data[at] ^= (uint8_t)(1u << pick(8)); return;
        case 1: x->data[at] = odd[pick(sizeof odd)]; return;
        case 2:
            if (n > x->n_bytes - at) n = x->n_bytes - at;
            if (n == x->n_bytes) return;
            memmove(x->data + at, x->data + at + n, x->n_bytes - at - n);
            x->n_bytes -= n;
            return;
        default: {
            size_t from = pick(other->n_bytes);
            if (n > x->n_bytes - at) n = x->n_bytes - at;
            if (n > other->n_bytes - from) n = other->n_bytes - from;
            memcpy(x->data + at, other->data + from, n);
        }
    }
}

static void store(const char *path, const input *x) {
    FILE *file = fopen(path, "wb");
    if (file == NULL || fwrite(x->data, 1, x->n_bytes, file) != x->n_bytes || fclose(file) != 0) {
        fprintf(stderr, "replay: cannot write %s\n", path);
        exit(1);
    }
}

/* Changed inputs for so many seconds. The one that is running is in the file `path`, which is left
 * there when the program does not come back from it. */
static void mutate(double seconds, const char *path) {
    int64_t n = 0;
    time_t begun = time(NULL);
    for (; difftime(time(NULL), begun) < seconds; n++) {
        const input *from = &kept[pick((uint64_t)n_kept)];
        input x = {malloc(from->n_bytes), from->n_bytes};
        if (x.data == NULL) abort();
        memcpy(x.data, from->data, from->n_bytes);
        for (uint64_t left = 1 + pick(4); left > 0; left--) change(&x);
        store(path, &x);
        LLVMFuzzerTestOneInput(x.data, x.n_bytes);
        free(x.data);
    }
    remove(path);
    printf("ran %lld changed inputs\n", (long long)n);
}

/* ---- inputs from files ---- */

static int replay_file(const char *path, size_t n_bytes) {
    FILE *file = fopen(path, "rb");
    /* Exactly as large as the input, so that a sanitizer sees the first byte read past its end. */
    uint8_t *data = malloc(n_bytes ? n_bytes : 1);
    int ok = file != NULL && data != NULL && fread(data, 1, n_bytes, file) == n_bytes;
    if (ok) {
        fprintf(stderr, "%s\n", path);
        LLVMFuzzerTestOneInput(data, n_bytes);
    } else {
        fprintf(stderr, "replay: cannot read %s\n", path);
    }
    if (ok && n_bytes > 0)
        keep(data, n_bytes);
    else
        free(data);
    if (file != NULL) fclose(file);
    return ok;
}

static int replay(const char *path, int *n_inputs) {
    struct stat info;
    if (stat(path, &info) != 0) {
        fprintf(stderr, "replay: no such file or folder: %s\n", path);
        return 0;
    }
    if (!S_ISDIR(info.st_mode)) {
        ++*n_inputs;
        return replay_file(path, (size_t)info.st_size);
    }
    struct dirent **entries;
    int n_entries = scandir(path, &entries, NULL, alphasort);
    int ok = n_entries >= 0;
    for (int i = 0; i < n_entries; ++i) {
        char child[4096];
        snprintf(child, sizeof child, "%s/%s", path, entries[i]->d_name);
        if (ok && entries[i]->d_name[0] != '.') ok = replay(child, n_inputs);
        free(entries[i]);
    }
    if (n_entries >= 0) free(entries);
    return ok;
}

int main(int argc, char **argv) {
    int n_inputs = 0, first = 1;
    bool mutates = argc > 3 && strcmp(argv[1], "--mutate") == 0;
    if (mutates) first = 4;
    for (int i = first; i < argc; ++i) {
        if (!replay(argv[i], &n_inputs)) return 1;
    }
    if (n_inputs == 0) {
        fprintf(stderr, "replay: no inputs given\n");
        return 1;
    }
    printf("replayed %d inputs\n", n_inputs);
    if (mutates && n_kept > 0) mutate(atof(argv[2]), argv[3]);
    for (int i = 0; i < n_kept; i++) free(kept[i].data);
    free(kept);
    return 0;
}
