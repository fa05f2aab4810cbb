"""Let answers end."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="raise-max-length",
    title="Let answers reach their end",
    code="""
max_completion_length = {max_length}         # the limit was reached by most answers; try twice as much
assert tokenizer.eos_token_id in generation_config_eos_ids   # the token that ends an answer must stop the sampler
mask_truncated_completions = True            # TRL: cut answers then give no gradient
""",
    safety="caution",
    why_safe="Longer answers cost memory and time in proportion.",
    clears=("length-at-limit",),
    doc="""\
First look at a few answers: text that goes on sensibly needs a higher limit, text that never ends needs its
end-of-sequence token (template, `eos_token_id`, a model that never learnt to stop). Leaving cut answers out of the loss
keeps their noise away but teaches nothing about stopping: combine it with a penalty that sets in softly before the
limit.
""",
    defaults={"max_length": "2 * max_completion_length"},
)
