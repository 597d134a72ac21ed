/* HAVE_ASAN: whether AddressSanitizer watches this build. */
#ifndef HN_TESTS_SUPPORT_ASAN_H
#define HN_TESTS_SUPPORT_ASAN_H

#if defined(__SANITIZE_ADDRESS__)
#define HAVE_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAVE_ASAN 1
#endif
#endif

#ifdef HAVE_ASAN
#include <sanitizer/asan_interface.h>
#endif

#endif
