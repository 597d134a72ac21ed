#include "compress/compression.h"
#include "passes/simplify.h"

const hn_parameter hn_params_simplify[] = {
    {.name = "level",
     .kind = HN_PARAM_COUNT,
     .usual = "3",
     .help = "0: nothing, 1: the same results, 2 and 3: the same but for rounding",
     .most = 3},
    {0},
};

hone_status hn_transform_simplify(hn_transform_ctx *c, hn_error *err) {
    hn_simplify_options o = hn_simplify_defaults();
    hn_pass_report report;
    o.level = (int)hn_step_number(c->step, "level");
    o.max_growth = hn_simplify_file_growth(c->model);
    HN_TRY(hn_simplify(c->model, &o, &report, err));
    for (int i = 0; i < HN_PASS_COUNT_; i++) c->changed += report.pass[i].fired;
    return HONE_OK;
}
