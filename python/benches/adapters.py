"""Times the adapter for Kimi K3 on vLLM beside the one in Dynamo's vLLM worker, which splices lists with C loops.

    pip install ./python
    pip download --no-deps ai-dynamo==1.6.1
    python python/benches/adapters.py ai_dynamo-1.6.1-py3-none-any.whl

Dynamo's two methods are taken out of its file and run as they are: to import the file takes vLLM and a GPU's libraries.
Each result is first compared with Dynamo's. Times are the least of many runs, in microseconds.
"""

from __future__ import annotations

import array
import ast
import sys
import timeit
import types
import zipfile
from typing import Any

import typecase

PAD = 163605
PLACEHOLDER = [27, 91, 32474, 4915, 62, 33, 20]
CONFIG = types.SimpleNamespace(
    model_type="kimi_k3", media_placeholder_token_id=PAD, image_placeholder="<|kimi_image_placeholder|>"
)
FILE = "dynamo/vllm/multimodal_utils/request_processor.py"
METHODS = ("_kimi_k3_pad_expansion", "_expand_kimi_k3_pads")


class Tokenizer:
    def encode(self, text: str, *, add_special_tokens: bool) -> list[int]:
        return PLACEHOLDER


def dynamo(wheel: str) -> Any:
    """Dynamo's adapter: of its class only the methods that make one."""
    with zipfile.ZipFile(wheel) as files:
        tree = ast.parse(files.read(FILE))
    kept: list[ast.stmt] = ast.parse("from __future__ import annotations").body
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == "_normalize_forwarded_mm_modality":
            kept.append(node)
        if isinstance(node, ast.ClassDef) and any(getattr(item, "name", None) in METHODS for item in node.body):
            node.body = [item for item in node.body if getattr(item, "name", None) in METHODS]
            node.bases, name = [], node.name
            kept.append(node)
    names: dict[str, Any] = {}
    exec(compile(ast.Module(kept, []), FILE, "exec"), names)
    adapter = names[name]()
    model_config = types.SimpleNamespace(hf_config=CONFIG)
    adapter.engine_client = types.SimpleNamespace(
        vllm_config=types.SimpleNamespace(model_config=model_config), get_tokenizer=Tokenizer
    )
    adapter.use_unified_vision_chunk = False
    adapter._k3_expansion, adapter._k3_expansion_cached = None, False
    return adapter._expand_kimi_k3_pads


def microseconds(call: Any) -> float:
    timer = timeit.Timer(call)
    number, took = timer.autorange()
    rounds = max(5, round(0.3 / max(took, 1e-3)))
    return min(timer.repeat(rounds, number)) / number * 1e6


def main() -> None:
    peer = dynamo(sys.argv[1])
    ours = typecase.vllm.Adapter(lambda: CONFIG, Tokenizer()).prompt_ids
    print(f"{'ids':>9} {'images':>6} {'given as':<22} {'dynamo':>10} {'typecase':>10} {'ratio':>7}")
    for length in (100_000, 1_000_000):
        for images in (0, 1, 8):
            ids = [1_000 + n % 100_000 for n in range(length)]
            for n in range(images):
                ids[(n + 1) * length // (images + 1)] = PAD
            media = {"image": ["..."] * images} if images else None
            buffer = array.array("I", ids)
            shared = typecase.Tokens(memoryview(buffer.tobytes()).cast("I"))
            for name, given, theirs in (
                ("list", ids, ids),
                ("array, 32-bit", buffer, buffer),
                ("typecase.Tokens.ids", shared.ids, buffer),
                ("array, 64-bit", array.array("q", ids), array.array("q", ids)),
            ):
                assert list(ours(given, media)) == list(peer(theirs, media))
                assert images or ours(given, media) is given
                peer_us, our_us = microseconds(lambda: peer(theirs, media)), microseconds(lambda: ours(given, media))
                print(f"{length:>9} {images:>6} {name:<22} {peer_us:>10.2f} {our_us:>10.2f} {peer_us / our_us:>6.1f}x")


if __name__ == "__main__":
    main()
