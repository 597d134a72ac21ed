/* Panels of conv_q8_panel_body.h that are lists of the weights that are not 0.
 *
 * An output is a lane of four bytes. It has a list of its weights, in the order of the window. In a
 * round every lane takes up to four of its weights, all of them within TABLE neighbours of the
 * window, the table of the round; an instruction brings to each lane the four bytes of the table that
 * its weights multiply, another multiplies and sums. A round takes as long as two multiplications of
 * a dense panel, and does the work of up to TABLE / KU of them:
 *
 *   window      . . . . . . . . . . . . . . . . . . . . . . . . .
 *   lane 0        a   b         c     d   |     e       f           round 0: a b c d, 1: e f ...
 *   lane 1      g                 h       |         i     j k       round 0: g h, 1: i j k ...
 *               `-- table of round 0 -----'
 *                       `-- table of round 1 -----'
 *
 * A table begins where the first weight is that is left in any lane. So lanes with many weights go
 * ahead no faster than those with few, but within a table they may be apart, and nearly all rounds are
 * full where the lanes of a panel have about as many weights. `look` counts the rounds, since that
 * is what time and memory depend on. There are never more of them than a quarter of the window.
 *
 * Packed weights:
 *
 *   sums      [outputs, panels rounded up]   of w', as in other panels
 *   begins    [panels + 1]                   in units of 64 bytes, where panels begin
 *   panels    [chunks]                       chunks of CHUNK rounds; the last one has fewer
 *
 *   chunk     int32_t n, place[CHUNK]        rounds, and where their tables begin in a window
 *             {which[TABLE], weights[TABLE]}[n]
 *
 * Windows that are joined by lines begin a new table in each line.
 *
 * The file that includes the panels has `tile`, not_zero(w), which says of TABLE weights which are not
 * 0, a bit for each, and
 *
 *   NR, KU   lanes, and weights of a lane in a round
 *   TABLE    bytes of a table, which are NR * KU too
 *   CHUNK    as many as are told of with their number in 64 bytes: 15
 *   STEP     a table begins at a multiple of it, or where it ends with the line
 */
#ifdef LISTS

/* The lines of a window in which tables are. */
static int64_t list_lines(const hn_conv_q8 *p) { return p->kw * p->c < TABLE ? 1 : p->kh; }
static int64_t list_line(const hn_conv_q8 *p) { return p->kh * p->kw * p->c / list_lines(p); }

static int64_t most_rounds(const hn_conv_q8 *p) {
    if (p->w_rounds > 0) return p->w_rounds;
    return hn_q8_ceil(p->n, NR) * list_lines(p) * hn_q8_ceil(list_line(p), KU);
}

static int64_t weights_bytes(const hn_conv_q8 *p) {
    const int64_t rounds = most_rounds(p), panels = hn_q8_ceil(p->n, NR);
    return rounds * 2 * TABLE + (rounds / CHUNK + panels) * 64;
}

static void measure_lists(const hn_conv_q8 *p, geometry *g) {
    g->steps = hn_q8_ceil(most_rounds(p), hn_q8_max(g->all_panels, 1));
}

static int64_t list_at(const geometry *g, const int8_t *packed, int64_t panel) {
    return ((const int32_t *)(const void *)(packed + sums_bytes(g)))[panel] * 64LL;
}

/* The weights of a lane that are left, TABLE of its line at a time. */
typedef struct lane_list {
    const uint8_t *w;  /* of the output */
    int64_t at, block; /* the next one; where those at hand begin */
    uint64_t left;     /* of those, which are not 0 */
    int8_t weights[TABLE];
} lane_list;

/* Weights [k, k + n) of an output's window, and zeros up to TABLE. */
HN_INLINE void fetch_weights(const hn_conv_q8 *p, const uint8_t *w, int64_t k, int64_t n,
                             int8_t *to) {
    const uint8_t flip = (uint8_t)hn_q8_w_off(p);
    uint8_t plain[TABLE];
    if (n < TABLE) memset(plain, flip, sizeof plain);
    for (int64_t i = 0, some; i < n; i += some) {
        const int64_t tap = (k + i) / p->c, c = (k + i) % p->c;
        const uint8_t *from = w + tap / p->kw * p->w_y + tap % p->kw * p->w_x + c * p->w_i;
        some = hn_q8_min(n - i, p->c - c);
        if (p->w_i == 1)
            memcpy(plain + i, from, (size_t)some);
        else
            for (int64_t m = 0; m < some; m++) plain[i + m] = from[m * p->w_i];
    }
    for (int i = 0; i < TABLE; i++) to[i] = (int8_t)(plain[i] ^ flip);
}

/* Finds the next weight of a line that begins at k; at its end `at` is its length. */
HN_INLINE void find_weight(const hn_conv_q8 *p, int64_t k, int64_t line, lane_list *l) {
    while (l->left == 0 && l->block + TABLE < line) {
        l->block += TABLE;
        fetch_weights(p, l->w, k + l->block, hn_q8_min(TABLE, line - l->block), l->weights);
        l->left = not_zero(l->weights);
    }
    l->at = l->left != 0 ? l->block + __builtin_ctzll(l->left) : line;
}

/* What packing writes of a panel. */
typedef struct list_writer {
    int8_t *chunk, *end; /* NULL: rounds are only counted */
} list_writer;

static void begin_chunk(list_writer *to) {
    to->chunk = to->end;
    memset(to->chunk, 0, 64);
    to->end = to->chunk + 64;
}

/* A round: which bytes of its table, and what they are multiplied by. */
static void write_round(list_writer *to, int64_t place, const uint8_t *which, const int8_t *by) {
    int32_t *head = (int32_t *)(void *)to->chunk;
    head[++head[0]] = (int32_t)place;
    memcpy(to->end, which, TABLE);
    memcpy(to->end + TABLE, by, TABLE);
    to->end += 2 * TABLE;
    if (head[0] == CHUNK) begin_chunk(to);
}

/* The rounds of the line of windows that begins at k, for n outputs from w on; `place`: where it is in a
 * window, of which `length` may be read. */
static int64_t list_rounds(const hn_conv_q8 *p, const uint8_t *w, int64_t n, int64_t k,
                           int64_t place, int64_t length, list_writer *to) {
    const int64_t line = list_line(p);
    lane_list lanes[NR];
    for (int64_t o = 0; o < n; o++) {
        lanes[o].w = w + o * p->w_o, lanes[o].block = -TABLE, lanes[o].left = 0;
        find_weight(p, k, line, &lanes[o]);
    }
    for (int64_t rounds = 0;; rounds++) {
        uint8_t which[TABLE] = {0};
        int8_t by[TABLE] = {0};
        int64_t first = line;
        for (int64_t o = 0; o < n; o++) first = hn_q8_min(first, lanes[o].at);
        if (first == line) return rounds;
        first = hn_q8_min(first / STEP * STEP, length - TABLE);
        const int64_t end = hn_q8_min(first + TABLE, line);
        for (int64_t o = 0; o < n; o++) {
            lane_list *l = &lanes[o];
            for (int64_t i = o * KU; i < (o + 1) * KU && l->at < end; i++) {
                which[i] = (uint8_t)(l->at - first);
                by[i] = l->weights[l->at - l->block];
                l->left &= l->left - 1;
                find_weight(p, k, line, l);
            }
        }
        if (to != NULL) write_round(to, place + first, which, by);
    }
}

/* The rounds of a panel, `apart` bytes between the lines of a window. */
static int64_t panel_rounds(const hn_conv_q8 *p, const uint8_t *plain, int64_t panel, int64_t apart,
                            list_writer *to) {
    const int64_t lines = list_lines(p), line = list_line(p);
    const int64_t length = lines > 1 ? line : hn_q8_ceil(line, KU) * KU;
    int64_t rounds = 0;
    for (int64_t l = 0; l < lines; l++)
        rounds += list_rounds(p, plain + panel * NR * p->w_o, hn_q8_min(NR, p->n - panel * NR),
                              l * line, l * apart, length, to);
    return rounds;
}

/* Whether so many rounds are faster than dense rows. A round of a pixel takes a cycle, and as long as
 * five where there is nothing else to do; dense rows do 128 products in a cycle, and take at least as
 * long as it takes to fetch weights. */
static bool are_few(const hn_conv_q8 *p, double rounds) {
    const double margin = 0.85, weights = (double)(p->kh * p->kw * p->c * p->n);
    const double pixels = (double)(p->batch * p->oh * p->ow);
    const double fetch = weights > 1 << 20 ? 12 : 3;
    return rounds * (pixels > 5 ? pixels : 5) <
           margin * weights / 128 * (pixels > fetch ? pixels : fetch);
}

/* Nothing is counted where full rounds would be too many. At least one, since 0 says that nobody has
 * counted. */
static void look(void *problem, const void *plain) {
    hn_conv_q8 *p = problem;
    const int64_t weights = p->kh * p->kw * p->c * p->n;
    if (p->w_rounds > 0 || !are_few(p, (double)(weights - p->w_zeros) / TABLE)) return;
    int64_t rounds = 0;
    for (int64_t i = 0; i * NR < p->n; i++) rounds += panel_rounds(p, plain, i, 0, NULL);
    p->w_rounds = hn_q8_max(rounds, 1);
}

static bool pays(const void *problem, const char **why) {
    const hn_conv_q8 *p = problem;
    if (p->w_rounds > 0 && are_few(p, (double)p->w_rounds)) return true;
    return *why = "too few for leaving them out to be faster", false;
}

static bool ok(const void *problem, const char **why) {
    const hn_conv_q8 *p = problem;
    if (p->w_zeros == 0) return *why = "weights are not known to be sparse", false;
    if (p->groups != 1) return *why = "groups", false;
    if (p->w_zero_points) return *why = "weights have zero points", false;
    if (hn_q8_ceil(p->kh * p->kw * p->c, KU) * KU < TABLE) return *why = "windows are small", false;
    if (weights_bytes(p) / 64 > INT32_MAX) return *why = "weights are too many", false;
    return true;
}

static size_t packed_bytes(const void *problem) {
    const geometry g = measure(problem);
    return header_bytes(&g) + (size_t)weights_bytes(problem);
}

static uint64_t pack_key(const void *problem) {
    const hn_conv_q8 *p = problem;
    const int64_t of[] = {
        TABLE,  STEP,      p->c,  p->n,  p->kh, p->kw,      p->w_o,      p->w_i,           p->w_y,
        p->w_x, p->w_type, p->sw, p->dh, NR,    p->w_zeros, p->w_rounds, measure(p).strips};
    return hn_pack_hash(of, sizeof of / sizeof *of);
}

/* One: where a panel begins depends on those before it. */
static int64_t pack_tasks(const void *problem) { return (void)problem, 1; }

static void pack(const void *problem, const hn_stored *plain, int64_t begin, int64_t end,
                 void *dst) {
    (void)begin, (void)end;
    const hn_conv_q8 *p = problem;
    const geometry g = measure(p);
    const int64_t apart = g.strips ? p->dh * g.row : list_line(p);
    int32_t *sums = dst, *begins = (int32_t *)(void *)((char *)dst + sums_bytes(&g));
    int8_t *first = (int8_t *)dst + header_bytes(&g);
    memset(dst, 0, header_bytes(&g));
    list_writer to = {.end = first};
    for (int64_t i = 0; i < g.all_panels; i++) {
        begins[i] = (int32_t)((to.end - first) / 64);
        begin_chunk(&to);
        panel_rounds(p, plain->data, i, apart, &to);
    }
    begins[g.all_panels] = (int32_t)((to.end - first) / 64);
    memset(to.end, 0, (size_t)((int8_t *)dst + packed_bytes(p) - to.end));
    for (int64_t i = 0; i < g.all_panels; i++) { /* from the lists, which are shorter */
        const int8_t *chunk = panel_at(&g, dst, i);
        for (int32_t n = CHUNK; n == CHUNK; chunk += 64 + n * 2 * TABLE) {
            n = *(const int32_t *)(const void *)chunk;
            for (int32_t k = 0; k < n; k++)
                for (int b = 0; b < TABLE; b++)
                    sums[i * NR + b / KU] += chunk[64 + (2 * k + 1) * TABLE + b];
        }
    }
}

#endif
