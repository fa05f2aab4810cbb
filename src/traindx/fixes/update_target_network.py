"""Let the target network follow slowly."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="update-target-network",
    title="Let the target network follow slowly",
    code="""
with torch.no_grad():
    for target, online in zip(target_net.parameters(), q_net.parameters()):
        target.lerp_(online, 0.005)  # after every update; or load_state_dict every 500 updates
""",
    safety="safe",
    why_safe="The online network and its optimizer stay as they are; only targets come from newer weights.",
    clears=("target-network-still", "values-beyond-returns"),
    doc="""\
Make the target with `copy.deepcopy(q_net)`, never by assignment. Copy from the online network to the target, after
the update. A hard copy every few hundred updates or a moving average of 0.001 to 0.01 both work; a copy at every
update is no target network.""",
)
