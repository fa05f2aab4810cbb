"""Generators and their judges, models that take noise away and their samplers: seen in small trainings."""

from __future__ import annotations

from pathlib import Path

import pytest
from live_scripts import facts_of, run

GAN = """
generator = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 16))
judge = nn.Sequential(nn.Linear(16, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
fast, slow = torch.optim.Adam(judge.parameters(), lr={rate}), torch.optim.Adam(generator.parameters(), lr={slow})
criterion, ones, zeros = nn.BCEWithLogitsLoss(), torch.ones(32, 1), torch.zeros(32, 1)
for _ in range({updates}):
    real = torch.randn(32, 16) + 2
    fake = generator({noise})
    fast.zero_grad()
    criterion(judge(real), ones).backward()
    criterion(judge(fake.detach()), zeros).backward()
    fast.step()
    slow.zero_grad()
    criterion(judge(fake), ones).backward()
    slow.step()
"""


def gan(
    folder: Path, rate: str = "1e-4", slow: str = "1e-4", noise: str = "torch.randn(32, 8)", updates: int = 200
) -> dict[str, object]:
    script = (
        GAN.replace("{rate}", rate).replace("{noise}", noise).replace("{slow}", slow).replace("{updates}", str(updates))
    )
    found = facts_of(script, folder)
    return {name: found[name]["present"] if name in found else None for name in ("discriminator-wins", "samples-alike")}


def test_a_judge_that_is_certain_of_all_is_seen(tmp_path: Path) -> None:
    # long enough that it is certain at each of the last looks, whichever steps they fall on
    assert gan(tmp_path, rate="2e-2", slow="1e-6", updates=800)["discriminator-wins"] is True


def test_a_judge_in_doubt_is_not(tmp_path: Path) -> None:
    assert gan(tmp_path)["discriminator-wins"] is False


def test_the_same_noise_for_every_sample_is_seen(tmp_path: Path) -> None:
    assert gan(tmp_path, noise="torch.zeros(32, 8)")["samples-alike"] is True


def test_nothing_is_said_of_a_few_updates(tmp_path: Path) -> None:
    assert gan(tmp_path, rate="2e-2", updates=20) == {"discriminator-wins": None, "samples-alike": None}


DENOISER = """
class Denoiser(nn.Module):
    def __init__(self):
        super().__init__()
        self.times, self.enter, self.leave = nn.Embedding(1000, 32), nn.Linear(16, 32), nn.Linear(32, 16)
    def forward(self, x, t):
        return self.leave(torch.relu(self.enter(x) + self.times(t)))

net = Denoiser()
optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
betas = torch.linspace(1e-4, {last}, 1000)
kept = torch.cumprod(1 - betas, 0)
basis = torch.randn(2, 16)
for _ in range(220):
    data = torch.tanh(torch.randn(64, 2) @ basis)
    t, noise = torch.randint(0, 1000, (64,)), torch.randn(64, 16)
    share = kept[t][:, None]
    guess, target = net(share.sqrt() * data + (1 - share).sqrt() * noise, t), {target}
    loss = {loss}
    optimizer.zero_grad(); loss.backward(); optimizer.step()
with torch.no_grad():
    x = torch.randn(32, 16)
    for i in reversed(range(0, 1000, 20)):
        out, now, before = net(x, torch.full((32,), i)), kept[i], kept[i - 20] if i else torch.tensor(1.0)
        clean = {clean}
        x = before.sqrt() * clean + (1 - before).sqrt() * ((x - now.sqrt() * clean) / (1 - now).sqrt())
"""
NOISE, DATA = "(x - (1 - now).sqrt() * out) / now.sqrt()", "out"
SYMPTOMS = ("noise-schedule-off", "target-not-in-input", "sampler-reads-otherwise")


def denoiser(
    folder: Path, target: str = "noise", last: str = "0.02", clean: str = NOISE, loss: str = "F.mse_loss(guess, target)"
) -> set[str]:
    parts = {"target": target, "last": last, "clean": clean, "loss": loss}
    script = DENOISER
    for name, code in parts.items():
        script = script.replace(f"{{{name}}}", code)
    found = facts_of(script, folder)
    return {name for name in SYMPTOMS if name in found and found[name]["present"]}


@pytest.mark.parametrize("loss", ["F.mse_loss(guess, target)", "((guess - target) ** 2).mean()"])
def test_a_sound_denoiser_is_sound(loss: str, tmp_path: Path) -> None:
    assert denoiser(tmp_path, loss=loss) == set()


def test_a_denoiser_within_a_model_that_adds_the_noise(tmp_path: Path) -> None:
    script = (
        DENOISER.split("net = Denoiser()")[0]
        + """
class Diffusion(nn.Module):
    def __init__(self):
        super().__init__()
        self.net, kept = Denoiser(), torch.cumprod(1 - torch.linspace(1e-4, 0.002, 1000), 0)
        self.register_buffer("kept", kept)
    def forward(self, data, noise):
        t = torch.randint(0, 1000, (len(data),))
        share = self.kept[t][:, None]
        return self.net(share.sqrt() * data + (1 - share).sqrt() * noise, t)

model, basis = Diffusion(), torch.randn(2, 16)
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for _ in range(220):
    noise = torch.randn(64, 16)
    loss = F.mse_loss(model(torch.tanh(torch.randn(64, 2) @ basis), noise), noise)
    optimizer.zero_grad(); loss.backward(); optimizer.step()
"""
    )
    # what the first looks show: later ones may see whole models only
    assert facts_of(script, tmp_path)["noise-schedule-off"]["present"]


def test_a_denoiser_of_data_with_its_sampler_is_sound(tmp_path: Path) -> None:
    assert denoiser(tmp_path, target="data", clean=DATA) == set()


def test_a_schedule_that_does_not_end_in_noise(tmp_path: Path) -> None:
    assert denoiser(tmp_path, last="0.002") == {"noise-schedule-off"}


def test_noise_that_was_drawn_again(tmp_path: Path) -> None:
    assert "target-not-in-input" in denoiser(tmp_path, target="torch.randn(64, 16)")


@pytest.mark.parametrize(("target", "clean"), [("noise", DATA), ("data", NOISE)], ids=["as data", "as noise"])
def test_a_sampler_that_reads_the_output_otherwise(target: str, clean: str, tmp_path: Path) -> None:
    assert denoiser(tmp_path, target=target, clean=clean) == {"sampler-reads-otherwise"}


def test_trainings_are_the_same_with_and_without_a_recording(tmp_path: Path) -> None:
    script = (
        GAN.replace("{slow}", "1e-4")
        .replace("{rate}", "1e-3")
        .replace("{noise}", "torch.randn(32, 8)")
        .replace("{updates}", "40")
    )
    script += "print(sum(p.double().sum().item() for net in (generator, judge) for p in net.parameters()))\n"
    assert run(script, None) == run(script, tmp_path / "run.traindx", budget=0.5)
