/* Numbers of the package format, which package_write.c and package.c share; package.h draws it. */
#ifndef HN_FORMATS_PACKAGE_LAYOUT_H
#define HN_FORMATS_PACKAGE_LAYOUT_H

#define HN_PACKAGE_MAGIC "\x89HONE\r\n\x1a"

enum {
    HN_PACKAGE_HEADER = 40,
    HN_PACKAGE_SECTION = 32,
    HN_PACKAGE_MOST_SECTIONS = 64,
    HN_PACKAGE_MOST_FILES = 4096, /* they are looked for one by one */
    HN_SECTION_CONTENTS = 1,
    HN_SECTION_DATA = 2,
    HN_SECTION_REQUIRED = 1, /* flag */
};

#endif
