/* Event files of TensorBoard: numbers by step, which its page draws.
 *
 * A file is a row of records: u64 length, u32 masked CRC-32C of these 8 bytes, the bytes of a record,
 * u32 masked CRC-32C of them; all little-endian. A record is an Event of TensorFlow's event.proto:
 *
 *     1: f64 seconds since 1970   2: s64 step   3: "brain.Event:2", of the first record
 *     5: { 1: { 1: tag   2: f32 value } }
 */
#ifndef CLI_EVENTS_H
#define CLI_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef struct events {
    FILE *to; /* NULL: nothing is written */
    char path[4096];
} events;

/* A new file in the folder, which is made where it does not exist. False: errno tells why. */
bool events_open(events *e, const char *folder);
/* False: errno tells why. True where nothing is written. */
bool events_scalar(events *e, const char *tag, int64_t step, double value);
void events_close(events *e);

uint32_t events_crc(const void *bytes, size_t n); /* CRC-32C */

#endif
