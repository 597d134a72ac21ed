/* replay.c: a main for a fuzz target that runs stored inputs instead of inventing new ones.
 *
 * libFuzzer brings its own main; where it is absent (gcc, a cross build) every target is linked
 * with this one, so what fuzzing found once is tested everywhere and forever. Each argument is a
 * file or a folder of files. An input that misbehaves crashes the program or trips a sanitizer, and
 * the last line on stderr names it. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

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
    int n_inputs = 0;
    for (int i = 1; i < argc; ++i) {
        if (!replay(argv[i], &n_inputs)) return 1;
    }
    if (n_inputs == 0) {
        fprintf(stderr, "replay: no inputs given\n");
        return 1;
    }
    printf("replayed %d inputs\n", n_inputs);
    return 0;
}
