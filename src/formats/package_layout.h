/* Numbers of the package format, and what its readers share; package.h draws it. */
#ifndef HN_FORMATS_PACKAGE_LAYOUT_H
#define HN_FORMATS_PACKAGE_LAYOUT_H

#include "formats/package.h"

#define HN_PACKAGE_MAGIC "\x89HONE\r\n\x1a"

enum {
    HN_PACKAGE_HEADER = 40,
    HN_PACKAGE_SECTION = 32,
    HN_PACKAGE_MOST_SECTIONS = 64,
    HN_PACKAGE_MOST_FILES = 4096, /* they are looked for one by one */
    HN_SECTION_CONTENTS = 1,
    HN_SECTION_DATA = 2,
    HN_SECTION_READY = 3,
    HN_SECTION_REQUIRED = 1, /* flag */
};

/* ---- reading sections of varints ---- */

typedef struct hn_package_cursor {
    const unsigned char *at, *end, *begin;
    const hn_package_section *data; /* that the blocks lie in */
    const char *what;               /* is read; for messages */
    hn_error *err;
} hn_package_cursor;

hn_package_cursor hn_package_cursor_open(const hn_package *p, const hn_package_section *s,
                                         const char *what, hn_error *err);
hone_status hn_package_cut_off(const hn_package_cursor *c);
hone_status hn_package_take_number(hn_package_cursor *c, uint64_t most, uint64_t *v);
hone_status hn_package_take_fixed(hn_package_cursor *c, int bytes, uint64_t *v);
/* A text without zeros in it; into the arena. */
hone_status hn_package_take_text(hn_package_cursor *c, hn_arena *arena, const char **text);
hone_status hn_package_take_block(hn_package_cursor *c, hn_block *b);
/* How many there are of what takes at least so many bytes: no more than can follow. */
hone_status hn_package_take_count(hn_package_cursor *c, size_t least, uint64_t *n);
hone_status hn_package_take_file(hn_package_cursor *c, hn_arena *arena, hn_package_file *f);
hone_status hn_package_check_block(const hn_package *p, const hn_block *b, hn_error *err);

#endif
