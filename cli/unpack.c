#include "write.h"

typedef struct unpacked {
    const char *output;
    const hone_package *package;
} unpacked;

#include "schema/unpack.def"

static exit_code run(const args *a) {
    const char *output = value_of(a, "--output"), *path = model_path(a->argument[0]);
    hone_package *p;
    hone_error err;
    json j;
    char before[32], after[32];
    if (output == NULL) {
        complain("--output FILE says where the model goes");
        return EXIT_USAGE;
    }
    hone_status status = hone_package_inspect(&p, path, &err);
    if (status != HONE_OK) {
        name_standard_input(err.text);
        return fail_with(&err);
    }
    status = hone_package_unpack(path, output, &err);
    exit_code code = EXIT_DONE;
    if (status != HONE_OK) {
        code = fail_with(&err);
        if (status == HONE_E_ARG) code = EXIT_USAGE;
    } else {
        if (!has(a, "--json"))
            line("%s: %s of %s", output, human_bytes(p->source_bytes, after),
                 human_bytes(p->file_bytes, before));
        results_begin(&j, a);
        write_unpack(&j, a, &(unpacked){output, p});
        code = results_end(&j, a);
    }
    hone_package_destroy(p);
    return code;
}

static const option_def options[] = {
    {"--output", 'o', ">FILE", "write the result here: the ONNX model that was packaged", false,
     NULL},
    OPTION_TIME_LIMIT,
    OPTION_JSON,
    OPTION_QUIET,
    OPTION_VERBOSE,
    {0},
};

const verb verb_unpack = {
    .name = "unpack",
    .usage = "PACKAGE -o FILE",
    .n_arguments = 1,
    .most_arguments = 1,
    .summary = "the ONNX model of a package, byte for byte",
    .options = options,
    .run = run,
};
