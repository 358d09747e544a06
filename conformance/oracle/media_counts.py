"""Token counts of images and videos, as transformers has them.

    pip install transformers==5.23.0 numpy
    python media_counts.py > ../golden/media_counts.jsonl

The functions that size images are taken out of transformers' sources and run on their own, so that neither torch nor
torchvision is needed. Where they divide tensors of integers, numpy's float32 stands in for torch's.
"""

import argparse
import ast
import importlib.metadata
import importlib.util
import itertools
import json
import math
import pathlib
import random
from collections import defaultdict
from functools import lru_cache
from types import SimpleNamespace

import numpy as np

MODELS = pathlib.Path(importlib.util.find_spec("transformers").origin).parent / "models"


class Scales(np.ndarray):
    """Integers that divide to float32, as tensors do."""

    def __truediv__(self, other):
        return np.asarray(self).astype(np.float32) / np.float32(other)


TORCH = SimpleNamespace(
    Tensor=np.ndarray,
    where=np.where,
    max=np.max,
    min=np.min,
    argmin=np.argmin,
)


def functions(path, *names, **more):
    """The functions (or methods) of these names in a source file."""
    scope = {
        "math": math, "itertools": itertools, "np": np, "torch": TORCH, "defaultdict": defaultdict,
        "lru_cache": lru_cache, "SizeDict": SimpleNamespace, "VideoMetadata": SimpleNamespace, **more,
    }
    tree = ast.parse((MODELS / path).read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name in names:
            node.returns = None
            node.decorator_list = []
            for argument in [*node.args.args, *node.args.kwonlyargs]:
                argument.annotation = None
            exec(compile(ast.Module([node], []), path, "exec"), scope)
    return SimpleNamespace(**{name: scope[name] for name in names})


QWEN2 = functions("qwen2_vl/image_processing_qwen2_vl.py", "smart_resize")
QWEN3 = functions("qwen3_vl/video_processing_qwen3_vl.py", "smart_resize")
QWEN3_TIMES = functions("qwen3_vl/processing_qwen3_vl.py", "_calculate_timestamps")
GLM4V = functions("glm4v/image_processing_glm4v.py", "smart_resize")
GLM4V_FRAME = functions("glm4v/processing_glm4v.py", "replace_frame_token_id")
GLM46V_FRAME = functions("glm46v/processing_glm46v.py", "replace_frame_token_id")
GEMMA3 = functions("gemma3/image_processing_gemma3.py", "pan_and_scan_batched")
GOT = functions("got_ocr2/image_processing_got_ocr2.py", "get_all_supported_aspect_ratios")
GOT = functions("got_ocr2/image_processing_got_ocr2.py", "get_optimal_tiled_canvas",
                get_all_supported_aspect_ratios=GOT.get_all_supported_aspect_ratios)
LLAMA4 = functions("llama4/image_processing_llama4.py", "get_factors")
LLAMA4 = functions("llama4/image_processing_llama4.py", "find_supported_resolutions", "get_best_fit",
                   get_factors=LLAMA4.get_factors)
LLAMA4_CANVASES = np.array(
    LLAMA4.find_supported_resolutions(16, SimpleNamespace(height=336, width=336))
).view(Scales)


def grid(size, patch, merge):
    return size[0] // patch * (size[1] // patch) // merge**2


def qwen2_image(w, h):
    return grid(QWEN2.smart_resize(h, w, 28, 56 * 56, 28 * 28 * 1280), 14, 2)


def qwen3_image(w, h):
    return grid(QWEN2.smart_resize(h, w, 32, 65536, 16777216), 16, 2)


def glm4v_image(w, h):
    return grid(GLM4V.smart_resize(2, h, w, 2, 28, 112 * 112, 28 * 28 * 15000), 14, 2)


class Shape:
    def __init__(self, *shape):
        self.shape = shape

    def __getitem__(self, _):
        return self


def gemma3_crops(w, h):
    return 256 * (1 + len(GEMMA3.pan_and_scan_batched(None, Shape(3, h, w), 256, 4, 1.2)))


def internvl_image(w, h):
    columns, rows = GOT.get_optimal_tiled_canvas((h, w), (448, 448), 1, 12)
    return 256 * (1 + columns * rows if columns * rows > 1 else 1)


def llama4_tiles(w, h):
    return [int(side) // 336 for side in LLAMA4.get_best_fit((h, w), LLAMA4_CANVASES)]


def llama4_image(w, h):
    tiles = math.prod(llama4_tiles(w, h))
    return 144 * (tiles + 1 if tiles > 1 else 1)


def qwen2_video(w, h, frames, fps):
    size = QWEN2.smart_resize(h, w, 28, 128 * 28 * 28, 28 * 28 * 768)
    return -(-len(frames) // 2) * grid(size, 14, 2), None


def qwen3_video(w, h, frames, fps):
    size = QWEN3.smart_resize(len(frames), h, w, 2, 32, 128 * 32 * 32, 32 * 32 * 768)
    tokens = grid(size, 16, 2)
    times = QWEN3_TIMES._calculate_timestamps(None, list(frames), fps, 2)
    return tokens * len(times), [f"<{time:.1f} seconds>" for time in times]


def glm_video(frame):
    def count(w, h, frames, fps):
        size = GLM4V.smart_resize(len(frames), h, w, 2, 28, 112 * 112, 28 * 28 * 2 * 30000)
        groups = -(-len(frames) // 2)
        times = [index / fps for index in frames][::2][:groups]
        marks = [frame(SimpleNamespace(image_token="*"), time, num_image_tokens=1).rpartition(">")[2] for time in times]
        return grid(size, 14, 2) * groups, marks
    return count


IMAGES = {
    "qwen2_vl": qwen2_image, "qwen3_vl": qwen3_image, "glm4v": glm4v_image, "gemma3": gemma3_crops,
    "llama4": llama4_image, "internvl": internvl_image,
}
VIDEOS = {
    "qwen2_vl": qwen2_video, "qwen3_vl": qwen3_video,
    "glm4v": glm_video(GLM4V_FRAME.replace_frame_token_id), "glm46v": glm_video(GLM46V_FRAME.replace_frame_token_id),
}
EDGES = [1, 2, 13, 14, 27, 28, 29, 42, 56, 70, 100, 224, 255, 256, 257, 335, 336, 337, 448, 449, 512, 672, 768, 896,
         1000, 1023, 1080, 1344, 1920, 2048, 4032, 5000, 10000]


def sizes(count, seed):
    rng = random.Random(seed)
    yield from [(1, 1), (1920, 1080), (1080, 1920), (4032, 3024), (640, 480), (10, 2001), (2000, 10), (2001, 10)]
    for _ in range(count):
        match rng.randrange(3):
            case 0:
                yield rng.choice(EDGES), rng.choice(EDGES)
            case 1:
                yield rng.randint(1, 1200), rng.randint(1, 1200)
            case 2:
                yield int(math.exp(rng.uniform(0, 9.5))), int(math.exp(rng.uniform(0, 9.5)))


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--count", type=int, default=120)
    arguments.add_argument("--seed", type=int, default=1)
    arguments = arguments.parse_args()
    version = importlib.metadata.version("transformers")
    print(json.dumps({"meta": {"transformers": version, "command": "python media_counts.py"}}))
    for family, count in IMAGES.items():
        for w, h in sizes(arguments.count, arguments.seed):
            case = {"family": family, "width": w, "height": h}
            try:
                case["tokens"] = int(count(w, h))
            except ValueError as error:
                case["error"] = str(error)
            if family == "llama4":
                case["tiles"] = llama4_tiles(w, h)
            print(json.dumps(case))
    for family, count in VIDEOS.items():
        rng = random.Random(arguments.seed)
        for w, h in sizes(arguments.count // 4, arguments.seed + 1):
            fps = rng.choice([24, 25, 30, 29.97, 23.976, 60, 1, 0.5])
            step = rng.randint(1, 60)
            frames = [index * step for index in range(rng.randint(1, 40))]
            case = {"family": family, "width": w, "height": h, "frames": frames, "fps": fps}
            try:
                case["tokens"], times = count(w, h, frames, fps)
                if times is not None:
                    case["times"] = times
            except ValueError as error:
                case["error"] = str(error)
            print(json.dumps(case))


main()
