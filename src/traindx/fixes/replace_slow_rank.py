"""Find the slow device and leave it out."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="replace-slow-rank",
    title="Exclude or repair the slow device",
    code="""
# nvidia-smi --query-gpu=index,temperature.gpu,clocks.sm,clocks_event_reasons.active,pcie.link.width.current
# --format=csv
import time
for index in range(torch.cuda.device_count()):   # the same small job on every device shows the slow one
    a = torch.randn(8192, 8192, device=f"cuda:{index}")
    for timed in (False, True):                # the first round only warms up
        start = time.perf_counter()
        for _ in range(50):
            b = a @ a
        torch.cuda.synchronize(index)
    print(index, f"{time.perf_counter() - start:.3f} s")
# then leave its host out (torchrun: fewer nodes, Slurm: --exclude=HOST) and resume from the last checkpoint
""",
    safety="caution",
    why_safe="Fewer devices mean a smaller total batch: adjust accumulation or the learning rate.",
    clears=("slow-step", "throughput-drop"),
    doc="""\
Compares clocks, temperature, throttle reasons, link width and raw speed of all devices, and takes the odd one out. A
device ten percent slower slows all by ten percent; the job may run faster without it. Throttling by heat or power
returns, so report the host instead of waiting. Keep the total batch constant through accumulation when the number of
ranks changes. If no device stands out, the work is unequal: balance it.
""",
)
