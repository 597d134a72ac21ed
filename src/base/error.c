#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *hone_status_name(hone_status status) {
    switch (status) {
#define HONE_X(name, number, text) \
    case HONE_##name: return "HONE_" #name;
        HONE_STATUS_LIST(HONE_X)
#undef HONE_X
    }
    return "HONE_?";
}

const char *hone_status_text(hone_status status) {
    switch (status) {
#define HONE_X(name, number, text) \
    case HONE_##name: return text;
        HONE_STATUS_LIST(HONE_X)
#undef HONE_X
    }
    return "unknown status";
}

void hn_one_line(char *text) {
    for (char *c = text; *c != '\0'; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f) *c = '?';
}

hone_status hn_fail(hn_error *err, hone_status code, const char *format, ...) {
    if (err != NULL) {
        va_list args;
        va_start(args, format);
        err->status = code;
        vsnprintf(err->text, sizeof err->text, format, args);
        va_end(args);
        hn_one_line(err->text);
    }
    return code;
}

void hn_error_context(hn_error *err, const char *format, ...) {
    if (err == NULL) return;
    char head[HONE_ERROR_TEXT], old[HONE_ERROR_TEXT];
    va_list args;
    va_start(args, format);
    vsnprintf(head, sizeof head, format, args);
    va_end(args);
    memcpy(old, err->text, sizeof old);
    hn_fail(err, err->status, "%.300s: %.700s", head, old);
}
