/* How limits are found. A process belongs to one cgroup per hierarchy: /proc/self/cgroup gives its
 * path, and /proc/self/mountinfo gives where the hierarchy, or the part of it below some group, is
 * mounted:
 *
 *   /proc/self/cgroup
 *     0::/user/job                       v2: one hierarchy for all controllers
 *     4:cpu,cpuacct:/docker/1f2e         v1: one per set of controllers
 *   /proc/self/mountinfo
 *     31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw
 *     32 23 0:29 /docker/1f2e /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct
 *                the part     the mount point         type          options
 *
 * A limit binds the whole subtree, so the lowest one counts from the process's own group up to the
 * mount point. Hybrid systems have both versions mounted; both are asked.
 */
#include "base/cpu.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"

#define PATH_BYTES 1024
#define LINE_BYTES 4096

/* One line without its end; what does not fit is dropped. False at the end of the file. */
static bool next_line(FILE *f, char line[LINE_BYTES]) {
    if (fgets(line, LINE_BYTES, f) == NULL) return false;
    char *end = strchr(line, '\n');
    if (end != NULL)
        *end = '\0';
    else
        for (int c = getc(f); c != '\n' && c != EOF;) c = getc(f);
    return true;
}

static FILE *open_in(const char *root, const char *dir, const char *name) {
    char path[3 * PATH_BYTES];
    if (snprintf(path, sizeof path, "%s%s/%s", root, dir, name) >= (int)sizeof path) return NULL;
    return fopen(path, "re");
}

/* The first line of root/dir/name. */
static bool read_line(const char *root, const char *dir, const char *name, char line[LINE_BYTES]) {
    FILE *f = open_in(root, dir, name);
    if (f == NULL) return false;
    bool found = next_line(f, line);
    fclose(f);
    return found;
}

static FILE *open_proc(const char *root, const char *name) {
    char path[2 * PATH_BYTES];
    if (snprintf(path, sizeof path, "%s/proc/self/%s", root, name) >= (int)sizeof path) return NULL;
    return fopen(path, "re");
}

/* ---- cgroups */

#define NO_LIMIT INT64_MAX

/* The limit set in one group, or NO_LIMIT. */
typedef int64_t (*limit_fn)(const char *root, const char *dir, bool v2);

static int64_t cpu_limit(const char *root, const char *dir, bool v2) {
    char line[LINE_BYTES];
    long long quota = -1, period = 0;
    if (v2) {
        if (!read_line(root, dir, "cpu.max", line)) return NO_LIMIT;
        if (sscanf(line, "%lld %lld", &quota, &period) != 2) return NO_LIMIT; /* "max 100000" */
    } else {
        if (!read_line(root, dir, "cpu.cfs_quota_us", line)) return NO_LIMIT;
        quota = strtoll(line, NULL, 10);
        if (!read_line(root, dir, "cpu.cfs_period_us", line)) return NO_LIMIT;
        period = strtoll(line, NULL, 10);
    }
    if (quota <= 0 || period <= 0) return NO_LIMIT;
    return quota / period + (quota % period != 0);
}

static int64_t memory_limit(const char *root, const char *dir, bool v2) {
    char line[LINE_BYTES], *end;
    if (!read_line(root, dir, v2 ? "memory.max" : "memory.limit_in_bytes", line)) return NO_LIMIT;
    long long bytes = strtoll(line, &end, 10);
    return end == line || bytes <= 0 ? NO_LIMIT : bytes;
}

/* The number behind `name` in a file of lines "name number"; -1: there is none. */
static int64_t named_number(const char *root, const char *dir, const char *file, const char *name) {
    FILE *f = open_in(root, dir, file);
    int64_t found = -1;
    size_t n = strlen(name);
    char line[LINE_BYTES];
    if (f == NULL) return -1;
    while (found < 0 && next_line(f, line))
        if (strncmp(line, name, n) == 0 && line[n] == ' ') found = strtoll(line + n, NULL, 10);
    fclose(f);
    return found;
}

/* Pages of files can be read again, so they are counted as free. */
static int64_t memory_left(const char *root, const char *dir, bool v2) {
    char line[LINE_BYTES];
    int64_t limit = memory_limit(root, dir, v2);
    if (limit == NO_LIMIT ||
        !read_line(root, dir, v2 ? "memory.current" : "memory.usage_in_bytes", line))
        return limit;
    int64_t used = strtoll(line, NULL, 10);
    int64_t cached =
        named_number(root, dir, "memory.stat", v2 ? "inactive_file" : "total_inactive_file");
    if (cached > 0) used -= cached < used ? cached : used;
    return used < limit ? limit - used : 0;
}

static bool has_word(const char *list, const char *word) {
    size_t n = strlen(word);
    for (const char *p = list; p != NULL; p = strchr(p, ',')) {
        p += *p == ',';
        if (strncmp(p, word, n) == 0 && (p[n] == ',' || p[n] == '\0')) return true;
    }
    return false;
}

/* The path of this process's group in the hierarchy of `controller`. */
static bool own_group(const char *root, const char *controller, bool v2, char group[PATH_BYTES]) {
    FILE *f = open_proc(root, "cgroup");
    if (f == NULL) return false;
    char line[LINE_BYTES];
    bool found = false;
    while (!found && next_line(f, line)) {
        char *words = strchr(line, ':'), *path = words == NULL ? NULL : strchr(words + 1, ':');
        if (path == NULL) continue;
        *path++ = '\0';
        found = v2 ? words[1] == '\0' : has_word(words + 1, controller);
        if (found && snprintf(group, PATH_BYTES, "%s", path) >= PATH_BYTES) found = false;
    }
    fclose(f);
    return found;
}

/* The lowest limit from `group` up to where a mount of part `part` at `point` ends. */
static int64_t lowest_limit(const char *root, const char *group, const char *part,
                            const char *point, bool v2, limit_fn limit) {
    size_t shared = strcmp(part, "/") == 0 ? 0 : strlen(part);
    const char *below = "";
    if (strncmp(group, part, shared) == 0 && (group[shared] == '/' || group[shared] == '\0'))
        below = group + shared;
    if (strstr(below, "/..") != NULL)
        below = ""; /* the group lies outside of this process's namespace */
    char dir[2 * PATH_BYTES];
    snprintf(dir, sizeof dir, "%s%s", point, below);
    int64_t lowest = limit(root, dir, v2);
    for (char *cut; (cut = strrchr(dir + strlen(point), '/')) != NULL;) {
        *cut = '\0';
        int64_t l = limit(root, dir, v2);
        if (l < lowest) lowest = l;
    }
    return lowest;
}

static int64_t cgroup_limit(const char *root, const char *controller, limit_fn limit) {
    int64_t lowest = NO_LIMIT;
    for (int v2 = 0; v2 <= 1; v2++) {
        char group[PATH_BYTES], line[LINE_BYTES];
        if (!own_group(root, controller, v2, group)) continue;
        FILE *f = open_proc(root, "mountinfo");
        if (f == NULL) continue;
        while (next_line(f, line)) {
            char part[PATH_BYTES], point[PATH_BYTES], type[16], options[PATH_BYTES];
            const char *tail = strstr(line, " - ");
            if (tail == NULL || sscanf(line, "%*s %*s %*s %1023s %1023s", part, point) != 2 ||
                sscanf(tail, " - %15s %*s %1023s", type, options) != 2)
                continue;
            if (v2 ? strcmp(type, "cgroup2") != 0
                   : strcmp(type, "cgroup") != 0 || !has_word(options, controller))
                continue;
            int64_t l = lowest_limit(root, group, part, point, v2, limit);
            if (l < lowest) lowest = l;
        }
        fclose(f);
    }
    return lowest;
}

int hn_cpu_quota(const char *root) {
    int64_t cpus = cgroup_limit(root, "cpu", cpu_limit);
    if (cpus == NO_LIMIT) return 0;
    return cpus < INT_MAX ? (int)cpus : INT_MAX;
}

size_t hn_cpu_memory_limit(const char *root) {
    int64_t bytes = cgroup_limit(root, "memory", memory_limit);
    return bytes == NO_LIMIT ? SIZE_MAX : (size_t)bytes;
}

size_t hn_cpu_memory_left(const char *root) {
    int64_t bytes = cgroup_limit(root, "memory", memory_left);
    return bytes == NO_LIMIT ? SIZE_MAX : (size_t)bytes;
}

size_t hn_cpu_memory_available(const char *root) {
    int64_t kilobytes = named_number(root, "/proc", "meminfo", "MemAvailable:");
    return kilobytes < 0 || kilobytes > INT64_MAX / 1024 ? SIZE_MAX : (size_t)kilobytes * 1024;
}

/* ---- cores */

void hn_cpu_set_parse(hn_cpu_set *set, const char *list) {
    memset(set, 0, sizeof *set);
    for (const char *p = list; *p >= '0' && *p <= '9'; p++) {
        char *end;
        long first = strtol(p, &end, 10), last = first;
        if (*end == '-') last = strtol(end + 1, &end, 10);
        for (long cpu = first; cpu <= last && cpu < HN_CPU_MAX; cpu++)
            set->bits[cpu / 64] |= UINT64_C(1) << (cpu % 64);
        if (*end != ',') return;
        p = end;
    }
}

/* A core is counted at the lowest of its CPUs that is allowed. */
static bool first_of_core(const char *root, const hn_cpu_set *allowed, int cpu) {
    char dir[96], line[LINE_BYTES];
    snprintf(dir, sizeof dir, "/sys/devices/system/cpu/cpu%d/topology", cpu);
    if (!read_line(root, dir, "thread_siblings_list", line)) return true;
    hn_cpu_set siblings;
    hn_cpu_set_parse(&siblings, line);
    for (int i = 0; i < cpu; i++)
        if (hn_cpu_set_has(&siblings, i) && hn_cpu_set_has(allowed, i)) return false;
    return true;
}

int hn_cpu_cores(const char *root, const hn_cpu_set *allowed, int *cpus, int room) {
    int cores = 0;
    for (int cpu = 0; cpu < HN_CPU_MAX; cpu++) {
        if (!hn_cpu_set_has(allowed, cpu) || !first_of_core(root, allowed, cpu)) continue;
        if (cores < room) cpus[cores] = cpu;
        cores++;
    }
    return cores;
}

int hn_cpu_list(int *cpus, int room) {
    hn_cpu_set allowed = {{0}};
    /* The system call itself: glibc's wrapper wants its own cpu_set_t, which ends at 1024 CPUs. */
    long bytes = syscall(SYS_sched_getaffinity, 0, sizeof allowed.bits, allowed.bits);
    return bytes > 0 ? hn_cpu_cores("", &allowed, cpus, room) : 0;
}

int hn_cpu_available(void) {
    int cores = hn_cpu_list(NULL, 0);
    int quota = hn_cpu_quota("");
    if (quota > 0 && quota < cores) cores = quota;
    return cores < 1 ? 1 : cores < HN_THREADS_MAX ? cores : HN_THREADS_MAX;
}

int hn_cpu_threads(void) {
    const char *text = getenv("HONE_THREADS");
    if (text != NULL && *text != '\0') {
        char *end;
        long n = strtol(text, &end, 10);
        if (*end == '\0' && n >= 1 && n <= HN_THREADS_MAX) return (int)n;
        hn_log(HONE_LOG_WARN, "HONE_THREADS is '%s', wanted a number from 1 to %d: ignored", text,
               HN_THREADS_MAX);
    }
    return hn_cpu_available();
}

size_t hn_cpu_memory(void) {
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    size_t least = pages > 0 && page > 0 ? (size_t)pages * (size_t)page : SIZE_MAX;
    size_t left = hn_cpu_memory_left(""), available = hn_cpu_memory_available("");
    if (left < least) least = left;
    if (available < least) least = available;
    return least - least / 16;
}

/* ---- the name */

/* ARM's CPUs have numbers in /proc/cpuinfo; the names of those in servers and boards. */
static const char *arm_part(unsigned implementer, unsigned part) {
    static const struct {
        unsigned implementer, part;
        const char *name;
    } parts[] = {
        {0x41, 0xd03, "Cortex-A53"},  {0x41, 0xd07, "Cortex-A57"},  {0x41, 0xd08, "Cortex-A72"},
        {0x41, 0xd0b, "Cortex-A76"},  {0x41, 0xd0c, "Neoverse N1"}, {0x41, 0xd40, "Neoverse V1"},
        {0x41, 0xd49, "Neoverse N2"}, {0x41, 0xd4f, "Neoverse V2"}, {0xc0, 0xac3, "Ampere-1"},
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (parts[i].implementer == implementer && parts[i].part == part) return parts[i].name;
    return NULL;
}

void hn_cpu_name(const char *root, char *name, size_t bytes) {
    char path[2 * PATH_BYTES], line[LINE_BYTES];
    unsigned implementer = 0, part = 0;
    bool named = false;
    snprintf(name, bytes, "unknown");
    if (snprintf(path, sizeof path, "%s/proc/cpuinfo", root) >= (int)sizeof path) return;
    FILE *f = fopen(path, "re");
    if (f == NULL) return;
    while (!named && next_line(f, line)) {
        char *value = strchr(line, ':');
        if (value == NULL) continue;
        value += strspn(value, ": \t");
        named = strncmp(line, "model name", 10) == 0 && value[0] != '\0';
        if (named) snprintf(name, bytes, "%s", value);
        if (strncmp(line, "CPU implementer", 15) == 0)
            implementer = (unsigned)strtoul(value, NULL, 0);
        if (strncmp(line, "CPU part", 8) == 0) part = (unsigned)strtoul(value, NULL, 0);
    }
    fclose(f);
    if (named || implementer == 0) return;
    const char *known = arm_part(implementer, part);
    if (known != NULL)
        snprintf(name, bytes, "%s", known);
    else
        snprintf(name, bytes, "implementer 0x%x part 0x%x", implementer, part);
}

/* ---- caches */

/* "48K", "2M" */
static int64_t bytes_of(const char *text, char **end) {
    long long n = strtoll(text, end, 10);
    int shift = **end == 'K' ? 10 : **end == 'M' ? 20 : **end == 'G' ? 30 : 0;
    *end += shift > 0;
    return n > 0 && n < INT64_C(1) << 30 ? (int64_t)n << shift : 0;
}

int hn_cpu_caches(const char *root, hone_cache_info *caches, int room) {
    int n = 0;
    for (int i = 0; n < room; i++) {
        char dir[96], line[LINE_BYTES], *end;
        snprintf(dir, sizeof dir, "/sys/devices/system/cpu/cpu0/cache/index%d", i);
        if (!read_line(root, dir, "type", line)) return n;
        if (strcmp(line, "Instruction") == 0 || !read_line(root, dir, "level", line)) continue;
        hone_cache_info c = {.level = atoi(line)};
        if (!read_line(root, dir, "size", line)) continue;
        c.bytes = bytes_of(line, &end);
        if (read_line(root, dir, "coherency_line_size", line)) c.line_bytes = atoi(line);
        if (read_line(root, dir, "shared_cpu_list", line)) {
            hn_cpu_set set;
            hn_cpu_set_parse(&set, line);
            for (int cpu = 0; cpu < HN_CPU_MAX; cpu++) c.cpus += hn_cpu_set_has(&set, cpu);
        }
        if (c.bytes > 0) caches[n++] = c;
    }
    return n;
}

static const hn_near_caches measured = {48 << 10, 2 << 20};

static int64_t within(int64_t x, int64_t low, int64_t high) {
    return x < low ? low : x > high ? high : x;
}

/* Blocks for less than the lower limits would be of a few rows; for more than the upper ones they
 * gain nothing, and every thread takes workspace of their size. */
hn_near_caches hn_near_caches_of(const hone_cache_info *caches, int n) {
    hn_near_caches c = measured;
    int core = n > 0 && caches[0].cpus > 0 ? caches[0].cpus : 1; /* CPUs that are one core */
    if (n > 0 && caches[0].level == 1) c.l1 = within(caches[0].bytes, 16 << 10, 192 << 10);
    if (n > 1 && caches[1].level == 2) {
        int cores = caches[1].cpus > core ? caches[1].cpus / core : 1;
        c.l2 = within(caches[1].bytes / cores, 128 << 10, 4 << 20);
    }
    return c;
}

bool hn_near_caches_parse(const char *text, hn_near_caches *out) {
    char *end;
    int64_t l1 = bytes_of(text, &end);
    if (l1 < 4 << 10 || l1 > 1 << 20 || *end != ',') return false;
    int64_t l2 = bytes_of(end + 1, &end);
    if (l2 < 32 << 10 || l2 > 64 << 20 || *end != '\0') return false;
    *out = (hn_near_caches){l1, l2};
    return true;
}

static hn_near_caches near_caches;

static void find_caches(void) {
    hone_cache_info caches[2];
    near_caches = hn_near_caches_of(caches, hn_cpu_caches("", caches, 2));
    const char *text = getenv("HONE_CACHES");
    if (text != NULL && *text != '\0' && !hn_near_caches_parse(text, &near_caches))
        hn_log(HONE_LOG_WARN,
               "HONE_CACHES is '%s', wanted the sizes of L1, from 4K to 1M, and L2, from 32K to "
               "64M, such as 48K,2M: ignored",
               text);
}

static pthread_once_t caches_once = PTHREAD_ONCE_INIT;

hn_near_caches hn_near_caches_get(void) {
    pthread_once(&caches_once, find_caches);
    return near_caches;
}

void hn_near_caches_set(hn_near_caches c) {
    pthread_once(&caches_once, find_caches);
    near_caches = c;
}

int64_t hn_of_l1(int64_t bytes) { return bytes * hn_near_caches_get().l1 / measured.l1; }

int64_t hn_of_l2(int64_t bytes) { return bytes * hn_near_caches_get().l2 / measured.l2; }
