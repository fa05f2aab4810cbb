"""A language of letters for the smallest policies: a recurrent model writes strings, a program rewards them, and a true
score that the training never sees says whether they are really better."""

from __future__ import annotations

import torch
from torch import nn

VOCABULARY, END = 8, 0
LIMIT = 12
WANTED = (3, 5)  # letters that earn


class Writer(nn.Module):
    """Gives the scores of the next letter at every place of a string; place 0 follows the prompt."""

    def __init__(self, hidden: int = 32) -> None:
        super().__init__()
        self.letters = nn.Embedding(VOCABULARY + 4, hidden)
        self.memory = nn.GRU(hidden, hidden, batch_first=True)
        self.head = nn.Linear(hidden, VOCABULARY)

    def forward(self, prompts: torch.Tensor, strings: torch.Tensor) -> torch.Tensor:
        before = torch.cat([prompts[:, None] + VOCABULARY, strings[:, :-1]], 1)
        states, _ = self.memory(self.letters(before))
        return self.head(states)


@torch.no_grad()
def write(writer: Writer, prompts: torch.Tensor, limit: int, temperature: float = 1.0) -> torch.Tensor:
    """Strings that end with END or at the limit; what follows END is END."""
    strings = torch.zeros(len(prompts), limit, dtype=torch.long)
    ended = torch.zeros(len(prompts), dtype=torch.bool)
    for place in range(limit):
        scores = writer(prompts, strings)[:, place] / temperature
        letter = torch.distributions.Categorical(logits=scores).sample()
        strings[:, place] = torch.where(ended, END, letter)
        ended |= letter == END
    return strings


def mask_of(strings: torch.Tensor) -> torch.Tensor:
    """1 up to the first END, and for it."""
    ends = (strings == END).long().cumsum(1)
    return ((ends == 0) | ((ends == 1) & (strings == END))).float()


def reward_of(prompts: torch.Tensor, strings: torch.Tensor) -> torch.Tensor:
    """The share of letters that the prompt wants, for strings that end by themselves; a little for others."""
    wanted = torch.tensor(WANTED)[prompts % 2][:, None]
    mask = mask_of(strings) * (strings != END)
    share = ((strings == wanted).float() * mask).sum(1) / mask.sum(1).clamp(min=1)
    return share * torch.where((strings == END).any(1), 1.0, 0.5)


def token_logprobs(writer: Writer, prompts: torch.Tensor, strings: torch.Tensor) -> torch.Tensor:
    return writer(prompts, strings).log_softmax(-1).gather(-1, strings[..., None]).squeeze(-1)
