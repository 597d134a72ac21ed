#include "compress/windows.h"

hone_status hn_windows_init(hn_windows *s, const hn_node *n, const hn_tensor *w, const hn_tensor *x,
                            hn_error *err) {
    char label[160];
    HN_CHECK(err,
             x->dtype == HONE_DTYPE_F32 && x->rank >= 3 && x->rank == w->rank &&
                 x->dims[1] == w->dims[1] * hn_attr_i(n, "group"),
             HONE_E_SHAPE, "%s: its input does not fit its weight",
             hn_node_label(n, label, sizeof label));
    *s = (hn_windows){.channels = x->dims[1], .in_size = 1, .count = 1, .taps = 1};
    HN_TRY(hn_spatial_read(n, x->rank - 2, &s->at, err));
    for (int i = 0; i < s->at.rank; i++) {
        s->at.kernel[i] = w->dims[2 + i];
        s->in[i] = x->dims[2 + i];
    }
    hn_spatial_resolve(&s->at, s->in);
    for (int i = 0; i < s->at.rank; i++) {
        int64_t span = s->in[i] + s->at.pad[i] + s->at.pad_end[i] - hn_spatial_extent(&s->at, i);
        s->out[i] = span < 0 ? 0 : span / s->at.stride[i] + 1;
        s->in_size *= s->in[i];
        s->count *= s->out[i];
        s->taps *= s->at.kernel[i];
    }
    return HONE_OK;
}

/* Where tap t of the window lies within a channel; -1: in the padding. */
static int64_t place_of(const hn_windows *s, const int64_t *origin, int64_t t) {
    int64_t place = 0, pitch = 1;
    for (int i = s->at.rank; i-- > 0; t /= s->at.kernel[i]) {
        int64_t at = origin[i] + t % s->at.kernel[i] * s->at.dilation[i];
        if (at < 0 || at >= s->in[i]) return -1;
        place += at * pitch;
        pitch *= s->in[i];
    }
    return place;
}

void hn_windows_copy(const hn_windows *s, const float *sample, int64_t window, float *row) {
    int64_t origin[HN_MAX_SPATIAL];
    for (int i = s->at.rank; i-- > 0; window /= s->out[i])
        origin[i] = window % s->out[i] * s->at.stride[i] - s->at.pad[i];
    for (int64_t t = 0; t < s->taps; t++) {
        int64_t place = place_of(s, origin, t);
        for (int64_t c = 0; c < s->channels; c++)
            row[c * s->taps + t] = place < 0 ? 0 : sample[c * s->in_size + place];
    }
}
