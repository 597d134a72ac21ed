#include "support/pb.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct block {
    struct block *next;
    unsigned char data[];
} block;

static block *blocks;

void pb_free(void) {
    while (blocks != NULL) {
        block *next = blocks->next;
        free(blocks);
        blocks = next;
    }
}

static unsigned char *keep(size_t n) {
    block *b = malloc(sizeof *b + n + 1);
    if (b == NULL) abort();
    b->next = blocks;
    blocks = b;
    return b->data;
}

static size_t varint(unsigned char *dst, uint64_t v) {
    size_t n = 0;
    for (; v >= 0x80; v >>= 7) dst[n++] = (unsigned char)(v | 0x80);
    dst[n++] = (unsigned char)v;
    return n;
}

hn_bytes pb(const char *format, ...) {
    enum { MOST = 64, HEAD = 24 };
    struct part {
        unsigned char head[HEAD];
        size_t n_head;
        hn_bytes body;
    } parts[MOST];
    int n = 0;
    size_t total = 0;
    va_list args;
    va_start(args, format);
    for (const char *p = format; *p != '\0'; p++) {
        if (*p == ' ') continue;
        if (n == MOST) abort();
        struct part *part = &parts[n++];
        *part = (struct part){.n_head = 0};
        unsigned long number = strtoul(p, (char **)&p, 10);
        uint64_t tag = (uint64_t)number << 3;
        float f;
        switch (*p) {
            case 'i':
            case 'l':
                part->n_head = varint(part->head, tag);
                part->n_head += varint(part->head + part->n_head,
                                       *p == 'i' ? (uint64_t)(int64_t)va_arg(args, int)
                                                 : (uint64_t)va_arg(args, int64_t));
                break;
            case 'f':
                part->n_head = varint(part->head, tag | 5);
                f = (float)va_arg(args, double);
                memcpy(part->head + part->n_head, &f, sizeof f);
                part->n_head += sizeof f;
                break;
            case 'r': part->body = va_arg(args, hn_bytes); break;
            default:
                if (*p == 's') {
                    part->body.p = va_arg(args, const char *);
                    part->body.n = strlen(part->body.p);
                } else {
                    part->body = va_arg(args, hn_bytes);
                }
                part->n_head = varint(part->head, tag | 2);
                part->n_head += varint(part->head + part->n_head, part->body.n);
        }
        total += part->n_head + part->body.n;
    }
    va_end(args);
    unsigned char *out = keep(total), *at = out;
    for (int i = 0; i < n; i++) {
        memcpy(at, parts[i].head, parts[i].n_head);
        at += parts[i].n_head;
        if (parts[i].body.n > 0) memcpy(at, parts[i].body.p, parts[i].body.n);
        at += parts[i].body.n;
    }
    return (hn_bytes){out, total};
}

/* Calls one(word) for each word of the text and joins what it gives as fields of that number. */
static hn_bytes each(const char *text, const char *field, hn_bytes (*one)(const char *word)) {
    hn_bytes all = pb("");
    char word[300], format[16];
    snprintf(format, sizeof format, "r%sb", field);
    while (*text != '\0') {
        size_t n = strcspn(text, " ");
        snprintf(word, sizeof word, "%.*s", (int)n, text);
        if (n > 0) all = pb(format, all, one(word));
        text += n;
        text += strspn(text, " ");
    }
    return all;
}

static hn_bytes name_of(const char *word) {
    size_t n = strcmp(word, "_") == 0 ? 0 : strlen(word);
    unsigned char *copy = keep(n);
    memcpy(copy, word, n);
    return (hn_bytes){copy, n};
}

hn_bytes pb_node(const char *op, const char *inputs, const char *outputs, hn_bytes attrs) {
    return pb("rr4sr", each(inputs, "1", name_of), each(outputs, "2", name_of), op, attrs);
}

hn_bytes pb_nodes(const char *op, const char *inputs, const char *outputs) {
    return pb("1b", pb_node(op, inputs, outputs, pb("")));
}

hn_bytes pb_value(const char *text) {
    size_t n = strcspn(text, "[");
    hn_bytes name = {text, n};
    if (text[n] == '\0') return pb("1b", name);
    hn_bytes dims = pb("");
    for (const char *p = text + n + 1; *p != ']' && *p != '\0';) {
        size_t k = strcspn(p, ",]");
        hn_bytes dim = {p, k};
        if (*p >= '0' && *p <= '9')
            dims = pb("r1b", dims, pb("1i", atoi(p)));
        else
            dims = pb("r1b", dims, *p == '?' ? pb("") : pb("2b", dim));
        p += k;
        if (*p == ',') p++;
    }
    return pb("1b2b", name, pb("1b", pb("1i2b", HONE_DTYPE_F32, dims)));
}

hn_bytes pb_inputs(const char *values) { return each(values, "11", pb_value); }
hn_bytes pb_outputs(const char *values) { return each(values, "12", pb_value); }

hn_bytes pb_model(hn_bytes graph_fields) {
    return pb("1i7b8b", 10, pb("2sr", "g", graph_fields), pb("1s2i", "", 21));
}

hn_bytes pb_zeros(const char *name, int n) {
    unsigned char *zeros = keep((size_t)n * 4);
    memset(zeros, 0, (size_t)n * 4);
    return pb("1i2i8s9b", n, HONE_DTYPE_F32, name, (hn_bytes){zeros, (size_t)n * 4});
}
