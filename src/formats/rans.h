/* Bytes in as many bits as their frequencies ask for: static rANS (asymmetric numeral systems, J.
 * Duda, arXiv 1311.2540) of order 0.
 *
 *     frequencies   for each byte from 0 on: its frequency out of 4096 as a varint; a 0 is followed
 *                   by one byte, how many more bytes in a row have frequency 0
 *     4 states      u32, little-endian
 *     words         u16, little-endian, in the order the decoder reads them
 *
 * Byte number i is decoded by state i mod 4, so that four decodings are under way at once:
 *
 *     slot = x mod 4096, s = the byte whose range of slots holds it
 *     x = frequency[s] * (x / 4096) + slot - start[s]; if x < 2^16: x = x * 2^16 + the next word
 *
 * Ranges follow one another in order of the bytes. The encoder goes backwards and begins each state
 * at 2^16, so a decoder that ends with other states or with words left has read damaged data. A byte
 * of which there is none but itself would need a frequency of 4096; such runs are the caller's. */
#ifndef HN_FORMATS_RANS_H
#define HN_FORMATS_RANS_H

#include "base/alloc.h"
#include "base/error.h"

/* How many bytes n bytes come to at most. */
size_t hn_rans_bound(size_t n);
/* Writes to dst, of hn_rans_bound(n) bytes; how many. 0: it does not pay, or all bytes are the same.
 * room has n * 2 bytes. */
size_t hn_rans_encode(const unsigned char *src, size_t n, unsigned char *dst, unsigned char *room);
/* All of src becomes exactly n bytes; HONE_E_FORMAT if it does not. */
hone_status hn_rans_decode(const unsigned char *src, size_t bytes, unsigned char *dst, size_t n,
                           hn_error *err);

#endif
