#!/usr/bin/env python3
"""Makes crates/typecase/models/kimi-k3-demo: a small model directory in the layout of Kimi K3.

The real vocabulary is not ours to ship, so this one is trained here: the 256 bytes, and byte pair merges learned from
`prose.txt` and `sources.txt` beside this file (sources.txt is a snapshot of this project's own code, so that the result
does not change with it). The 256 ids after the ranks are the window of special tokens, with the names that K3 gives them
at the same places.

    python scripts/demo_model/make.py [--check]

Needs the `regex` package. The same input gives the same bytes; `--check` compares instead of writing.
"""

import argparse
import base64
import collections
import heapq
import json
import pathlib
import sys

import regex

HERE = pathlib.Path(__file__).resolve().parent
MODEL = HERE.parent.parent / "crates/typecase/models/kimi-k3-demo"

RANKS = 2816  # 256 bytes and 2560 merges
WINDOW = 256

# The split pattern of Kimi's tokenizer. `V1` gives `&&` its meaning.
SPLIT = regex.compile(
    "|".join(
        [
            r"[\p{Han}]+",
            r"[^\r\n\p{L}\p{N}]?[[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]&&[^\p{Han}]]*[[\p{Ll}\p{Lm}\p{Lo}\p{M}]&&[^\p{Han}]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
            r"[^\r\n\p{L}\p{N}]?[[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]&&[^\p{Han}]]+[[\p{Ll}\p{Lm}\p{Lo}\p{M}]&&[^\p{Han}]]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
            r"\p{N}{1,3}",
            r" ?[^\s\p{L}\p{N}]+[\r\n]*",
            r"\s*[\r\n]+",
            r"\s+(?!\S)",
            r"\s+",
        ]
    ),
    regex.V1,
)

# Offset in the window: (spelling, flagged special). As in K3, the three tag tokens are not flagged.
NAMED = {
    0: ("[BOS]", True),
    1: ("[EOS]", True),
    2: ("<|end_of_msg|>", True),
    3: ("<|open|>", False),
    4: ("<|close|>", False),
    5: ("<|sep|>", False),
    6: ("[start_header_id]", True),
    7: ("[end_header_id]", True),
    9: ("[EOT]", True),
    18: ("<|media_begin|>", True),
    19: ("<|media_content|>", True),
    20: ("<|media_end|>", True),
    21: ("<|media_pad|>", True),
    65: ("<osagent_mode>", True),
    254: ("[UNK]", True),
    255: ("[PAD]", True),
}


def train(text):
    """Learns merges, most frequent pair first; of equally frequent ones the one that sorts first. Returns tokens by rank."""
    words = collections.Counter(match.group().encode() for match in SPLIT.finditer(text))
    # Printable bytes come first, as in the vocabularies of this family: a byte is not its own id.
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    order = printable + [b for b in range(256) if b not in printable]
    tokens = [bytes([b]) for b in order]
    pieces = [[bytes([b]) for b in word] for word in sorted(words)]
    counts = [words[word] for word in sorted(words)]

    pairs = collections.Counter()
    where = collections.defaultdict(set)
    for index, piece in enumerate(pieces):
        for pair in zip(piece, piece[1:]):
            pairs[pair] += counts[index]
            where[pair].add(index)
    heap = [(-count, pair) for pair, count in pairs.items()]
    heapq.heapify(heap)
    known = set(tokens)
    while len(tokens) < RANKS:
        count, pair = heapq.heappop(heap)
        if pairs[pair] != -count:
            if pairs[pair] > 0:
                heapq.heappush(heap, (-pairs[pair], pair))
            continue
        merged = pair[0] + pair[1]
        # Two ways to the same bytes give one token; both are merged, which is what tiktoken does with its rank.
        if merged not in known:
            known.add(merged)
            tokens.append(merged)
        for index in sorted(where.pop(pair)):
            piece, changed = pieces[index], []
            for old in zip(piece, piece[1:]):
                pairs[old] -= counts[index]
            i = 0
            while i < len(piece):
                if piece[i : i + 2] == list(pair):
                    changed.append(merged)
                    i += 2
                else:
                    changed.append(piece[i])
                    i += 1
            pieces[index] = changed
            for new in zip(changed, changed[1:]):
                pairs[new] += counts[index]
                where[new].add(index)
                heapq.heappush(heap, (-pairs[new], new))
        pairs.pop(pair, None)
    return tokens


def files():
    text = (HERE / "prose.txt").read_text() * 4 + (HERE / "sources.txt").read_text()
    tokens = train(text)
    window = {RANKS + offset: name for offset, name in NAMED.items()}
    spelled = {name: id for id, (name, _) in window.items()}
    added = {
        str(id): {
            "content": name,
            "lstrip": False,
            "normalized": False,
            "rstrip": False,
            "single_word": False,
            "special": special,
        }
        for id, (name, special) in window.items()
    }
    yield "tiktoken.model", "".join(f"{base64.b64encode(t).decode()} {rank}\n" for rank, t in enumerate(tokens))
    yield "tokenizer_config.json", dump(
        {
            "added_tokens_decoder": added,
            "additional_special_tokens": [name for name, special in window.values() if special and name[0] == "<"],
            "auto_map": {"AutoTokenizer": ["tokenization_kimi.TikTokenTokenizer", None]},
            "bos_token": "[BOS]",
            "clean_up_tokenization_spaces": False,
            "eos_token": "[EOS]",
            "model_max_length": 1048576,
            "pad_token": "[PAD]",
            "tokenizer_class": "TikTokenTokenizer",
            "unk_token": "[UNK]",
        }
    )
    yield "config.json", dump(
        {
            "architectures": ["KimiK3ForConditionalGeneration"],
            "model_type": "kimi_k3",
            "bos_token_id": spelled["[BOS]"],
            "eos_token_id": spelled["[EOS]"],
            "pad_token_id": spelled["[PAD]"],
            "media_placeholder_token_id": spelled["<|media_pad|>"],
            "image_placeholder": "<|kimi_image_placeholder|>",
            "vocab_size": RANKS + WINDOW,
        }
    )


    yield "generation_config.json", dump({"eos_token_id": [spelled["<|end_of_msg|>"], spelled["[EOS]"]]})


def dump(value):
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare with the files that are there")
    check = parser.parse_args().check
    stale = []
    for name, content in files():
        path = MODEL / name
        if check:
            if not path.exists() or path.read_bytes() != content.encode():
                stale.append(name)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode())
    if stale:
        sys.exit(f"differs from what this script makes: {', '.join(stale)}")


main()
