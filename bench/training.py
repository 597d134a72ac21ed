"""Steps of training in hone and PyTorch: samples a second and memory, on the same models, samples and first values.

    training.py [--models A,B] [--threads 1,2] [--rounds N] [--window S] [--no-compile] [--precision f32|bf16]

The models are those that `hone make` writes. PyTorch has them as its users define them, with the values of hone's file,
samples that lie in memory, and optimizers that are fused; eager, and compiled by torch.compile. hone reads its
samples from a file, shuffles and prefetches. Each is a process of its own, pinned to as many cores as it has threads; they
take turns, a window of steps each. A round's ratio is that of its samples a second; what counts is the median of the rounds.
Before, hone and PyTorch train for a few small steps on one batch alone: losses that differ are an error.

Memory is the most that was resident, less what a process had before the model: in PyTorch after its import.

The bars: no ratio with the faster of the two under 1.2, a geometric mean of 1.6, at most 0.8 times the memory.
--precision bf16 is hone alone: bf16 beside f32.
"""

import argparse
import json
import math
import os
import resource
import statistics
import subprocess
import sys
import time

import numpy as np

MEAN, LEAST, MEMORY = 1.6, 1.2, 0.8
# Steps whose losses must agree, and how well. They are small: a rate at which networks learn soon makes much of rounding.
CHECKED, SMALLER, AGREES = 4, 20, 3e-4
# By name: what `hone make` is told, batch, optimizer, learning rate, samples, classes.
MODELS = {
    "lenet5": (["lenet5"], 64, "adam", 1e-3, (1, 28, 28), 10),
    "resnet20": (["resnet20"], 128, "sgd", 0.05, (3, 32, 32), 10),
    "mobilenetv2": (["mobilenetv2", "stem=cifar", "width=0.5", "resolution=32", "classes=10", "dropout=0"],
                    64, "sgd", 0.02, (3, 32, 32), 10),
    "minilm6": (["minilm-6", "dropout=0"], 16, "adamw", 2e-5, (64,), 2),
}  # fmt: skip
MOMENTUM, DECAY = 0.9, 0.0  # hone's defaults


# ---- the models in PyTorch ----


def lenet5():
    from torch import nn

    return nn.Sequential(
        nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10))  # fmt: skip


def resnet20():
    import torch.nn.functional as F
    from torch import nn

    import models

    class Shortcut(nn.Module):
        """Every other pixel, and channels of zeros (He et al. 2015, option A)."""

        def forward(self, x):
            more = x.shape[1] // 2
            return F.pad(x[:, :, ::2, ::2], (0, 0, 0, 0, more, more))

    layers, cin = [models.conv_norm(3, 16, 3, act=nn.ReLU)], 16
    for stage, width in enumerate((16, 32, 64)):
        for i in range(3):
            stride = 2 if stage > 0 and i == 0 else 1
            body = nn.Sequential(
                models.conv_norm(cin, width, 3, stride, act=nn.ReLU), models.conv_norm(width, width, 3))
            layers.append(models.Residual(body, Shortcut() if stride == 2 else None, nn.ReLU()))
            cin = width
    return nn.Sequential(*layers, *models.classifier(nn.Linear(64, 10)))


def mobilenetv2():
    from torch import nn

    import models

    def rounded(x):
        return max(8, int(x + 4) // 8 * 8)

    layers, cin = [models.conv_norm(3, 16, 3, act=nn.ReLU6)], 16
    for stage, (expand, cout, depth, stride) in enumerate((
        (1, 16, 1, 1), (6, 24, 2, 1), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1),
    )):  # fmt: skip
        for i in range(depth):
            wide, out = cin * expand, rounded(cout / 2)
            layers.append(models.inverted_residual(cin, wide, out, 3, stride if i == 0 else 1, nn.ReLU6))
            cin = out
    layers.append(models.conv_norm(cin, 1280, act=nn.ReLU6))
    return nn.Sequential(*layers, *models.classifier(nn.Linear(1280, 10)))


def minilm6():
    import torch
    from torch import nn

    import models

    class Classifier(nn.Module):
        def __init__(self):
            super().__init__()
            self.bert, self.classifier = models.Bert(6, 384, 12), nn.Linear(384, 2)

        def forward(self, input_ids, attention_mask):
            types = torch.zeros_like(input_ids)
            return self.classifier(self.bert(input_ids, attention_mask, types)[1])

    return Classifier()


def values_of(path):
    """The parameters and statistics of hone's file, in its order, weights of products as PyTorch has them: [out, in]."""
    import onnx

    graph = onnx.load(path).graph
    turned = {node.input[1] for node in graph.node if node.op_type == "MatMul"}
    turned |= {n.input[1] for n in graph.node
               if n.op_type == "Gemm" and not any(a.name == "transB" and a.i for a in n.attribute)}  # fmt: skip
    for tensor in graph.initializer:
        array = onnx.numpy_helper.to_array(tensor)
        if array.dtype == np.float32 and array.size > 1:
            yield array.T if tensor.name in turned else array


def take_values(net, path):
    """Gives the network the values of hone's file, which lie there in the order of the layers."""
    import torch

    left = list(values_of(path))
    for name, value in net.state_dict().items():
        if name.endswith("num_batches_tracked"):
            continue
        at = next((i for i, array in enumerate(left) if array.shape == tuple(value.shape)), None)
        if at is None:
            raise SystemExit(f"{path}: nothing for {name}, {tuple(value.shape)}")
        with torch.no_grad():
            value.copy_(torch.from_numpy(left.pop(at).copy()))
    if left:
        raise SystemExit(f"{path}: {len(left)} values are left over")


# ---- in the child: PyTorch ----


def peer(kind, name, path, data, rate, threads):
    """What bench_training does: a line of JSON after the first step, and after each line of seconds."""
    import torch

    import models  # noqa: F401: what its imports take is not the model's

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    torch.set_num_threads(threads)
    _, batch, optimizer, _, _, _ = MODELS[name]
    net = globals()[name]()
    take_values(net, path)
    net.train()
    arrays = np.load(data)
    label = torch.from_numpy(arrays["label"])
    inputs = [torch.from_numpy(arrays[n]) for n in arrays.files if n != "label"]
    parameters = list(net.parameters())
    if optimizer == "sgd":
        step = torch.optim.SGD(parameters, rate, momentum=MOMENTUM, fused=True)
    else:
        of = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[optimizer]
        step = of(parameters, rate, weight_decay=DECAY, fused=True)
    run = torch.compile(net) if kind == "compiled" else net
    loss_of = torch.nn.CrossEntropyLoss()

    def batches():
        while True:
            order = torch.randperm(len(label))
            for at in range(0, len(label) - batch + 1, batch):
                yield order[at : at + batch]

    def train(index):
        step.zero_grad(set_to_none=True)
        loss = loss_of(run(*[x[index] for x in inputs]), label[index])
        loss.backward()
        step.step()
        return loss.item()

    def answer(steps, seconds, loss):
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        print(json.dumps({"steps": steps, "seconds": seconds, "loss": loss, "resident_kb": most - before}), flush=True)

    source = batches()
    answer(1, 0, train(next(source)))
    for line in sys.stdin:
        begun, steps = time.perf_counter(), 0
        while steps == 0 or time.perf_counter() - begun < float(line):
            loss = train(next(source))
            steps += 1
        answer(steps, time.perf_counter() - begun, loss)


# ---- in the parent ----


class Trainer:
    """A process that trains when it is told to."""

    def __init__(self, command, threads, log):
        cores = sorted(os.sched_getaffinity(0))[:threads]
        environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=open(log, "w"), text=True, env=environment,
            preexec_fn=lambda: os.sched_setaffinity(0, cores))  # fmt: skip
        self.log, self.first = log, None

    def read(self):
        line = self.process.stdout.readline()
        if not line:
            with open(self.log) as log:
                raise SystemExit(f"{self.process.args[:4]} ended: {log.read()[-500:]}")
        return json.loads(line)

    def begin(self):
        self.first = self.read()
        return self.first

    def train(self, seconds):
        print(seconds, file=self.process.stdin, flush=True)
        return self.read()

    def end(self):
        self.process.stdin.close()
        self.process.wait()


class Bench:
    def __init__(self, args):
        self.args = args
        self.build = os.environ["BUILD"]
        self.folder = os.path.join(self.build, "bench", "training")
        os.makedirs(self.folder, exist_ok=True)
        self.rows = []

    def model(self, name):
        path = os.path.join(self.folder, f"{name}.onnx")
        if not os.path.exists(path):
            make = [os.path.join(self.build, "hone"), "make", *MODELS[name][0], "--seed", "1", "-o", path]
            subprocess.run(make, check=True, stdout=subprocess.DEVNULL)
        return path

    def data(self, name, batches):
        """Random samples; tokens of different lengths, the rest masked."""
        _, batch, _, _, dims, classes = MODELS[name]
        path = os.path.join(self.folder, f"{name}_{batches}.npz")
        rng, n = np.random.default_rng(batches), batch * batches
        if len(dims) == 1:
            mask = np.arange(dims[0]) < rng.integers(dims[0] // 4, dims[0] + 1, (n, 1))
            arrays = {"input_ids": rng.integers(0, 30522, (n, *dims)) * mask, "attention_mask": mask.astype(np.int64)}
        else:
            arrays = {"input": rng.standard_normal((n, *dims), np.float32)}
        np.savez(path, **arrays, label=rng.integers(0, classes, n))
        return path

    def start(self, kind, name, data, threads, slower=1):
        path, log = self.model(name), os.path.join(self.folder, f"{kind}.log")
        _, batch, optimizer, rate, _, _ = MODELS[name]
        rate /= slower
        if kind.startswith("hone"):
            precision = "bf16" if kind == "hone-bf16" else "f32"
            command = [os.path.join(self.build, "bench_training"), path, f"npz:{data}", str(batch), optimizer,
                       str(rate), str(threads), precision]  # fmt: skip
        else:
            command = [sys.executable, __file__, "--peer", kind, name, path, data, str(rate), str(threads)]
        return Trainer(command, threads, log)

    def kinds(self):
        if self.args.precision == "bf16":
            return ["hone", "hone-bf16"]
        return ["hone", "eager"] + ["compiled"] * (not self.args.no_compile)

    def check(self, name):
        """The first losses on one batch alone."""
        data, losses = self.data(name, 1), {}
        for kind in ["hone", "eager"]:
            trainer = self.start(kind, name, data, 1, SMALLER)
            losses[kind] = [trainer.begin()["loss"]] + [trainer.train(0)["loss"] for _ in range(CHECKED - 1)]
            trainer.end()
        for own, other in zip(losses["hone"], losses["eager"]):
            if not math.isclose(own, other, rel_tol=AGREES):
                raise SystemExit(f"{name}: losses differ: {losses}")

    def row(self, name, threads):
        args = self.args
        batch = MODELS[name][1]
        data = self.data(name, 32)
        trainers = {kind: self.start(kind, name, data, threads) for kind in self.kinds()}
        for trainer in trainers.values():
            trainer.begin()
            trainer.train(0)
        rates = {kind: [] for kind in trainers}
        last = {}
        for turn in range(args.rounds):
            names = list(trainers)
            for kind in names[turn % len(names) :] + names[: turn % len(names)]:
                last[kind] = trainers[kind].train(args.window)
                rates[kind].append(batch * last[kind]["steps"] / last[kind]["seconds"])
        for trainer in trainers.values():
            trainer.end()
        # hone's own process has nothing before the model but its code.
        memory = {kind: last[kind]["resident_kb"] / 1e3 for kind in trainers}
        ratios = {
            kind: statistics.median(own / other for own, other in zip(rates["hone"], rates[kind])) for kind in trainers
        }
        line = f"{name:14}{threads:4}{statistics.median(rates['hone']):11.1f}"
        for kind in list(trainers)[1:]:
            line += f"{statistics.median(rates[kind]):11.1f} {ratios[kind]:5.2f}x"
        line += f"{memory['hone']:9.1f}"
        for kind in list(trainers)[1:]:
            line += f"{memory[kind]:9.1f} {memory['hone'] / memory[kind]:5.2f}x"
        print(line, flush=True)
        others = [kind for kind in trainers if kind != "hone"]
        self.rows.append({
            "name": f"{name}, {threads} threads", "ratio": min(ratios[kind] for kind in others),
            "memory": max(memory["hone"] / memory[kind] for kind in others)})  # fmt: skip

    def head(self):
        others = self.kinds()[1:]
        line = f"{'model':14}{'thr':>4}{'hone':>11}" + "".join(f"{kind:>11}{'':7}" for kind in others)
        print("samples a second, ratio; MB, ratio\n")
        print(line + f"{'hone':>9}" + "".join(f"{kind:>9}{'':7}" for kind in others))

    def bars(self):
        """Prints whether they are met; whether one is missed."""
        if self.args.precision == "bf16":
            return False
        mean = statistics.geometric_mean(row["ratio"] for row in self.rows)
        least = min(self.rows, key=lambda row: row["ratio"])
        most = max(self.rows, key=lambda row: row["memory"])
        found = [
            (mean >= MEAN, f"geometric mean of the ratios with the faster at least {MEAN}: {mean:.2f}"),
            (least["ratio"] >= LEAST, f"none under {LEAST}: {least['ratio']:.2f} by {least['name']}"),
            (most["memory"] <= MEMORY, f"at most {MEMORY} times the memory: {most['memory']:.2f} by {most['name']}"),
        ]
        print()
        for met, text in found:
            print(f"  {'met    ' if met else 'NOT MET'}  {text}")
        return not all(met for met, _ in found)


def main():
    if sys.argv[1:2] == ["--peer"]:
        peer(*sys.argv[2:6], float(sys.argv[6]), int(sys.argv[7]))
        return 0
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--models", default=",".join(MODELS), help="default: %(default)s")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--window", type=float, default=2, help="seconds of each in a round")
    parser.add_argument("--no-compile", action="store_true", help="leave torch.compile out: it takes minutes to begin")
    parser.add_argument("--precision", choices=["f32", "bf16"], default="f32")
    args = parser.parse_args()
    bench = Bench(args)
    for name in args.models.split(","):
        bench.check(name)
    bench.head()
    for name in args.models.split(","):
        for threads in map(int, args.threads.split(",")):
            bench.row(name, threads)
    return bench.bars()


if __name__ == "__main__":
    sys.exit(main())
