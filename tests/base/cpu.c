/* The probes run on small trees of files in the shapes that real systems have. */
#include "base/cpu.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "base/log.h"
#include "support/tree.h"

static int teardown(void **state) {
    unsetenv("HONE_THREADS");
    hone_log_set(NULL, NULL, HONE_LOG_ERROR);
    return tree_teardown(state);
}

static const char v2_mount[] =
    "25 1 0:23 / /proc rw - proc proc rw\n"
    "31 23 0:28 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";

static void no_files_no_limits(void **state) {
    (void)state;
    assert_int_equal(hn_cpu_quota(tree_root), 0);
    assert_true(hn_cpu_memory_limit(tree_root) == SIZE_MAX);
    tree_put("/proc/self/cgroup", "0::/\n");
    tree_put("/proc/self/mountinfo", v2_mount);
    assert_int_equal(hn_cpu_quota(tree_root), 0);
    assert_true(hn_cpu_memory_limit(tree_root) == SIZE_MAX);
}

static void version_2_in_a_container(void **state) {
    (void)state;
    tree_put("/proc/self/cgroup", "0::/\n");
    tree_put("/proc/self/mountinfo", v2_mount);
    const struct {
        const char *text;
        int cpus;
    } cases[] = {
        {"max 100000\n", 0},
        {"200000 100000\n", 2},
        {"150000 100000\n", 2},
        {"1000 100000\n", 1},
        {"100001 100000\n", 2},
        {"100000 100000", 1},
        {"", 0},
        {"nonsense\n", 0},
        {"-1 100000\n", 0},
        {"100000 0\n", 0},
        {"100000\n", 0},
        {"9223372036854775807 1\n", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tree_put("/sys/fs/cgroup/cpu.max", cases[i].text);
        assert_int_equal(hn_cpu_quota(tree_root), cases[i].cpus);
    }
    tree_put("/sys/fs/cgroup/cpu.max", "9223372036854775806 1\n");
    assert_int_equal(hn_cpu_quota(tree_root), INT32_MAX);

    tree_put("/sys/fs/cgroup/memory.max", "max\n");
    assert_true(hn_cpu_memory_limit(tree_root) == SIZE_MAX);
    assert_true(hn_cpu_memory_left(tree_root) == SIZE_MAX);
    tree_put("/sys/fs/cgroup/memory.max", "4294967296\n");
    assert_true(hn_cpu_memory_limit(tree_root) == (size_t)1 << 32);
    assert_true(hn_cpu_memory_left(tree_root) == (size_t)1 << 32);
    tree_put("/sys/fs/cgroup/memory.current", "3000000000\n");
    assert_true(hn_cpu_memory_left(tree_root) == 1294967296);
    tree_put("/sys/fs/cgroup/memory.stat", "anon 5\ninactive_file 1000000000\nactive_file 7\n");
    assert_true(hn_cpu_memory_left(tree_root) == 2294967296);
    tree_put("/sys/fs/cgroup/memory.current", "5000000000\n");
    tree_put("/sys/fs/cgroup/memory.stat", "inactive_file 0\n");
    assert_int_equal(hn_cpu_memory_left(tree_root), 0);
}

/* A slice above the process's own group binds it too. */
static void version_2_counts_the_groups_above(void **state) {
    (void)state;
    tree_put("/proc/self/cgroup", "0::/user.slice/job/step\n");
    tree_put("/proc/self/mountinfo", v2_mount);
    tree_put("/sys/fs/cgroup/user.slice/job/step/cpu.max", "800000 100000\n");
    tree_put("/sys/fs/cgroup/user.slice/job/cpu.max", "max 100000\n");
    tree_put("/sys/fs/cgroup/user.slice/cpu.max", "300000 100000\n");
    assert_int_equal(hn_cpu_quota(tree_root), 3);
    tree_put("/sys/fs/cgroup/user.slice/job/step/cpu.max", "200000 100000\n");
    assert_int_equal(hn_cpu_quota(tree_root), 2);
    tree_put("/sys/fs/cgroup/user.slice/job/memory.max", "1000\n");
    assert_int_equal(hn_cpu_memory_limit(tree_root), 1000);
    /* A group beside the path has no say. */
    tree_put("/sys/fs/cgroup/user.slice/other/cpu.max", "100000 100000\n");
    assert_int_equal(hn_cpu_quota(tree_root), 2);
}

/* Without a cgroup namespace the path is the host's, and the mount shows the part below it. */
static void version_1_in_a_container(void **state) {
    (void)state;
    tree_put("/proc/self/cgroup",
             "9:name=systemd:/docker/1f2e\n"
             "5:cpuset:/elsewhere\n"
             "4:memory:/docker/1f2e\n"
             "3:cpu,cpuacct:/docker/1f2e\n");
    tree_put("/proc/self/mountinfo",
             "32 31 0:29 /docker/1f2e /sys/fs/cgroup/cpu,cpuacct rw master:11 - cgroup cgroup "
             "rw,cpu,cpuacct\n"
             "33 31 0:30 /docker/1f2e /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
             "35 31 0:32 /docker/1f2e /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n");
    tree_put("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
    tree_put("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
    assert_int_equal(hn_cpu_quota(tree_root), 0);
    tree_put("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "250000\n");
    assert_int_equal(hn_cpu_quota(tree_root), 3);
    /* The cpuset hierarchy is none of the CPU controller's, whatever its name begins with. */
    tree_put("/sys/fs/cgroup/cpuset/cpu.cfs_quota_us", "100000\n");
    tree_put("/sys/fs/cgroup/cpuset/cpu.cfs_period_us", "100000\n");
    assert_int_equal(hn_cpu_quota(tree_root), 3);

    tree_put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "2000000\n");
    assert_int_equal(hn_cpu_memory_limit(tree_root), 2000000);
    tree_put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"); /* "none" */
    assert_true(hn_cpu_memory_limit(tree_root) == 9223372036854771712u);
}

static void version_1_on_a_host(void **state) {
    (void)state;
    tree_put("/proc/self/cgroup", "3:cpuacct,cpu:/batch/job\n");
    tree_put("/proc/self/mountinfo",
             "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpuacct,cpu\n");
    tree_put("/sys/fs/cgroup/cpu/batch/cpu.cfs_quota_us", "400000\n");
    tree_put("/sys/fs/cgroup/cpu/batch/cpu.cfs_period_us", "100000\n");
    tree_put("/sys/fs/cgroup/cpu/batch/job/cpu.cfs_quota_us", "50000\n");
    assert_int_equal(hn_cpu_quota(tree_root), 4); /* the job has no period: not a limit */
    tree_put("/sys/fs/cgroup/cpu/batch/job/cpu.cfs_period_us", "20000\n");
    assert_int_equal(hn_cpu_quota(tree_root), 3);
}

static void both_versions_mounted(void **state) {
    (void)state;
    tree_put("/proc/self/cgroup", "1:cpu:/\n0::/\n");
    tree_put("/proc/self/mountinfo",
             "32 31 0:29 / /cg/cpu rw - cgroup cgroup rw,cpu\n"
             "41 31 0:38 / /cg/unified rw - cgroup2 cgroup2 rw\n");
    tree_put("/cg/cpu/cpu.cfs_quota_us", "500000\n");
    tree_put("/cg/cpu/cpu.cfs_period_us", "100000\n");
    assert_int_equal(hn_cpu_quota(tree_root), 5);
    tree_put("/cg/unified/cpu.max", "200000 100000\n");
    assert_int_equal(hn_cpu_quota(tree_root), 2);
}

static void odd_groups_and_mounts(void **state) {
    (void)state;
    tree_put("/sys/fs/cgroup/cpu.max", "200000 100000\n");
    tree_put("/sys/fs/cgroup/a/cpu.max", "100000 100000\n");
    /* Outside of the namespace: what is mounted is all that can be asked. */
    tree_put("/proc/self/mountinfo", v2_mount);
    tree_put("/proc/self/cgroup", "0::/../a\n");
    assert_int_equal(hn_cpu_quota(tree_root), 2);
    /* The name of the mounted part is only the beginning of the group's name. */
    tree_put("/proc/self/cgroup", "0::/part-two/a\n");
    tree_put("/proc/self/mountinfo", "31 23 0:28 /part /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    assert_int_equal(hn_cpu_quota(tree_root), 2);
    tree_put("/proc/self/cgroup", "0::/part/a\n");
    assert_int_equal(hn_cpu_quota(tree_root), 1);
    /* Broken lines are passed over. */
    tree_put("/proc/self/cgroup", "\nx\n0:\n0::/part\n");
    tree_put("/proc/self/mountinfo",
             "\n - \n31\n31 23 0:28 /part - cgroup2\n"
             "31 23 0:28 /part /sys/fs/cgroup rw - cgroup2 cgroup2 rw");
    assert_int_equal(hn_cpu_quota(tree_root), 2);
}

/* Overlay mounts of container engines have lines of several thousand bytes. */
static void long_mount_lines(void **state) {
    (void)state;
    static char text[20000];
    size_t n =
        (size_t)snprintf(text, sizeof text, "30 1 0:27 / / rw - overlay overlay rw,lowerdir=");
    memset(text + n, 'x', 9000);
    snprintf(text + n + 9000, sizeof text - n - 9000,
             " - cgroup2 cgroup2 rw\n31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    tree_put("/proc/self/cgroup", "0::/\n");
    tree_put("/proc/self/mountinfo", text);
    tree_put("/sys/fs/cgroup/cpu.max", "100000 100000\n");
    assert_int_equal(hn_cpu_quota(tree_root), 1);
    /* A group path too long to hold is no group. */
    memset(text, '/', 3000);
    memcpy(text, "0::", 3);
    text[3000] = '\0';
    tree_put("/proc/self/cgroup", text);
    assert_int_equal(hn_cpu_quota(tree_root), 0);
}

static void lists_of_cpus(void **state) {
    (void)state;
    const struct {
        const char *list, *cpus;
    } cases[] = {
        {"0", "0"},
        {"0-3", "0 1 2 3"},
        {"0,4", "0 4"},
        {"1-2,8,63-65", "1 2 8 63 64 65"},
        {"8190-9000", "8190 8191"},
        {"9000", ""},
        {"", ""},
        {"junk", ""},
        {"3,x", "3"},
        {"5-4", ""},
        {"2-", ""},
        {"99999999999999999999", ""},
        {"0-99999999999999999999,1", "all"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hn_cpu_set set;
        memset(&set, 0xff, sizeof set);
        hn_cpu_set_parse(&set, cases[i].list);
        char found[200] = "";
        int n = 0;
        for (int cpu = 0; cpu < HN_CPU_MAX; cpu++) {
            if (!hn_cpu_set_has(&set, cpu)) continue;
            size_t used = strlen(found);
            if (n++ < 20)
                snprintf(found + used, sizeof found - used, "%s%d", used > 0 ? " " : "", cpu);
        }
        assert_string_equal(n == HN_CPU_MAX ? "all" : found, cases[i].cpus);
    }
}

static void cores_are_counted_once(void **state) {
    (void)state;
    /* Four cores of two threads: 0 and 4, 1 and 5, ...; CPU 8 says nothing about itself. */
    for (int cpu = 0; cpu < 8; cpu++) {
        char path[100], list[20];
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list",
                 cpu);
        snprintf(list, sizeof list, "%d,%d\n", cpu % 4, cpu % 4 + 4);
        tree_put(path, list);
    }
    const struct {
        const char *allowed;
        int cores;
    } cases[] = {{"0-7", 4}, {"0-3", 4}, {"4-7", 4},   {"0,4", 1}, {"4", 1},
                 {"0,5", 2}, {"0-8", 5}, {"1,4,5", 2}, {"", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hn_cpu_set allowed;
        hn_cpu_set_parse(&allowed, cases[i].allowed);
        assert_int_equal(hn_cpu_cores(tree_root, &allowed, NULL, 0), cases[i].cores);
    }
}

static void the_cpu_has_a_name(void **state) {
    (void)state;
    char name[40];
    const struct {
        const char *info, *name;
    } cases[] = {
        {"processor\t: 0\nmodel name\t: Some(R) CPU @ 2 GHz\nflags\t: fpu\n",
         "Some(R) CPU @ 2 GHz"},
        {"processor: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd40\n", "Neoverse V1"},
        {"CPU implementer\t: 0x48\nCPU part\t: 0xd01\n", "implementer 0x48 part 0xd01"},
        {"model name\t: one that is much longer than the room there is for it\n",
         "one that is much longer than the room t"},
        {"nothing\n", "unknown"},
    };
    hn_cpu_name(tree_root, name, sizeof name);
    assert_string_equal(name, "unknown");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tree_put("/proc/cpuinfo", cases[i].info);
        hn_cpu_name(tree_root, name, sizeof name);
        assert_string_equal(name, cases[i].name);
    }
}

static void keep(void *ctx, hone_log_level level, const char *line) {
    if (level == HONE_LOG_WARN) snprintf(ctx, 200, "%s", line);
}

static void the_environment_decides(void **state) {
    (void)state;
    char warning[200] = "";
    hone_log_set(keep, warning, HONE_LOG_WARN);
    unsetenv("HONE_THREADS");
    int available = hn_cpu_available();
    assert_in_range(available, 1, HN_THREADS_MAX);
    assert_int_equal(hn_cpu_threads(), available);
    setenv("HONE_THREADS", "", 1);
    assert_int_equal(hn_cpu_threads(), available);
    const int good[] = {1, 7, HN_THREADS_MAX};
    for (int i = 0; i < 3; i++) {
        char text[16];
        snprintf(text, sizeof text, "%d", good[i]);
        setenv("HONE_THREADS", text, 1);
        assert_int_equal(hn_cpu_threads(), good[i]);
    }
    assert_string_equal(warning, "");
    const char *bad[] = {"0", "-2", "1025", "two", "3x", "99999999999999999999"};
    for (int i = 0; i < 6; i++) {
        warning[0] = '\0';
        setenv("HONE_THREADS", bad[i], 1);
        assert_int_equal(hn_cpu_threads(), available);
        char wanted[200];
        snprintf(wanted, sizeof wanted,
                 "HONE_THREADS is '%s', wanted a number from 1 to 1024: ignored", bad[i]);
        assert_string_equal(warning, wanted);
    }
}

static void available_memory(void **state) {
    (void)state;
    assert_true(hn_cpu_memory_available(tree_root) == SIZE_MAX);
    tree_put("/proc/meminfo", "MemTotal:       100 kB\nMemAvailable:    64 kB\n");
    assert_int_equal(hn_cpu_memory_available(tree_root), 65536);
}

static void this_machine_has_memory(void **state) {
    (void)state;
    size_t bytes = hn_cpu_memory();
    assert_true(bytes >= (size_t)1 << 24 && bytes < SIZE_MAX);
    assert_true(bytes <= hn_cpu_memory_limit(""));
    assert_true(bytes < hn_cpu_memory_available("") * 1.5); /* which changes all the time */
}

#define CACHE "/sys/devices/system/cpu/cpu0/cache/"

static void caches_are_read_from_sysfs(void **state) {
    (void)state;
    hone_cache_info c[4];
    assert_int_equal(hn_cpu_caches(tree_root, c, 4), 0);
    tree_put(CACHE "index0/type", "Data\n");
    tree_put(CACHE "index0/level", "1\n");
    tree_put(CACHE "index0/size", "48K\n");
    tree_put(CACHE "index0/coherency_line_size", "64\n");
    tree_put(CACHE "index0/shared_cpu_list", "0\n");
    tree_put(CACHE "index1/type", "Instruction\n");
    tree_put(CACHE "index1/level", "1\n");
    tree_put(CACHE "index1/size", "32K\n");
    tree_put(CACHE "index2/type", "Unified\n");
    tree_put(CACHE "index2/level", "2\n");
    tree_put(CACHE "index2/size", "2M\n");
    tree_put(CACHE "index2/shared_cpu_list", "0-3,8\n");
    tree_put(CACHE "index3/type", "Unified\n");
    tree_put(CACHE "index3/level", "3\n");
    tree_put(CACHE "index3/size", "nothing\n");
    assert_int_equal(hn_cpu_caches(tree_root, c, 4), 2);
    assert_true(c[0].level == 1 && c[0].bytes == 48 << 10 && c[0].line_bytes == 64);
    assert_int_equal(c[0].cpus, 1);
    assert_true(c[1].level == 2 && c[1].bytes == 2 << 20 && c[1].line_bytes == 0);
    assert_int_equal(c[1].cpus, 5);
    assert_int_equal(hn_cpu_caches(tree_root, c, 1), 1);
}

/* A cache of that level and size, for so many CPUs. */
static hone_cache_info cache(int level, int64_t bytes, int cpus) {
    return (hone_cache_info){.level = level, .bytes = bytes, .cpus = cpus};
}

static void expect_near(hn_near_caches c, int64_t l1, int64_t l2) {
    assert_int_equal(c.l1, l1);
    assert_int_equal(c.l2, l2);
}

static void a_core_has_its_share(void **state) {
    (void)state;
    enum { K = 1 << 10, M = 1 << 20 };
    const hone_cache_info own[] = {cache(1, 32 * K, 2), cache(2, M, 2), cache(3, 32 * M, 16)};
    expect_near(hn_near_caches_of(own, 3), 32 * K, M);
    const hone_cache_info cluster[] = {cache(1, 32 * K, 1), cache(2, 2 * M, 4)};
    expect_near(hn_near_caches_of(cluster, 2), 32 * K, 512 * K);
    const hone_cache_info vast[] = {cache(1, 320 * K, 1), cache(2, 64 * M, 1)};
    expect_near(hn_near_caches_of(vast, 2), 192 * K, 4 * M);
    const hone_cache_info tiny[] = {cache(1, 4 * K, 1), cache(2, 32 * K, 1)};
    expect_near(hn_near_caches_of(tiny, 2), 16 * K, 128 * K);
    const hone_cache_info odd[] = {cache(1, 32 * K, 0), cache(3, 32 * M, 0)};
    expect_near(hn_near_caches_of(odd, 2), 32 * K, 2 * M); /* there is no L2 to be seen */
    expect_near(hn_near_caches_of(NULL, 0), 48 * K, 2 * M);
}

static void caches_are_two_sizes(void **state) {
    (void)state;
    static const char *const bad[] = {
        "",      "32K",   "32K,",    ",1M",      "32K,1M,", "32K;1M",   "-32K,1M",        "32K,1X",
        "1K,1M", "2M,2M", "32K,16K", "32K,128M", "a,b",     "32K,1M 2", "99999999999K,1M"};
    hn_near_caches c = {1, 2};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(hn_near_caches_parse(bad[i], &c));
    expect_near(c, 1, 2);
    assert_true(hn_near_caches_parse("32K,1M", &c));
    expect_near(c, 32 << 10, 1 << 20);
    assert_true(hn_near_caches_parse("49152,2048K", &c));
    expect_near(c, 48 << 10, 2 << 20);
}

static void blocks_are_scaled(void **state) {
    (void)state;
    hn_near_caches before = hn_near_caches_get();
    hn_near_caches_set((hn_near_caches){48 << 10, 2 << 20});
    assert_int_equal(hn_of_l1(32 << 10), 32 << 10);
    assert_int_equal(hn_of_l2(1400000), 1400000);
    hn_near_caches_set((hn_near_caches){32 << 10, 1 << 20});
    assert_int_equal(hn_of_l1(36 << 10), 24 << 10);
    assert_int_equal(hn_of_l2(1400000), 700000);
    hn_near_caches_set(before);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, tree_setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(no_files_no_limits),
        TEST(version_2_in_a_container),
        TEST(version_2_counts_the_groups_above),
        TEST(version_1_in_a_container),
        TEST(version_1_on_a_host),
        TEST(both_versions_mounted),
        TEST(odd_groups_and_mounts),
        TEST(long_mount_lines),
        TEST(lists_of_cpus),
        TEST(cores_are_counted_once),
        TEST(the_cpu_has_a_name),
        TEST(the_environment_decides),
        TEST(available_memory),
        TEST(this_machine_has_memory),
        TEST(caches_are_read_from_sysfs),
        TEST(a_core_has_its_share),
        TEST(caches_are_two_sizes),
        TEST(blocks_are_scaled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
