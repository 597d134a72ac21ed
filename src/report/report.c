#include "report/report.h"

#include "base/file.h"

#if HN_HAVE_JANSSON

#include <limits.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "report/report_page.h"

/* ---- documents ---- */

typedef struct reader {
    hn_document *documents;
    size_t n, room;
    hn_allocator *alloc;
} reader;

static const char *skip_space(const char *text, size_t *line) {
    for (; *text == ' ' || *text == '\t' || *text == '\r' || *text == '\n'; text++)
        *line += *text == '\n';
    return text;
}

/* The verb: "bench" of "hone.bench/1". */
static hone_status read_schema(hn_document *d, hn_error *err) {
    const char *schema = json_string_value(json_object_get(d->root, "schema"));
    int end = 0;
    HN_CHECK(err, json_is_object(d->root), HONE_E_FORMAT,
             "%s: line %zu: found a list; an object is wanted", d->name, d->line);
    HN_CHECK(err, schema != NULL, HONE_E_FORMAT,
             "%s: line %zu: there is no key schema; the result of a verb of hone is wanted",
             d->name, d->line);
    HN_CHECK(
        err,
        sscanf(schema, "hone.%31[a-z]/1%n", d->verb, &end) == 1 && end > 0 && schema[end] == '\0',
        HONE_E_FORMAT, "%s: line %zu: schema is '%.60s'; hone.VERB/1 is wanted", d->name, d->line,
        schema);
    return HONE_OK;
}

static hone_status add(reader *r, hn_document d, hn_error *err) {
    HN_TRY(read_schema(&d, err));
    if (r->n == r->room) {
        size_t room = 2 * r->room + 8;
        hn_document *more = hn_realloc(r->alloc, r->documents, room * sizeof *more, HN_MEM_OTHER);
        if (more == NULL) return HN_NOMEM(err);
        r->documents = more;
        r->room = room;
    }
    r->documents[r->n++] = d;
    return HONE_OK;
}

/* The objects of a text, one behind the other. jansson allocates by malloc, outside the allocator's
 * count; what it takes is a small multiple of the text. */
static hone_status read_text(reader *r, const char *name, const char *text, hn_error *err) {
    size_t line = 1, found = 0;
    const char *end = text + strlen(text);
    for (;; found++) {
        text = skip_space(text, &line);
        if (*text == '\0') break;
        json_error_t e;
        hn_document d = {.name = name, .line = line};
        size_t left = (size_t)(end - text);
        d.root = json_loadb(text, left < INT_MAX ? left : INT_MAX, JSON_DISABLE_EOF_CHECK, &e);
        HN_CHECK(err, d.root != NULL, HONE_E_FORMAT, "%s: line %zu: not JSON: %s", name,
                 line + (e.line > 0 ? (size_t)e.line - 1 : 0), e.text);
        hone_status status = add(r, d, err);
        if (status != HONE_OK) {
            json_decref(d.root);
            return status;
        }
        for (int i = 0; i < e.position; i++) line += text[i] == '\n';
        text += e.position;
    }
    HN_CHECK(err, found > 0, HONE_E_FORMAT, "%s: there is nothing in it; JSON is wanted", name);
    return HONE_OK;
}

/* ---- the page ---- */

static void put_head(hn_page *p) {
    hn_page_put(p,
                "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
                "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">"
                "<meta name=\"color-scheme\" content=\"light dark\"><title>hone report</title>"
                "<link rel=\"icon\" href=\"data:,\"><style>");
    hn_page_put(p, hn_report_style);
    hn_page_put(p, "</style></head>\n<body><main>");
}

static void put_commands(hn_page *p) {
    hn_section_begin(p, "How to get these numbers again");
    hn_page_put(p, "<pre tabindex=\"0\">");
    const char *last = "";
    for (size_t i = 0; i < p->n_documents; i++) {
        const hn_json *o = hn_page_enter(p, &p->documents[i]);
        const char *command = hn_page_string(p, o, "command");
        if (command == NULL || strcmp(command, last) == 0) continue; /* a sweep is one command */
        hn_page_text(p, command);
        hn_page_put(p, "\n");
        last = command;
    }
    hn_page_print(p, "</pre><p class=\"note\">hone %s</p>", hone_version());
    hn_section_end(p);
}

/* Facts and lists of a verb that has no section of its own. */
static void put_others(hn_page *p, const hn_document *d) {
    static const char *const lists[] = {"ops", "passes", "kernels"};
    const hn_json *o = hn_page_enter(p, d);
    char title[64];
    snprintf(title, sizeof title, "hone %s", d->verb);
    hn_section_begin(p, title);
    hn_table_facts(p, o);
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        const hn_json *list = hn_page_list(p, o, lists[i]);
        if (hn_page_count(list) > 0) hn_table_of(p, lists[i], list, lists[i]);
    }
    hn_section_end(p);
}

static void put_sections(hn_page *p) {
    static const struct {
        const char *verb;
        void (*put)(hn_page *p, const hn_document *d);
    } sections[] = {{"optimize", hn_report_optimize}, {"quantize", hn_report_quantize},
                    {"profile", hn_report_profile},   {"compare", hn_report_compare},
                    {"eval", hn_report_eval},         {"inspect", hn_report_inspect},
                    {"machine", hn_report_machine}};
    enum { N = sizeof sections / sizeof *sections };
    hn_report_models(p);
    hn_report_bench(p);
    for (size_t k = 0; k < N; k++)
        for (size_t i = 0; i < p->n_documents; i++)
            if (strcmp(p->documents[i].verb, sections[k].verb) == 0)
                sections[k].put(p, &p->documents[i]);
    for (size_t i = 0; i < p->n_documents; i++) {
        const char *verb = p->documents[i].verb;
        bool shown = strcmp(verb, "bench") == 0;
        for (size_t k = 0; k < N; k++) shown |= strcmp(verb, sections[k].verb) == 0;
        if (!shown) put_others(p, &p->documents[i]);
    }
    put_commands(p);
}

static hone_status write_page(const hn_page *p, const char *path, hn_allocator *alloc,
                              hn_error *err) {
    hn_file_writer *w;
    HN_TRY(hn_file_write_begin(&w, path, NULL, alloc, err));
    hone_status status = hn_file_write_append(w, p->text, p->bytes, err);
    if (status == HONE_OK) return hn_file_write_commit(w, err);
    hn_file_write_abort(w);
    return status;
}

static hone_status make(reader *r, const char *const *documents, size_t n, const char *path,
                        const char *const *names, hn_error *err) {
    for (size_t i = 0; i < n; i++)
        HN_TRY(read_text(r, names != NULL ? names[i] : "the results", documents[i], err));
    hn_page p = {.alloc = r->alloc, .err = err, .documents = r->documents, .n_documents = r->n};
    put_head(&p);
    put_sections(&p);
    hn_page_put(&p, "</main><script>");
    hn_page_put(&p, hn_report_script);
    hn_page_put(&p, "</script></body></html>\n");
    hone_status status = p.status == HONE_OK ? write_page(&p, path, r->alloc, err) : p.status;
    hn_free(r->alloc, p.text);
    return status;
}

hone_status hn_report_write(const char *const *documents, size_t n, const char *path,
                            const char *const *names, hn_allocator *alloc, hn_error *err) {
    HN_CHECK(err, n > 0, HONE_E_ARG, "a report wants at least one document");
    /* Numbers in HTML and SVG have a decimal point, whatever the program's locale. */
    locale_t plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    if (plain == (locale_t)0) return HN_NOMEM(err);
    locale_t own = uselocale(plain);
    reader r = {.alloc = alloc};
    hone_status status = make(&r, documents, n, path, names, err);
    for (size_t i = 0; i < r.n; i++) json_decref(r.documents[i].root);
    hn_free(alloc, r.documents);
    uselocale(own);
    freelocale(plain);
    return status;
}

#else

hone_status hn_report_write(const char *const *documents, size_t n, const char *path,
                            const char *const *names, hn_allocator *alloc, hn_error *err) {
    (void)documents, (void)n, (void)path, (void)names, (void)alloc;
    return HN_FAIL(err, HONE_E_UNSUPPORTED,
                   "reports cannot be made: hone was built without libjansson");
}

#endif
