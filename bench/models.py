"""The large models that bench/versus.py times, made here with seeded weights.

    models.py [--out FOLDER] [NAME...]      (default: all, into build/bench/models)
    models.py --litert BATCH NAME...        NAME.BATCH.tflite instead, where litert-torch can

Each network is defined in plain PyTorch with the layer sizes of its paper, given random weights and
exported as users export today: `torch.onnx.export` with a symbolic batch. BatchNormalization is
kept: folding it is the runtimes' business. Its statistics are those of the network's own
activations on seeded noise, so that every layer works on values of ordinary size.

The same packages on the same machine give the same bytes: nothing in a file comes from the clock or
from where the script lies. A file that exists is kept.
"""

import argparse
import logging
import os
import sys
import warnings

import onnx
import onnxscript.optimizer
import torch
import torch.nn.functional as F
from torch import nn

OPSET = 20
SEED = 20


# ---- convolutional networks ----


def conv_norm(cin, cout, kernel=1, stride=1, groups=1, act=None):
    """Convolution without bias, BatchNorm, activation."""
    layers = [
        nn.Conv2d(cin, cout, kernel, stride, (kernel - 1) // 2, groups=groups, bias=False),
        nn.BatchNorm2d(cout),
    ]
    return nn.Sequential(*layers, *([act()] if act else []))


class Residual(nn.Module):
    """act(body(x) + skip(x)); skip and act may be absent."""

    def __init__(self, body, skip=None, act=None):
        super().__init__()
        self.body, self.skip, self.act = body, skip or nn.Identity(), act or nn.Identity()

    def forward(self, x):
        return self.act(self.body(x) + self.skip(x))


class SqueezeExcite(nn.Module):
    def __init__(self, channels, squeezed, act, gate):
        super().__init__()
        self.fc1, self.act = nn.Conv2d(channels, squeezed, 1), act()
        self.fc2, self.gate = nn.Conv2d(squeezed, channels, 1), gate()

    def forward(self, x):
        mean = F.adaptive_avg_pool2d(x, 1)
        return x * self.gate(self.fc2(self.act(self.fc1(mean))))


def classifier(*layers):
    return [nn.AdaptiveAvgPool2d(1), nn.Flatten(), *layers]


def resnet50():
    """He et al. 2015, with the stride on the 3x3 convolution as all current versions have it."""

    def block(cin, width, stride):
        cout = 4 * width
        body = nn.Sequential(
            conv_norm(cin, width, act=nn.ReLU),
            conv_norm(width, width, 3, stride, act=nn.ReLU),
            conv_norm(width, cout),
        )
        skip = conv_norm(cin, cout, 1, stride) if cin != cout or stride != 1 else None
        return Residual(body, skip, nn.ReLU())

    layers, cin = [conv_norm(3, 64, 7, 2, act=nn.ReLU), nn.MaxPool2d(3, 2, 1)], 64
    for width, depth, stride in (64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2):
        for i in range(depth):
            layers.append(block(cin, width, stride if i == 0 else 1))
            cin = 4 * width
    return nn.Sequential(*layers, *classifier(nn.Linear(cin, 1000)))


def inverted_residual(cin, wide, cout, kernel, stride, act, excite=None):
    """Expand by 1x1, depthwise, optional squeeze-excite, project by 1x1; summed where it fits."""
    layers = [conv_norm(cin, wide, act=act)] if wide != cin else []
    layers.append(conv_norm(wide, wide, kernel, stride, groups=wide, act=act))
    layers += [excite] if excite else []
    layers.append(conv_norm(wide, cout))
    body = nn.Sequential(*layers)
    return Residual(body) if stride == 1 and cin == cout else body


def mobilenetv2():
    """Sandler et al. 2018, width 1."""
    layers, cin = [conv_norm(3, 32, 3, 2, act=nn.ReLU6)], 32
    for expand, cout, depth, stride in (
        (1, 16, 1, 1),
        (6, 24, 2, 2),
        (6, 32, 3, 2),
        (6, 64, 4, 2),
        (6, 96, 3, 1),
        (6, 160, 3, 2),
        (6, 320, 1, 1),
    ):
        for i in range(depth):
            first = stride if i == 0 else 1
            layers.append(inverted_residual(cin, cin * expand, cout, 3, first, nn.ReLU6))
            cin = cout
    layers.append(conv_norm(cin, 1280, act=nn.ReLU6))
    return nn.Sequential(*layers, *classifier(nn.Linear(1280, 1000)))


def mobilenetv3_small():
    """Howard et al. 2019, table 2."""
    layers, cin = [conv_norm(3, 16, 3, 2, act=nn.Hardswish)], 16
    for kernel, wide, cout, squeezed, act, stride in (
        (3, 16, 16, 8, nn.ReLU, 2),
        (3, 72, 24, 0, nn.ReLU, 2),
        (3, 88, 24, 0, nn.ReLU, 1),
        (5, 96, 40, 24, nn.Hardswish, 2),
        (5, 240, 40, 64, nn.Hardswish, 1),
        (5, 240, 40, 64, nn.Hardswish, 1),
        (5, 120, 48, 32, nn.Hardswish, 1),
        (5, 144, 48, 40, nn.Hardswish, 1),
        (5, 288, 96, 72, nn.Hardswish, 2),
        (5, 576, 96, 144, nn.Hardswish, 1),
        (5, 576, 96, 144, nn.Hardswish, 1),
    ):
        excite = SqueezeExcite(wide, squeezed, nn.ReLU, nn.Hardsigmoid) if squeezed else None
        layers.append(inverted_residual(cin, wide, cout, kernel, stride, act, excite))
        cin = cout
    layers.append(conv_norm(cin, 576, act=nn.Hardswish))
    head = nn.Linear(576, 1024), nn.Hardswish(), nn.Linear(1024, 1000)
    return nn.Sequential(*layers, *classifier(*head))


def efficientnet_b0():
    """Tan and Le 2019, table 1."""
    layers, cin = [conv_norm(3, 32, 3, 2, act=nn.SiLU)], 32
    for expand, kernel, cout, depth, stride in (
        (1, 3, 16, 1, 1),
        (6, 3, 24, 2, 2),
        (6, 5, 40, 2, 2),
        (6, 3, 80, 3, 2),
        (6, 5, 112, 3, 1),
        (6, 5, 192, 4, 2),
        (6, 3, 320, 1, 1),
    ):
        for i in range(depth):
            wide, first = cin * expand, stride if i == 0 else 1
            excite = SqueezeExcite(wide, cin // 4, nn.SiLU, nn.Sigmoid)
            layers.append(inverted_residual(cin, wide, cout, kernel, first, nn.SiLU, excite))
            cin = cout
    layers.append(conv_norm(cin, 1280, act=nn.SiLU))
    return nn.Sequential(*layers, *classifier(nn.Linear(1280, 1000)))


class UNet(nn.Module):
    """Ronneberger et al. 2015 with padding and BatchNorm: four levels, 32 channels at the top."""

    def __init__(self, width=32, levels=4, classes=2):
        super().__init__()

        def double(cin, cout):
            return nn.Sequential(
                conv_norm(cin, cout, 3, act=nn.ReLU), conv_norm(cout, cout, 3, act=nn.ReLU)
            )

        sizes = [width << i for i in range(levels + 1)]
        self.down = nn.ModuleList(double(a, b) for a, b in zip([3] + sizes, sizes))
        pairs = list(zip(sizes[:0:-1], sizes[-2::-1]))
        self.up = nn.ModuleList(nn.ConvTranspose2d(a, b, 2, 2) for a, b in pairs)
        self.merge = nn.ModuleList(double(a, b) for a, b in pairs)
        self.head = nn.Conv2d(width, classes, 1)

    def forward(self, x):
        skips = []
        for i, level in enumerate(self.down):
            x = level(F.max_pool2d(x, 2) if i else x)
            skips.append(x)
        skips.pop()
        for up, merge in zip(self.up, self.merge):
            x = merge(torch.cat([skips.pop(), up(x)], 1))
        return self.head(x)


# ---- transformers and a recurrent network ----


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))
        self.out = nn.Linear(width, width)

    def forward(self, x, mask=None):
        def split(y):
            return y.unflatten(-1, (self.heads, -1)).transpose(1, 2)

        y = F.scaled_dot_product_attention(
            split(self.query(x)), split(self.key(x)), split(self.value(x)), attn_mask=mask
        )
        return self.out(y.transpose(1, 2).flatten(2))


def feed_forward(width):
    return nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))


class BertLayer(nn.Module):
    """Normalisation after the sum."""

    def __init__(self, width, heads):
        super().__init__()
        self.attention, self.norm1 = Attention(width, heads), nn.LayerNorm(width, 1e-12)
        self.feed, self.norm2 = feed_forward(width), nn.LayerNorm(width, 1e-12)

    def forward(self, x, mask):
        x = self.norm1(x + self.attention(x, mask))
        return self.norm2(x + self.feed(x))


class Bert(nn.Module):
    """Devlin et al. 2018: the encoder and its pooler."""

    def __init__(self, layers, width, heads, vocabulary=30522, positions=512):
        super().__init__()
        self.words = nn.Embedding(vocabulary, width)
        self.positions = nn.Embedding(positions, width)
        self.types = nn.Embedding(2, width)
        self.norm = nn.LayerNorm(width, 1e-12)
        self.layers = nn.ModuleList(BertLayer(width, heads) for _ in range(layers))
        self.pooler = nn.Linear(width, width)

    def forward(self, input_ids, attention_mask, token_type_ids):
        where = torch.arange(input_ids.shape[1], device=input_ids.device)
        x = self.words(input_ids) + self.types(token_type_ids) + self.positions(where)
        x = self.norm(x)
        mask = attention_mask[:, None, None, :].bool()
        for layer in self.layers:
            x = layer(x, mask)
        return x, torch.tanh(self.pooler(x[:, 0]))


class VitLayer(nn.Module):
    """Normalisation before each branch."""

    def __init__(self, width, heads):
        super().__init__()
        self.norm1, self.attention = nn.LayerNorm(width, 1e-6), Attention(width, heads)
        self.norm2, self.feed = nn.LayerNorm(width, 1e-6), feed_forward(width)

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.feed(self.norm2(x))


class Vit(nn.Module):
    """Dosovitskiy et al. 2020, base size, patches of 16 pixels."""

    def __init__(self, layers=12, width=768, heads=12, patch=16, pixels=224):
        super().__init__()
        self.patches = nn.Conv2d(3, width, patch, patch)
        self.token = nn.Parameter(torch.empty(1, 1, width))
        self.positions = nn.Parameter(torch.empty(1, 1 + (pixels // patch) ** 2, width))
        self.layers = nn.Sequential(*(VitLayer(width, heads) for _ in range(layers)))
        self.norm = nn.LayerNorm(width, 1e-6)
        self.head = nn.Linear(width, 1000)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], 1) + self.positions
        return self.head(self.norm(self.layers(x))[:, 0])


class Lstm(nn.Module):
    """Two layers of 256 cells over 64 features; the last step is classified."""

    def __init__(self, features=64, hidden=256, layers=2, classes=10):
        super().__init__()
        self.lstm = nn.LSTM(features, hidden, layers, batch_first=True)
        self.head = nn.Linear(hidden, classes)

    def forward(self, x):
        return self.head(self.lstm(x)[0][:, -1])


# ---- the list ----

IMAGE = {"input": (3, 224, 224)}
TOKENS = {name: (128,) for name in ("input_ids", "attention_mask", "token_type_ids")}

# Name: how to make the network, its inputs with their sizes after the batch, its outputs.
MODELS = {
    "resnet50": (resnet50, IMAGE, ["logits"]),
    "mobilenetv2": (mobilenetv2, IMAGE, ["logits"]),
    "mobilenetv3_small": (mobilenetv3_small, IMAGE, ["logits"]),
    "efficientnet_b0": (efficientnet_b0, IMAGE, ["logits"]),
    "bert_base": (lambda: Bert(12, 768, 12), TOKENS, ["last_hidden_state", "pooled"]),
    "minilm6": (lambda: Bert(6, 384, 12), TOKENS, ["last_hidden_state", "pooled"]),
    "vit_b16": (Vit, IMAGE, ["logits"]),
    "unet": (UNet, {"input": (3, 128, 128)}, ["logits"]),
    "lstm": (Lstm, {"input": (64, 64)}, ["logits"]),
}


def example(name, batch):
    """Inputs of the right types and sizes: N(0,1), or ones for the token inputs."""
    draw = torch.Generator().manual_seed(SEED)
    return [
        torch.ones((batch, *dims), dtype=torch.int64)
        if len(dims) == 1
        else torch.randn((batch, *dims), generator=draw)
        for dims in MODELS[name][1].values()
    ]


def norms(net):
    return [module for module in net.modules() if isinstance(module, nn.BatchNorm2d)]


def fill_weights(net):
    """Weights whose layers keep the variance of what they are given."""
    for module in net.modules():
        if isinstance(module, (nn.Conv2d, nn.ConvTranspose2d)):
            nn.init.kaiming_normal_(module.weight)
            if module.bias is not None:
                nn.init.normal_(module.bias, 0, 0.1)
        elif isinstance(module, nn.Linear):
            nn.init.normal_(module.weight, 0, module.in_features**-0.5)
            nn.init.normal_(module.bias, 0, 0.1)
        elif isinstance(module, (nn.BatchNorm2d, nn.LayerNorm)):
            nn.init.uniform_(module.weight, 0.5, 1.5)
            nn.init.normal_(module.bias, 0, 0.1)
        elif isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, 0, 0.5)
        elif isinstance(module, Vit):
            nn.init.normal_(module.token, 0, 0.5)
            nn.init.normal_(module.positions, 0, 0.5)
    # Training leaves the branches of a residual network small beside the sum. Where they are not,
    # depth alone multiplies rounding errors.
    for module in net.modules():
        if isinstance(module, Residual):
            norms(module.body)[-1].weight.mul_(0.3)


def settle_norms(net, images):
    """Sets BatchNorm statistics to those of the activations; one thread, for the same bits."""
    for module in norms(net):
        module.momentum = None  # the plain average of what is seen, which is one batch
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    net.train()(*images)
    torch.set_num_threads(threads)


@torch.no_grad()
def build(name):
    """The network, ready for inference; every call gives the same one."""
    torch.manual_seed(SEED)
    net = MODELS[name][0]()
    fill_weights(net)
    if norms(net):
        settle_norms(net, example(name, 4))
    return net.eval()


def strip(model):
    """Removes what the exporter notes of its own run: source lines, paths."""
    del model.metadata_props[:]
    graphs = [model.graph, *model.functions]
    for graph in graphs:
        del graph.metadata_props[:]
        graph.doc_string = ""
        for node in graph.node:
            del node.metadata_props[:]
            node.doc_string = ""
    for value in [*model.graph.input, *model.graph.output, *model.graph.value_info]:
        del value.metadata_props[:]


def export(name, path, lengths):
    _, sizes, outputs = MODELS[name]
    net = build(name)
    given = example(name, 2)
    results = net(*given)
    for result in results if isinstance(results, tuple) else [results]:
        size = result.abs().max().item()
        assert 0.1 < size < 1000, f"{name}: outputs reach {size}"
    program = torch.onnx.export(
        net,
        tuple(given),
        dynamo=True,
        verbose=False,
        opset_version=OPSET,
        optimize=not norms(net),
        input_names=list(sizes),
        output_names=outputs,
        dynamic_shapes=tuple({0: "batch", 1: "length"} if lengths else {0: "batch"} for _ in sizes),
    )
    if norms(net):
        # The exporter's optimizer would fold BatchNorm; these are the parts of it that do not.
        onnxscript.optimizer.fold_constants(program.model)
        onnxscript.optimizer.remove_unused_nodes(program.model)
    model = program.model_proto
    strip(model)
    onnx.checker.check_model(model)
    onnx.save(model, path + ".part")
    os.replace(path + ".part", path)


def make(name, folder, lengths=False):
    """The path of the model's file, made if it is not there; lengths: for token inputs of any length."""
    path = os.path.join(folder, name + ("_lengths.onnx" if lengths else ".onnx"))
    if not os.path.exists(path):
        os.makedirs(folder, exist_ok=True)
        logging.getLogger("torch.onnx").setLevel(logging.ERROR)
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            export(name, path, lengths)
    return path


def make_litert(name, batch, folder):
    """The path of the model's file for LiteRT, whose batch is fixed."""
    import litert_torch

    path = os.path.join(folder, f"{name}.{batch}.tflite")
    if not os.path.exists(path):
        os.makedirs(folder, exist_ok=True)
        litert_torch.convert(build(name), tuple(example(name, batch))).export(path)
    return path


def main():
    build_folder = os.environ.get("BUILD", "build")
    parser = argparse.ArgumentParser(description="Makes the large models of bench/versus.py.")
    parser.add_argument("--out", default=os.path.join(build_folder, "bench", "models"))
    parser.add_argument("--litert", type=int, metavar="BATCH")
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(MODELS))
    args = parser.parse_args()
    for name in args.names or MODELS:
        if name not in MODELS:
            parser.error(f"unknown model '{name}'; there are {', '.join(MODELS)}")
        if args.litert:
            path = make_litert(name, args.litert, args.out)
        else:
            path = make(name, args.out)
        print(f"{path}  {os.path.getsize(path) / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
