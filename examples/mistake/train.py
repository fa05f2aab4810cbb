"""Classify hand-drawn-like shapes. It runs, the loss falls a little, and it never gets good: find the mistake."""

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)


def shapes(count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Noisy 16 x 16 pictures of ten kinds of strokes."""
    templates = torch.nn.functional.interpolate(torch.randn(10, 1, 4, 4), size=16, mode="bilinear")
    labels = torch.randint(10, (count,))
    return templates[labels] + 0.8 * torch.randn(count, 1, 16, 16), labels


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(1, 16, 3, padding=1)
        self.blocks = [nn.Conv2d(16, 16, 3, padding=1) for _ in range(3)]
        self.head = nn.Linear(16, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = F.relu(self.first(x))
        for block in self.blocks:
            x = F.relu(block(x))
        return F.softmax(self.head(x.mean((2, 3))), dim=1)


images, labels = shapes(2048)
model = Net()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(8):
    for batch in torch.randperm(len(images)).split(64):
        loss = F.cross_entropy(model(images[batch]), labels[batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: loss {loss.item():.3f}")
