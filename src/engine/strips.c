#include "engine/strips.h"

#include <string.h>

#include "base/log.h"
#include "engine/engine.h"
#include "engine/memory.h"
#include "kernels/window.h"

/* The sizes are the same on every machine: where an image is cut may change bits, since kernels lay
 * their tiles from its first row on. */
enum {
    MOST = 3,              /* steps in one */
    LEAST_BYTES = 1 << 20, /* of images between two steps: less stays in the cache by itself */
    STRIP_BYTES = 3 << 18, /* of what lies between the steps of a strip */
};

/* ---- running ---- */

typedef struct member {
    const hn_kernel *kernel;
    int operands, n_operands; /* which of the step's are its own */
    int x, r, y;              /* and which of those are images; r may be -1 */
    size_t place;             /* of its output in the workspace; unused by the last */
} member;

/* A member's share of a strip. */
typedef struct share {
    void *problem;
    hn_work work;
    size_t x, r, y; /* bytes from the beginnings of its images, where they are whole */
} share;

typedef struct strips {
    int n;
    member members[MOST];
    share (*shares)[MOST]; /* by strip */
    size_t scratch, lane;  /* where the members' own workspaces begin */
} strips;

static void *advance(void *at, size_t bytes) { return at != NULL ? (char *)at + bytes : NULL; }

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase;
    const strips *s = call->problem;
    for (int64_t k = begin; k < end; k++)
        for (int i = 0; i < s->n; i++) {
            const member *m = &s->members[i];
            const share *part = &s->shares[k][i];
            void *ptr[HN_MAX_OPERANDS] = {NULL}; /* operands that are absent may be the last */
            memcpy(ptr, call->ptr + m->operands, (size_t)m->n_operands * sizeof *ptr);
            bool first = i == 0, last = i == s->n - 1;
            ptr[m->x] = first ? advance(ptr[m->x], part->x) : advance(lane, m[-1].place);
            ptr[m->y] = last ? advance(ptr[m->y], part->y) : advance(lane, m->place);
            if (m->r >= 0) ptr[m->r] = advance(ptr[m->r], part->r);
            hn_call one = {.problem = part->problem,
                           .work = &part->work,
                           .ptr = ptr,
                           .scratch = advance(lane, s->scratch)};
            hn_kernel_run(m->kernel, &one, advance(lane, s->lane));
        }
}

static const hn_kernel kernel = {.name = "strips", .order = "of its steps", .run = run};
static const hn_kernel *const kernels[] = {&kernel};
static const hn_family family = {
    .name = "strips", .help = "several steps, some rows at a time", .rows = kernels, .n_rows = 1};

/* ---- images ---- */

/* A step that makes an image of an image. */
typedef struct shape {
    hn_windows is;
    const hn_images *of;
    size_t x_bytes, r_bytes, y_bytes; /* of an element */
} shape;

static bool shape_of(const hn_step *s, shape *out) {
    const hn_images *of = s->family != NULL ? s->family->images : NULL;
    if (of == NULL || s->space != HN_SPACE_HOST) return false;
    *out = (shape){.is = *(const hn_windows *)s->problem,
                   .of = of,
                   .x_bytes = of->bytes(s->problem, of->x),
                   .r_bytes = of->r >= 0 ? of->bytes(s->problem, of->r) : 0,
                   .y_bytes = of->bytes(s->problem, of->y)};
    return true;
}

/* Of an element of the output. */
static int64_t products(const hn_windows *p) { return p->c / p->groups * p->kh * p->kw; }

/* Rows first to end - 1 of the output, and those of the input that they are computed from. */
typedef struct rows {
    int64_t first, end, top, bottom;
} rows;

static rows rows_of(const hn_windows *p, int64_t first, int64_t end) {
    int64_t top = first * p->sh - p->pt;
    int64_t bottom = (end - 1) * p->sh - p->pt + (p->kh - 1) * p->dh + 1;
    return (rows){first, end, top < 0 ? 0 : top, bottom > p->h ? p->h : bottom};
}

/* The problem of these rows of one image. */
static void cut_problem(const hn_step *s, const rows *r, void *problem) {
    hn_windows *p = memcpy(problem, s->problem, s->problem_bytes);
    p->pt = r->top - (r->first * p->sh - p->pt);
    if (r->bottom < p->h) p->pb = 0;
    p->batch = 1, p->h = r->bottom - r->top, p->oh = r->end - r->first;
}

/* ---- joining ---- */

typedef struct chain {
    int n;
    hn_step *steps[MOST];
    shape shapes[MOST];
    int64_t height; /* rows of the last image in a strip */
} chain;

/* Rows that the members compute for rows first to end - 1 of the last image. */
static void follow_rows(const chain *c, int64_t first, int64_t end, rows *r) {
    for (int i = c->n - 1; i >= 0; i--) {
        r[i] = rows_of(&c->shapes[i].is, first, end);
        first = r[i].top;
        end = r[i].bottom;
    }
}

/* Of so many rows of an output. */
static size_t image_bytes(const shape *s, int64_t height) {
    return (size_t)(height * s->is.ow * s->is.n) * s->y_bytes;
}

/* Of what lies between the members in a strip that touches no edge. */
static size_t between_bytes(const chain *c) {
    size_t bytes = 0;
    int64_t height = c->height;
    for (int i = c->n - 1; i > 0; i--) {
        const hn_windows *p = &c->shapes[i].is;
        height = (height - 1) * p->sh + (p->kh - 1) * p->dh + 1;
        if (height > p->h) height = p->h;
        bytes += image_bytes(&c->shapes[i - 1], height);
    }
    return bytes;
}

/* The highest strips whose images fit: whole images of a batch, or an even number of strips. False:
 * there are none, or computing rows twice would take longer than reading them: at 10 products for
 * an element that stays in the cache, both take about the same time. */
static bool choose_height(chain *c) {
    int64_t oh = c->shapes[c->n - 1].is.oh, computed[MOST] = {0};
    int64_t count = c->shapes[0].is.batch > 1 ? 1 : 2;
    for (; count < oh; count += count == 1 ? 1 : 2) {
        c->height = (oh + count - 1) / count;
        if (between_bytes(c) <= STRIP_BYTES) break;
    }
    if (count >= oh) return false;
    for (int64_t first = 0; first < oh; first += c->height) {
        rows r[MOST];
        follow_rows(c, first, first + c->height < oh ? first + c->height : oh, r);
        for (int i = 0; i < c->n; i++) {
            if (r[i].top >= r[i].bottom) return false; /* of padding alone */
            computed[i] += r[i].end - r[i].first;
        }
    }
    for (int i = 0; i + 1 < c->n; i++) {
        const hn_windows *p = &c->shapes[i].is;
        if ((computed[i] - p->oh) * products(p) > 10 * p->oh) return false;
    }
    return true;
}

/* Whether b reads the image that a writes, all of it as it lies. */
static bool meet(const hn_windows *a, const hn_windows *b) {
    return a->batch == b->batch && a->oh == b->h && a->ow == b->w && a->n == b->c &&
           b->x_channel == 1 && a->y_pixel == a->n && b->x_pixel == a->n &&
           a->y_row == a->ow * a->n && b->x_row == a->y_row &&
           (a->batch == 1 || (a->y_image == a->oh * a->y_row && b->x_image == a->y_image));
}

/* Whether so little is computed from and for an element of the image between a and b that memory
 * decides: reading and writing it takes about as long as 20 products. */
static bool is_bound_by_memory(const hn_windows *a, const hn_windows *b) {
    double outputs = (double)(b->oh * b->ow * b->n) / (double)(b->h * b->w * b->c);
    return (double)products(a) + (double)products(b) * outputs <= 200;
}

/* Who uses each buffer: how many operands, and the step that reads it, or -1. */
typedef struct use {
    int count, reader;
} use;

static void count_uses(const hn_plan *p, use *uses) {
    for (int i = 0; i < p->n_buffers; i++) uses[i] = (use){0, -1};
    for (int i = 0; i < p->n_steps; i++) {
        const hn_step *s = p->steps[i];
        for (int k = 0; k < s->n_operands; k++) {
            if (s->operands[k].buffer < 0) continue;
            use *u = &uses[s->operands[k].buffer];
            u->count++;
            if ((s->writes >> k & 1) == 0) u->reader = i;
        }
        for (int k = 0; k < s->n_in; k++)
            if (s->in[k].buffer >= 0) uses[s->in[k].buffer].count++;
        for (int k = 0; k < s->n_out; k++)
            if (s->out[k].buffer >= 0) uses[s->out[k].buffer].count++;
    }
}

/* A step, and the one that alone reads the images it writes and may be joined to it. */
typedef struct link {
    hn_step *step;
    int from, to; /* the links of its neighbours, or -1 */
    bool joined;  /* to the one it leads to */
    size_t bytes; /* of the images between them */
    int64_t products;
} link;

static void find_link(const hn_plan *p, const use *uses, link *links, int i) {
    const hn_step *s = p->steps[i];
    shape a, b;
    if (!shape_of(s, &a)) return;
    const hn_operand *y = &s->operands[a.of->y];
    const hn_buffer *buffer = &p->buffers[y->buffer];
    const use *u = &uses[y->buffer];
    size_t bytes = (size_t)a.is.batch * image_bytes(&a, a.is.oh);
    if (buffer->kind != HN_BUFFER_SLAB || buffer->bytes != bytes || bytes < LEAST_BYTES ||
        u->count != 2 || u->reader < 0 || y->offset != 0)
        return;
    const hn_step *reader = p->steps[u->reader];
    if (!shape_of(reader, &b) || !meet(&a.is, &b.is) || !is_bound_by_memory(&a.is, &b.is)) return;
    const hn_operand *x = &reader->operands[b.of->x];
    if (x->buffer != y->buffer || x->offset != 0) return;
    links[i].to = u->reader;
    links[i].bytes = bytes;
    links[i].products = products(&b.is);
    links[u->reader].from = i;
}

static void grow(size_t *most, size_t bytes) {
    if (bytes > *most) *most = bytes;
}

/* Fills in strip number k. most: the workspace any share takes; bytes: the largest output of each
 * member. *ok false: a kernel does not take its share. */
static hone_status fill(hn_plan *p, const chain *c, strips *s, int64_t k, hn_work *most,
                        size_t *bytes, bool *ok, hn_error *err) {
    const hn_windows *last = &c->shapes[c->n - 1].is;
    int64_t per_image = (last->oh + c->height - 1) / c->height;
    int64_t image = k / per_image, first = k % per_image * c->height;
    int64_t end = first + c->height < last->oh ? first + c->height : last->oh;
    rows r[MOST];
    follow_rows(c, first, end, r);
    for (int i = 0; i < c->n; i++) {
        const hn_step *step = c->steps[i];
        const hn_kernel *row = step->kernel;
        const hn_windows *is = &c->shapes[i].is;
        share *part = &s->shares[k][i];
        const char *why;
        part->problem = hn_arena_alloc(&p->arena, step->problem_bytes);
        if (part->problem == NULL) return HN_NOMEM(err);
        cut_problem(step, &r[i], part->problem);
        if ((row->ok != NULL && !row->ok(part->problem, &why)) ||
            (row->pack != NULL && row->pack_key(part->problem) != row->pack_key(step->problem))) {
            *ok = false;
            return HONE_OK;
        }
        row->work(part->problem, 1, &part->work);
        grow(&most->scratch, part->work.scratch);
        grow(&most->lane_scratch, part->work.lane_scratch);
        part->x = (size_t)(image * is->x_image + r[i].top * is->x_row) * c->shapes[i].x_bytes;
        part->r = (size_t)(image * is->r_image + r[i].first * is->r_row) * c->shapes[i].r_bytes;
        part->y = (size_t)(image * is->y_image + r[i].first * is->y_row) * c->shapes[i].y_bytes;
        grow(&bytes[i], hn_aligned(image_bytes(&c->shapes[i], r[i].end - r[i].first)));
    }
    return HONE_OK;
}

static hone_status label_of(hn_plan *p, const chain *c, const char **out, hn_error *err) {
    size_t bytes = 1;
    for (int i = 0; i < c->n; i++) bytes += strlen(c->steps[i]->facts->label) + 2;
    char *label = hn_arena_alloc(&p->arena, bytes);
    if (label == NULL) return HN_NOMEM(err);
    label[0] = '\0';
    for (int i = 0; i < c->n; i++)
        strcat(strcat(label, i > 0 ? ", " : ""), c->steps[i]->facts->label);
    *out = label;
    return HONE_OK;
}

/* Gives the joined step the operands of the chain's member i, but for the images in between. */
static void add_member(const chain *c, int i, const size_t *bytes, strips *s, hn_step *joined) {
    const hn_step *from = c->steps[i];
    const shape *sh = &c->shapes[i];
    bool first = i == 0, last = i == c->n - 1;
    s->members[i] = (member){.kernel = from->kernel,
                             .operands = joined->n_operands,
                             .n_operands = from->n_operands,
                             .x = sh->of->x,
                             .r = sh->of->r,
                             .y = sh->of->y,
                             .place = s->scratch};
    for (int k = 0; k < from->n_operands; k++, joined->n_operands++) {
        joined->operands[joined->n_operands] = (hn_operand){.buffer = -1};
        if ((k == sh->of->x && !first) || (k == sh->of->y && !last)) continue;
        joined->operands[joined->n_operands] = from->operands[k];
        joined->writes |= (from->writes >> k & 1) << joined->n_operands;
    }
    joined->facts->flops += from->facts->flops;
    joined->facts->macs += hn_step_macs(from);
    joined->facts->isa |= from->facts->isa;
    if (joined->facts->why_precision == NULL || from->facts->exactness > joined->facts->exactness)
        joined->facts->why_precision = from->facts->why_precision;
    if (from->facts->exactness > joined->facts->exactness)
        joined->facts->exactness = from->facts->exactness;
    joined->facts->bytes += from->facts->bytes;
    if (last) return;
    s->scratch += bytes[i];
    joined->facts->bytes -= 2.0 * (double)sh->is.batch * (double)image_bytes(sh, sh->is.oh);
}

/* Puts the joined step in the place of the last one. */
static void replace(hn_plan *p, const chain *c, hn_step *joined) {
    int n = 0;
    for (int i = 0; i < p->n_steps; i++) {
        hn_step *s = p->steps[i];
        bool gone = false;
        for (int k = 0; k + 1 < c->n; k++) gone |= s == c->steps[k];
        if (!gone) p->steps[n++] = s == c->steps[c->n - 1] ? joined : s;
    }
    p->n_steps = n;
}

/* Makes the steps of the chain one; *done false: they cannot be. */
static hone_status join(hn_plan *p, const chain *c, bool *done, hn_error *err) {
    const hn_windows *last = &c->shapes[c->n - 1].is;
    int64_t count = last->batch * ((last->oh + c->height - 1) / c->height);
    strips *s = hn_arena_zero(&p->arena, sizeof *s);
    hn_step *joined = hn_step_create(&p->arena);
    if (s == NULL || joined == NULL) return HN_NOMEM(err);
    s->n = c->n;
    s->shares = hn_arena_array(&p->arena, (size_t)count, sizeof *s->shares);
    if (s->shares == NULL) return HN_NOMEM(err);
    hn_work most = {0};
    size_t bytes[MOST] = {0};
    *done = true;
    for (int64_t k = 0; k < count && *done; k++) HN_TRY(fill(p, c, s, k, &most, bytes, done, err));
    if (!*done) return HONE_OK;
    joined->family = &family;
    joined->kernel = &kernel;
    joined->problem = s;
    joined->node = c->steps[c->n - 1]->node;
    joined->facts->maker = c->steps[0]->facts->maker;
    joined->facts->why = "what lies between its steps would not stay in the cache";
    HN_TRY(label_of(p, c, &joined->facts->label, err));
    for (int i = 0; i < c->n; i++) add_member(c, i, bytes, s, joined);
    s->lane = s->scratch + hn_aligned(most.scratch);
    joined->work = (hn_work){
        .n_phases = 1, .tasks = {count}, .lane_scratch = s->lane + hn_aligned(most.lane_scratch)};
    hn_log(HONE_LOG_DEBUG, "strips,%s,%lld of %lld rows", joined->facts->label, (long long)count,
           (long long)c->height);
    replace(p, c, joined);
    return HONE_OK;
}

/* The steps that are joined to link i. */
static chain chain_of(const link *links, int i) {
    chain c = {0};
    while (links[i].from >= 0 && links[links[i].from].joined) i = links[i].from;
    for (;; i = links[i].to) {
        c.steps[c.n] = links[i].step;
        shape_of(c.steps[c.n], &c.shapes[c.n]);
        c.n++;
        if (!links[i].joined) return c;
    }
}

/* Joins link i to the next if what they become is not too much. */
static void try_link(link *links, int i) {
    chain before = chain_of(links, i), after = chain_of(links, links[i].to);
    if (before.n + after.n > MOST) return;
    int operands = 0;
    for (int k = 0; k < before.n; k++) operands += before.steps[k]->n_operands;
    for (int k = 0; k < after.n; k++) operands += after.steps[k]->n_operands;
    if (operands > HN_MAX_OPERANDS) return;
    for (int k = 0; k < after.n; k++) {
        before.steps[before.n] = after.steps[k];
        before.shapes[before.n++] = after.shapes[k];
    }
    links[i].joined = choose_height(&before);
}

/* Whether a should be joined before b is: more lies between, or less is computed from it. */
static bool is_better(const link *a, const link *b) {
    return a->bytes != b->bytes ? a->bytes > b->bytes : a->products < b->products;
}

static hone_status join_all(hn_plan *p, const use *uses, link *links, hn_error *err) {
    int n = p->n_steps;
    for (int i = 0; i < n; i++) links[i] = (link){p->steps[i], -1, -1, false, 0, 0};
    for (int i = 0; i < n; i++) find_link(p, uses, links, i);
    /* The best link first; a link that was tried has no bytes any more. */
    for (;;) {
        int best = -1;
        for (int i = 0; i < n; i++)
            if (links[i].bytes > 0 && (best < 0 || is_better(&links[i], &links[best]))) best = i;
        if (best < 0) break;
        try_link(links, best);
        links[best].bytes = 0;
    }
    for (int i = 0; i < n; i++) {
        if (links[i].from >= 0 && links[links[i].from].joined) continue;
        chain c = chain_of(links, i);
        for (bool done = false; c.n > 1 && !done; c.n--)
            if (choose_height(&c)) HN_TRY(join(p, &c, &done, err));
    }
    return HONE_OK;
}

hone_status hn_strips_join(hn_plan *p, hn_error *err) {
    hn_allocator *alloc = p->arena.alloc;
    use *uses = hn_alloc_array(alloc, (size_t)p->n_buffers + 1, sizeof *uses, HN_MEM_OTHER);
    link *links = hn_alloc_array(alloc, (size_t)p->n_steps + 1, sizeof *links, HN_MEM_OTHER);
    hone_status status = HONE_OK;
    if (uses == NULL || links == NULL) {
        status = HN_NOMEM(err);
    } else {
        count_uses(p, uses);
        status = join_all(p, uses, links, err);
    }
    hn_free(alloc, uses);
    hn_free(alloc, links);
    return status;
}
