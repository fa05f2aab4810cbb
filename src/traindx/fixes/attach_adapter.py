"""An adapter that is there and learns."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="attach-adapter",
    title="Attach the adapter to the model that trains, and check what learns",
    code="""
model = PeftModel.from_pretrained(base, "adapter", is_trainable=True)  # to go on training it
# or a new one: get_peft_model(base, LoraConfig(r=16, lora_alpha=32, target_modules="all-linear"))
model.print_trainable_parameters()
assert any("lora" in name and p.requires_grad for name, p in model.named_parameters())
optimizer = torch.optim.{optimizer}([p for p in model.parameters() if p.requires_grad], lr={lr})
""",
    safety="safe",
    why_safe="Nothing was learnt by the adapter yet, so nothing can be lost.",
    clears=("adapter-inactive",),
    doc="""\
Adapters that are loaded are frozen unless `is_trainable=True`. Merge (`merge_adapter`, `merge_and_unload`) after
training, never before. `target_modules="all-linear"` needs no names; a regular expression is matched against the
whole name, and a list against its end. Build the optimiser after the adapter is attached.
""",
    defaults={"optimizer": "AdamW", "lr": "2e-4"},
)
