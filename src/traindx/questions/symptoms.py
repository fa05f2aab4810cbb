"""What the curves look like, in the words people use."""

from __future__ import annotations

from traindx.questions.base import Choice, Question

SEEN = 0.75  # clarity of a shape somebody sees in a curve: plainer than what is known of code, less than a measurement

QUESTION = Question(
    id="symptoms",
    text="What do you see? Select all that apply.",
    why="Every symptom has its own short list of causes. What you do not tick counts too, a little: it rules "
    "out causes that would show it.",
    kind="many",
    choices=(
        Choice(
            "flat",
            "the loss does not move, from the first epoch on",
            present=("flat-from-start",),
            clarity=SEEN,
            cues=(
                r"(not|n[’']?t|never|hardly) (really |even |seem to |want to )?"
                r"(learn|decreas|improv|mov(e|ing)|train(?!ed)|converg|chang|drop|fall|go(ing)? down)",
                r"(?<!activations )(?<!activations are )(?<!units are )\bstuck\b(?! after)",
                r"(loss|acc\w*) (stays|remains|is) (the same|constant|at (chance|random|\d))",
                r"\bflat\b",
                r"\b(no|any) (learning|progress)",
            ),
        ),
        Choice(
            "stopped",
            "the loss fell and then stopped (plateau)",
            present=("plateau",),
            clarity=SEEN,
            cues=(r"plateau", r"stop(s|ped)? (decreas|improv|learn|falling|going down)", r"stuck after"),
        ),
        Choice(
            "slow-fall",
            "the loss falls, but very slowly",
            present=("slow-convergence",),
            clarity=SEEN,
            cues=(
                r"(decreas|fall|converg|improv|learn)\w* (very |too |so |extremely )?slow",
                r"slow(ly)? (converg|learn|decreas)",
            ),
        ),
        Choice(
            "swings",
            "the loss swings up and down without getting anywhere",
            present=("oscillation",),
            clarity=SEEN,
            cues=(r"oscillat", r"\bunstable\b", r"instability", r"\bswing", r"up and down", r"bounc"),
        ),
        Choice(
            "spikes",
            "the loss jumps up suddenly, once or again and again",
            present=("loss-spike",),
            clarity=SEEN,
            cues=(r"\bspik", r"\bjump(s|ed|ing)?\b(?!.*valid)"),
        ),
        Choice(
            "diverged",
            "the loss was good once, then rose for good",
            present=("divergence",),
            clarity=SEEN,
            cues=(
                r"diverg",
                r"blow(s|n)? up",
                r"blew up",
                r"(?<!val )(?<!validation )(?<!test )\b(loss|it) (is |keeps |just |suddenly "
                r")?(increas|ris(es|ing)|explod|go(es|ing)? up)",
                r"^(?!.*(val|test)).*\bg[eo]t(s|ting)? worse",
            ),
        ),
        Choice(
            "nan",
            "the loss became NaN or Inf",
            present=("nonfinite-loss",),
            clarity=0.9,
            unmissable=True,
            cues=(r"(?<!not )(?<!no )\bnans?\b", r"(?<!not )\binf(inity)?\b", r"not a number"),
        ),
        Choice(
            "large-gradients",
            "the gradients are very large",
            present=("exploding-gradients", "huge-updates"),
            clarity=SEEN,
            overlooked=True,
            cues=(r"explod\w* grad", r"grad\w* (are |is )?(explod|huge|very large|too large)", r"gradient explosion"),
        ),
        Choice(
            "small-gradients",
            "the gradients are close to zero",
            present=("vanishing-gradients", "tiny-updates"),
            clarity=SEEN,
            overlooked=True,
            cues=(
                r"vanish",
                r"(tiny|very small|minuscule) grad",
                r"grad\w*( norms?)?( (is|are|stays?|of|at|around|about|near|close to|below|under|almost|nearly))* "
                r"(zero\b|tiny|very small|too small|none|0\.0[01]\d*\b|\d(\.\d+)?e-\d+)",
            ),
        ),
        Choice(
            "val-worse",
            "train is good, validation is bad or gets worse",
            present=("overfitting-gap",),
            clarity=SEEN,
            cues=(
                r"overfit",
                r"(val|validation|test)\w*( loss| acc\w*| accuracy)? (is |are |gets |got "
                r")?(bad|wors|poor|increas|ris|go(es|ing)? up|much (lower|higher|worse))",
                r"train\w* (is )?(good|fine|great).*(val|test)",
                r"(val|validation|test)\w*( loss| acc\w*)? (is |are )?(much |far |a lot |way )?(lower|higher|worse) "
                r"than",
                r"train\D{0,20}9\d ?%.*(val|test)\D{0,20}[1-8]\d ?%",
                r"generali[sz]",
            ),
        ),
        Choice(
            "val-jumps",
            "validation jumps about while train is calm",
            present=("val-noisy", "val-spike"),
            clarity=SEEN,
            cues=(r"(val|validation)\w* (loss |acc\w* )?(jump|scatter|nois|fluctuat|spik)",),
        ),
        Choice(
            "both-bad",
            "train and validation are both bad",
            present=("underfitting",),
            clarity=SEEN,
            cues=(
                r"underfit",
                r"both (train|are|losses)",
                r"(train and val\w*|val\w* and train) (are )?(both )?(bad|high|poor)",
            ),
        ),
        Choice(
            "same-output",
            "it predicts the same thing for everything",
            present=("prediction-collapse",),
            clarity=SEEN,
            cues=(
                r"(always|only) predict",
                r"predict\w* (the same|one class|a single|only)",
                r"predict\w* [\w ]{1,20}\bfor (every|all|each|any)",
                r"(constant|same|identical) (\w+ )?(output|prediction|answer|logit)",
                r"\b(outputs?|predictions?|logits|answers|probabilities)\b.{0,40}\b(the same|identical|constant"
                r"|equal)\b",
                r"\b(outputs?|predictions?|logits|answers|probabilities)\b.{0,20}\b(collapse|all (zeros?|ones?|nans?\b)"
                r"|do(es)? ?n[o’']t (change|depend|vary))",
                r"(outputs?|gives?|returns?|produces?) (always |only )?(exactly )?(the same|one|an? constant"
                r"|identical)\b",
            ),
        ),
        Choice(
            "saturated",
            "sigmoid or tanh units sit at the ends of their range (saturated)",
            present=("saturated-units",),
            leans={"saturation": 2.5},
            usual=0.05,
            overlooked=True,
            cues=(
                r"saturat",
                r"(sigmoid|tanh)s? (outputs?|activations?|units?) (are |is )?(all |mostly "
                r"|only )?[-±]?[01](\.0)? (or|and) [-+]?1",
                r"activations?\b.{0,30}\b(near|at|around|close to|stuck at"
                r"|clustered)\b.{0,12}[-±+]?(?<![\d.])1\b(?!\d|\.\d)",
            ),
        ),
        Choice(
            "dead",
            "units give zero for every sample (dead ReLU)",
            present=("dead-units",),
            leans={"dead-relu": 2.5},
            usual=0.05,
            overlooked=True,
            cues=(
                r"(?<!not )(?<!no )\b(dead|dying|died)\b.{0,12}\b(neurons?|units?|relus?|activations?|filters?"
                r"|channels?)\b",
                r"\b(neurons?|units?|relus?|filters?|channels?)\b (are |is |have |has |go |seem )?(all |mostly "
                r"|being )?"
                r"(dead|dying|died|die)\b",
            ),
        ),
        Choice(
            "too-good",
            "the result is better than the task allows",
            present=("suspiciously-good",),
            clarity=SEEN,
            cues=(
                r"too good",
                r"suspicious",
                r"\bleak",
                r"\b(99|100) ?% (val|acc|test)(?!.*\d ?%)",
                r"loss (goes|went|drops?|dropped|falls?|fell|is|gets)( down)? to (almost |nearly |about )?0?\.00+\d*",
                r"loss (goes|went|drops?|dropped|falls?|fell) to (almost |nearly )?(zero|0)\b",
            ),
        ),
        Choice(
            "code-unused",
            "the KL term of a VAE falls to zero, its samples all look alike",
            present=("latent-unused",),
            usual=0.03,
            cues=(
                r"posterior[- ]collaps",
                r"\bkl\b( term| loss| divergence)? (vanish|collaps|(goes|drops|falls|went|is)( down)?( to)? (zero|0))",
                r"latent\w*( code| space| variables?)? (is |are )?(unused|ignored|collaps)",
            ),
        ),
        Choice(
            "samples-alike",
            "a GAN's samples all look the same",
            present=("samples-alike",),
            usual=0.03,
            cues=(r"mode[- ]collaps", r"(generator|gan)\b.* same (image|picture|sample|output)"),
        ),
        Choice(
            "discriminator-wins",
            "a GAN's discriminator loss goes to 0, the generator's rises",
            present=("discriminator-wins",),
            usual=0.03,
            cues=(
                r"discriminator\b.* (too strong|wins|(goes|went|drops?|falls?|is)( down)?( to)? (zero|0))",
                r"d[_ ]?loss (goes|went|drops?|falls?|is)( down)?( to)? (zero|0)",
            ),
        ),
        Choice(
            "samples-noise",
            "a diffusion model's loss falls, its samples are noise or grey",
            present=("noise-schedule-off",),
            usual=0.03,
            leans={"wrong-prediction-target": 1.5},
            cues=(
                r"(diffusion|ddpm|ddim)\b.* (noise|noisy|grey|gray|blank)",
                r"samples? (are|is|stay) (only |pure |just )?noise",
            ),
        ),
        Choice(
            "unfinished",
            "it was still improving when it ended",
            present=("still-improving",),
            clarity=SEEN,
            cues=(r"still (improv|decreas|falling|learning)",),
        ),
        Choice(
            "slow-time",
            "a step or an epoch takes too long",
            present=("slow-step",),
            clarity=SEEN,
            leans={
                "slow-data-loading": 1.5,
                "too-few-workers": 1.5,
                "host-sync": 1.5,
                "small-batch-underuse": 1.0,
                "straggler-rank": 1.0,
            },
            alone={
                "slow-data-loading": 2.0,
                "too-few-workers": 2.0,
                "host-sync": 2.0,
                "small-batch-underuse": 2.0,
                "straggler-rank": 1.0,
            },
            cues=(
                r"train(ing|s)? (is |takes )?(very |too |so |extremely |really )?(slow(ly)?|long)\b",
                r"\b(gpus?|device)\b.{0,20}\b(low|only|idle|idling|starv\w+|at \d|\d+ ?%)",
                r"\b(takes?|is taking|needs?) (about |almost |over |more than )?(forever|ages|too long|hours|days"
                r"|\d+ ?(h|hours?|"
                r"min|minutes?)\b)",
                r"^(it|this|everything)('s| is) (very |so |too )?slow",
                r"slow (training|epoch|step|dataloader|data loading)",
                r"bottleneck(?!.*(layer|dim|feature|width|block))",
                r"(training|data|loading|iteration)\w* (speed|throughput|time) (is |are )?(very |too |so )?"
                r"(low|bad|terrible|poor|slow|awful|high)",
                r"(step|epoch|iteration|batch(es)?)s? (is|are|takes?) (very |too |so |super |extremely "
                r"|really )?(slow|long)",
            ),
        ),
        Choice("memory", "out of memory (CUDA OOM, killed)", usual=0.05, hand_over="CUDA out of memory"),
        Choice(
            "reward-flat",
            "the reward or return does not rise (reinforcement learning, GRPO)",
            present=("reward-flat",),
            clarity=SEEN,
            overlooked=True,
            cues=(
                r"(reward|return)s?\b.*(flat|stuck|zero|constant|not? (ris|increas|improv|chang|go(ing)? up)|n[’']?t )",
                r"\b(agent|policy)\b.*(not|n[’']?t) (learn|improv)",
            ),
        ),
        Choice(
            "reward-falls",
            "the reward or return falls",
            present=("reward-falls",),
            clarity=SEEN,
            overlooked=True,
            cues=(r"(reward|return)s?\b.*(fall|drop|decreas|collaps|go(es|ing)? down|g[eo]ts? worse)",),
        ),
        Choice(
            "entropy-gone",
            "the entropy of the policy is gone",
            present=("entropy-low",),
            clarity=SEEN,
            overlooked=True,
            cues=(r"entropy.*(zero|collaps|gone|vanish|drop|fall)", r"exploration.*(collaps|gone|stop)"),
        ),
        Choice("crash", "it crashes: DataLoader worker, bus error", usual=0.05, hand_over="DataLoader crash"),
    ),
    seconds=20,
)
