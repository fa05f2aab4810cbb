"""New tokens, experts, logits, unequal means: what moves in a language model, seen in small trainings."""

from __future__ import annotations

from pathlib import Path

import pytest
from live_scripts import facts_of

TOKENS = """
import transformers, peft
config = transformers.LlamaConfig(vocab_size=24, hidden_size=32, intermediate_size=32, num_hidden_layers=1,
    num_attention_heads=2, num_key_value_heads=2, pad_token_id=0, eos_token_id=1, bos_token_id=None)
model = transformers.LlamaForCausalLM(config)
model.resize_token_embeddings(26)
model = peft.get_peft_model(model, peft.LoraConfig(r=4, target_modules=["q_proj", "v_proj"], {more}))
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-3)
for _ in range(12):
    ids = torch.randint(2, 26, (4, 12))
    model(input_ids=ids, labels=ids).loss.backward(); optimizer.step(); optimizer.zero_grad()
"""


@pytest.mark.parametrize(
    ("more", "present"), [("", True), ('modules_to_save=["embed_tokens", "lm_head"]', False)], ids=["LoRA", "saved too"]
)
def test_rows_of_new_tokens(more: str, present: bool, tmp_path: Path) -> None:
    found = facts_of(TOKENS.replace("{more}", more), tmp_path)["embedding-rows-untrained"]
    assert found["present"] is present


PADDED = """
import tiny_lm as lm
tok = lm.tokenizer(); old = len(tok); tok.add_special_tokens({added}); net = lm.llama(old); net.resize_token_embeddings(len(tok))
net.model.embed_tokens.weight.requires_grad_(False)
optimizer = torch.optim.AdamW([p for p in net.parameters() if p.requires_grad], lr=1e-3)
for _ in range(8):
    ids = torch.randint(5, old, (4, 16)); ids[:, -4:] = old
    net(input_ids=ids, labels=ids).loss.backward(); optimizer.step(); optimizer.zero_grad()
"""  # noqa: E501


@pytest.mark.parametrize(
    ("added", "present"),
    [("dict(pad_token='[PAD]')", False), ("dict(additional_special_tokens=['<new>'])", True)],
    ids=["padding", "a token of the text"],
)
def test_a_new_token_for_padding_has_nothing_to_learn(added: str, present: bool, tmp_path: Path) -> None:
    found = facts_of(PADDED.replace("{added}", added), tmp_path)["embedding-rows-untrained"]
    assert found["present"] is present


EXPERTS = """
class Mixture(nn.Module):
    def __init__(self, d=16, n=8):
        super().__init__()
        self.gate, self.top_k = nn.Linear(d, n), 2
        self.experts = nn.ModuleList(nn.Sequential(nn.Linear(d, d), nn.ReLU(), nn.Linear(d, d)) for _ in range(n))
        self.gate.bias.data[:2] = {bias}
    def forward(self, x):
        weight, index = self.gate(x).softmax(-1).topk(self.top_k, -1)
        return x + sum((weight * (index == e)).sum(-1, keepdim=True) * f(x) for e, f in enumerate(self.experts))

net = nn.Sequential(nn.Embedding(20, 16), Mixture(), nn.Linear(16, 20))
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
for _ in range(300):  # where close looks have become rare, some are still among the later ones
    ids = torch.randint(0, 20, (16, 4))
    loss = F.cross_entropy(net(ids).flatten(0, 1), ((ids + 3) % 20).flatten())
    optimizer.zero_grad(); loss.backward(); optimizer.step()
"""


@pytest.mark.parametrize(("bias", "present"), [("9.0", True), ("0.0", False)], ids=["collapsed", "even"])
def test_the_load_of_experts(bias: str, present: bool, tmp_path: Path) -> None:
    assert facts_of(EXPERTS.replace("{bias}", bias), tmp_path)["experts-idle"]["present"] is present


def test_experts_are_looked_at_later_where_close_looks_are_rare(tmp_path: Path) -> None:
    found = facts_of(EXPERTS.replace("{bias}", "9.0"), tmp_path, 1e-9)["experts-idle"]
    assert found["present"]
    assert found["step"] > 60


TIED = """
import tiny_lm as lm
net = lm.gpt2(50)
{change}
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-2)
for _ in range(8):
    ids = torch.randint(0, 50, (4, 16))
    loss = net(input_ids=ids, labels=ids).loss
    optimizer.zero_grad(); loss.backward(); optimizer.step()
"""


@pytest.mark.parametrize(
    ("change", "apart"),
    [
        ("pass", False),
        ("net.lm_head.weight = nn.Parameter(net.lm_head.weight.detach().clone())", True),
        ("net.config.tie_word_embeddings = False; net.lm_head = nn.Linear(32, 50, bias=False)", None),
    ],
    ids=["one matrix", "a copy", "not meant to be tied"],
)
def test_weights_that_the_config_ties(change: str, apart: bool | None, tmp_path: Path) -> None:
    found = facts_of(TIED.replace("{change}", change), tmp_path).get("tied-weights-apart")
    assert (None if found is None else found["present"]) == apart


MEANS = """
net = nn.Sequential(nn.Embedding(20, 16), nn.ReLU(), nn.Linear(16, 20))
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
for _ in range(6):
    parts = [(torch.randint(0, 5, (1, n)), torch.full((1, n), c)) for n, c in ((4, 0), (60, 7), (60, 9))]
    total = sum(ids.numel() for ids, _ in parts)
    optimizer.zero_grad()
    for ids, labels in parts:
        scores = net(ids).flatten(0, 1) + 3 * F.one_hot(torch.tensor(0), 20)
        {loss}.backward()
    optimizer.step()
"""
WEIGHTED = 'F.cross_entropy(scores, labels.flatten(), reduction="sum") / total'


@pytest.mark.parametrize(
    ("loss", "present"),
    [("(F.cross_entropy(scores, labels.flatten()) / 3)", True), (f"({WEIGHTED})", False)],
    ids=["mean of means", "by tokens"],
)
def test_means_over_different_numbers_of_tokens(loss: str, present: bool, tmp_path: Path) -> None:
    assert facts_of(MEANS.replace("{loss}", loss), tmp_path)["token-weights-unequal"]["present"] is present


LOGITS = """
q, k = nn.Linear(8, 8), nn.Linear(8, 8)
net = nn.ModuleList([q, k, nn.Linear(8, 4)])
optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
for step in range(30):
    x = torch.randn(2, 1, 6, 8)
    mixed = F.scaled_dot_product_attention(q(x) * {factor}, k(x), x)
    loss = F.cross_entropy(net[2](mixed).reshape(-1, 4), torch.randint(0, 4, (12,)))
    optimizer.zero_grad(); loss.backward(); optimizer.step()
"""


@pytest.mark.parametrize(("factor", "present"), [("(1 + step ** 2)", True), ("1", False)], ids=["grow", "stay"])
def test_scores_of_attention(factor: str, present: bool, tmp_path: Path) -> None:
    assert facts_of(LOGITS.replace("{factor}", factor), tmp_path, 100.0)["logits-growing"]["present"] is present


CHECKPOINTED = """
import tiny_lm as lm
from peft import LoraConfig, get_peft_model
net = lm.llama(400)
net.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": True})
net = get_peft_model(net, LoraConfig(r=4, target_modules=["q_proj", "v_proj"])); net.train()
optimizer = torch.optim.AdamW([p for p in net.parameters() if p.requires_grad], lr=1e-3)
for _ in range(6):
    ids = torch.randint(0, 400, (4, 16))
    loss = net(input_ids=ids, labels=ids, use_cache=False).loss
    optimizer.zero_grad(); loss.backward(); optimizer.step()
"""


def test_blocks_that_are_run_again_and_adapters_are_no_models_of_their_own(tmp_path: Path) -> None:
    config = facts_of(CHECKPOINTED, tmp_path)["config"]
    assert config["model_parameters"] > 30_000
    assert config["model_narrowest"] >= 32
