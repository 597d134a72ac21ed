#include <stdlib.h>

#include "cli.h"

static exit_code write_results(const args *a, const hone_machine *m) {
    json j;
    results_begin(&j, a);
    results_object(&j, a);
    json_text(&j, "cpu", m->cpu);
    json_text(&j, "arch", m->arch);
    json_text(&j, "isa", m->isa);
    json_int(&j, "cpus", m->cpus);
    json_int(&j, "allowed_cores", m->allowed_cores);
    json_count(&j, "quota", m->quota > 0 ? m->quota : -1);
    json_int(&j, "threads", m->threads);
    json_count(&j, "memory_bytes", m->memory_bytes);
    json_count(&j, "memory_limit_bytes", m->memory_limit);
    json_begin(&j, "caches", '[');
    for (size_t i = 0; i < m->n_caches; i++) {
        const hone_cache_info *c = &m->caches[i];
        json_begin(&j, NULL, '{');
        json_int(&j, "level", c->level);
        json_int(&j, "bytes", c->bytes);
        json_count(&j, "line_bytes", c->line_bytes > 0 ? c->line_bytes : -1);
        json_count(&j, "cpus", c->cpus > 0 ? c->cpus : -1);
        json_end(&j, '}');
    }
    json_end(&j, ']');
    json_begin(&j, "peaks", '[');
    for (size_t i = 0; i < m->n_peaks; i++) {
        const hone_peak_info *p = &m->peaks[i];
        json_begin(&j, NULL, '{');
        json_text(&j, "precision", p->precision);
        json_text(&j, "instruction", p->instruction);
        json_text(&j, "isa", p->isa);
        json_int(&j, "threads", p->threads);
        json_number(&j, "gops", p->gops);
        json_end(&j, '}');
    }
    json_end(&j, ']');
    json_begin(&j, "bandwidths", '[');
    for (size_t i = 0; i < m->n_bandwidths; i++) {
        const hone_bandwidth_info *b = &m->bandwidths[i];
        json_begin(&j, NULL, '{');
        json_text(&j, "level", b->level);
        json_int(&j, "bytes", b->bytes);
        json_int(&j, "threads", b->threads);
        json_number(&j, "read_gb_s", b->read_gb);
        json_number(&j, "write_gb_s", b->write_gb);
        json_number(&j, "copy_gb_s", b->copy_gb);
        json_end(&j, '}');
    }
    json_end(&j, ']');
    json_end(&j, '}');
    return results_end(&j, a);
}

static void print_facts(const hone_machine *m) {
    char a[32], b[32];
    line("cpu      %s (%s), instruction set %s", m->cpu, m->arch, m->isa);
    if (m->quota > 0)
        line("cores    %d of %d CPUs may be used, %d by quota: %d threads by default",
             m->allowed_cores, m->cpus, m->quota, m->threads);
    else
        line("cores    %d of %d CPUs may be used: %d threads by default", m->allowed_cores, m->cpus,
             m->threads);
    line("memory   %s%s%s", human_bytes(m->memory_bytes, a),
         m->memory_limit >= 0 ? ", limited to " : "",
         m->memory_limit >= 0 ? human_bytes(m->memory_limit, b) : "");
    for (size_t i = 0; i < m->n_caches; i++) {
        const hone_cache_info *c = &m->caches[i];
        line("L%d       %s, shared by %d", c->level, human_bytes(c->bytes, a), c->cpus);
    }
}

static void print_peaks(const hone_machine *m) {
    static const char *const heads[] = {"precision", "instruction", "isa", "threads", "GOP/s"};
    table *t = table_new(heads, "lllrr");
    for (size_t i = 0; i < m->n_peaks; i++) {
        const hone_peak_info *p = &m->peaks[i];
        table_cell(t, "%s", p->precision);
        table_cell(t, "%s", p->instruction);
        table_cell(t, "%s", p->isa);
        table_cell(t, "%d", p->threads);
        table_cell(t, "%.1f", p->gops);
    }
    table_print(t);
}

static void print_bandwidths(const hone_machine *m) {
    static const char *const heads[] = {"memory",    "bytes",      "threads",
                                        "read GB/s", "write GB/s", "copy GB/s"};
    table *t = table_new(heads, "lrrrrr");
    for (size_t i = 0; i < m->n_bandwidths; i++) {
        const hone_bandwidth_info *b = &m->bandwidths[i];
        char bytes[32];
        table_cell(t, "%s", b->level);
        table_cell(t, "%s", human_bytes(b->bytes, bytes));
        table_cell(t, "%d", b->threads);
        table_cell(t, "%.1f", b->read_gb);
        table_cell(t, "%.1f", b->write_gb);
        table_cell(t, "%.1f", b->copy_gb);
    }
    table_print(t);
}

static exit_code run(const args *a) {
    hone_machine *m;
    hone_error err;
    progress p;
    catch_interrupt();
    progress_start(&p, "machine", NULL);
    hone_status status = hone_machine_probe(&m, progress_step, &p, &err);
    progress_end(&p);
    if (status != HONE_OK) return fail_with(&err);
    if (!has(a, "--json")) {
        print_facts(m);
        line("%s", "");
        print_peaks(m);
        line("%s", "");
        print_bandwidths(m);
    }
    exit_code code = write_results(a, m);
    hone_machine_destroy(m);
    return code;
}

static const option_def options[] = {OPTION_JSON, OPTION_REPORT, OPTION_QUIET, OPTION_VERBOSE, {0}};

const verb verb_machine = {
    .name = "machine",
    .usage = "",
    .n_arguments = 0,
    .most_arguments = 0,
    .summary = "what this machine is, and its measured limits",
    .options = options,
    .run = run,
};
