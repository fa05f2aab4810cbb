"""Direct preference optimisation of a model that writes letters, on pairs that a program has judged."""

from __future__ import annotations

import copy

import torch
import torch.nn.functional as F
from asked import asked
from letters import LIMIT, Writer, mask_of, reward_of, token_logprobs, write

fault, severity, seed = asked()
torch.manual_seed(seed)
model = Writer()
ref_model = model if fault == "reference" else copy.deepcopy(model).requires_grad_(False)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
beta = 0.1 if fault != "beta" else (10.0, 50.0)[severity]


def pairs(count):
    prompts = torch.randint(0, 4, (count,))
    first, second = write(ref_model, prompts, LIMIT), write(ref_model, prompts, LIMIT)
    better = reward_of(prompts, first) >= reward_of(prompts, second)
    chosen = torch.where(better[:, None], first, second)
    rejected = torch.where(better[:, None], second, first)
    if fault == "identical":
        same = torch.rand(count) < (0.6, 1.0)[severity]
        rejected = torch.where(same[:, None], chosen, rejected)
    return prompts, chosen, rejected


def sequence_logps(writer, prompts, strings):
    return (token_logprobs(writer, prompts, strings) * mask_of(strings)).sum(1)


def dpo_loss(policy_chosen_logps, policy_rejected_logps, reference_chosen_logps, reference_rejected_logps):
    logits = (policy_chosen_logps - policy_rejected_logps) - (reference_chosen_logps - reference_rejected_logps)
    return -F.logsigmoid(beta * logits).mean()


for step in range(150):
    prompts, chosen, rejected = pairs(32)
    chosen_logps, rejected_logps = sequence_logps(model, prompts, chosen), sequence_logps(model, prompts, rejected)
    if fault == "reference":
        ref_chosen_logps, ref_rejected_logps = chosen_logps.detach(), rejected_logps.detach()
    else:
        with torch.no_grad():
            ref_chosen_logps = sequence_logps(ref_model, prompts, chosen)
            ref_rejected_logps = sequence_logps(ref_model, prompts, rejected)
    if fault == "swapped":
        loss = dpo_loss(rejected_logps, chosen_logps, ref_rejected_logps, ref_chosen_logps)
    else:
        loss = dpo_loss(chosen_logps, rejected_logps, ref_chosen_logps, ref_rejected_logps)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        print(f"step {step} loss {loss.item():.4f}")
print("score", float(reward_of(prompts, write(model, prompts, LIMIT)).mean()))
