"""An adapter and the base it was trained on."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="match-adapter-to-base",
    title="Export against the base the adapter was trained on",
    code="""
# traindx checkpoint adapter/ --against base/ --merged merged/   names what does not match
model = PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32), "adapter")
merged = model.merge_and_unload()          # in single precision, not into quantised weights
merged.save_pretrained("merged")
""",
    safety="safe",
    why_safe="Writes a new export; adapter and base stay as they are.",
    clears=(
        "adapter-export-differs",
        "adapter-at-zero",
    ),
    doc="""\
Load the base that `adapter_config.json` names, in its revision. Save the adapter from the object that PEFT gave, not
from the state dict of a wrapper, so that names keep their prefix. Merge once, in single precision, and convert
afterwards. Compare the logits of base + adapter and of the export on a few prompts before anything is served.
""",
)
