"""Image files: the pixels Pillow decodes, and those its antialiased bilinear resize gives."""
import glob
import os
import subprocess

import numpy as np
import pytest
from PIL import Image
from test_models import ASSETS, HONE, ROOT

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(HONE)), "tests", "dataset_bytes")
SEEDS = os.path.join(ROOT, "tests", "fuzz", "corpus", "image")
PICTURES = os.path.join(ASSETS, "data", "imagenet256")

pytestmark = pytest.mark.skipif(not os.path.exists(PROGRAM), reason="dataset_bytes is not built")


def hone_pixels(path, folder, keys=""):
    """[3, height, width], or the error."""
    labels = folder / "y.csv"
    labels.write_text(f"{os.path.basename(path)},0\n")
    spec = f"images:{os.path.dirname(path)},labels={labels}{keys}"
    done = subprocess.run([PROGRAM, spec], capture_output=True)
    if done.returncode != 0:
        return None, done.stderr.decode()
    return np.frombuffer(done.stdout, np.uint8), ""


def pillow_pixels(image, resize=None, crop=None):
    image = image.convert("RGB")
    if resize:
        short = min(image.size)
        image = image.resize([n * resize // short for n in image.size], Image.BILINEAR)
    if crop:
        x, y = [(n - crop) // 2 for n in image.size]
        image = image.crop((x, y, x + crop, y + crop))
    return np.asarray(image).transpose(2, 0, 1)


READ = [p for p in sorted(glob.glob(os.path.join(SEEDS, "*.jpg")) + glob.glob(os.path.join(SEEDS, "rgb*8*.png")))
        if os.path.basename(p) not in ("cmyk.jpg", "huge.jpg", "scans.jpg")]


@pytest.mark.parametrize("path", READ, ids=os.path.basename)
def test_decoded(path, tmp_path):
    found, error = hone_pixels(path, tmp_path)
    want = pillow_pixels(Image.open(path))
    assert found is not None, error
    assert np.array_equal(found.reshape(want.shape), want)


# Down, down to the size itself, up, and by a factor that is not a whole number; long and tall images.
@pytest.mark.parametrize("resize, crop", [(64, None), (37, 30), (256, 224), (300, 289), (11, 11), (512, 500)])
@pytest.mark.parametrize("size", [(256, 256), (401, 97), (61, 333)])
def test_scaled(resize, crop, size, tmp_path):
    noise = np.random.default_rng(3).integers(0, 256, (size[1], size[0], 3), np.uint8)
    path = str(tmp_path / "a.png")
    Image.fromarray(noise).save(path)
    keys = f",resize={resize}" + (f",crop={crop}" if crop else "")
    found, error = hone_pixels(path, tmp_path, keys)
    want = pillow_pixels(Image.fromarray(noise), resize, crop)
    assert found is not None, error
    far = np.abs(found.reshape(want.shape).astype(int) - want)
    assert far.max() <= 1


@pytest.mark.skipif(not os.path.isdir(PICTURES), reason=f"there is no {PICTURES}")
def test_pictures(tmp_path):
    for path in sorted(glob.glob(os.path.join(PICTURES, "*.jpg")))[:20]:
        found, error = hone_pixels(path, tmp_path, ",resize=232,crop=224")
        want = pillow_pixels(Image.open(path), 232, 224)
        assert found is not None, error
        assert np.abs(found.reshape(want.shape).astype(int) - want).max() <= 1
