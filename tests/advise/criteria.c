/* Every criterion and every guard says yes of one search and no of another: states made by hand. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "advise/search.h"
#include "support/scratch.h"

static const hn_candidate exact = {.name = "simplified", .exact = true};
static const hn_candidate lossy = {.name = "int8"};

typedef struct made_up {
    hn_search_state s;
    hone_optimization out;
    hn_arena arena;
} made_up;

/* A search in which all went well: of two models the second was chosen, verified, and meets the
 * limit on latency. */
static void begin(made_up *m) {
    *m = (made_up){.s = {.profiled = true,
                         .steps_ms = 9,
                         .read_ms = 1,
                         .run_rows = 1,
                         .n = 3,
                         .o = {.device = "cpu", .threads = 2, .cores = 4, .max_ms = 5}},
                   .out = {.metric = "top1",
                           .is_share = true,
                           .checked = true,
                           .chosen = 2,
                           .met = true,
                           .verified = 0.9,
                           .verified_original = 0.9,
                           .verifying_samples = 100,
                           .choosing_samples = 300,
                           .profile = "Conv 90 %",
                           .profile_ms = 10,
                           .recipe = "hone recipe 2"}};
    hn_arena_init(&m->arena, &scratch_mem, HN_MEM_OTHER);
    m->s.out = &m->out;
    m->s.arena = &m->arena;
    m->s.rows[0] = (hone_optimize_row){
        .name = "original", .state = "original", .ms = 10, .speed = 1, .file_bytes = 100};
    m->s.rows[1] = (hone_optimize_row){
        .name = "simplified", .state = "passed", .ms = 8, .speed = 1.25, .file_bytes = 100};
    m->s.rows[2] = (hone_optimize_row){
        .name = "int8", .state = "chosen", .ms = 4, .speed = 2.5, .file_bytes = 30};
    m->s.trials[1] = (hn_trial){.candidate = &exact, .passed = true};
    m->s.trials[2] = (hn_trial){.candidate = &lossy, .passed = true};
}

static void choose_nothing(made_up *m) {
    m->out.chosen = 0;
    m->out.recipe = NULL;
    m->out.verified = NAN;
}

enum {
    PROFILED,
    FITS,
    MEASURED,
    REQUIRED,
    VALIDATED,
    COST,
    DOCUMENTED,
    NEEDED,
    N_CRITERIA,
    NO_PROFILE = N_CRITERIA,
    OTHER_HARDWARE,
    NOT_WAITING,
    LARGER_BATCH,
    LOW_PRECISION,
    MORE_EFFORT,
    THREADS,
    N_ALL
};

/* What is answered to one of the questions; the evidence must hold the text. */
static void expect(made_up *m, int question, const char *answer, const char *evidence) {
    hn_error err;
    assert_int_equal(hn_search_judge(&m->s, &err), HONE_OK);
    assert_int_equal(m->out.n_criteria, N_CRITERIA);
    assert_int_equal(m->out.n_guards, N_ALL - N_CRITERIA);
    const hone_verdict *v =
        question < N_CRITERIA ? &m->out.criteria[question] : &m->out.guards[question - N_CRITERIA];
    assert_string_equal(v->answer, answer);
    if (strstr(v->evidence, evidence) == NULL) fail_msg("'%s' lacks '%s'", v->evidence, evidence);
}

static void end(made_up *m) { hn_arena_deinit(&m->arena); }

static void all_went_well(void **state) {
    (void)state;
    made_up m;
    begin(&m);
    for (int i = 0; i < N_ALL; i++) expect(&m, i, i < N_CRITERIA ? "yes" : "avoided", "");
    end(&m);
}

static void no_profile(void **state) {
    (void)state;
    made_up m;
    begin(&m);
    m.s.profiled = false;
    expect(&m, PROFILED, "no", "plain executor");
    expect(&m, NO_PROFILE, "not avoided", "could not be profiled");
    end(&m);
}

static void the_chosen_one_is_slower(void **state) {
    (void)state;
    made_up m;
    begin(&m);
    m.s.rows[2].speed = 0.8;
    expect(&m, FITS, "no", "1.25 times as long");
    choose_nothing(&m);
    expect(&m, FITS, "not asked", "none was applied");
    end(&m);
}

static void models_that_were_not_measured(void **state) {
    (void)state;
    made_up m;
    begin(&m);
    m.s.rows[1].state = "unfinished";
    m.s.rows[1].speed = NAN;
    m.s.rows[1].file_bytes = -1;
    expect(&m, MEASURED, "no", "1 of 2 models");
    m.s.rows[1].state = "failed"; /* what could not be made is no step */
    expect(&m, MEASURED, "yes", "1 of 1 models");
    m.s.n = 1;
    choose_nothing(&m);
    expect(&m, MEASURED, "no", "no model was made");
    end(&m);
}

static void limits_that_are_not_met(void **state) {
    (void)state;
    made_up m;
    begin(&m);
    m.out.met = false;
    expect(&m, REQUIRED, "no", "4 ms");
    m.s.o.max_ms = 0;
    expect(&m, REQUIRED, "not asked", "");
    end(&m);
}

static void answers_that_were_not_validated(void **state) {
    (void)state;
    made_up m;
    begin(&m);
    m.out.verified = NAN;
    expect(&m, VALIDATED, "no", "before int8 was verified");
    m.out.checked = false;
    expect(&m, VALIDATED, "no", "no real samples");
    expect(&m, LOW_PRECISION, "not avoided", "int8 may answer otherwise");
    m.out.chosen = 1; /* which computes the same */
    expect(&m, LOW_PRECISION, "avoided", "computes the same");
    m.out.checked = true;
    choose_nothing(&m);
    expect(&m, VALIDATED, "not asked", "the original stays");
    end(&m);
}

static void what_it_saves_is_not_known(void **state) {
    (void)state;
    made_up m;
    begin(&m);
    m.s.rows[2].doubt = 0.5;
    expect(&m, COST, "no", "differ by 50 %");
    m.s.n = 1;
    choose_nothing(&m);
    expect(&m, COST, "not asked", "nothing was tried");
    end(&m);
}

static void a_search_that_was_cut_short(void **state) {
    (void)state;
    made_up m;
    begin(&m);
    m.out.out_of_time = true;
    expect(&m, DOCUMENTED, "no", "cut short");
    m.out.out_of_time = false;
    choose_nothing(&m);
    expect(&m, DOCUMENTED, "yes", "no recipe, for the original stays");
    m.s.n = 1;
    expect(&m, DOCUMENTED, "not asked", "nothing was tried");
    end(&m);
}

static void reading_takes_longer_than_running(void **state) {
    (void)state;
    made_up m;
    begin(&m);
    m.s.read_ms = 20;
    expect(&m, NEEDED, "no", "not the bottleneck");
    end(&m);
}

static void mistakes_that_were_made(void **state) {
    (void)state;
    made_up m;
    begin(&m);
    m.s.o.device = "nvidia_gpu";
    expect(&m, OTHER_HARDWARE, "not avoided", "meant for nvidia_gpu");
    m.s.steps_ms = 100;
    expect(&m, NOT_WAITING, "not avoided", "10 ms, and its steps add up to 100 ms");
    m.s.run_rows = 4;
    expect(&m, LARGER_BATCH, "avoided", "a limit on their latency");
    m.s.o.max_ms = 0;
    expect(&m, LARGER_BATCH, "not avoided", "4 samples at once");
    m.s.o.threads = 9;
    expect(&m, THREADS, "not avoided", "9 threads on 4 cores");
    m.s.o.max_file = 100; /* which the original meets */
    expect(&m, MORE_EFFORT, "not avoided", "2 models were tried after");
    end(&m);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)
    const struct CMUnitTest tests[] = {
        TEST(all_went_well),
        TEST(no_profile),
        TEST(the_chosen_one_is_slower),
        TEST(models_that_were_not_measured),
        TEST(limits_that_are_not_met),
        TEST(answers_that_were_not_validated),
        TEST(what_it_saves_is_not_known),
        TEST(a_search_that_was_cut_short),
        TEST(reading_takes_longer_than_running),
        TEST(mistakes_that_were_made),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
