"""From JPEG files to batches for a model: hone's loader beside PyTorch's DataLoader.

Both read the images of HONE_ASSETS/data/imagenet256 as they are (256 x 256) and scaled up to
500 x 375 and 1280 x 960, and do what ImageNet models want: short side to 256, the 224 x 224 in the
middle, values to [0, 1], mean and deviation. PyTorch reads with Pillow and torchvision's
transforms, in as many worker processes as hone has threads. Passes alternate and the best counts.

Exit status 1 when hone delivers fewer images per second.
"""

import argparse
import csv
import os
import subprocess
import time

import torch
from PIL import Image
from torchvision import transforms

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
SIZES = {"256x256": None, "500x375": (500, 375), "1280x960": (1280, 960)}


class Files(torch.utils.data.Dataset):
    """The images of a folder, as examples of PyTorch read them."""

    def __init__(self, folder):
        with open(os.path.join(folder, "labels.csv"), encoding="utf-8") as table:
            rows = [row for row in csv.reader(table) if len(row) > 1 and row[1].isdigit()]
        self.samples = [(os.path.join(folder, row[0]), int(row[1])) for row in rows]
        self.transform = transforms.Compose([
            transforms.Resize(256), transforms.CenterCrop(224), transforms.ToTensor(),
            transforms.Normalize(MEAN, STD)])

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, i):
        path, label = self.samples[i]
        with Image.open(path) as image:
            return self.transform(image.convert("RGB")), label


def scaled(source, folder, size, n):
    """A folder with the first n images of `source`, scaled up."""
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(source, "labels.csv"), encoding="utf-8") as table:
        rows = [row for row in csv.reader(table) if len(row) > 1 and row[1].isdigit()][:n]
    for row in rows:
        path = os.path.join(folder, row[0])
        if not os.path.exists(path):
            with Image.open(os.path.join(source, row[0])) as image:
                image = image.convert("RGB")
                if size is not None:
                    image = image.resize(size, Image.BICUBIC)
                image.save(path, quality=90)
    with open(os.path.join(folder, "labels.csv"), "w", encoding="utf-8") as table:
        csv.writer(table).writerows(row[:2] for row in rows)
    return folder


def torch_rate(loader, n):
    """One pass, its clock started when the workers have delivered their first batch."""
    batches = iter(loader)
    first = next(batches)[0].shape[0]
    begun = time.perf_counter()
    rest = sum(images.shape[0] for images, _ in batches)
    assert first + rest == n
    return rest / (time.perf_counter() - begun)


def hone_rate(program, folder, batch, threads, seconds):
    spec = (f"images:{folder},labels=labels.csv,resize=256,crop=224,scale=1/255,"
            f"mean={':'.join(map(str, MEAN))},std={':'.join(map(str, STD))}")
    command = [program, spec, "224", str(batch), str(threads), str(seconds)]
    return float(subprocess.check_output(command))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--threads", default="1,2", help="numbers of threads and workers")
    parser.add_argument("--sizes", default=",".join(SIZES), help="of images")
    parser.add_argument("--images", type=int, default=200, help="per folder")
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    torch.set_num_threads(1)
    build = os.environ["BUILD"]
    assets = os.environ.get("HONE_ASSETS", os.path.join("..", "shared", "assets"))
    source = os.path.join(assets, "data", "imagenet256")
    worse = 0
    print(f"{'images':>10}{'threads':>9}{'PyTorch/s':>12}{'hone/s':>12}{'ratio':>8}")
    for size in options.sizes.split(","):
        folder = scaled(source, os.path.join(build, "bench", "images", size), SIZES[size],
                        options.images)
        files = Files(folder)
        for threads in map(int, options.threads.split(",")):
            loader = torch.utils.data.DataLoader(
                files, batch_size=options.batch, num_workers=threads, persistent_workers=True)
            peer, own = 0.0, 0.0
            for _ in range(options.rounds):
                peer = max(peer, torch_rate(loader, len(files)))
                own = max(own, hone_rate(os.path.join(build, "bench_data"), folder, options.batch,
                                         threads, 1))
            worse += own < peer
            print(f"{size:>10}{threads:9}{peer:12.1f}{own:12.1f}{own / peer:8.2f}", flush=True)
            del loader
    return worse > 0


if __name__ == "__main__":
    raise SystemExit(main())
