/* The border between the library and its callers, whose structs may be shorter or longer than the
 * library's own: hone/sized.h says what holds there. Everything that crosses goes through here.
 *
 *   take   a caller's struct becomes one of the library
 *   give   a struct of the library is written into one of the caller
 *   show   a result of the library, with the arrays it points to, gets the caller's form
 *
 * Nothing is copied where the two sizes agree, as they do unless versions differ. */
#ifndef HN_BASE_BORDER_H
#define HN_BASE_BORDER_H

#include <stdalign.h>

#include "base/error.h"

/* The size a struct had when `last` was its last field. */
#define HN_SIZE_TO(type, last)                                                                \
    ((offsetof(type, last) + sizeof(((type *)0)->last) + alignof(type) - 1) / alignof(type) * \
     alignof(type))

/* The size that the caller's struct has: HN_CALLER(caller, value) of a hone_value. */
#define HN_CALLER(caller, name) hn_caller_size((caller), offsetof(hone_layout, name))
size_t hn_caller_size(const hone_layout *caller, size_t entry);

/* Copies a caller's struct over what is in `own`, as far as both go. HONE_E_ARG: the caller set
 * bytes that the library does not know. */
hone_status hn_take(void *own, size_t own_size, const void *given, size_t size, const char *type,
                    hn_error *err);
#define HN_TAKE(own, given, caller, name, err) \
    hn_take((own), sizeof(hone_##name), (given), HN_CALLER(caller, name), "hone_" #name, (err))

/* The same of a struct that begins with its own size. given NULL: `own` stays as it is. */
hone_status hn_take_sized(void *own, size_t own_size, const void *given, const char *type,
                          hn_error *err);

/* Writes a struct of the library into the caller's: never more than `size` bytes. Bytes that the
 * library does not know become 0. */
void hn_give(void *out, size_t size, const void *own, size_t own_size);
#define HN_GIVE(out, own, caller, name) \
    hn_give((out), HN_CALLER(caller, name), (own), sizeof(hone_##name))

/* The same of n structs, one behind the other. */
void hn_give_array(void *out, size_t size, const void *own, size_t own_size, size_t n);
#define HN_GIVE_ARRAY(out, own, n, caller, name) \
    hn_give_array((out), HN_CALLER(caller, name), (own), sizeof(hone_##name), (n))

/* The same of a struct that begins with its own size, which becomes the size of what was written.
 */
void hn_give_sized(void *out, size_t size, const void *own, size_t own_size);
#define HN_GIVE_SIZED(out, own, caller, name) \
    hn_give_sized((out), HN_CALLER(caller, name), (own), sizeof(hone_##name))
/* For `init` functions: likewise, but the size that is written is the caller's. */
void hn_give_defaults(void *out, size_t size, const void *own, size_t own_size);

/* An array of a caller's structs as an array of the library's. */
typedef struct hn_caller_array {
    void *own; /* the given array itself where the sizes agree */
    const void *given;
    size_t n, size, own_size;
} hn_caller_array;
hone_status hn_caller_array_init(hn_caller_array *t, const void *given, size_t n, size_t size,
                                 size_t own_size, const char *type, hn_error *err);
#define HN_TAKE_ARRAY(taken, given, n, caller, name, err)                                     \
    hn_caller_array_init((taken), (given), (n), HN_CALLER(caller, name), sizeof(hone_##name), \
                         "hone_" #name, (err))
/* Writes the structs back into `to`, which is the given array. */
void hn_caller_array_give(const hn_caller_array *t, void *to);
void hn_caller_array_deinit(hn_caller_array *t);

/* One struct for a function of the caller, in `room`, which no such struct comes near; `own` itself
 * where the caller's is not longer. */
typedef union hn_callback_struct {
    max_align_t align;
    char bytes[1024];
} hn_callback_struct;
const void *hn_show_one(hn_callback_struct *room, const void *own, size_t own_size, size_t size);

/* An array of the library's structs in the caller's form: `own` itself where the sizes agree, else
 * a copy, which hn_shown_free frees. NULL: out of memory. */
void *hn_show_array(void *own, size_t n, size_t own_size, size_t size);

/* A list that a result points to: where its pointer and its length are, and what its elements are.
 */
typedef struct hn_list {
    size_t at, n_at, own_size, entry;
} hn_list;
#define HN_LIST(result, list, length, element)                                                  \
    {                                                                                           \
        offsetof(hone_##result, list), offsetof(hone_##result, length), sizeof(hone_##element), \
            offsetof(hone_layout, element)                                                      \
    }

/* A result in the caller's form: `own` itself where all sizes agree, else a copy with copies of its
 * lists, which hn_shown_free frees. NULL: out of memory. */
void *hn_show_result(void *own, size_t own_size, size_t size, const hn_list *lists, size_t n_lists,
                     const hone_layout *caller);
#define HN_SHOW(own, lists, caller, name)                                        \
    hn_show_result((own), sizeof(hone_##name), HN_CALLER(caller, name), (lists), \
                   sizeof(lists) / sizeof *(lists), (caller))
void hn_shown_free(void *shown, const void *own);

/* Ends a function that makes a result: hands it out in the caller's form, or destroys it. */
#define HN_HAND_OUT(out, own, lists, caller, name, err)                   \
    do {                                                                  \
        hone_##name *hn_shown_ = HN_SHOW((own), (lists), (caller), name); \
        if (hn_shown_ == NULL) {                                          \
            hone_##name##_destroy(own);                                   \
            return HN_NOMEM(err);                                         \
        }                                                                 \
        *(out) = hn_shown_;                                               \
        return HONE_OK;                                                   \
    } while (0)

#endif
