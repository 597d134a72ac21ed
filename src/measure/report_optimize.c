/* What an optimization shows: every model that was tried, what people are told to expect of it
 * beside what it gave, and the criteria at the end. */
#include "measure/report_page.h"

#if HN_HAVE_JANSSON

#include <math.h>
#include <stdio.h>

static hn_unit unit_of(hn_page *p, const hn_json *o) {
    return hn_page_bool(p, o, "is_share") == 1 ? HN_UNIT_SHARE : HN_UNIT_PLAIN;
}

static void put_times(hn_page *p, double v) {
    char text[32] = "";
    if (isfinite(v)) snprintf(text, sizeof text, "%.2fx", v);
    hn_table_text(p, text);
}

static void put_rows(hn_page *p, const hn_json *o, const hn_json *rows) {
    static const char *const heads[] = {"model",   "what it is", "=latency ms", "=file",
                                        "=memory", "=accuracy",  "=loss",       "outcome",
                                        "why",     NULL};
    hn_unit unit = unit_of(p, o);
    hn_table_begin(p, NULL, heads);
    for (size_t i = 0; i < hn_page_count(rows); i++) {
        const hn_json *r = hn_page_item(p, rows, "rows", i);
        hn_table_row(p);
        hn_table_text(p, hn_page_string(p, r, "name"));
        hn_table_text(p, hn_page_string(p, r, "help"));
        hn_table_number(p, hn_page_number(p, r, "ms"), 3);
        hn_table_shown(p, hn_page_number(p, r, "file_bytes"), HN_UNIT_BYTES);
        hn_table_shown(p, hn_page_number(p, r, "memory_bytes"), HN_UNIT_BYTES);
        hn_table_shown(p, hn_page_number(p, r, "value"), unit);
        hn_table_shown(p, hn_page_number(p, r, "drop"), unit);
        hn_table_text(p, hn_page_string(p, r, "state"));
        hn_table_text(p, hn_page_string(p, r, "why"));
    }
    hn_table_end(p, NULL);
}

/* Planned and achieved. */
static void put_steps(hn_page *p, const hn_json *rows) {
    static const char *const heads[] = {"step", "the guides expect", "time", "size", NULL};
    double file = NAN;
    hn_page_put(p, "<h3>Expected and achieved</h3>");
    hn_table_begin(p, NULL, heads);
    for (size_t i = 0; i < hn_page_count(rows); i++) {
        const hn_json *r = hn_page_item(p, rows, "rows", i);
        double bytes = hn_page_number(p, r, "file_bytes");
        if (i == 0) file = bytes;
        if (i == 0) continue;
        hn_table_row(p);
        hn_table_text(p, hn_page_string(p, r, "name"));
        hn_table_text(p, hn_page_string(p, r, "expected"));
        put_times(p, hn_page_number(p, r, "speed"));
        put_times(p, bytes > 0 ? file / bytes : NAN);
    }
    hn_table_end(p, NULL);
}

static void put_verdicts(hn_page *p, const hn_json *o, const char *title, const char *key) {
    static const char *const heads[] = {"", "", "evidence", NULL};
    const hn_json *all = hn_page_list(p, o, key);
    if (hn_page_count(all) == 0) return;
    hn_page_print(p, "<h3>%s</h3>", title);
    hn_table_begin(p, NULL, heads);
    for (size_t i = 0; i < hn_page_count(all); i++) {
        const hn_json *v = hn_page_item(p, all, key, i);
        hn_table_row(p);
        hn_table_text(p, hn_page_string(p, v, "question"));
        hn_table_text(p, hn_page_string(p, v, "answer"));
        hn_table_text(p, hn_page_string(p, v, "evidence"));
    }
    hn_table_end(p, NULL);
}

void hn_report_say_optimize(hn_page *p, const hn_document *d) {
    const hn_json *o = hn_page_enter(p, d);
    const char *words = hn_page_string(p, o, "verdict");
    if (words == NULL) return;
    hn_page_put(p, "<li>");
    hn_page_text(p, words);
    hn_page_put(p, "</li>");
}

void hn_report_optimize(hn_page *p, const hn_document *d) {
    const hn_json *o = hn_page_enter(p, d), *rows = hn_page_list(p, o, "rows");
    hn_section_begin(p, "What was tried");
    hn_page_of(p, hn_page_string(p, o, "model"));
    put_rows(p, o, rows);
    put_steps(p, rows);
    put_verdicts(p, o, "Criteria", "criteria");
    put_verdicts(p, o, "Mistakes people make", "guards");
    hn_section_end(p);
}

#endif
