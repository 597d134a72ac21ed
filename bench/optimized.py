"""Models that hone optimize wrote, in hone, beside the float models they were made of, in ONNX Runtime and PyTorch.

    optimized.py FLOAT.onnx=OPTIMIZED.onnx ... [--threads N] [--rounds N] [--window S] [--isa NAME]
    optimized.py FLOAT.onnx=OPTIMIZED.onnx ... --for onnxruntime|openvino

All run the same inputs, one sample a run, in turns: a window of runs each, round by round. A round's
ratio is that of its medians, a model's the median of its rounds. Sizes are those of the files and of
the constants in them. The bars: a geometric mean of at least 4 and no model under 2.5 times as fast;
files over 1 MB at least 3.5 times smaller and others 2.3 times; constants 3.9 times.

PyTorch runs in eager mode: the definition of models.py where there is one, else the nodes of the file
one by one (torch_eager.py), once the outputs are those of ONNX Runtime to 1e-3 of the largest. It is
reported, no bar. Networks with seeded weights, BERT-base above all, are reported too and no bar holds for them.

With --for both files run in that runtime, in turns: what `hone optimize --for` wrote must be faster
there than what it was made of. The least time of all rounds counts, since others only add; on one
thread it is the time that the process got, so that a run need not have the core to itself.
"""

import argparse
import os
import statistics
import sys
import time

import numpy as np
import onnx

import runtimes

MEAN, LEAST = 4.0, 2.5
LARGE_FILE, SMALL_FILE, PAYLOAD = 3.5, 2.3, 3.9


def payload(path):
    """Bytes of all constants as they are stored."""
    graph = onnx.load(path).graph
    tensors = list(graph.initializer)
    tensors += [a.t for node in graph.node for a in node.attribute if node.op_type == "Constant"]
    return sum(len(onnx.numpy_helper.to_array(t).tobytes()) if not t.raw_data else len(t.raw_data)
               for t in tensors)  # fmt: skip


def window(runtime, seconds, of=statistics.median, clock=time.perf_counter):
    """The median, or other figure, of the runs that fit into a window, after one that warms the caches."""
    runtime.run()
    times, begun = [], time.perf_counter()
    while not times or time.perf_counter() - begun < seconds:
        start = clock()
        runtime.run()
        times.append(clock() - start)
    return of(times) * 1e3


class Eager:
    """A file as PyTorch runs it node by node, like the runtimes of runtimes.py."""

    def __init__(self, model, batch, threads):
        import torch
        import torch_eager

        torch.set_num_threads(threads)
        self.net, self.arrays = torch_eager.Eager(model.path), model.arrays(batch)

    def run(self):
        self.result = self.net(**self.arrays)

    def outputs(self):
        return [tensor.numpy() for tensor in self.result]


def in_torch(model, threads, wanted):
    """The model in PyTorch, which gives the wanted outputs; None and a line where it does not."""
    try:
        kind = runtimes.Torch if model.name in runtimes.Torch.models.MODELS else Eager
        runtime = kind(model, 1, threads)
        runtime.run()
    except Exception as failure:  # whatever PyTorch has to say
        print(f"{model.name}: not in PyTorch: {str(failure).splitlines()[0][:100]}")
        return None
    for y, want in zip(runtime.outputs(), wanted):
        if np.abs(y - want).max() > 1e-3 * np.abs(want).max():
            print(f"{model.name}: PyTorch's outputs differ from ONNX Runtime's")
            return None
    return runtime


def name_of(path):
    return os.path.basename(path).removesuffix(".onnx")


def compare(args, source, target):
    """The line of a model; its ratio, and whether its sizes are as asked for. None: no bar holds."""
    model = runtimes.Model(name_of(source), source)
    peer = runtimes.OnnxRuntime(model, 1, args.threads)
    # The same inputs: the optimized file is run as the model it stands for.
    optimized = runtimes.Model(name_of(source), target)
    mine = runtimes.Hone(optimized, 1, args.threads)
    peer.run()
    eager = in_torch(model, args.threads, peer.outputs())
    mine_ms, peer_ms, eager_ms = [], [], []
    for _ in range(args.rounds):
        mine_ms.append(window(mine, args.window))
        peer_ms.append(window(peer, args.window))
        if eager is not None:
            eager_ms.append(window(eager, args.window))
    ratio = statistics.median(b / a for a, b in zip(mine_ms, peer_ms))
    eager_text = f"{'-':>10}{'-':>8}"
    if eager is not None:
        times = statistics.median(b / a for a, b in zip(mine_ms, eager_ms))
        eager_text = f"{statistics.median(eager_ms):10.3f}{times:8.2f}"
    before, after = os.path.getsize(source), os.path.getsize(target)
    file_ratio, payload_ratio = before / after, payload(source) / payload(target)
    print(
        f"{name_of(target):32}{statistics.median(mine_ms):10.3f}{statistics.median(peer_ms):10.3f}"
        f"{ratio:8.2f}{eager_text}{file_ratio:8.2f}{payload_ratio:8.2f}",
        flush=True,
    )
    if name_of(source) not in runtimes.REAL:
        return None
    wanted = LARGE_FILE if before > 1e6 else SMALL_FILE
    return ratio, file_ratio >= wanted and payload_ratio >= PAYLOAD


def compare_there(args, kind, source, target):
    """The line of a model that was optimized for a runtime; how many times as fast it is there."""
    both = [kind(runtimes.Model(name_of(source), path), 1, args.threads) for path in (source, target)]
    clock = time.process_time if args.threads == 1 else time.perf_counter
    found = [], []
    for _ in range(args.rounds):
        for runtime, ms in zip(both, found):
            ms.append(window(runtime, args.window, min, clock))
    was, now = map(min, found)
    size = os.path.getsize(source) / os.path.getsize(target)
    print(f"{name_of(target):32}{was:10.3f}{now:10.3f}{was / now:8.2f}{size:8.2f}", flush=True)
    return was / now


def main_there(args, options):
    kind = {"onnxruntime": runtimes.OnnxRuntime, "openvino": runtimes.OpenVino}[args.runtime]
    kind.setup({**options, "precision": "int8"})
    print(f"{'model':32}{'was ms':>10}{'is ms':>10}{'times':>8}{'file':>8}")
    least = min(compare_there(args, kind, *pair.split("=", 1)) for pair in args.pairs)
    print(f"\nleast {least:.2f}: {'met' if least > 1 else 'MISSED'}")
    return 0 if least > 1 else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("pairs", nargs="+", metavar="FLOAT=OPTIMIZED")
    add("--threads", type=int, default=1)
    add("--rounds", type=int, default=7)
    add("--window", type=float, default=0.3, help="seconds of runs in a round (0.3)")
    add("--isa", help="what hone may use at most")
    add("--for", dest="runtime", choices=["onnxruntime", "openvino"], help="both files there")
    build = os.environ.get("BUILD", "build")
    add("--hone-library", default=os.path.join(build, "libhone.so"))
    args = parser.parse_args()
    if bad := [pair for pair in args.pairs if "=" not in pair]:
        parser.error(f"'{bad[0]}' is no pair FLOAT.onnx=OPTIMIZED.onnx")
    options = {"hone_library": args.hone_library, "hone_backend": "cpu", "isa": args.isa,
               "precision": None, "threads": args.threads}  # fmt: skip
    if args.runtime:
        return main_there(args, options)
    runtimes.Hone.setup(options)
    runtimes.OnnxRuntime.setup({**options, "precision": "f32"})
    runtimes.Torch.setup({**options, "precision": "f32"})
    print(
        f"{'model':32}{'hone ms':>10}{'ORT ms':>10}{'times':>8}{'torch ms':>10}{'times':>8}"
        f"{'file':>8}{'weights':>8}"
    )
    found = [compare(args, *pair.split("=", 1)) for pair in args.pairs]
    found = [each for each in found if each is not None]
    if not found:
        return 0
    ratios = [ratio for ratio, _ in found]
    mean, least = statistics.geometric_mean(ratios), min(ratios)
    fast, small = mean >= MEAN and least >= LEAST, all(ok for _, ok in found)
    print(f"\ngeometric mean {mean:.2f}, least {least:.2f}: {'met' if fast else 'MISSED'}")
    print(f"sizes: {'met' if small else 'MISSED'}")
    return 0 if fast and small else 1


if __name__ == "__main__":
    sys.exit(main())
