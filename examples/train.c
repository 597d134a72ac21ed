/* train.c: a model trained for two epochs on digits that hone draws, then judged on others.
 *
 *     train MODEL
 *     train models/digits_cnn.onnx
 *
 * MODEL takes images of digits [N, 1, 28, 28] and gives ten scores. */
#include <hone/hone.h>
#include <stdio.h>
#include <stdlib.h>

static void must(hone_status status, const hone_error *err) {
    if (status == HONE_OK) return;
    fprintf(stderr, "train: %s\n", err->text);
    exit(1);
}

/* The share of samples whose label has the highest score. */
static double judge(hone_model *model, hone_dataset *data) {
    hone_session *session;
    hone_eval_result result;
    hone_error err;
    must(hone_session_create(&session, model, NULL, &err), &err);
    must(hone_session_eval(session, data, NULL, &result, &err), &err);
    hone_session_destroy(session);
    return (double)result.top1 / (double)result.samples;
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: train MODEL\n");
        return 2;
    }
    hone_error err;
    hone_model *model, *trained;
    hone_dataset *data, *others;
    hone_trainer *trainer;
    hone_train_options o;
    hone_train_options_init(&o);
    o.epochs = 2;
    o.batch = 32;
    o.rate = 1e-4;
    o.schedule = "cosine";
    o.augment = "crop=1";
    must(hone_model_load(&model, argv[1], NULL, &err), &err);
    must(hone_dataset_open(&data, "synthetic:digits,n=256", &err), &err);
    must(hone_dataset_open(&others, "synthetic:digits,n=128,skip=256", &err), &err);
    must(hone_trainer_create(&trainer, model, data, &o, &err), &err);

    hone_train_place at;
    do {
        must(hone_trainer_step(trainer, &err), &err);
        hone_trainer_at(trainer, &at);
        if (at.in_epoch == 0) printf("epoch %d: loss %.4f\n", (int)at.epoch, at.epoch_loss);
    } while (at.step < at.steps);

    must(hone_trainer_model(trainer, &trained, &err), &err);
    printf("%d parameters; top-1 %.3f before, %.3f after\n", (int)at.parameters,
           judge(model, others), judge(trained, others));
    hone_model_destroy(trained);
    hone_trainer_destroy(trainer);
    hone_dataset_destroy(others);
    hone_dataset_destroy(data);
    hone_model_destroy(model);
    return 0;
}
