/* Numbers, types and tables for people. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli.h"

void *must(void *p) {
    if (p == NULL) {
        complain("out of memory");
        exit(EXIT_RESOURCE);
    }
    return p;
}

/* ---- numbers ---- */

static const char *human(int64_t n, const char *const *units, char *buf) {
    double x = (double)n;
    int k = 0;
    if (n < 0) return strcpy(buf, "?");
    for (; x >= 999.5 && units[k + 1] != NULL; k++) x /= 1000;
    int digits = k == 0 || x >= 99.95 ? 0 : x >= 9.995 ? 1 : 2;
    snprintf(buf, 32, "%.*f%s%s", digits, x, units[k][0] != '\0' ? " " : "", units[k]);
    return buf;
}

const char *human_count(int64_t n, char *buf) {
    static const char *const units[] = {"", "k", "M", "G", "T", "P", "E", NULL};
    return human(n, units, buf);
}

const char *human_bytes(int64_t n, char *buf) {
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB", NULL};
    return human(n, units, buf);
}

void print_memory(const char *before, const hone_memory_use *use) {
    char weights[32], arena[32], scratch[32], most[32];
    bool planned = use->planned_bytes > 0, bound = use->bound_bytes < SIZE_MAX;
    line("%sweights %s, activations %s, workspace %s, %s%s%s", before,
         human_bytes((int64_t)use->weights_bytes, weights),
         human_bytes((int64_t)use->arena_bytes, arena),
         human_bytes((int64_t)use->scratch_bytes, scratch),
         planned ? "planned "
         : bound ? "activations bounded by "
                 : "activations unbounded",
         planned ? human_bytes((int64_t)use->planned_bytes, most)
         : bound ? human_bytes((int64_t)use->bound_bytes, most)
                 : "",
         planned ? " in all" : "");
}

/* ---- lists, types, operators ---- */

char *join(const char *const *list) {
    char *text;
    size_t bytes;
    FILE *to = must(open_memstream(&text, &bytes));
    for (int i = 0; list[i] != NULL; i++) fprintf(to, "%s%s", i > 0 ? ", " : "", list[i]);
    if (fclose(to) != 0) must(NULL);
    return text;
}

char *type_text(const hone_value_info *v) {
    char *text;
    size_t bytes;
    FILE *to = must(open_memstream(&text, &bytes));
    fprintf(to, "%s[", v->dtype != HONE_DTYPE_NONE ? hone_dtype_name(v->dtype) : "?");
    if (v->rank < 0) fputc('?', to);
    for (int i = 0; i < v->rank; i++) {
        if (i > 0) fputs(", ", to);
        if (v->dims[i] >= 0)
            fprintf(to, "%lld", (long long)v->dims[i]);
        else
            fputs(v->dim_names[i], to);
    }
    fputc(']', to);
    if (fclose(to) != 0) must(NULL);
    return text;
}

char *op_text(const char *domain, const char *op) {
    char *text;
    if (asprintf(&text, "%s%s%s", domain, domain[0] != '\0' ? "." : "", op) < 0) must(NULL);
    return text;
}

/* ---- tables ---- */

struct table {
    int columns, cells, cap;
    const char *align;
    bool headed;
    char **cell;
};

/* A column that may be cut keeps at least this much. */
#define NARROWEST 12

static void push(table *t, char *text) {
    if (t->cells == t->cap) {
        t->cap = t->cap == 0 ? 64 : t->cap * 2;
        t->cell = must(realloc(t->cell, (size_t)t->cap * sizeof *t->cell));
    }
    t->cell[t->cells++] = text;
}

table *table_new(const char *const *heads, const char *align) {
    table *t = must(calloc(1, sizeof *t));
    t->columns = (int)strlen(align);
    t->align = align;
    t->headed = heads != NULL;
    for (int i = 0; i < t->columns && t->headed; i++) push(t, must(strdup(heads[i])));
    return t;
}

void table_cell(table *t, const char *format, ...) {
    char *text;
    va_list list;
    va_start(list, format);
    if (vasprintf(&text, format, list) < 0) must(NULL);
    va_end(list);
    push(t, text);
}

static bool starts_character(char c) { return ((unsigned char)c & 0xc0) != 0x80; }

/* Columns a text takes on the screen: its UTF-8 characters. */
static int width(const char *s) {
    int n = 0;
    for (; *s != '\0'; s++) n += starts_character(*s);
    return n;
}

/* What there is room for; 0: as much as one likes. */
static int screen_width(void) {
    const char *columns = getenv("COLUMNS");
    struct winsize size;
    if (columns != NULL) return atoi(columns);
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

/* Where the first n characters end. */
static char *after(char *s, int n) {
    for (; *s != '\0' && (n > 0 || !starts_character(*s)); s++) n -= starts_character(*s);
    return s;
}

void wrapped(int indent, int rest, const char *format, ...) {
    char *text, *at;
    int room = screen_width();
    va_list list;
    va_start(list, format);
    if (vasprintf(&text, format, list) < 0) text = must(NULL);
    va_end(list);
    for (at = text; *at != '\0'; indent = rest) {
        char *end = at + strlen(at);
        if (room > indent + NARROWEST && width(at) > room - indent) {
            char *most = after(at, room - indent), *space = most;
            while (space > at && *space != ' ') space--;
            end = space > at ? space : most;
        }
        line("%*s%.*s", indent, "", (int)(end - at), at);
        at = end + strspn(end, " ");
    }
    free(text);
}

/* Takes from the widest column that may be cut until all fit. */
static void fit(const table *t, int *wide, int room) {
    int all = 2 * (t->columns - 1);
    for (int c = 0; c < t->columns; c++) all += wide[c];
    for (; room > 0 && all > room; all--) {
        int widest = -1;
        for (int c = 0; c < t->columns; c++)
            if (strchr("ht", t->align[c]) != NULL && wide[c] > NARROWEST &&
                (widest < 0 || wide[c] > wide[widest]))
                widest = c;
        if (widest < 0) return;
        wide[widest]--;
    }
}

/* Cuts a text that is too wide; `...` stands for what is missing. */
static void cut(char *text, int wide, bool to_tail) {
    int over = width(text) - wide;
    if (over <= 0) return;
    if (to_tail) {
        char *tail = after(text, over + 3);
        memmove(text + 3, tail, strlen(tail) + 1);
        memcpy(text, "...", 3);
    } else {
        strcpy(after(text, wide - 3), "...");
    }
}

static void print_row(const table *t, char *const *row, const int *wide) {
    char *text;
    size_t bytes;
    FILE *to = must(open_memstream(&text, &bytes));
    for (int c = 0; c < t->columns; c++) {
        cut(row[c], wide[c], t->align[c] == 't');
        int pad = wide[c] - width(row[c]);
        bool right = t->align[c] == 'r';
        fprintf(to, "%s%*s%s%*s", c > 0 ? "  " : "", right ? pad : 0, "", row[c], right ? 0 : pad,
                "");
    }
    if (fclose(to) != 0) must(NULL);
    while (bytes > 0 && text[bytes - 1] == ' ') text[--bytes] = '\0';
    line("%s", text);
    free(text);
}

void table_print(table *t) {
    int *wide = must(calloc((size_t)t->columns, sizeof *wide));
    for (int i = 0; i < t->cells; i++) {
        int w = width(t->cell[i]);
        if (w > wide[i % t->columns]) wide[i % t->columns] = w;
    }
    fit(t, wide, screen_width());
    for (int i = 0; i < t->cells; i += t->columns) {
        print_row(t, t->cell + i, wide);
        if (i > 0 || !t->headed) continue;
        int rule = 2 * (t->columns - 1);
        for (int c = 0; c < t->columns; c++) rule += wide[c];
        while (rule-- > 0) putchar('-');
        putchar('\n');
    }
    for (int i = 0; i < t->cells; i++) free(t->cell[i]);
    free(wide);
    free(t->cell);
    free(t);
}

void print_stages(size_t n, const hone_stage *stages) {
    static const char *const heads[] = {"spent on", "s", "%", "cores busy", NULL};
    double all = 0;
    if (n == 0) return;
    for (size_t i = 0; i < n; i++) all += stages[i].seconds;
    table *t = table_new(heads, "lrrr");
    line("%s", "");
    for (size_t i = 0; i < n; i++) {
        table_cell(t, "%s", stages[i].name);
        table_cell(t, "%.2f", stages[i].seconds);
        table_cell(t, "%.0f", all > 0 ? 100 * stages[i].seconds / all : 0);
        table_cell(t, "%.1f", stages[i].cores);
    }
    table_print(t);
    line("%s", "");
}
