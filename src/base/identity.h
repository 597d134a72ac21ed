/* Which source the library was built from: a hash of all files of src/, in hexadecimal digits. What is
 * kept in the layouts of kernels is of use to the same source only. The build makes it
 * (cmake/identity.cmake). */
#ifndef HN_BASE_IDENTITY_H
#define HN_BASE_IDENTITY_H

extern const char hn_source_identity[];

#endif
