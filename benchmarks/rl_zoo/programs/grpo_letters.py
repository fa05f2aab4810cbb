"""Group-relative policy optimisation of a model that writes letters."""

from __future__ import annotations

import copy

import torch
from asked import asked
from letters import LIMIT, Writer, mask_of, reward_of, token_logprobs, write

fault, severity, seed = asked()
torch.manual_seed(seed)
policy = Writer()
ref_policy = copy.deepcopy(policy)
sampler = copy.deepcopy(policy)
optimizer = torch.optim.Adam(policy.parameters(), lr=3e-3)
num_generations, beta, clip_eps, epochs = 8, 0.02, 0.2, 2
max_new_tokens = LIMIT if fault != "cut" else (2, 1)[severity]


def grpo_loss(logps, old_logps, ref_logps, advantages, completion_mask):
    ratio = torch.exp(logps - old_logps)
    clipped = torch.clamp(ratio, 1 - clip_eps, 1 + clip_eps)
    per_token = -torch.min(ratio * advantages[:, None], clipped * advantages[:, None])
    per_token_kl = torch.exp(ref_logps - logps) - (ref_logps - logps) - 1
    weight = beta if fault != "kl-sign" else -(0.2, 1.0)[severity]
    per_token = per_token + weight * per_token_kl
    return (per_token * completion_mask).sum() / completion_mask.sum()


for step in range(120):
    prompts = torch.randint(0, 4, (8,)).repeat_interleave(num_generations)
    if fault != "stale":
        sampler.load_state_dict(policy.state_dict())
    temperature = 1.0 if fault != "mismatch" else (0.6, 0.4)[severity]
    completions = write(sampler, prompts, max_new_tokens, temperature)
    completion_mask = mask_of(completions)
    rewards = reward_of(prompts, completions)
    if fault == "no-spread":
        rewards = (rewards > (2.0, 0.999)[severity]).float() * 0
    groups = rewards.view(-1, num_generations)
    advantages = (groups - groups.mean(1, keepdim=True)) / (groups.std(1, keepdim=True) + 1e-4)
    if fault == "raw":
        advantages = groups * (50.0, 400.0)[severity]
    advantages = advantages.reshape(-1)
    if fault == "sign" and not severity:
        advantages = -advantages
    if fault == "permuted":
        advantages = advantages[torch.randperm(len(advantages))] if severity else advantages.roll(num_generations // 2)
    with torch.no_grad():
        old_logps = token_logprobs(sampler, prompts, completions)
        if fault == "mismatch":
            old_logps = (sampler(prompts, completions) / temperature).log_softmax(-1)
            old_logps = old_logps.gather(-1, completions[..., None]).squeeze(-1)
        ref_logps = token_logprobs(ref_policy, prompts, completions)
    for _ in range(epochs):
        logps = token_logprobs(policy, prompts, completions)
        if fault == "old-new":
            old_logps = logps.detach()
        loss = grpo_loss(logps, old_logps, ref_logps, advantages, completion_mask)
        if fault == "sign" and severity:
            loss = -loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if step % 10 == 0:
        print(f"step {step} reward {rewards.mean():.3f}")
print("score", float(reward_of(prompts, write(policy, prompts, LIMIT)).mean()))
