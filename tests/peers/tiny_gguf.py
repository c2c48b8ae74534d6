"""Write a random llama model of half a megabyte.

    python tiny_gguf.py FILE

It has 256 byte tokens and three of ChatML, two layers of 64 numbers, and no
sense at all; but a real llama.cpp server loads and serves it. Run with gguf
and numpy on PYTHONPATH (install.sh).
"""

import sys

import gguf
import numpy

WIDTH, LAYERS, HEADS, INNER = 64, 2, 4, 128

TEMPLATE = (
    "{%- for m in messages %}"
    "<|im_start|>{{ m.role }}\n{{ m.content or '' }}<|im_end|>\n"
    "{%- endfor %}"
    "{%- if add_generation_prompt %}<|im_start|>assistant\n{% endif %}")


def byte_tokens():
    """GPT-2's printable stand-ins for the 256 bytes, in byte order."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    spare = iter(range(256, 512))
    return [chr(b) if b in plain else chr(next(spare)) for b in range(256)]


def write(path):
    out = gguf.GGUFWriter(path, "llama")
    tokens = byte_tokens()
    merges = [("t", "h"), ("i", "n"), ("a", "n")]
    tokens += [a + b for a, b in merges]
    first = len(tokens)
    tokens += ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    out.add_context_length(4096)
    out.add_embedding_length(WIDTH)
    out.add_block_count(LAYERS)
    out.add_feed_forward_length(INNER)
    out.add_head_count(HEADS)
    out.add_head_count_kv(HEADS)
    out.add_layer_norm_rms_eps(1e-5)
    out.add_rope_dimension_count(WIDTH // HEADS)
    out.add_vocab_size(len(tokens))
    out.add_file_type(0)
    out.add_tokenizer_model("gpt2")
    out.add_tokenizer_pre("gpt-2")
    out.add_token_list([t.encode() for t in tokens])
    out.add_token_merges([f"{a} {b}" for a, b in merges])
    normal, control = 1, 3
    out.add_token_types([normal] * first + [control] * 3)
    out.add_bos_token_id(first)
    out.add_eos_token_id(first + 2)
    out.add_chat_template(TEMPLATE)
    random = numpy.random.default_rng(7)

    def tensor(name, *shape):
        values = random.standard_normal(shape) * 0.05
        out.add_tensor(name, values.astype(numpy.float32))

    def ones(name):
        out.add_tensor(name, numpy.ones(WIDTH, numpy.float32))

    tensor("token_embd.weight", len(tokens), WIDTH)
    tensor("output.weight", len(tokens), WIDTH)
    ones("output_norm.weight")
    for layer in range(LAYERS):
        block = f"blk.{layer}."
        ones(block + "attn_norm.weight")
        ones(block + "ffn_norm.weight")
        for part in ("attn_q", "attn_k", "attn_v", "attn_output"):
            tensor(f"{block}{part}.weight", WIDTH, WIDTH)
        tensor(block + "ffn_gate.weight", INNER, WIDTH)
        tensor(block + "ffn_up.weight", INNER, WIDTH)
        tensor(block + "ffn_down.weight", WIDTH, INNER)
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.write_tensors_to_file()
    out.close()


if __name__ == "__main__":
    write(sys.argv[1])
