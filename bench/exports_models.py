"""The exports that bench/exports.py runs: networks of torchvision and transformers as users export them.

    exports_models.py [--out FOLDER] [NAME...]      (default: all, into build/bench/exports)

Weights are random and seeded; nothing is downloaded. Each network is exported by one of torch's two
exporters: `dynamo=True` (torch.export) or `dynamo=False` (TorchScript). A file that exists is kept.
"""

import argparse
import dataclasses
import os
import sys
import warnings

import torch
import torchvision
import transformers
from torch import nn

SEED = 20
OPSET = 20


@dataclasses.dataclass
class Export:
    """How to make one file and its inputs."""

    make: object  # () -> the network
    inputs: object  # (size) -> {name: tensor}
    outputs: list
    sizes: list  # the sizes that are run; the first is exported
    dynamo: bool
    axes: dict = dataclasses.field(default_factory=dict)  # input or output: {axis: symbol}
    opset: int = OPSET


# ---- weights ----


def see(norm, given):
    """Gives a BatchNorm layer the statistics of what it is about to see."""
    x = given[0]
    norm.running_mean.copy_(x.mean((0, 2, 3)))
    norm.running_var.copy_(x.var((0, 2, 3), unbiased=False) + 1e-3)


def settle(net, *given):
    """Keeps values of ordinary size: BatchNorm statistics are those of the network's own activations."""
    kinds = (nn.BatchNorm2d, torchvision.ops.FrozenBatchNorm2d)
    hooks = [m.register_forward_pre_hook(see) for m in net.modules() if isinstance(m, kinds)]
    net.eval()(*given)
    for hook in hooks:
        hook.remove()
    return net


def noise(*dims):
    return torch.randn(dims, generator=torch.Generator().manual_seed(SEED))


def image(height, width):
    """Smooth patches with a little noise: like a photograph, neighbours resemble each other."""
    draw = torch.Generator().manual_seed(SEED)
    patches = torch.rand((1, 3, 12, 12), generator=draw)
    smooth = nn.functional.interpolate(patches, (height, width), mode="bicubic")
    return {"image": (smooth + 0.02 * torch.randn(smooth.shape, generator=draw)).clamp(0, 1)}


def square(size):
    return image(size, size)


def tokens(length, vocabulary=1000, batch=1):
    draw = torch.Generator().manual_seed(SEED)
    return torch.randint(0, vocabulary, (batch, length), generator=draw)


# ---- detectors ----


class Detector(nn.Module):
    """A torchvision detector on one image: boxes, scores, labels."""

    def __init__(self, net):
        super().__init__()
        self.net = net

    def forward(self, image):
        found = self.net([image[0]])
        found = found[1][0] if isinstance(found, tuple) else found[0]
        return found["boxes"], found["scores"], found["labels"]


def spread_scores(layers, factor):
    """Random heads give every class nearly the same score; larger weights tell boxes apart."""
    for layer in layers:
        if isinstance(layer, (nn.Conv2d, nn.Linear)):
            layer.weight.mul_(factor)


def ssdlite():
    net = torchvision.models.detection.ssdlite320_mobilenet_v3_large(weights=None, weights_backbone=None)
    settle(net, [image(320, 320)["image"][0], image(320, 300)["image"][0]])
    spread_scores([m[-1] for m in net.head.classification_head.module_list], 10)
    return Detector(net)


def faster_rcnn():
    net = torchvision.models.detection.fasterrcnn_mobilenet_v3_large_320_fpn(
        weights=None, weights_backbone=None
    )
    settle(net, [image(320, 320)["image"][0], image(320, 300)["image"][0]])
    spread_scores([net.rpn.head.cls_logits], 10)
    spread_scores([net.roi_heads.box_predictor.cls_score], 8)
    return Detector(net)


# ---- other images ----


class Named(nn.Module):
    """One output of a network that returns several by name."""

    def __init__(self, net, name):
        super().__init__()
        self.net, self.name = net, name

    def forward(self, image):
        return self.net(image)[self.name]


def deeplab():
    net = torchvision.models.segmentation.deeplabv3_mobilenet_v3_large(
        weights=None, weights_backbone=None, num_classes=21
    ).eval()
    settle(net.backbone, image(224, 224)["image"])
    return Named(net, "out")


def classifier(name):
    def make():
        net = getattr(torchvision.models, name)(weights=None).eval()
        return settle(net, noise(2, 3, 224, 224))

    return make


class Flow(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = torchvision.models.optical_flow.raft_small(weights=None)

    def forward(self, first, second):
        return self.net(first, second, num_flow_updates=3)[-1]


def pair(size):
    both = torch.rand((2, 3, size, size), generator=torch.Generator().manual_seed(SEED)) * 2 - 1
    return {"first": both[:1], "second": both[1:]}


# ---- sequences ----


class Tagger(nn.Module):
    """Words to tags: embedding, two bidirectional LSTM layers, a linear layer."""

    def __init__(self, vocabulary=1000, width=100, hidden=128, tags=20):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.lstm = nn.LSTM(width, hidden, 2, batch_first=True, bidirectional=True)
        self.head = nn.Linear(2 * hidden, tags)

    def forward(self, words):
        return self.head(self.lstm(self.embed(words))[0])


class Stream(nn.Module):
    """Sound in chunks: a loop over them with a cell in each branch of an If inside an If."""

    def __init__(self, width=64):
        super().__init__()
        self.conv = nn.Conv1d(1, width, 16, stride=8)
        self.slow, self.fast = nn.LSTM(width, width, batch_first=True), nn.GRU(width, width, batch_first=True)
        self.head = nn.Linear(width, 2)

    def forward(self, sound):
        h = torch.zeros(1, 1, self.head.in_features)
        c = torch.zeros(1, 1, self.head.in_features)
        scores = torch.zeros(0, 2)
        for i in range(sound.size(0)):
            x = self.conv(sound[i].unsqueeze(0)).transpose(1, 2)
            if bool(x.mean() > 0):
                if bool(x.max() > 3):
                    y, (h, c) = self.slow(x, (h, c))
                else:
                    y, h = self.fast(x, h)
            else:
                y, h = self.fast(x, h)
            scores = torch.cat([scores, self.head(y[:, -1])])
        return scores


def stream():
    return torch.jit.script(Stream())


def speech():
    config = transformers.Wav2Vec2Config(
        hidden_size=192, num_hidden_layers=4, num_attention_heads=4, intermediate_size=768,
        conv_dim=(128,) * 7, num_conv_pos_embeddings=32, num_conv_pos_embedding_groups=4, vocab_size=32,
    )  # fmt: skip

    class Speech(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = transformers.Wav2Vec2ForCTC(config)

        def forward(self, sound):
            return self.net(sound).logits

    return Speech()


class Decoder(nn.Module):
    """One step of GPT-2, with the keys and values of what came before as inputs and outputs."""

    LAYERS, HEADS, WIDTH, VOCABULARY = 4, 6, 384, 1000

    def __init__(self):
        super().__init__()
        config = transformers.GPT2Config(
            vocab_size=self.VOCABULARY, n_positions=512, n_embd=self.WIDTH, n_layer=self.LAYERS,
            n_head=self.HEADS, use_cache=True, attn_implementation="eager",
        )  # fmt: skip
        self.net = transformers.GPT2LMHeadModel(config)

    def forward(self, words, *past):
        cache = transformers.DynamicCache()
        for i in range(self.LAYERS):
            cache.update(past[2 * i], past[2 * i + 1], i)
        out = self.net(input_ids=words, past_key_values=cache, use_cache=True)
        now = []
        for layer in out.past_key_values.layers:
            now += [layer.keys, layer.values]
        return out.logits, *now


def cache_names(prefix):
    return [f"{prefix}_{what}{i}" for i in range(Decoder.LAYERS) for what in ("key", "value")]


def decode(length):
    size = (1, Decoder.HEADS, length, Decoder.WIDTH // Decoder.HEADS)
    past = {name: noise(*size) for name in cache_names("past")}
    return {"words": tokens(1, Decoder.VOCABULARY), **past}


class Whisper(nn.Module):
    def __init__(self):
        super().__init__()
        config = transformers.WhisperConfig(
            d_model=384, encoder_layers=4, encoder_attention_heads=6, encoder_ffn_dim=1536,
            decoder_layers=1, max_source_positions=300,
        )  # fmt: skip
        self.net = transformers.WhisperModel(config).encoder

    def forward(self, spectrum):
        return self.net(spectrum).last_hidden_state


# ---- the list ----

FOUND = ["boxes", "scores", "labels"]
SQUARE = {"image": {2: "height", 3: "width"}}

EXPORTS = {
    "ssdlite": Export(ssdlite, lambda size: image(*size), FOUND, [(320, 320), (240, 320), (426, 320)], False, SQUARE),
    "faster_rcnn": Export(faster_rcnn, lambda size: image(*size), FOUND, [(320, 320), (240, 320), (320, 426)], False, SQUARE),
    "deeplab": Export(deeplab, square, ["scores"], [224, 160, 288], True, SQUARE),
    "stream": Export(stream, lambda n: {"sound": noise(n, 1, 512)}, ["scores"], [8, 3, 32], False, {"sound": {0: "chunks"}}),
    "wav2vec2": Export(speech, lambda n: {"sound": noise(1, n)}, ["logits"], [16000, 8000, 24000], True, {"sound": {1: "samples"}}),
    "gpt2_past": Export(Decoder, decode, ["logits", *cache_names("now")], [64, 16, 255], True, {n: {2: "past"} for n in cache_names("past")}),
    "gpt2_past_script": Export(Decoder, decode, ["logits", *cache_names("now")], [64, 16, 255], False, {n: {2: "past"} for n in cache_names("past")}),
    "tagger": Export(Tagger, lambda n: {"words": tokens(n)}, ["tags"], [40, 12, 200], False, {"words": {1: "length"}}),
    "tagger_dynamo": Export(Tagger, lambda n: {"words": tokens(n)}, ["tags"], [40], True),
    "whisper_encoder": Export(Whisper, lambda n: {"spectrum": noise(1, 80, n)}, ["states"], [600], True),
    "densenet121": Export(classifier("densenet121"), square, ["logits"], [224], True),
    "mnasnet1_0": Export(classifier("mnasnet1_0"), square, ["logits"], [224, 160, 256], False, SQUARE),
    "swin_t": Export(classifier("swin_t"), square, ["logits"], [224], True),
    "convnext_tiny": Export(classifier("convnext_tiny"), square, ["logits"], [224, 160, 256], False, SQUARE),
    "raft_small": Export(Flow, pair, ["flow"], [128], True),
}  # fmt: skip


def path_of(name, folder):
    return os.path.join(folder, name + ".onnx")


@torch.no_grad()
def export(name, path):
    how = EXPORTS[name]
    torch.manual_seed(SEED)
    net = how.make().eval()
    given = how.inputs(how.sizes[0])
    options = {"input_names": list(given), "output_names": how.outputs, "dynamo": how.dynamo, "verbose": False}
    options["opset_version"] = how.opset if how.dynamo else min(how.opset, 17)
    if how.dynamo:
        dims = {s: torch.export.Dim.DYNAMIC for axes in how.axes.values() for s in axes.values()}
        shapes = [{a: dims[s] for a, s in how.axes.get(n, {}).items()} for n in given]
        if isinstance(net, Decoder):
            shapes = [shapes[0], tuple(shapes[1:])]
        if how.axes:
            options["dynamic_shapes"] = tuple(shapes)
        options["external_data"] = False
    else:
        options["dynamic_axes"] = how.axes
    partial = path + ".part"
    torch.onnx.export(net, tuple(given.values()), partial, **options)
    os.replace(partial, path)


def make(names, folder):
    """Makes the files that are not there; a dict of those that could not be made, and why."""
    os.makedirs(folder, exist_ok=True)
    failed = {}
    for name in names:
        if os.path.exists(path_of(name, folder)):
            continue
        print(f"exporting {name}", file=sys.stderr)
        try:
            export(name, path_of(name, folder))
        except Exception as failure:  # whatever the exporter has to say
            failed[name] = str(failure).strip().splitlines()[-1][:200]
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default=os.path.join(os.environ.get("BUILD", "build"), "bench", "exports"))
    parser.add_argument("name", nargs="*", choices=[*EXPORTS, []])
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    failed = make(options.name or EXPORTS, options.out)
    for name, why in failed.items():
        print(f"{name}: {why}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
