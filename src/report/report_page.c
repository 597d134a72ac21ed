/* Text and tables of a report. */
#include "report/report_page.h"

#if HN_HAVE_JANSSON

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "base/size.h"

/* ---- text ---- */

/* Room for n more bytes and an ending zero, or NULL. */
static char *room_for(hn_page *p, size_t n) {
    size_t need;
    if (p->status != HONE_OK) return NULL;
    if (!hn_size_add(p->bytes, n, &need) || !hn_size_add(need, 1, &need)) {
        p->status = HN_NOMEM(p->err);
        return NULL;
    }
    if (need > p->room) {
        size_t room = need > SIZE_MAX / 2 ? need : need + need / 2 + 4096;
        char *text = hn_realloc(p->alloc, p->text, room, HN_MEM_OTHER);
        if (text == NULL) {
            p->status = HN_NOMEM(p->err);
            return NULL;
        }
        p->text = text;
        p->room = room;
    }
    return p->text + p->bytes;
}

static void put(hn_page *p, const char *text, size_t n) {
    char *to = room_for(p, n);
    if (to == NULL) return;
    memcpy(to, text, n);
    p->bytes += n;
}

void hn_page_put(hn_page *p, const char *html) { put(p, html, strlen(html)); }

void hn_page_print(hn_page *p, const char *format, ...) {
    char text[512];
    va_list list;
    va_start(list, format);
    int n = vsnprintf(text, sizeof text, format, list);
    va_end(list);
    assert(n >= 0 && (size_t)n < sizeof text); /* only numbers and words of ours come this way */
    (void)n;
    put(p, text, strlen(text));
}

static void put_text(hn_page *p, const char *text, bool lines) {
    static const char *const names[] = {
        ['<'] = "&lt;", ['>'] = "&gt;", ['&'] = "&amp;", ['"'] = "&quot;", ['\''] = "&#39;"};
    for (; text != NULL && *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;
        if (c < sizeof names / sizeof *names && names[c] != NULL)
            hn_page_put(p, names[c]);
        else if (c == '\n' && lines)
            hn_page_put(p, "\n");
        else if (c < 0x20 || c == 0x7f)
            hn_page_put(p, c == '\n' || c == '\t' ? " " : "\xef\xbf\xbd");
        else
            put(p, text, 1);
    }
}

void hn_page_text(hn_page *p, const char *text) { put_text(p, text, false); }

void hn_page_lines(hn_page *p, const char *text) { put_text(p, text, true); }

/* Three significant digits, without an exponent where that is readable. */
static void significant(double v, const char *unit, char buf[HN_SHOWN]) {
    double a = fabs(v);
    if (a != 0 && (a >= 1e15 || a < 1e-6)) {
        snprintf(buf, HN_SHOWN, "%.3g%s", v, unit);
        return;
    }
    int decimals = a == 0 || a >= 99.95 ? 0 : a >= 9.995 ? 1 : a >= 0.9995 ? 2 : 3;
    if (a > 0 && a < 0.0995) decimals = 2 - (int)floor(log10(a));
    if (v == floor(v)) decimals = 0;
    snprintf(buf, HN_SHOWN, "%.*f%s", decimals, v, unit);
}

const char *hn_show(double v, hn_unit unit, char buf[HN_SHOWN]) {
    static const char *const bytes[] = {" B", " kB", " MB", " GB", " TB"};
    static const char *const counts[] = {"", " k", " M", " G", " T"};
    if (!isfinite(v)) return strcpy(buf, "\xe2\x80\x93");
    int i = 0;
    switch (unit) {
        case HN_UNIT_MS:
            if (v >= 1e4)
                significant(v / 1e3, " s", buf);
            else if (fabs(v) < 0.0995 && v != 0)
                significant(v * 1e3, " µs", buf);
            else
                significant(v, " ms", buf);
            break;
        case HN_UNIT_BYTES:
        case HN_UNIT_COUNT:
            for (; i < 4 && fabs(v) >= 999.5; i++) v /= 1e3;
            significant(v, (unit == HN_UNIT_BYTES ? bytes : counts)[i], buf);
            break;
        case HN_UNIT_SHARE:
            if (fabs(v) < 100)
                snprintf(buf, HN_SHOWN, "%.1f %%", 100 * v);
            else
                significant(100 * v, " %", buf);
            break;
        case HN_UNIT_PLAIN: significant(v, "", buf); break;
    }
    return buf;
}

const char *hn_base_name(const char *path) {
    const char *slash = path != NULL ? strrchr(path, '/') : NULL;
    return slash != NULL && slash[1] != '\0' ? slash + 1 : path;
}

/* ---- tables ---- */

static void open_table(hn_page *p, const char *fold) {
    if (fold != NULL) {
        hn_page_put(p, "<details><summary>");
        hn_page_text(p, fold);
        hn_page_put(p, "</summary>");
    }
    hn_page_put(p, "<div class=\"scroll\" tabindex=\"0\"><table><thead><tr>");
}

static void open_head(hn_page *p, bool number) {
    hn_page_put(p, number ? "<th scope=\"col\" class=\"n\">" : "<th scope=\"col\">");
}

static void end_heads(hn_page *p) { hn_page_put(p, "</tr></thead><tbody>"); }

void hn_table_begin(hn_page *p, const char *fold, const char *const *heads) {
    open_table(p, fold);
    for (; *heads != NULL; heads++) {
        bool number = (*heads)[0] == '=';
        open_head(p, number);
        hn_page_text(p, *heads + number);
        hn_page_put(p, "</th>");
    }
    end_heads(p);
}

void hn_table_row(hn_page *p) { hn_page_put(p, "\n<tr>"); } /* </tr> may be left out */

void hn_table_text(hn_page *p, const char *text) {
    hn_page_put(p, "<td>");
    hn_page_text(p, text);
}

void hn_table_number(hn_page *p, double v, int decimals) {
    char buf[HN_SHOWN];
    if (!isfinite(v) || fabs(v) >= 1e15)
        hn_page_print(p, "<td class=\"n\">%s", hn_show(v, HN_UNIT_PLAIN, buf));
    else
        hn_page_print(p, "<td class=\"n\">%.*f", decimals, v);
}

void hn_table_shown(hn_page *p, double v, hn_unit unit) {
    char buf[HN_SHOWN];
    hn_page_put(p, "<td class=\"n\"");
    if (isfinite(v)) hn_page_print(p, " data-v=\"%.9g\"", v);
    hn_page_print(p, ">%s", hn_show(v, unit, buf));
}

void hn_table_end(hn_page *p, const char *fold) {
    hn_page_put(p, "</tbody></table></div>");
    if (fold != NULL) hn_page_put(p, "</details>");
}

/* A value whose type is not known: whatever it is, a few letters. */
static void put_value(hn_page *p, const char *key, const json_t *v) {
    size_t n = strlen(key);
    bool bytes = n > 5 && strcmp(key + n - 5, "bytes") == 0;
    if (json_is_integer(v) && !bytes)
        hn_page_print(p, "<td class=\"n\">%" JSON_INTEGER_FORMAT, json_integer_value(v));
    else if (json_is_number(v))
        hn_table_shown(p, json_number_value(v), bytes ? HN_UNIT_BYTES : HN_UNIT_PLAIN);
    else
        hn_table_text(p, json_is_string(v)                       ? json_string_value(v)
                         : json_is_true(v)                       ? "yes"
                         : json_is_false(v)                      ? "no"
                         : json_is_array(v) || json_is_object(v) ? "\xe2\x80\xa6"
                                                                 : "\xe2\x80\x93");
}

/* "top1_correct" as "top1 correct". */
static void put_key(hn_page *p, const char *key) {
    for (; *key != '\0'; key++) {
        const char letter[2] = {*key == '_' ? ' ' : *key, '\0'};
        hn_page_text(p, letter);
    }
}

void hn_table_of(hn_page *p, const char *fold, const hn_json *list) {
    const json_t *first = json_array_get(list, 0);
    if (first == NULL || p->status != HONE_OK) return;
    size_t n = json_array_size(list);
    const char *key;
    json_t *v;
    open_table(p, fold);
    json_object_foreach((json_t *)(uintptr_t)first, key, v) {
        open_head(p, json_is_number(v));
        put_key(p, key);
        hn_page_put(p, "</th>");
    }
    end_heads(p);
    for (size_t i = 0; i < n && i < HN_MOST_ROWS && p->status == HONE_OK; i++) {
        const json_t *row = json_array_get(list, i);
        hn_table_row(p);
        json_object_foreach((json_t *)(uintptr_t)first, key, v) {
            put_value(p, key, json_object_get(row, key));
        }
    }
    hn_table_end(p, fold);
}

void hn_table_facts(hn_page *p, const hn_json *object) {
    const char *key;
    json_t *v;
    hn_page_put(p, "<div class=\"scroll\" tabindex=\"0\"><table class=\"facts\"><tbody>");
    json_object_foreach((json_t *)(uintptr_t)object, key, v) {
        if (json_is_array(v) || json_is_object(v) || json_is_null(v)) continue;
        if (strcmp(key, "schema") == 0 || strcmp(key, "command") == 0) continue;
        hn_page_put(p, "\n<tr><th scope=\"row\">");
        put_key(p, key);
        hn_page_put(p, "</th>");
        put_value(p, key, v);
    }
    hn_page_put(p, "</tbody></table></div>");
}

void hn_section_begin(hn_page *p, const char *title) {
    hn_page_print(p, "\n<section><h2>%s</h2>", title);
}

void hn_page_of(hn_page *p, const char *model) {
    if (model == NULL) return;
    hn_page_put(p, "<p class=\"of\">");
    hn_page_text(p, model);
    hn_page_put(p, "</p>");
}

void hn_section_end(hn_page *p) { hn_page_put(p, "</section>\n"); }

#endif
