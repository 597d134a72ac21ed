#include "report/report.h"

#include "base/file.h"

#if HN_HAVE_JANSSON

#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "report/report_page.h"

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
        const char *command = p->documents[i].command;
        if (command == NULL || strcmp(command, last) == 0) continue; /* a sweep is one command */
        hn_page_text(p, command);
        hn_page_put(p, "\n");
        last = command;
    }
    hn_page_print(p, "</pre><p class=\"note\">hone %s</p>", hone_version());
    hn_section_end(p);
}

/* Facts and the list of a verb that has no section of its own. */
static void put_others(hn_page *p, const hn_document *d) {
    char title[64];
    snprintf(title, sizeof title, "hone %s", d->verb);
    hn_section_begin(p, title);
    hn_table_facts(p, d->root);
    hn_table_of(p, "ops", d->ops != NULL ? d->ops->ops.json : NULL);
    hn_table_of(p, "passes", d->simplify != NULL ? d->simplify->passes.json : NULL);
    hn_table_of(p, "kernels", d->kernels != NULL ? d->kernels->kernels.json : NULL);
    hn_section_end(p);
}

static void put_sections(hn_page *p) {
    static const struct {
        const char *verb;
        void (*put)(hn_page *p, const hn_document *d);
    } sections[] = {{"train", hn_report_train},       {"distill", hn_report_train},
                    {"advise", hn_report_advise},     {"optimize", hn_report_optimize},
                    {"quantize", hn_report_quantize}, {"prune", hn_report_shrink},
                    {"cluster", hn_report_shrink},    {"factorize", hn_report_shrink},
                    {"replace", hn_report_shrink},    {"compress", hn_report_compress},
                    {"apply", hn_report_compress},    {"profile", hn_report_profile},
                    {"compare", hn_report_compare},   {"eval", hn_report_eval},
                    {"inspect", hn_report_inspect},   {"machine", hn_report_machine}};
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

static hone_status make(hn_documents *d, const char *const *documents, size_t n, const char *path,
                        const char *const *names, hn_error *err) {
    for (size_t i = 0; i < n; i++)
        HN_TRY(hn_documents_read(d, names != NULL ? names[i] : "the results", documents[i], err));
    hn_page p = {.alloc = d->alloc, .err = err, .documents = d->all, .n_documents = d->n};
    put_head(&p);
    put_sections(&p);
    hn_page_put(&p, "</main><script>");
    hn_page_put(&p, hn_report_script);
    hn_page_put(&p, "</script></body></html>\n");
    hone_status status = p.status == HONE_OK ? write_page(&p, path, d->alloc, err) : p.status;
    hn_free(d->alloc, p.text);
    return status;
}

hone_status hn_report_write(const char *const *documents, size_t n, const char *path,
                            const char *const *names, hn_allocator *alloc, hn_error *err) {
    HN_CHECK(err, n > 0, HONE_E_ARG, "a report wants at least one document");
    /* Numbers in HTML and SVG have a decimal point, whatever the program's locale. */
    locale_t plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    if (plain == (locale_t)0) return HN_NOMEM(err);
    locale_t own = uselocale(plain);
    hn_documents read;
    hn_documents_init(&read, alloc);
    hone_status status = make(&read, documents, n, path, names, err);
    hn_documents_deinit(&read);
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
