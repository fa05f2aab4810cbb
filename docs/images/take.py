"""Takes the pictures of the documentation anew: trains a network that has a fault under `traindx run`, opens the report
and the dashboard in Chromium and saves what they show.

    python docs/images/take.py [report|dashboard|batch]
"""

from __future__ import annotations

import math
import os
import random
import re
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from selenium import webdriver
from selenium.webdriver.chrome.service import Service

HERE = Path(__file__).parent
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(HERE.parents[1] / "src"), "OMP_NUM_THREADS": "1", "TRAINDX_CASES": "off"}
TRAINING = """
import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self, depth=10, width=640):
        super().__init__()
        self.stem = nn.Linear(20, width)
        self.blocks = nn.ModuleList(nn.Linear(width, width) for _ in range(depth))
        self.head = nn.Linear(width, 4)

    def forward(self, x):
        x = torch.sigmoid(self.stem(x))
        for block in self.blocks:
            x = torch.sigmoid(block(x))
        return self.head(x)


data = torch.randn(8192, 20)
labels = (data @ torch.randn(20, 4)).argmax(1)
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for epoch in range(16):
    model.train()
    for batch in torch.randperm(6144).split(128):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(data[batch]), labels[batch])
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        F.cross_entropy(model(data[6144:]), labels[6144:])
"""


def browser(width: int, height: int) -> Any:
    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    for argument in (
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--hide-scrollbars",
        "--force-color-profile=srgb",
    ):
        options.add_argument(argument)
    opened = webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    opened.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    return opened


def page(scratch: Path, name: str, budget: str) -> str:
    """The address of the report of the training, recorded at this budget."""
    recording, output = f"{name}.traindx", f"{name}.html"
    run = ["run", "--quiet", "--budget", budget, "--to", recording, "train.py"]
    subprocess.run([sys.executable, "-m", "traindx", *run], cwd=scratch, env=ENVIRONMENT, check=True)
    diagnose = ["diagnose", recording, "-o", output]
    done = subprocess.run([sys.executable, "-m", "traindx", *diagnose], cwd=scratch, env=ENVIRONMENT, check=False)
    assert done.returncode <= 1, "there is no report to take a picture of"
    return (scratch / output).as_uri()


def report(scratch: Path) -> None:
    (scratch / "train.py").write_text(TRAINING)
    opened = browser(1180, 980)
    opened.get(page(scratch, "train", "1%"))
    time.sleep(1)
    opened.save_screenshot(str(HERE / "report.png"))
    opened.get(page(scratch, "close", "30%"))  # more columns than a budget of one percent gives so short a training
    size = {"width": 1180, "height": 780, "deviceScaleFactor": 1, "mobile": False}
    opened.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    opened.execute_script(
        "document.documentElement.style.scrollBehavior = 'auto'; document.getElementById('run-layers').scrollIntoView()"
    )
    time.sleep(1)
    opened.save_screenshot(str(HERE / "report-layers.png"))
    opened.quit()


def log(path: Path, value: Any, steps: int = 400) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as file:
        file.write("step,train_loss,lr\n")
        file.writelines(f"{step},{value(step)},{3e-4}\n" for step in range(steps))


def dashboard(scratch: Path) -> None:
    rng = random.Random(0)

    def falling(step: int) -> float:
        return 2.1 * math.exp(-step / 90) + 0.35 + 0.03 * rng.random()

    runs = scratch / "runs"
    log(runs / "resnet-lr1e-3" / "metrics.csv", falling)
    log(runs / "resnet-lr3e-3" / "metrics.csv", lambda step: falling(step) * 1.05)
    log(runs / "resnet-lr1e-1" / "metrics.csv", lambda step: falling(step) + max(0, step - 220) * 0.2)
    log(runs / "resnet-fp16" / "metrics.csv", lambda step: falling(step) if step < 260 else math.nan)
    log(runs / "vit-spikes" / "metrics.csv", lambda step: falling(step) + (9 if step in (180, 181, 290, 352) else 0))
    log(runs / "vit-short" / "metrics.csv", falling, steps=4)
    sys.path.insert(0, ENVIRONMENT["PYTHONPATH"])
    from traindx.executors import executor_for
    from traindx.server.shelf import Shelf
    from traindx.server.web import address_of, open_server

    for number, path in enumerate(sorted(runs.glob("*/*.csv"))):
        os.utime(path, (time.time() - 600 * number - 90,) * 2)
    log(runs / "resnet-lr1e-1" / "metrics.csv", lambda step: falling(step) + max(0, step - 220) * 0.2)
    shelf = Shelf(runs, executor_for("local", workers=1))
    shelf.look_again()
    server = open_server(runs, "127.0.0.1", 0, shelf=shelf)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    opened = browser(1180, 640)
    opened.get(address_of(server))
    time.sleep(1)
    opened.execute_script(
        "document.querySelector('.name .mono').textContent = 'runs'"
    )  # instead of a scratch directory's path
    opened.save_screenshot(str(HERE / "dashboard.png"))
    opened.quit()
    server.shutdown()


def batch(scratch: Path) -> None:
    """The panels of the two scripts of the tutorial on language models, before and after the repair."""
    tutorial = (HERE.parent / "tutorials" / "a-language-model.md").read_text("utf-8")
    for block in re.findall(r"^```python\n(.*?)^```$", tutorial, re.MULTILINE | re.DOTALL):
        (scratch / block.split("\n")[0].removeprefix("# ")).write_text(block)
    opened = browser(1180, 520)
    for name, picture in (("train", "batch-wrong"), ("fixed", "batch-right")):
        command = ["probe", "batch", f"{name}.py", "-o", f"{name}.html"]
        subprocess.run([sys.executable, "-m", "traindx", *command], cwd=scratch, env=ENVIRONMENT, check=False)
        opened.get((scratch / f"{name}.html").as_uri())
        scroll = "document.documentElement.style.scrollBehavior = 'auto'"
        opened.execute_script(f"{scroll}; document.getElementById('run-batch').scrollIntoView()")
        time.sleep(1)
        opened.save_screenshot(str(HERE / f"{picture}.png"))
    opened.quit()


if __name__ == "__main__":
    asked = sys.argv[1:] or ["report", "dashboard", "batch"]
    with tempfile.TemporaryDirectory() as place:
        for name in asked:
            {"report": report, "dashboard": dashboard, "batch": batch}[name](Path(place))
