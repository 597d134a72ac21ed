/* RMSNormalization, spelled out for opsets before 23.
 *
 *     q = Pow (x, 2)                      or Mul (x, x)
 *     v = ReduceMean (q, [-1])
 *     e = Add (v, epsilon)
 *     s = Sqrt (e)
 *     n = Div (x, s)                      or Mul (x, Reciprocal (s)), Mul (x, Pow (e, -0.5))
 *   becomes
 *     n = RMSNormalization <axis = -1> (x, ones)
 *
 * and then
 *
 *     Mul (RMSNormalization (x, ones), scale)       becomes    RMSNormalization (x, scale)
 *
 * Fires when the mean goes over last axes whose sizes are numbers, scale has exactly those, nothing
 * else uses what lies between, and the type is f32 or shorter.
 */
#include "passes/rms.h"

static const char *const OP = "RMSNormalization";

static hone_status form(hn_pass_ctx *c, hn_node *n, hn_error *err) {
    hn_rms r;
    int64_t fired = c->fired;
    HN_TRY(hn_norm_scale(c, n, OP));
    if (c->fired != fired || !hn_rms_match(n, &r)) return HONE_OK;
    return hn_norm_form(c, n, OP, r.x, &r, err);
}

hone_status hn_pass_form_rms_norm(hn_graph *g, hn_pass_ctx *c, hn_error *err) {
    return hn_may_form(c, OP) ? hn_pass_each(g, c, form, err) : HONE_OK;
}
