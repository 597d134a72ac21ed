#include "events.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { MOST_TAG = 200, MOST_RECORD = 300 };

uint32_t events_crc(const void *bytes, size_t n) {
    const unsigned char *at = bytes;
    uint32_t crc = 0xffffffff;
    for (size_t i = 0; i < n; i++) {
        crc ^= at[i];
        for (int k = 0; k < 8; k++) crc = crc >> 1 ^ (0x82f63b78 & (0 - (crc & 1)));
    }
    return ~crc;
}

/* As TFRecord has it, so that a CRC of bytes that hold CRCs is as good as any. */
static uint32_t masked(const void *bytes, size_t n) {
    uint32_t crc = events_crc(bytes, n);
    return (crc >> 15 | crc << 17) + 0xa282ead8;
}

/* ---- what a record is made of ---- */

typedef struct record {
    size_t n;
    unsigned char at[MOST_RECORD];
} record;

static void put_fixed(record *r, uint64_t v, int bytes) {
    for (int i = 0; i < bytes; i++) r->at[r->n++] = (unsigned char)(v >> 8 * i);
}

static void put_varint(record *r, uint64_t v) {
    for (; v >= 0x80; v >>= 7) r->at[r->n++] = (unsigned char)(v | 0x80);
    r->at[r->n++] = (unsigned char)v;
}

enum { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };
static void put_key(record *r, int field, int kind) {
    put_varint(r, (uint64_t)(field << 3 | kind));
}

static void put_bytes(record *r, int field, const void *bytes, size_t n) {
    put_key(r, field, BYTES);
    put_varint(r, n);
    memcpy(r->at + r->n, bytes, n);
    r->n += n;
}

static void put_head(record *r, int64_t step) {
    struct timespec now;
    double seconds;
    uint64_t bits;
    clock_gettime(CLOCK_REALTIME, &now);
    seconds = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
    memcpy(&bits, &seconds, sizeof bits);
    put_key(r, 1, FIXED64);
    put_fixed(r, bits, 8);
    put_key(r, 2, VARINT);
    put_varint(r, (uint64_t)step);
}

/* TensorBoard may read while training goes on. */
static bool write_record(events *e, const record *r) {
    record frame = {0};
    put_fixed(&frame, r->n, 8);
    put_fixed(&frame, masked(frame.at, 8), 4);
    fwrite(frame.at, 1, frame.n, e->to);
    fwrite(r->at, 1, r->n, e->to);
    frame.n = 0;
    put_fixed(&frame, masked(r->at, r->n), 4);
    fwrite(frame.at, 1, frame.n, e->to);
    return fflush(e->to) == 0 && !ferror(e->to);
}

bool events_scalar(events *e, const char *tag, int64_t step, double value) {
    record one = {0}, summary = {0}, r = {0};
    float f = (float)value;
    uint32_t bits;
    if (e->to == NULL) return true;
    memcpy(&bits, &f, sizeof bits);
    put_bytes(&one, 1, tag, strnlen(tag, MOST_TAG));
    put_key(&one, 2, FIXED32);
    put_fixed(&one, bits, 4);
    put_bytes(&summary, 1, one.at, one.n);
    put_head(&r, step);
    put_bytes(&r, 5, summary.at, summary.n);
    return write_record(e, &r);
}

/* The name says who wrote the file and when: a run that goes on has another one. */
bool events_open(events *e, const char *folder) {
    static const char version[] = "brain.Event:2";
    char host[65] = "host";
    record r = {0};
    e->to = NULL;
    if (mkdir(folder, 0777) != 0 && errno != EEXIST) return false;
    gethostname(host, sizeof host - 1);
    int n = snprintf(e->path, sizeof e->path, "%s/events.out.tfevents.%lld.%s.%ld", folder,
                     (long long)time(NULL), host, (long)getpid());
    if (n >= (int)sizeof e->path) {
        errno = ENAMETOOLONG;
        return false;
    }
    e->to = fopen(e->path, "wbx");
    if (e->to == NULL) return false;
    put_head(&r, 0);
    put_bytes(&r, 3, version, sizeof version - 1);
    return write_record(e, &r);
}

void events_close(events *e) {
    if (e->to != NULL) fclose(e->to);
    e->to = NULL;
}
