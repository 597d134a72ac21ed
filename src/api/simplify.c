#include "passes/simplify.h"

#include "api/api.h"

size_t hone_n_passes(void) { return HN_PASS_COUNT_; }

hone_status hone_pass_sized(size_t i, hone_pass_info *out, const hone_layout *caller,
                            hone_error *err) {
    HN_CHECK(err, i < HN_PASS_COUNT_, HONE_E_ARG, "pass %zu was asked for, there are %d", i,
             HN_PASS_COUNT_);
    hone_pass_info own = {hn_pass_name((int)i), hn_pass_help((int)i), hn_pass_level((int)i)};
    HN_GIVE(out, &own, caller, pass_info);
    return HONE_OK;
}

HN_DEFINE_OPTIONS(simplify, .level = hn_simplify_defaults().level)

hone_status hone_model_simplify_sized(hone_model *m, const hone_simplify_options *options,
                                      hone_pass_result *results, const hone_layout *caller,
                                      hone_error *err) {
    hone_simplify_options o;
    HN_TRY(HN_TAKE_OPTIONS(simplify, &o, options, err));
    HN_CHECK(err, atomic_load(&m->refs) == 1, HONE_E_ARG,
             "a model cannot be simplified while sessions of it exist");
    HN_CHECK(err, o.opset >= 0, HONE_E_ARG, "opset %lld, expected 0 or more", (long long)o.opset);
    hn_simplify_options how = hn_simplify_defaults();
    how.max_growth = hn_simplify_file_growth(m->ir);
    how.level = o.level;
    how.opset = o.opset;
    how.disable = o.without;
    how.stop_after = o.stop_after;
    hn_pass_report r;
    HN_TRY(hn_simplify(m->ir, &how, &r, err));
    hone_pass_result own[HN_PASS_COUNT_];
    for (int i = 0; i < HN_PASS_COUNT_; i++)
        own[i] = (hone_pass_result){r.pass[i].fired, r.pass[i].ms};
    if (results != NULL) HN_GIVE_ARRAY(results, own, HN_PASS_COUNT_, caller, pass_result);
    return hn_api_model_complete(m, err);
}
