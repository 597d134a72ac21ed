/* Prints docs/json.md: what the tables of schema/ say about the keys of --json. */
#include <stdio.h>

typedef struct row {
    const char *key; /* NULL: the keys of another record stand here */
    const char *kind, *meaning;
    const struct row *of;
    const char *inside; /* between the key and those of `of` */
} row;

#define VERB(name, type, text)                                                            \
    static const char text_##name[] = (text);                                             \
    static const row rows_##name[] = {{"schema", "text", "`hone." #name "/1`", NULL, ""}, \
                                      {"command", "text", "the command line", NULL, ""},
#define END_VERB(name) END(name)
#define RECORD(name, type) static const row rows_##name[] = {
#define END(name)                    \
    { NULL, NULL, NULL, NULL, NULL } \
    }                                \
    ;
#define PLAIN(key, kind, meaning) {#key, kind, meaning, NULL, ""},
#define TEXT(key, v, meaning) PLAIN(key, "text", meaning)
#define INT(key, v, meaning) PLAIN(key, "number", meaning)
#define COUNT(key, v, meaning) PLAIN(key, "number", meaning)
#define NUMBER(key, v, meaning) PLAIN(key, "number", meaning)
#define BOOL(key, v, meaning) PLAIN(key, "true or false", meaning)
#define DIMS(key, v, meaning) PLAIN(key, "list of dims", meaning)
#define TEXTS(key, n, v, meaning) PLAIN(key, "list of texts", meaning)
#define INTS(key, n, v, meaning) PLAIN(key, "list of numbers", meaning)
#define NUMBERS(key, n, v, meaning) PLAIN(key, "list of numbers", meaning)
#define SQUARE(key, n, v, meaning) PLAIN(key, "list of lists of numbers", meaning)
#define OBJECT(key, record, at, meaning) {#key, "object", meaning, rows_##record, "."},
#define LIST(key, record, n, at, meaning) {#key, "list", meaning, rows_##record, "[]."},
#define MAP(key, n, name, v, meaning) {#key, "object", meaning, rows_of_map, "."},
#define SAME(record, at) {NULL, NULL, NULL, rows_##record, NULL},
#define COLUMN(kind, ...) kind(__VA_ARGS__)

RECORD(of_map, ){"*", "number", "the one of that name", NULL, ""},
    END(of_map)
#include "schema/all.def"

        static void print_rows(const char *before, const row *r) {
    char prefix[200];
    for (; r->key != NULL || r->of != NULL; r++) {
        if (r->key == NULL) {
            print_rows(before, r->of);
            continue;
        }
        printf("| `%s%s` | %s |%s%s |\n", before, r->key, r->kind, *r->meaning != '\0' ? " " : "",
               r->meaning);
        snprintf(prefix, sizeof prefix, "%s%s%s", before, r->key, r->inside);
        if (r->of != NULL) print_rows(prefix, r->of);
    }
}

static void print_verb(const char *name, const char *text, const row *rows) {
    printf("\n## hone %s\n\n%s%s| key | is | meaning |\n|---|---|---|\n", name, text,
           *text != '\0' ? "\n\n" : "");
    print_rows("", rows);
}

int main(void) {
    puts(
        "<!-- Made of the tables in schema/ by `make bless`. -->\n"
        "# JSON\n\n"
        "`--json` makes a verb print one object, on one line of standard output (`hone bench` one "
        "per configuration, `hone profile` one per model, a line each). The keys of an object are "
        "there every time: what is not known is\n"
        "`null`. A later version may add keys; taking one away, or changing what it means, changes "
        "the number in `schema`. Names in a model are\n"
        "arbitrary bytes; what is not UTF-8 in them comes out as U+FFFD.\n\n"
        "Below, `a.b` is key `b` of the object `a`, and `a[].b` key `b` of each object in the list "
        "`a`. Types have the names of `hone.h`: `f32`, `s64`,\n"
        "`bool`. A dim is a number, or a text: a symbol or an expression over symbols.");
#include "schema/undef.def"
#define VERB(name, type, text) print_verb(#name, text_##name, rows_##name);
#include "schema/rest.def"

#include "schema/all.def"
    return 0;
}
