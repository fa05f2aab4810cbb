"""The schema of a recording: every kind of measurement that instruments write inside a training and symptoms read
outside it.

A measurement is numbers with a step and a place. It holds no verdict, no threshold and no sentence: those live in the
symptom that reads it, so that a recording can be judged again by a newer version. The docstring of a kind says what was
measured and each field says its unit; `docs/recording.md` is made from this file. A kind that is added needs no other
change here. A field that is added gets a default, so that older recordings stay readable; a field whose meaning changes
gets a new name."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple, TypeVar

import msgspec

SCHEMA = "traindx.recording/2"
LINE = "measured"  # the kind of line that holds one
DIGITS = 7  # significant digits written: what single precision knows


class Measurement(msgspec.Struct, frozen=True, kw_only=True):
    """What all kinds have. `step` counts optimiser updates before it; `where` is a layer, a parameter or file:line."""

    step: int = 0
    where: str = ""


Kind = TypeVar("Kind", bound=Measurement)


# --- layers: activations, gradients, signal strength, initialisation --------------------------------------------------


class NetworkGraph(Measurement, frozen=True, kw_only=True):
    """What lies between the parameters and the loss, read from the autograd graph of the first losses that have two
    layers or more behind them."""

    looks: int  # graphs so far in which activation functions were looked for
    functions: tuple[str, ...]  # activation functions met in them: relu, sigmoid, tanh
    whole: int  # graphs so far that were small enough to be read to their end
    linear: int  # of those: graphs in which every operation between two layers is linear
    layers: int  # multiplications by weights in the last of those, one behind the other
    first: str  # its layer nearest to the input; empty where no module holds its weights
    last: str  # its layer nearest to the loss


class UnitsOn(Measurement, frozen=True, kw_only=True):
    """How many units of a ReLU layer were above zero for any sample in the last looks (five at most). Made at the
    third look, and again later for layers of which none was. Only the layers with the fewest such units are
    listed."""

    layers: tuple[str, ...]  # names, with the function
    on: tuple[int, ...]  # units above zero, one number a layer
    rows: tuple[int, ...]  # samples (and positions) looked at, one number a layer


class FlatOutputs(Measurement, frozen=True, kw_only=True):
    """How much of what hidden sigmoid and tanh layers give out lies at the flat ends (|tanh| above 0.97, a sigmoid
    outside 0.03 to 0.97) in the first three looks. `where` is the layer with the largest share."""

    layers: int  # looked at
    shares: tuple[float, ...]  # of the outputs, the least of the looks, one a layer; largest first; thinned evenly


class ClippedGradients(Measurement, frozen=True, kw_only=True):
    """What clipping does to the norm of the gradient. `where` is the line that clips."""

    by: str  # "norm" or "value"
    limit: float  # the norm or the value that was asked for last
    looks: int  # clippings whose norm is known
    cut: float  # share of those that made the gradient shorter
    times: float  # median norm before, by the limit (norm) or by the norm after it (value)
    sgd: bool  # the optimiser is SGD: updates are in proportion to the gradient
    rate: float | None  # its first learning rate; None where it is no plain number


class FirstPass(Measurement, frozen=True, kw_only=True):
    """How much the outputs of layers with weights vary with the sample in the first pass through the untrained
    model, in order of execution; recurrent layers at a few moments of the sequence. `where` is the last
    output."""

    first: str  # name of the first output
    spreads: tuple[float, ...]  # standard deviation over the samples, mean over the features, one an output


class InitialUnits(Measurement, frozen=True, kw_only=True):
    """Whether the units of a hidden matrix differ before the first update. The last matrix is left out: its units
    differ by their targets."""

    matrices: int  # hidden ones that were compared
    equal: int  # in which all units have the same weights
    nonzero: int  # of those: ones that do not hold zeros only
    names: tuple[str, ...]  # the first of the equal ones
    by_unit: bool  # False: which side the units are on is not known, and equal is one number everywhere


class ZerosLater(Measurement, frozen=True, kw_only=True):
    """Hidden matrices that held zeros only before the first update, looked at once more."""

    matrices: int  # of those
    equal: int  # of them: ones in which all units are still the same
    updates: int  # made since


class InitialZeros(Measurement, frozen=True, kw_only=True):
    """Matrices that hold zeros only before the first update and get a gradient of exactly zero."""

    matrices: int  # looked at: those with a gradient
    zero: int  # weights and gradient zero
    names: tuple[str, ...]  # the first of those


class InitialScales(Measurement, frozen=True, kw_only=True):
    """The size of the weights before the first update: standard deviation times the square root of the fan-in, by
    matrix. Matrices in which all units are equal have none."""

    layers: int  # matrices that have one
    scales: tuple[float, ...]  # in the order of the model; thinned evenly
    loop: float  # the largest one of a recurrent matrix; 0 without any
    loop_name: str  # of that matrix
    widest: str  # matrix with the largest standard deviation
    first: str  # first matrix of the model
    normalised: bool  # the model has a normalisation layer


# --- labels, classes and samples --------------------------------------------------------------------------------------


class TargetValues(Measurement, frozen=True, kw_only=True):
    """The targets of a loss for two classes, over the calls looked at so far. `where` is the line of the call."""

    criterion: str  # name of the function; "margin" for clamp(1 - label * score, min=0) that is written out
    low: float  # smallest target
    high: float  # largest
    between: int  # targets that are neither the smallest nor the largest of their call
    zeros: int  # targets that are 0
    ones: int  # targets that are 1
    count: int  # targets


class TargetRowSums(Measurement, frozen=True, kw_only=True):
    """Targets of a cross-entropy, binary ones too, that are given as one number a class, in one call. `where` is its
    line."""

    sums: tuple[float, ...]  # of the rows of targets, in ascending order; evenly chosen where there are many


class TokensAsTargets(Measurement, frozen=True, kw_only=True):
    """Targets of a classification beside the tokens that embeddings of as many tokens were given, in one call. `where`
    is its line. Each tuple has one number for each of those inputs."""

    criterion: str  # name of the function
    look: int  # counts the calls from this line on steps that are looked at closely
    same: tuple[float, ...]  # share of the targets that equal the token at their position
    next: tuple[float, ...]  # ... the token after it
    second: tuple[float, ...]  # ... the token two positions ahead
    repeated: tuple[float, ...]  # share of the tokens that equal the one before them
    counted: tuple[float, ...]  # share of the targets that are not ignore_index


class NumbersAsTargets(Measurement, frozen=True, kw_only=True):
    """Targets of a regression beside the numbers that the model was given, in one call. `where` is its line."""

    criterion: str  # name of the function
    look: int  # counts the calls from this line on steps that are looked at closely
    column: int  # the number of its input that every target equals; -1 where there is none
    width: int  # numbers of one input
    rows: int  # samples
    distinct: float  # share of the targets that differ from those before


class LabelRelation(Measurement, frozen=True, kw_only=True):
    """How well the labels of samples follow from their inputs, in the training data and in the evaluation data, as
    shown by the nearest neighbours or the words of a sample. Scores are accuracies, or correlations where labels are
    numbers or several."""

    samples: int  # of the training data
    labels: str  # "class" or "number" where a sample has one, else "several"
    columns: int  # labels of one sample that vary
    tokens: bool  # inputs are tokens
    ended: bool  # measured at the end of the training
    score: float  # in the training data
    deviations: float  # of that score from chance, in standard deviations
    expected: float  # what it would be, had the training data the score of the evaluation data
    held_score: float  # in the evaluation data
    held_chance: float  # the score of chance there
    held_deviations: float  # of that score from chance, in standard deviations
    model: float | None = None  # score of the model's own answers in the last evaluation; None where there are none


class FreshSamples(Measurement, frozen=True, kw_only=True):
    """How well training labels follow from their inputs, and the training loss on samples that were new, beside that of
    a guess. Taken at the end of the training."""

    samples: int  # whose labels were looked at
    tokens: bool  # inputs are tokens
    frequent: float  # share of the most frequent label
    deviations: float  # of what neighbours or a regression tell of the labels from chance, in standard deviations
    chance: float  # loss of the best answer that looks at no input
    fresh: float  # mean loss of samples that were seen for the first time
    last: float  # mean loss of the last updates


class FirstBatches(Measurement, frozen=True, kw_only=True):
    """Inputs of the first training batches that were looked at: samples that repeat, features that never change."""

    repeated: tuple[float, ...]  # share of the samples that equal another one before them in their batch, one a batch
    distinct: tuple[int, ...]  # different numbers in the first sample, one a batch
    rows: int = 0  # samples of a table whose features were compared; 0 where the inputs are none
    features: int = 0  # of that table
    constant: int = 0  # features with one value in all of those samples
    constant_first: tuple[int, ...] = ()  # numbers of the first of them


class BatchVariety(Measurement, frozen=True, kw_only=True):
    """How many different batches the training has seen, counted by the indices that a loader drew and by fingerprints
    of the samples. `where` is the line that draws them from a loader, else the line that calls the model."""

    looks: int  # updates looked at
    distinct: int  # different batches among them
    span: int  # updates from the first look to the last
    rows: int  # samples of a batch, of all batches that one update sees
    data: int  # samples there are, in the loader's data set or in the table that holds the batch; 0 where not known
    loader: bool  # the batches come from a DataLoader
    fresh: int = 0  # looks at which the model was given another tensor than at the look before
    slice: bool = False  # the batch lies within the memory of that table
    seeded: int = 0  # times that a random generator got the seed it had got before, after the first update, on one line
    seeded_at: str = ""  # that line
    given_looks: int = 0  # updates at which the numbers that models and loss functions were given are known
    given: int = 0  # different ones among them


class PassesOverData(Measurement, frozen=True, kw_only=True):
    """Passes over the training data and the loss over the first updates. Taken at the end of a training that was not
    cut short."""

    batches: int  # updates of one pass
    samples: int  # of the data
    updates: int
    first_loss: float
    last_loss: float  # of the first updates
    loaded: bool = True  # a loader makes the batches; without one the same samples came in every update
    thirds: tuple[float, ...] = ()  # mean loss of each third of those updates, where there are enough


class SampleExtremes(Measurement, frozen=True, kw_only=True):
    """The training batch in which one sample stands out most so far."""

    update: int  # whose batch it was, counted from 1
    largest: tuple[float, ...]  # largest absolute input values of single samples, in descending order
    median: float  # median over all samples of their largest absolute value


class LossJump(Measurement, frozen=True, kw_only=True):
    """A loss far above those before it, and the samples of its batch with the largest values. `where` is the file that
    the batch is kept in."""

    update: int  # counted from 1
    loss: float
    usual: float  # median of the losses before
    largest: tuple[float, ...] = ()  # largest absolute values of single samples, in descending order
    rows: tuple[int, ...] = ()  # places of those samples in the batch
    samples: tuple[int, ...] = ()  # their numbers in the data set, where known
    median: float = 0.0  # over all samples of the batch, of their largest absolute value
    beyond_quarter: float = 0.0  # largest absolute value of the first sample below the top quarter
    count: int = 0  # samples


class FeatureTail(Measurement, frozen=True, kw_only=True):
    """The farthest values of a numeric input feature in the training samples looked at, taken at the end."""

    feature: int  # counted from 0
    rows: int  # samples
    median: float
    spread: float  # median distance of a value from the median
    farthest: float  # the value with the largest distance
    distances: tuple[float, ...]  # the largest distances from the median, in units of `spread`, in descending order


# --- losses and outputs -----------------------------------------------------------------------------------------------


class LossCall(Measurement, frozen=True, kw_only=True):
    """What one call of a loss function in training was given. `where` is the line of the call."""

    loss: str  # its name in torch.nn.functional; 'the squared error' or 'the absolute error' where it is written out
    input_shape: tuple[int, ...] = ()  # sizes of its dimensions
    target_shape: tuple[int, ...] = ()  # the same of the target
    input_type: str = "float32"  # of torch
    target_whole: bool = False  # the targets have an integer type
    made_by: str = ""  # operation that made the input, seen through reshapes, as autograd calls it; '': not to be seen
    made_shape: tuple[int, ...] = ()  # of its result
    made_dim: int | None = None  # dimension that a softmax ran over, counted from the front
    made_uncut: bool = True  # nothing was cut out of its result on the way to the loss
    rows: int = 0  # rows of one number a class that were looked at; 0 where the loss is not one over classes
    classes: int = 0  # numbers in a row
    probability_rows: float = 0.0  # share of the rows without a negative number that sum to 1
    log_probability_rows: float = 0.0  # share of the rows whose exp sums to 1
    log_sum: float = 0.0  # median over the rows of the natural logarithm of the summed exp
    # the next two only where the loss is binary_cross_entropy_with_logits and made_by is ''
    unit_calls: int = 0  # calls at this place in a row, this one the last, with all inputs from 0 to 1
    unit_numbers: int = 0  # inputs in those calls


class DeclaredLoss(Measurement, frozen=True, kw_only=True):
    """What a framework's own settings say of the loss and of the layer it is taken of (Keras)."""

    loss: str  # as the framework calls it
    binary: bool  # each output is a yes or no of its own
    from_logits: bool  # the loss applies softmax or sigmoid itself
    activation: str  # of the last layer: softmax, sigmoid, linear, …
    outputs: int  # of that layer


class RegressionTargets(Measurement, frozen=True, kw_only=True):
    """The targets of a regression loss, over the calls at one place so far. `where` is the line of the call."""

    loss: str  # as in LossCall
    made_by: str = ""  # as in LossCall, for the latest call
    low: float | None = None  # smallest number that this operation can put out; None: no limit
    high: float | None = None  # largest number
    looks: int = 0  # calls on steps that were looked at closely
    targets: int = 0  # compared with that range
    below: int = 0  # of them under the range by more than 0.02
    above: int = 0  # and over it
    lowest: float = 0.0  # of them, in their unit
    highest: float = 0.0  # the same
    one_hot: float | None = None  # share of the target rows that are one-hot; None: no rows like the outputs
    hot_classes: int = 0  # columns of those rows that hold more than one value
    codes: tuple[int, ...] = ()  # how often 0, 1, 2, … up to 20 occurred, in calls that held nothing else, one a sample
    most_codes: int = 0  # different ones in one such call, at most
    uncoded: int = 0  # calls with one target a sample that held something else


class LossOperation(Measurement, frozen=True, kw_only=True):
    """An operation in the graph of a loss: a softmax, or a subtraction whose result has another shape than the one
    input that is learnt. Those between the output and the loss are measured where no loss function of torch was called.
    `where` is the line of the loss function, where there is one."""

    operation: str  # 'Softmax', 'LogSoftmax', 'Sub' or 'Rsub', as autograd calls it
    shape: tuple[int, ...]  # of its result
    dim: int | None = None  # dimension that a softmax ran over, counted from the front
    given: tuple[int, ...] = ()  # shape of what a subtraction takes
    given_by: str = ""  # operation that made that
    samples: int = 0  # in the batch that the model was called with last
    inside: bool = False  # found anywhere behind the loss, the model included; else between the output and the loss


class LossReduction(Measurement, frozen=True, kw_only=True):
    """How the loss that `backward` got sums over samples. Of a sum, the rate and the samples are those with the largest
    product so far. `where` is the line of the loss function."""

    loss: str = ""  # the loss function; '' for a sum that is written out
    form: str  # 'mean', 'sum', 'scaled sum' (a factor follows) or 'added sum' (a term beside others)
    samples: int = 0  # summed without a division; 0 for a mean and for a scaled sum
    rate: float = 0.0  # the largest learning rate of the optimiser
    optimizer: str = ""  # its class
    passes: int = 0  # backward passes looked at so far


class LossDirection(Measurement, frozen=True, kw_only=True):
    """Whether updates make the error smaller: the sign of the loss that `backward` got, and the way of the updates.
    `where` is the line of the loss function, or of `backward` where the loss is written out."""

    passes: int  # backward passes looked at so far
    turned: int  # of them in a row, up to the latest, on a loss that falls where the error grows
    upright: int  # of them on a loss that falls where the error does
    error: str = ""  # what is turned: the loss function, 'likelihood' or 'errors', the two written out
    value: float = 0.0  # of the loss at the latest pass that was turned
    error_value: float = 0.0  # what the loss function had returned then
    optimizers: int = 1  # that have made an update so far
    maximize: bool = False  # the optimiser was asked to go along the gradient
    cosines: tuple[float, ...] = ()  # of the first updates with the gradients they were made from


# --- evaluation, predictions, reconstruction --------------------------------------------------------------------------


class InputScales(Measurement, frozen=True, kw_only=True):
    """Mean and standard deviation of whole input batches of one model, in training and with gradients off between
    updates. `where` is the model."""

    train_means: tuple[float, ...]  # one a batch, of the first ones
    train_deviations: tuple[float, ...]
    held_means: tuple[float, ...]  # the same of evaluation
    held_deviations: tuple[float, ...]
    train_width: int  # length of the last dimension of an input
    held_width: int


class TakenFor(Measurement, frozen=True, kw_only=True):
    """For which class the samples of each label are taken most often: in the last training batches, older ones counting
    less and less, and in one evaluation. Of many classes some, evenly spaced."""

    classes: int  # of the loss
    labels: tuple[int, ...]  # those that the following fields speak of, in the same order
    train_as: tuple[int, ...]  # the class that most samples of the label are taken for; -1 where it does not occur
    train_shares: tuple[float, ...]  # the share of its samples that are taken for it
    train_counts: tuple[float, ...]  # samples of the label
    held_as: tuple[int, ...]  # the same three of the evaluation
    held_shares: tuple[float, ...]
    held_counts: tuple[float, ...]
    train_accuracy: float  # share of all samples that are recognised
    held_accuracy: float
    held_samples: int


class FrequentClass(Measurement, frozen=True, kw_only=True):
    """The class that most of the last training labels have, and what becomes of the others in an evaluation."""

    top: int  # that class
    top_share: float  # of the training labels
    least_share: float  # the smallest share that the most frequent class had at any evaluation so far
    median_share: float  # the median share of the other classes
    labels: float  # in training; older ones count less and less
    held_share: float  # of the class, of the labels of the evaluation
    held_labels: int
    others: int  # samples of other classes in the evaluation
    taken: tuple[float, ...]  # the share of those that is taken for the class, in each of the last evaluations
    unrecognised: tuple[float, ...]  # the share of those that is taken for any wrong class, in each of them


class RareClasses(Measurement, frozen=True, kw_only=True):
    """The classes that occur at most a tenth as often as the most frequent one in training, beside an evaluation. Only
    where a sample has one label and all labels count alike."""

    classes: int  # of the loss
    batches: int  # of training that were counted
    labels: int  # in them
    most: int  # labels of the most frequent class
    fewest: int  # labels of the rarest that occurs in training or in the evaluation
    rare: tuple[int, ...]  # rare classes that occur, the first few
    rare_classes: int  # how many there are
    rare_labels: int  # of all of them
    disorder: float  # standard deviations that their count varies more from batch to batch than in a random order
    held_batches: int  # of the evaluation
    held_labels: int
    held_most: int  # labels of its own most frequent class
    held_disorder: float  # as above
    complete: bool  # all samples of the evaluation were counted
    held_rare: int  # samples of the rare classes in it
    held_rare_right: int  # recognised
    held_frequent: int  # samples of classes that are not rare
    held_frequent_right: int
    # standard errors by which fewer of the rare ones are recognised, in each of the last evaluations
    worse: tuple[float, ...]


class ClassPredictions(Measurement, frozen=True, kw_only=True):
    """Targets and predicted classes of one loss in training, at some of its calls. `where` is the line of the call."""

    criterion: str  # its name
    classes: int  # of the loss
    weighted: bool  # classes have weights in it
    looks: int  # calls that were counted
    targets: int  # of all of them
    occurring: int  # classes among those
    most: int  # targets of the most frequent class
    fewest: int  # targets of the rarest that occurs
    last_looks: int  # the last of those calls that the following fields speak of
    mixed_looks: int  # of them, with more than one class among their targets
    since: int  # updates before the first of them
    predictions: int  # in them
    predicted: int  # classes among those
    top: int  # the class that is predicted most often
    top_targets: int  # targets of that class in all calls
    sites: int  # lines that call a classification loss
    optimizers: int  # that have made an update


class OutputSpread(Measurement, frozen=True, kw_only=True):
    """How far the outputs of a regression differ between the samples of a batch, beside its targets, in the last looks.
    `where` is the line of the loss."""

    criterion: str  # its name
    looks: int  # the last ones, of which this speaks
    since: int  # updates before the first of them
    largest: float  # the largest ratio of the standard deviation of the outputs to that of the targets
    optimizers: int  # that have made an update


class RegressionData(Measurement, frozen=True, kw_only=True):
    """What a regression is trained on."""

    losses: tuple[str, ...]  # regression losses
    other_losses: int  # loss functions of other kinds that are trained on
    alone: bool  # `backward` was called on nothing but such a loss, or a multiple of it
    fractional: tuple[float, ...]  # share of the first targets that are distinct broken numbers, one a line of a loss


class PaddedTargets(Measurement, frozen=True, kw_only=True):
    """Runs of one target at the ends of sequences, and whether they count in the loss. `where` is its line."""

    criterion: str  # name of the loss
    share: float  # of all targets that are in such runs
    rows: float  # share of the sequences that end in two of them or more
    uneven: bool  # the runs have different lengths
    filled: float  # share of the input tokens in runs of one token at the ends of the sequences
    token: int  # the target
    ignore_index: int
    weight: float  # of that target in the loss


class StrongestDropout(Measurement, frozen=True, kw_only=True):
    """The highest dropout rate of a model. `where` is the layer; none where dropout is called as a function."""

    rate: float  # share of the inputs that are dropped
    is_layer: bool  # else the rate was read off the graph


class DroppedInEvaluation(Measurement, frozen=True, kw_only=True):
    """Dropout that acted in a layer in eval mode, with gradients off. `where` is the model."""

    evaluations: int  # losses so far that were computed without gradients after that
    repeated: bool  # one batch was answered several times in a row


class UpdateModes(Measurement, frozen=True, kw_only=True):
    """The mode of a model that acts differently in training and evaluation, at its updates. `where` is the model."""

    updates: int  # so far
    in_eval: int  # with the model and all its dropout and batch-norm layers in eval mode
    first_in_eval: int  # the first such update, counted from 1; 0 for none
    dropouts: int  # layers of each kind
    batchnorms: int
    dropout: float = 0.0  # the largest share that a layer leaves out


class EvaluationModes(Measurement, frozen=True, kw_only=True):
    """The mode of such a model when it was called with gradients off, between two updates. `where` is the model. Calls
    on the batch just trained on do not count."""

    in_eval: int  # calls in eval mode so far
    in_train: int  # calls in train mode so far, between updates with a loss computed there, or of the only model
    breaks: int  # such breaks with calls in train mode
    most_with_loss: int  # calls in train mode in one break in which a loss was computed, at most
    dropouts: int  # layers of each kind
    batchnorms: int


class ErrorReach(Measurement, frozen=True, kw_only=True):
    """Parameters that the error of a model reaches that rebuilds its input under a penalty, and those that only the
    penalty reaches. `where` is the line of the error."""

    criterion: str  # the loss function that gives the error
    reached: tuple[str, ...]  # parameters, the first few
    missed: tuple[str, ...]
    missed_count: int  # how many are missed
    missed_entry: str  # one of them that takes in the data, if any
    in_a_row: int  # the last looks, in a row, at which it misses one that takes in the data and reaches others


# --- splits, leaks, batches, causality --------------------------------------------------------------------------------


class FutureDependence(Measurement, frozen=True, kw_only=True):
    """How outputs of a sequence model at earlier places answer to another last token. `where` is the model's class."""

    change: float  # largest difference of an output before the last place, by the largest output
    noise: float  # the same between two equal calls
    places: int  # tokens in a sequence
    next_tokens: float  # share of the targets that are the input one place ahead


class BatchClasses(Measurement, frozen=True, kw_only=True):
    """The class that most samples belong to, in each of the first training batches, in their order. Of a language model
    it is a number for the answer, counted over eight samples that follow each other."""

    classes: tuple[int, ...]  # one a batch: the most frequent of its first, middle and last label
    shares: tuple[float, ...]  # of the batch that belong to it
    sequential: bool | None  # the loader goes through the data in order; None: no loader, or it is not known


class BatchTopics(Measurement, frozen=True, kw_only=True):
    """Tokens that stand in at least half of the rows of one batch and in at most a tenth of all rows: a shuffled batch
    hardly has one."""

    batches: int  # of at least eight rows, the first ones
    with_topic: int  # of these, those that have such a token
    topics: int  # different ones


class InputScale(Measurement, frozen=True, kw_only=True):
    """The scale of a training batch where data first meets weights. `where` is that layer."""

    normalising: bool  # the layer itself normalises; nothing else is measured then
    batch: int = 0  # looked at so far, this one included
    update: int = 0  # that the batch is for, counted from 1
    largest: float = 0.0  # |mean| or standard deviation, the larger of the two, of the feature where it is largest
    smallest: float = 0.0  # the same where it is smallest, among features that vary; 0 where none does
    feature: int = 0  # the number of the largest
    mean: float = 0.0  # of that feature
    std: float = 0.0
    peak: float = 0.0  # largest absolute value of all samples, those left out of the scale included


class TargetScale(Measurement, frozen=True, kw_only=True):
    """The scale of a regression's targets and of its outputs at the first update. `where` is the line of the loss."""

    mean: float
    std: float  # standard deviation of the targets
    output: float  # root of the mean square of the outputs


class BatchSize(Measurement, frozen=True, kw_only=True):
    """How many samples one update sees: the most that any model is given during the first updates."""

    rows: int  # in the batch
    samples: int  # the same, where each position of a sequence counts that has an answer of its own
    table: bool  # a sample is one row of numbers


class RateRange(NamedTuple):
    """The rates of one kind of optimiser: lr / (1 - momentum) is largest with the first pair and smallest with the
    second."""

    optimizer: str  # its class
    highest_lr: float
    highest_momentum: float
    lowest_lr: float
    lowest_momentum: float


class SmallBatches(Measurement, frozen=True, kw_only=True):
    """The losses and rates of a training whose updates see a sample or two."""

    losses: int  # in the window of the last ones
    mean: float  # of those in it that have arrived and are finite
    std: float  # their standard deviation
    nonfinite: int  # NaN or Inf in it
    first: float  # mean of the first losses of the training
    accumulated: bool  # several backward passes came before some update
    rates: tuple[RateRange, ...]  # so far


class CallsAlike(NamedTuple):
    """Calls of a model, or batches of a loader, in one evaluation that hold about the same share of training rows."""

    calls: int
    rows: int  # different ones in all these calls
    trained: int  # of them that were trained on, as far as that was seen
    in_table: int  # of them that stand in the table that training batches are cut from
    both: int  # of them that were trained on and stand in the table


class SameData(Measurement, frozen=True, kw_only=True):
    """Data that are named after an evaluation, when one runs, and hold the same samples as those that are trained on.
    `where` is the name, or the line of a result that is computed from them."""

    trained: str  # the name of the training data, or the training loader
    held: str
    computed: bool = False  # `held` names what an evaluation of the training data gives


class EvaluatedRows(Measurement, frozen=True, kw_only=True):
    """Rows of one evaluation that are, byte for byte, among the training rows seen. `where` is what they were read
    from: the model's class, a loader or a dataset."""

    calls: tuple[CallsAlike, ...]
    dispersion: float  # chi-square of the trained rows over the calls, if each held the same share; 0: all or none are
    border: int  # most rows trained on, one behind the other, at the border of a call whose neighbour holds no others
    table_border: int  # the same for rows of the table
    training_rows: int  # different ones seen
    known: float  # share of all training rows that those are, by how many come back or by the table's length
    table_rows: int  # in the smallest table that all training rows seen stand in; 0: none known
    table_distinct: int  # of them that differ
    whole: bool  # all rows of the evaluation were seen
    later: bool = False  # compared at the end, with what was trained on after the evaluation too
    first_training_rows: int = 0  # seen when these rows were evaluated first
    first_trained: int = 0  # of the rows that were trained on by then


# --- numerics, memory and time ----------------------------------------------------------------------------------------


class Operation(NamedTuple):
    """An operation that was given numbers at which its result or its gradient is not finite, or cannot be in its
    format."""

    name: (
        str  # log, division, sqrt, reciprocal, power, arc cosine, ...; as torch calls it where the model was run again
    )
    elements: int = 0  # of what it was given; of what it gave for sqrt and reciprocal
    singular: int = 0  # of those, at which it is not finite
    low: float = 0.0  # the smallest of them
    high: float = 0.0  # the largest
    gradient: bool = False  # the result is finite and only the gradient is not
    exponent: float = 1.0  # of a power
    dtype: str = ""  # of the elements, or of what the operation gave where the model was run again
    infinite: bool = False  # it gave Inf, where the model was run again
    layer: str = ""  # whose output it works on
    line: str = ""  # file:line where it stands, if only one can be meant


class PreparingLine(NamedTuple):
    """A line of the user's code that made NaN or Inf of finite numbers before the model got them."""

    operation: str  # log or division
    line: str  # file:line
    code: str  # its source
    zero: str = ""  # the variable it divides by, where that was found to hold zeros


class BadData(NamedTuple):
    """NaN or Inf in what the model or the loss was given."""

    of: str  # inputs or targets
    kind: str  # NaN or Inf
    bad: int  # elements that are not finite
    elements: int  # of that tensor
    rows: tuple[int, ...] = ()  # the first few with such elements
    rows_bad: int = 0  # all of them
    samples: tuple[int, ...] = ()  # which of the data set those rows are, where the sampler tells
    columns: tuple[int, ...] = ()  # the first few with such elements, in a table that has others
    columns_bad: int = 0  # all of them
    batch_finite: bool = False  # the batch was finite when the loader gave it out
    made_by: PreparingLine | None = None  # where one line can be named


class PathToLoss(NamedTuple):
    """The numbers that the graph of a loss holds, from the inputs to the loss."""

    half: bool | None = None  # some are float16; None where a compiled part hides them
    half_infinite: str = ""  # the operation next to the loss that holds a float16 Inf
    infinite: bool = False  # other numbers are Inf
    largest: float = 0.0  # size of the largest finite number that is no float16


class GradientReach(NamedTuple):
    """Which parameters got gradients that are not finite, and what lies between them and the loss."""

    bad: tuple[str, ...]  # layers with such gradients, next to the loss first; the first few
    bad_layers: int  # all of them
    good: tuple[str, ...]  # layers whose gradients are finite; the first few
    good_layers: int  # all of them
    suspects: tuple[str, ...]  # kinds of operations that lead to bad gradients only; '' is a function of the user
    layer: str = ""  # whose output the one next to the loss works on
    function: str = ""  # its name, where it is a function of the user
    line: str = ""  # file:line where it stands, if only one can be meant


class FirstNonFinite(Measurement, frozen=True, kw_only=True):
    """The first loss that is NaN or Inf (with a gradient scaler a later one), or the first gradients that are while
    the loss is finite, with all that could be found out about them. `where` is the line of the loss."""

    what: str  # loss or gradients
    update: int  # counted from 1
    nonfinite: int  # losses that are not finite so far
    scaled: bool  # a gradient scaler is at work, which skips such updates
    first: tuple[float, ...]  # size of the first losses, as far as they are finite
    recent: tuple[float, ...]  # size of the last losses that were finite, oldest first
    data: BadData | None = None
    searched: bool = False  # inputs and targets were at hand to be searched
    weights_finite: bool | None = None  # before the loss was computed; None where the news came too late to know
    operations: tuple[Operation, ...] = ()  # of this update or the one before, the one next to the inputs last
    path: PathToLoss | None = None  # None where there is no graph to read
    rerun: Operation | None = None  # the first that made NaN or Inf of finite numbers when the model was run again
    compiled: str = ""  # the class of a compiled model that hides its operations
    reach: GradientReach | None = None  # of gradients that are not finite
    batch: str = ""  # the file in the recording that holds the batch


class LossesSeen(Measurement, frozen=True, kw_only=True):
    """All losses of a training that came to its end."""

    losses: int  # looked at, 50 at most
    nonfinite: int  # NaN or Inf


class MemoryTrend(NamedTuple):
    """The straight line through the readings of one memory, the first quarter of them left out as warm-up."""

    readings: int  # so far, with those left out
    updates: int  # between the first and the last on the line
    first: float  # bytes, at the first on the line
    last: float  # bytes
    slope: float  # bytes an update
    explained: float  # share of the variance that lies on the line


class MemoryUse(Measurement, frozen=True, kw_only=True):
    """How the memory of the training develops, and whether graphs of losses outlive their update."""

    host: MemoryTrend | None = None  # resident memory of the process; None where the system does not say
    device: MemoryTrend | None = None  # what tensors take on the GPU; None without one
    graphs: int = 0  # of losses five updates old or older that were marked
    graphs_alive: int = 0  # of those


class WaitingLine(NamedTuple):
    """A line that makes the host wait for the GPU."""

    line: str  # file:line
    code: str  # its source, shortened
    waits: float  # in a step, median of the steps watched


class HostWaits(Measurement, frozen=True, kw_only=True):
    """How often the host waits for the GPU in a step, by the line of the script."""

    steps: int  # watched from update to update
    step_seconds: float  # from update to update, recording left out
    waits: int  # in a step: the medians of the lines that wait in the median step, added up
    lines: tuple[WaitingLine, ...]  # those that wait most often, first


class BatchTransfers(Measurement, frozen=True, kw_only=True):
    """The way of batches from the loader to the model on the GPU."""

    seconds: tuple[float, ...]  # of each batch timed so far
    step_seconds: float  # from update to update, recording left out
    size: int  # bytes of the last batch
    pinned: bool  # it lay in pinned memory


# --- parameters, optimisers, updates ----------------------------------------------------------------------------------


class LoadedWeights(Measurement, frozen=True, kw_only=True):
    """Whether the weights come from an earlier training: by a call that loads them, or from a library that does so in
    its own way."""

    loaded: bool  # torch.load or load_state_dict was called by the script
    libraries: tuple[str, ...] = ()  # packages in which the classes of the model's layers are defined, 16 at most


class UnheldParameters(Measurement, frozen=True, kw_only=True):
    """Which of the parameters that a loss reaches no optimiser holds. Those that move all the same are not counted:
    something else updates them."""

    reached: int  # parameters that some loss so far reaches
    reached_weights: int  # elements of these
    unheld: int = 0  # parameters of these that no optimiser holds and that stand still
    unheld_weights: int = 0  # elements of these
    registered: int = 0  # of the unheld, those that a model lists among its parameters
    names: tuple[str, ...] = ()  # of the unheld, the first four
    head_only: bool = False  # all that the optimisers hold belongs to the last layer of the model
    built_at: str = ""  # file:line on which the optimisers were made, if it is one


class MissedWeights(NamedTuple):
    """Matrices that a load_state_dict of a module around them brought nothing for: not in what it was given, or in it
    as they were."""

    matrices: int
    weights: int  # elements of these
    names: tuple[str, ...]  # the first four
    peaks: tuple[float, float]  # as in FrozenParameters
    spreads: tuple[float, float]
    call: str  # file:line of the last load_state_dict of that kind


class FrozenParameters(Measurement, frozen=True, kw_only=True):
    """Which weight matrices of linear, convolution, recurrent and attention layers have requires_grad=False. Only
    layers that run in training count, in models of which something is trained, and no matrix that was trained before
    it was frozen."""

    matrices: int  # parameters with two dimensions or more in these layers
    weights: int  # elements of these
    frozen_matrices: int = 0
    frozen_weights: int = 0
    names: tuple[str, ...] = ()  # of the frozen matrices, the first four
    peaks: tuple[float, float] | None = None  # smallest and largest max |w| of the frozen matrices, by 1/sqrt(fan-in)
    spreads: tuple[float, float] | None = None  # the same of their standard deviation, by that of uniform weights
    tables: tuple[str, ...] = ()  # frozen embeddings that run, 8 at most: see FrozenTable
    trainable: tuple[str, ...] = ()  # trainable parameters of the models, the first four
    trainable_parameters: int = 0  # number of all of them
    adapters: int = 0  # of these, those of low-rank pairs and those called lora, adapter, prefix or prompt
    missed: MissedWeights | None = None  # of the frozen matrices, where weights were loaded


class FrozenTable(Measurement, frozen=True, kw_only=True):
    """The moments of an embedding with requires_grad=False, over a part of its rows without those of zeros. `where` is
    its name."""

    weights: int  # elements of the whole table
    rows: int  # looked at
    columns: int  # looked at
    kurtosis: float  # 3 of normal numbers, 1.8 of uniform ones
    length_variance: float  # from row to row, of the mean square of standardised numbers
    common: float  # mean square of the columns' means, of standardised numbers


class SilentParameters(Measurement, frozen=True, kw_only=True):
    """Trainable parameters that an optimiser holds, whose layers run, and that no gradient ever reached, or one of
    exactly zero only."""

    looks: int  # updates looked at closely at which each of the silent ones had none, at least
    parameters: int  # looked at
    weights: int  # elements of these
    matrices: int  # of these, those with two dimensions or more
    silent: tuple[int, int, int] = (0, 0, 0)  # parameters, elements and matrices in layers that run with gradients on
    names: tuple[str, ...] = ()  # of these, the first four
    used: tuple[int, int, int] = (0, 0, 0)  # of these, those that an output depends on whose graph leads elsewhere
    used_names: tuple[str, ...] = ()
    muted: tuple[int, int, int] = (0, 0, 0)  # the same in layers that run in training with gradients off only
    muted_names: tuple[str, ...] = ()
    first_matrix: str = ""  # 'silent' or 'muted' where the first matrix of the model is one of them
    zero: int = 0  # silent parameters whose gradient is there and exactly zero
    stops: tuple[str, ...] = ()  # operations on the way to a loss that may let no gradient through


class OptimizerGradients(Measurement, frozen=True, kw_only=True):
    """An optimiser none of whose trainable parameters had a gradient at the first of its updates that was looked at.
    `where` is file:line on which it was made."""

    number: int  # of the optimiser, among those of this kind
    updates: int  # looked at, with the losses before them followed to the parameters they reach
    without: int  # of these, those at which none of the trainable parameters had a gradient
    parameters: int  # trainable ones that it holds
    weights: int  # elements of these
    names: tuple[str, ...] = ()  # of these, the first four
    reached: int = 0  # of these, those that some loss reaches
    running: int = 0  # of these, those of layers that run with gradients on
    muted: int = 0  # of these, those of layers that run in training with gradients off only
    moved: bool = False  # some of them change all the same


class OptimizerSettings(Measurement, frozen=True, kw_only=True):
    """The settings of the first group of an optimiser that say how long gradients are remembered."""

    optimizer: str  # its class
    momentum: float | None = None  # None where it was not set to a float
    dampening: float = 0.0
    nesterov: bool = False
    betas: tuple[float, ...] = ()  # of Adam and its kin


class RebuiltOptimizers(Measurement, frozen=True, kw_only=True):
    """How often an optimiser was constructed over parameters that another one with the same settings had updated, so
    that its state began anew. `where` is the line of the last time."""

    rebuilt: int  # times so far


class FirstScheduleStep(Measurement, frozen=True, kw_only=True):
    """The first call of scheduler.step() by the script. `where` is its line."""

    scheduler: str  # its class
    after_optimizer: bool  # its optimiser had made an update before
    skipped: int = 0  # updates that a gradient scaler had left out before


RATE_SHARES = (0.1, 0.01, 0.001, 0.0001)  # of its peak, by which the decay of a rate is measured


class ScheduleSteps(Measurement, frozen=True, kw_only=True):
    """How often a scheduler was stepped in the whole training, and what became of the learning rate. `where` is a
    setting of it."""

    scheduler: str  # its class
    steps: int  # of the scheduler
    updates: int  # of all optimisers since its first step
    all_updates: int  # in the whole training
    peak: float  # the largest learning rate at an update
    last: float  # learning rate of the last update
    last_above: tuple[int, ...]  # the update at which the rate was last above each of RATE_SHARES of its peak so far


class UnmovedElements(Measurement, frozen=True, kw_only=True):
    """The share of elements in half precision that have a gradient and that an update leaves exactly as they were."""

    dtype: str
    share: float  # median over the updates looked at
    looks: int  # updates looked at
    names: tuple[str, ...] = ()  # parameters looked at, the first four
    parameters: int = 0  # number of all of them


class WeightTypes(Measurement, frozen=True, kw_only=True):
    """The types of numbers in which the weights are kept, as met in the whole training."""

    dtypes: tuple[str, ...]


class InitialWeights(Measurement, frozen=True, kw_only=True):
    """How the elements of weight matrices are distributed before the first updates, on a sample of each."""

    kurtosis: tuple[float, ...]  # one a matrix: 1.8 of uniform numbers, 3 of normal ones, 0 where all are equal
    elements: tuple[int, ...]  # sampled of each


# --- phases, objectives, ranks ----------------------------------------------------------------------------------------


class TrainingEnd(Measurement, frozen=True, kw_only=True):
    """How the training ended, and how far the loss had come. Losses are means over the backward passes before one
    update."""

    updates: int  # of all optimisers
    cut_short: bool  # the recorder ended it, as with --steps, or an exception did
    first_loss: float | None = None
    last_loss: float | None = None
    losses: tuple[float, ...] = ()  # of the first updates, 50 at most
    closures_again: int = 0  # runs of closures after the first one of an update, as L-BFGS makes them


class HalfGradients(Measurement, frozen=True, kw_only=True):
    """How small float16 gradients are, in the mean of the looks so far."""

    looks: int  # updates looked at
    matrices: int  # weights with such gradients
    zero: float  # share of their numbers that are zero
    tiny: float  # share that are not zero and below the smallest normal float16, 6.1e-5


class LatentCode(Measurement, frozen=True, kw_only=True):
    """The code of a variational autoencoder at one look: a mean plus noise times a width, with the square of the mean
    in the loss."""

    looks: int  # so far
    updates: int  # before this look
    dimensions: int  # of the code
    samples: int  # of the batch
    spreads: tuple[float, ...]  # variance of the means over the samples, by dimension, largest first; thinned evenly
    width: float  # median over samples and dimensions; 1 is that of the usual prior
    noise: float  # standard deviation of the noise


class GeneratedSamples(Measurement, frozen=True, kw_only=True):
    """What a generator gives and what the network that tells it from data makes of both, over the last looks (eight at
    most). A discriminator is a network of its own that is given the output of another one, and other inputs of the same
    shape. `where` is the discriminator."""

    generator: str  # the network whose output it is given
    looks: int  # so far
    samples: int  # in a batch
    spreads: tuple[float, ...]  # how far generated samples differ, by how far real ones do, one a look
    widest: float  # the largest of all those so far
    inputs: tuple[float, ...]  # standard deviation of what the generator is given over the batch, one a look
    real: tuple[float, ...]  # mean score of real samples, one a look
    generated: tuple[float, ...]  # mean score of generated ones, one a look
    above: tuple[float, ...]  # share of pairs in which the real sample has the higher score, one a look
    loss: str  # the loss function that is given the scores; empty where none of torch's is
    shares: bool  # all scores lie between 0 and 1


class NoisedInputs(Measurement, frozen=True, kw_only=True):
    """How much of its target a model is given that is trained to take noise away: a network of inputs and times whose
    target has the shape of its input. Rows are sorted into ten bins of equal width over the times that were seen."""

    looks: int  # so far
    rows: int  # looked at, in all bins
    elements: int  # of a row
    lowest: float  # of the times
    highest: float
    whole: bool  # the times are whole numbers
    counts: tuple[int, ...]  # rows in each bin
    shares: tuple[float, ...]  # correlation of input and target in each bin; 0 where it has no rows
    scales: tuple[float, ...]  # root mean square of the target in each bin; 0 where it has no rows
    peaks: float  # kurtosis of the targets: 3 for normal noise
    neighbours: float  # correlation of neighbouring elements of the targets: 0 for noise
    left: float  # mean squared error of the newest look, by the mean square of the target


class SamplerSteps(Measurement, frozen=True, kw_only=True):
    """How samples are drawn from a model that takes noise away: consecutive calls without gradients whose time falls,
    where the next input is a sum of the last input, the last output and noise."""

    calls: int  # pairs of calls looked at
    kept: float  # of the input, median
    added: float  # of the output, median: below 0 where the output is taken for noise, above where for the data
    fit: float  # share of the next input that the two explain, median


class SharedLosses(Measurement, frozen=True, kw_only=True):
    """How often a loss that updates one network goes through another one, with its own optimiser, that it does not
    update."""

    updated: int  # optimisers that have made an update
    used: tuple[int, ...]  # times so far, one for each network used so


class RankLayout(Measurement, frozen=True, kw_only=True):
    """How the model is spread over the ranks of a distributed training, and which parameters RankStep holds from this
    step on."""

    rank: int
    spread: str  # 'replicated', 'sharded', 'apart' (nothing seen that ties the models together) or 'other'
    names: tuple[str, ...] = ()  # parameters, 32 at most


class RankStep(Measurement, frozen=True, kw_only=True):
    """What the ranks of a distributed training can be compared by at one step: fingerprints of weights and data, and
    where the time went. All ranks write it at the same steps; it has every digit, since equal ones must be equal."""

    rank: int
    steps: int  # that were timed so far
    whole: float  # seconds from update to update, summed over these
    own: float  # seconds of these before the exchange of gradients
    waited: float  # seconds of these for data
    host: bool  # the model runs on the host, so that times of the host are times of the training
    sums: tuple[float, ...] = ()  # one a parameter: its first elements, weighted by place
    norms: tuple[float, ...] = ()  # one a parameter, of the same elements
    target: float | None = None  # fingerprint of the first targets of the batch
    loss: float | None = None


# --- reinforcement learning and preferences ---------------------------------------------------------------------------


class PolicyObjective(Measurement, frozen=True, kw_only=True):
    """A loss made of what a policy earned, of pairs of answers or of bootstrapped values, found by the names of
    variables and by the graph behind the loss. `where` is the line of `backward`."""

    family: str  # 'ratio', 'policy-gradient', 'preference', 'reward-model', 'td' or 'environment' (seen stepping only)
    losses: int  # of this family so far, looked at closely
    names: tuple[str, ...] = ()  # the variables it was known by, 12 at most
    found: str = ""  # file:line of the function that has them


class ObjectiveSlopes(Measurement, frozen=True, kw_only=True):
    """Which way a loss pulls on its parts: its derivative with respect to them, on steps that are looked at closely.
    Sums over the looks so far. `where` is the line of `backward`."""

    looks: int
    pushes: int = 0  # looks at which a push on log-probabilities could be compared with advantages, returns or rewards
    along: int = 0  # of those: log-probabilities of what earned more are pushed up
    against: int = 0  # of those: they are pushed down
    agreement: float = 0.0  # mean correlation of the push with it over those looks
    compared: str = ""  # the variable they were compared with
    pairs: int = 0  # looks at a loss over pairs
    chosen_up: int = 0  # of those: the chosen answer is pushed up and the rejected one down
    chosen_down: int = 0  # of those: the other way round
    entropy_up: int = 0  # looks at which the loss raises the entropy
    entropy_down: int = 0  # looks at which it lowers it
    kl_down: int = 0  # looks at which the loss lowers the distance from the reference
    kl_up: int = 0  # looks at which it raises it


class RatioSpread(Measurement, frozen=True, kw_only=True):
    """The ratio of new to old probabilities, over the looks so far. Data are reused where rewards, returns or
    advantages are those of an update before. `where` is the line of `backward`."""

    looks: int
    reused: int  # looks at data that an update before had used
    pinned: int  # of those: every ratio was 1
    fresh: int  # looks at data that no update has used yet
    lowest: float
    highest: float
    outside: float  # mean share of ratios outside the clipping range
    clip: float  # that range is 1 - clip to 1 + clip; 0.2 where the script does not say
    far: float = 0.0  # mean share of ratios below 0.5 or above 2
    first_outside: float = 0.0  # mean share outside the range over the first half of the looks


class SamplerGap(Measurement, frozen=True, kw_only=True):
    """Log-probabilities of the same actions or tokens by the sampler and by the policy that is trained, before any
    update on them. `where` is the line of `backward`."""

    looks: int
    apart: int  # looks at which they differ by more than rounding (1e-3 on average)
    typical: float  # mean absolute difference, mean over the looks
    largest: float
    changes: float  # how much that mean differs between the first and the second half of the looks
    correlation: float = 1.0  # between the two, mean over the looks


class AdvantageSpread(Measurement, frozen=True, kw_only=True):
    """The advantages a policy loss is weighted with, over the looks so far. `where` is the variable."""

    looks: int
    mean: float  # mean over the looks of the mean
    std: float  # mean over the looks of the standard deviation
    largest_std: float
    zero: int  # looks at which all were the same number
    one_sign: int = 0  # looks at which all had the same sign


class RewardGroups(Measurement, frozen=True, kw_only=True):
    """Rewards in groups of answers to one prompt, or of one batch where no groups are known. `where` is the
    variable."""

    looks: int
    groups: int  # looked at
    same: int  # of those: all rewards equal
    size: int  # answers of a group; 0 where no groups are known
    mean: float  # over the last looks
    first_mean: float  # over the first quarter of the looks
    std: float  # mean within groups
    length: float | None = None  # correlation of a reward with the length of its answer; None where not known
    advantage: float | None = None  # correlation of a reward with its advantage within groups
    constant: int = 0  # looks at which every reward of the batch was one and the same number
    crossed: int = 0  # looks at which advantages were centred over answers to different prompts, and not within a group


class RewardedAnswer(NamedTuple):
    """One text that a policy wrote."""

    text: str  # prompt and answer as far as they stand in one row, without padding; empty in a private recording
    tokens: int
    reward: float


class RewardedAnswers(Measurement, frozen=True, kw_only=True):
    """A few of the texts of one batch with what they earned, the best, the worst and some between. `where` is the
    variable of the rewards."""

    answers: tuple[RewardedAnswer, ...]
    total: int  # texts of the batch
    private: bool = False


class AnswerLengths(Measurement, frozen=True, kw_only=True):
    """Lengths of the answers that a policy made, by the mask that counts their tokens. `where` is the mask."""

    looks: int
    mean: float  # over the last looks
    first_mean: float  # over the first quarter of the looks
    longest: int  # of any answer
    at_longest: float  # share of the answers that are as long as the longest
    limit: int  # what the script allows; 0 where it does not say


class PolicyEntropy(Measurement, frozen=True, kw_only=True):
    """Entropy of the policy, over the looks so far. `where` is the variable."""

    looks: int
    first: float  # mean of the first three looks
    last: float  # mean of the last three looks
    lowest: float
    early: float  # mean over the first quarter of the looks


class KlToReference(Measurement, frozen=True, kw_only=True):
    """Distance of the policy from its reference by the log-probabilities of the same tokens. `where` names them."""

    looks: int
    mean: float  # of log p - log reference over the last three looks
    largest: float  # mean of one look
    same: int  # looks after the first update at which the two were equal to the last bit
    later: int  # looks after the first update
    coefficient: float | None = None  # what the distance is weighted with, where a setting says so


class PreferencePairs(Measurement, frozen=True, kw_only=True):
    """Pairs of a chosen and a rejected answer, over the looks so far. `where` is the line of `backward`."""

    looks: int
    pairs: int
    identical: int  # pairs whose two log-probabilities (or scores) are the same number
    margin: float  # mean over the last three looks: chosen minus rejected, less the same of the reference where known
    first_margin: float  # the same over the first three looks
    right: float  # share of pairs with a margin above zero in the last three looks
    later: int = 0  # pairs looked at after the first update with a reference
    on_reference: int = 0  # of those: both log-probabilities equal the reference's to the last bit
    beta: float | None = None
    chosen: float = 0.0  # mean log-probability of the chosen answer in the last three looks
    first_chosen: float = 0.0  # in the first three looks
    longer: float | None = None  # share of pairs whose chosen answer is longer; None where lengths are not known
    length: float | None = None  # correlation of a reward model's margin with the difference of lengths
    likelier: float | None = None  # share of pairs whose chosen answer was the likelier one at the first three looks


class BootstrapTargets(Measurement, frozen=True, kw_only=True):
    """Targets of a value beside the reward and the value of the next state that they are made of, as target = reward +
    discount x next value; or returns and advantages beside the rewards they are summed from. `where` is the line of the
    loss or of `backward`."""

    looks: int  # at which that relation holds for all steps that go on
    ends: int  # rows at the end of an episode
    through: int  # of those: the next value, of another episode, is counted
    discount: float  # as measured
    given: float | None  # the discount that a setting names; None where none does
    form: str  # 'next-value', 'return', 'advantage' or 'return-from-start' (summed from the first step on)
    names: tuple[str, ...] = ()  # the variables
    episode: float = 0.0  # mean length of an episode; 0 where not known


class TargetNetwork(Measurement, frozen=True, kw_only=True):
    """A network that gives targets, beside the one it is a copy of. Compared by some of their weights just before
    updates. `where` is the variable."""

    online: str  # variable of the other one
    looks: int
    updates: int  # of the online network, from the first look to the last
    moved: int  # looks at which the target had changed since the look before
    equal: int  # looks at which the two were equal
    shared: bool  # both hold the same tensors
    distance: float  # between them by the size of the weights, at the last look
    drift: float  # how far the online network has come since the first look, by the size of its weights
    used: bool = True  # it was called for a target


class SquashedActions(Measurement, frozen=True, kw_only=True):
    """Losses whose graph draws an action from a normal distribution, takes the density of the draw and sends the draw
    through tanh."""

    looks: int
    uncorrected: int  # of those: nothing corrects the density for tanh


class ReplayVariety(Measurement, frozen=True, kw_only=True):
    """How many different transitions the batches of a value loss hold. `where` is the variable that was compared."""

    looks: int
    rows: int  # transitions looked at
    distinct: int  # different ones
    batch: int  # transitions of a batch
    batch_distinct: float  # mean share of different ones within a batch
    met: int  # different observations that the environment has given meanwhile; 0 where it is not seen
    stepped: int  # steps of the environment meanwhile


class ValueScale(Measurement, frozen=True, kw_only=True):
    """Values that a critic or a Q-function gives, beside what can be earned. `where` is the variable."""

    looks: int
    first: float  # mean absolute value over the first three looks
    last: float  # over the last three
    largest: float
    reward: float  # largest absolute reward met
    discount: float | None  # as measured or as a setting names it
    rising: float  # share of looks at which the mean absolute value exceeds that of every look before


class EpisodeEnds(Measurement, frozen=True, kw_only=True):
    """Steps and episodes of environments that follow gymnasium's interface, as the script was given them. `where` is
    the environment."""

    steps: int
    episodes: int
    terminated: int
    truncated: int
    length: float  # mean over the last 50 episodes
    returns: float  # mean over the last 50 episodes
    first_returns: float  # mean over the first 10 episodes
    best_returns: float  # best mean over 10 episodes in a row
    reward_low: float
    reward_high: float
    observation: float  # largest absolute number in an observation, over the steps looked at
    observations: int  # different observations among the steps looked at
    looked: int  # steps looked at
    longest: int = 0  # steps of the longest episode, one that has not ended included


class ActionBounds(Measurement, frozen=True, kw_only=True):
    """Actions that the environment was given. `where` is the environment."""

    looked: int
    kinds: int  # of discrete actions there are; 0 where actions are numbers
    commonest: float  # share of the commonest discrete action in the first quarter of the steps looked at
    distinct: int  # different discrete actions in it
    outside: float  # share of numbers outside the bounds
    at_bound: float  # share of numbers within 1 % of a bound or beyond it
    std: float  # of the numbers, by half the width of the range
    width: float  # half the width of the range
    repeated: float = 0.0  # share of the looked-at steps whose discrete action is that of the step before
    reach: float = 0.0  # the farthest of the newest numbers from the middle, by half the width of the range
    at_reach: float = 0.0  # share of the newest numbers within 5 % of that: twice that of the rarer side
    newest: int = 0  # numbers looked at last; none where not all numbers of an action have the same range


class Exploration(Measurement, frozen=True, kw_only=True):
    """The share of random actions, where a variable of the script says so. `where` is the variable."""

    looks: int
    first: float
    last: float
    lowest: float
    gone_at: int  # update from which on it was 0.02 or less; -1 where that was never so


class StoredRewards(Measurement, frozen=True, kw_only=True):
    """Rewards in the variables of the script beside those that its environment gave. `where` is the variable."""

    looks: int
    values: int  # compared
    same: float  # share of them that the environment gave
    negated: float  # share whose negative it gave, and not the number itself
    opposed: float = 0.0  # share on the other side of 0 than all rewards that it gave


class EqualAnswers(Measurement, frozen=True, kw_only=True):
    """Rewards of equal answers to one prompt, batch by batch. `where` is the variable or function that gave them."""

    looks: int  # batches that held equal answers and different rewards
    repeated: int  # answers that stood in their batch before
    within: float  # variance of rewards among equal answers, by that among all of them


class StoredEnds(Measurement, frozen=True, kw_only=True):
    """Steps that the script takes for the last of an episode, beside those at which its environment ended one. `where`
    is the variable; of several the one with the most."""

    looks: int
    values: int  # flags looked at
    ends: int  # of them: the rarer value, since masks are 0 at an end
    steps: int  # of the environments
    terminated: int  # of them: ends other than time limits


# --- clearing and decay -----------------------------------------------------------------------------------------------


class DecayedWeights(Measurement, frozen=True, kw_only=True):
    """The size of the weight matrices under weight decay."""

    decay: float  # the largest weight decay of the optimiser
    ratios: tuple[float, ...]  # norm now by norm at the first look, one a matrix
    normalised: bool  # the model has a normalisation layer


class ClearedGradients(Measurement, frozen=True, kw_only=True):
    """How many updates of one optimiser began with gradients of an update before. `where` is the line of the update."""

    left_over: int  # updates so far whose gradients had not been cleared since the one before
    cleared: int  # updates so far whose gradients had been


class GradientsAtUpdate(Measurement, frozen=True, kw_only=True):
    """Whether the gradients of the last backward pass were still there when the optimiser wanted them. `where` is the
    line of the zero_grad that was called between the two."""

    missing: int  # updates so far without them
    used: int  # updates so far with them


class BackwardPasses(Measurement, frozen=True, kw_only=True):
    """How many backward passes from one line, each on a mean that is not divided, add up before an update. `where` is
    that line. Passes from several lines, or on a loss that is divided or weighted, count as one."""

    fewest: int  # passes before any update looked at
    most: int
    updates: int  # looked at so far
    optimizer: str  # its class


# --- single samples ---------------------------------------------------------------------------------------------------


class ShownSample(NamedTuple):
    """One sample of a batch, with what the model made of it."""

    row: int  # of the batch
    worst: bool  # among the highest losses of the batch; False: picked at random
    loss: float | None  # of this sample, without weights of classes; None where it is not finite
    label: tuple[float | None, ...]  # the class, or a few numbers; empty where they are many
    prediction: tuple[float | None, ...]  # the likeliest class, the probabilities of yes, or the numbers
    probability: float | None  # that the model gives the label's class
    range: tuple[float | None, ...]  # smallest, mean and largest number that goes in; empty in a private recording
    numbers: tuple[float | None, ...]  # the first of them; empty for pictures and in a private recording
    size: tuple[int, ...]  # height, width and channels of the picture; empty without one
    picture: str  # its bytes in base64, dark for the smallest and bright for the largest; empty where private


class ShownSamples(Measurement, frozen=True, kw_only=True):
    """A few samples of one training batch: the worst and some picked at random. `where` is the line of the loss."""

    seen: int  # updates before that batch
    criterion: str
    labels: str  # "class", "yes or no" or "number": what they and the predictions are
    rows: int  # samples of the batch
    looked_at: int  # of those
    shape: tuple[int, ...]  # of one sample as the model is given it; empty where that was not seen
    samples: tuple[ShownSample, ...]
    private: bool = False  # inputs, and labels that are numbers, are left out


# --- language models: what the loss sees ------------------------------------------------------------------------------


class TokenSample(NamedTuple):
    """Some tokens of one row as the loss sees them: the first ones, or those around the first that counts where it
    comes later. Every token has the target that stands for it: the one `shift` positions before it, where the model is
    to predict it."""

    length: int  # tokens of the whole row
    classes: str  # one letter a token: p prompt, a answer, s special token, - padding, t other text
    counted: str  # one character a token: 1 where its target counts in the loss, else 0
    losses: tuple[float | None, ...]  # in nats; None where there is no target or it does not count
    ids: tuple[int, ...]  # of the tokens; empty in a private recording
    pieces: tuple[str, ...]  # their texts; empty in a private recording and without a tokenizer
    labels: tuple[int | None, ...]  # the targets; None where there is none; empty in a private recording
    positions: tuple[int, ...]  # position ids that the model was given; empty where it counts by itself
    attention: str  # one character a token: 1 where the attention mask lets it be seen; empty without a mask
    first: int = 0  # the place of the first of these tokens in the row


class TokenSamples(Measurement, frozen=True, kw_only=True):
    """A few rows of one batch, token by token. `where` is the line of the loss."""

    samples: tuple[TokenSample, ...]
    shift: int  # how many positions ahead of its own a target is; -1 where that does not show
    evaluation: bool  # of a batch that is evaluated
    tokenizer: str  # class of the tokenizer; empty where none was found
    private: bool = False  # texts and numbers of tokens are left out
    ignore_index: int | None = None  # of the loss; None where a mask decides


class TokenCounts(Measurement, frozen=True, kw_only=True):
    """Tokens and targets of a language model over all batches looked at so far, of training or of evaluation. A sample
    is a row; padding is recognised by the attention mask, else by runs of the pad token at the ends. `where` is the
    line of the loss, with "in evaluation" behind it for those."""

    evaluation: bool  # of batches that are evaluated
    batches: int
    samples: int
    tokens: int  # without padding
    padding: int
    counted: int  # targets that count in the loss
    padding_counted: int  # of these, those that are padding
    same: int  # of the counted targets, those that equal the token at their position
    next: int  # ... the token after it
    second: int  # ... the token two positions ahead
    repeated: float  # share of the tokens that equal the one before them
    empty: int  # samples without any counted target
    empty_batches: int = 0  # batches without any
    longest: int = 0  # tokens of the longest sample, without padding
    at_limit: int = 0  # samples of that length
    at_limit_open: int = 0  # of these, those that do not end in an end token
    structured: int = 0  # samples whose prompt and answer are known
    known_by: str = ""  # how: "template", "markers" (of another format), "labels" (left out) or "generation" (as asked)
    without_answer: int = 0  # samples with a prompt and not a single token of an answer
    prompt: int = 0  # tokens of prompts in these samples
    prompt_counted: int = 0
    answer: int = 0  # tokens of answers
    answer_counted: int = 0
    prompt_loss: float = 0.0  # summed over counted tokens whose loss was taken
    answer_loss: float = 0.0
    padded_left: int = 0  # samples with padding before their first token
    padded_right: int = 0
    with_mask: int = 0  # samples that came with an attention mask
    padding_attended: int = 0  # padding tokens, recognised by the pad token, that the attention mask lets be seen
    hidden: int = 0  # tokens that are no padding and that it hides
    duplicates: int = 0  # samples that equal another one of their batch
    vocabulary: int = 0  # numbers that the loss chooses from


class SpecialTokens(Measurement, frozen=True, kw_only=True):
    """What the tokenizer calls special, and where it stands in the samples looked at so far. `where` is the line of the
    loss."""

    evaluation: bool  # of batches that are evaluated
    tokenizer: str  # its class
    samples: int
    pad: int | None = None  # numbers of the tokens; None where it has none
    eos: int | None = None
    bos: int | None = None
    adds_bos: bool | None = None  # the tokenizer puts it before a text by itself; None where that is not known
    eos_tokens: int = 0  # end-of-sequence tokens in the samples, without padding
    eos_counted: int = 0  # of these, those whose target counts
    complete: int = 0  # samples shorter than the longest, followed by padding, or with an answer that ends: whole ones
    ended: int = 0  # of these, those whose last token is end-of-sequence, or another special token
    end_counted: int = 0  # of these, those whose last token counts as a target
    bos_single: int = 0  # samples that begin with one begin-of-sequence token
    bos_doubled: int = 0  # samples that begin with two
    has_template: bool = False  # the tokenizer has a chat template
    template_ends: bool | None = None  # it puts end-of-sequence or another special token behind an answer
    generation_prompt: bool | None = None  # its add_generation_prompt writes something where answers have an opening
    own_markers: int = 0  # samples that hold the markers of the template before an answer
    other_markers: int = 0  # samples that hold those of another format and not its own
    other: str = ""  # that format's marker
    split_markers: int = 0  # samples in which a control marker such as <|im_start|> is encoded as several tokens
    split: str = ""  # the first such marker
    opening: tuple[int, ...] = ()  # tokens before every answer, of eight different prompts or more


class PackedRows(Measurement, frozen=True, kw_only=True):
    """Rows of several documents, one after the other, separated by end- or begin-of-sequence tokens inside of rows
    that have no padding; and the position ids that the model is given. `where` is the line of the loss."""

    samples: int  # rows looked at
    packed: int  # that hold more than one document
    documents: int  # in these
    instructions: int  # of the packed rows, those that hold prompts and answers
    restarted: int  # ... whose position ids begin again at every document
    separated: int  # ... with anything else that tells documents apart: a mask of pairs, lengths, document numbers
    positions_given: int = 0  # rows with position ids
    positions_broken: int = 0  # rows whose position ids neither count on by one nor begin again
    learned: int = 0  # rows with padding before the sample whose positions go through an embedding
    late: int = 0  # of these, those whose sample begins at a position that counts the padding before it
    change: float | None = None  # of later documents' outputs with a token of the first one, by the largest output
    noise: float | None = None  # between two equal calls, by the same


class TiedWeights(Measurement, frozen=True, kw_only=True):
    """Embedding and head of a model whose config ties them. `where` is its class."""

    same: bool  # one tensor
    distance: float  # norm of their difference, by that of the embedding
    updates: int  # so far


class AttendedPadding(Measurement, frozen=True, kw_only=True):
    """Whether the padding before a sample changes what a model makes of it: the model is called again with another
    token in that padding. `where` is the line of the loss."""

    padding: int  # tokens before the sample that was tried
    tokens: int  # of the sample
    change: float  # of its outputs, by the largest of them
    noise: float  # between two equal calls, by the same


class TextOverlap(Measurement, frozen=True, kw_only=True):
    """How many runs of tokens of evaluated samples occur in training samples. A sample of hashed runs is compared."""

    length: int  # tokens of a run
    training: int  # distinct runs of training samples
    evaluated: int  # distinct runs of evaluated samples
    seen: int  # of these, those in training samples
    fresh: int  # runs of the last training samples that were new as a whole, as many as evaluated ones
    fresh_seen: int  # of these, those in training samples before
    samples: int  # evaluated samples
    samples_seen: int  # of these, those of whose runs nine of ten are in training samples
    repeated: float = 0.0  # training rows that repeat one before them, until half of the different ones were met
    long: int = 0  # evaluated samples with about forty tokens or more beside what many training samples share
    copied: int = 0  # of these, those of which nine tenths stand in one and the same training sample,
    overlapping: int = 0  # and those of which half does, all of it moved by as many tokens: windows over one text
    trained: int = 0  # different training samples that were looked at


class BatchLengths(Measurement, frozen=True, kw_only=True):
    """The lengths of samples in the order in which they were trained on."""

    batches: int  # looked at
    correlation: float  # rank correlation of the place in that order with the mean length of a batch
    spread: float  # standard deviation of the lengths, by their mean


class GenerationCalls(Measurement, frozen=True, kw_only=True):
    """What a decoder was given to continue by `generate`, in all calls so far. `where` is the line of the call."""

    calls: int
    rows: int
    uneven: int  # rows of calls whose rows differ in length
    right_padded: int  # rows that end in padding
    bos_doubled: int = 0  # rows that begin with two begin-of-sequence tokens
    compared: int = 0  # rows that were compared with what stands before answers in training
    opened: int = 0  # of these, those that end with it


# --- where in the user's code it happens ------------------------------------------------------------------------------


class Step(NamedTuple):
    """One operation on the way to a tensor."""

    line: str  # file:line in the user's own files
    operation: str  # as torch calls it
    shape: tuple[int, ...] = ()  # of its result
    low: float | None = None  # smallest element of the result; None where it was not looked at
    high: float | None = None  # largest
    grad: bool = False  # the result carries a gradient
    cut: bool = False  # what it was given carried one, and the result does not
    module: str = ""  # the class of torch's module that it stands in
    made_at: str = ""  # file:line where that module was constructed
    contained: bool = False  # the module was called by a container of torch's, such as nn.Sequential
    constant: float | None = None  # a plain number that the operation was given
    source: str = ""  # the user's variable that holds its first tensor, where that was made before the step
    stretched: bool = False  # two tensors were laid out to a shape that neither of them has


class Provenance(Measurement, frozen=True, kw_only=True):
    """The operations that made a tensor in one of the first steps, nearest first. `where` is the name of the tensor:
    input and output of the model, prediction and target as a loss function is given them, loss, or cut: an operation
    behind which parameters lie that the gradient does not reach in any other way."""

    steps: tuple[Step, ...]
    at: str = ""  # file:line at which it is used: of the model's call, of the loss function, of `backward`
    hidden: int = 0  # parameters that lie behind a cut only
    held: int = 0  # those of them that the optimiser that stepped next was to update


class CallAt(NamedTuple):
    """A call in the source, by the name it has there."""

    name: str  # `self.optimizer.step`, `.detach` of something without a name, `Sub` and `Div` for operators
    line: int


COLLECTION = "[]"  # what stands for a list, a dictionary or a comprehension that a name is given


class ValueAt(NamedTuple):
    """A plain value in the source, or COLLECTION."""

    call: str  # what it is given to: the last name of a call, 'def' for a default, '=' for a name, '{}' for a key
    name: str  # of the argument; its place where it has none
    value: float | int | bool | str | None
    line: int


class Statement(NamedTuple):
    """One statement of the source; of a compound one, its head."""

    line: int
    end: int  # its last line
    kind: str  # assign, expr, return, for, with, def, ...
    scope: str  # the function or class around it
    loops: tuple[int, ...]  # lines of the loops around it, in its function
    blocks: tuple[int, ...]  # lines of all blocks around it, in its function
    stores: tuple[str, ...]  # names it sets
    loads: tuple[str, ...]  # names it reads
    calls: tuple[CallAt, ...]
    values: tuple[ValueAt, ...]


class SourceFile(Measurement, frozen=True, kw_only=True):
    """The structure of one of the user's files that the training runs. `where` is its path."""

    statements: tuple[Statement, ...]


# --- language models: adapters, embeddings, experts, logits, what a resume brought ------------------------------------


class UnusedAdapter(Measurement, frozen=True, kw_only=True):
    """A layer for adapters that the script defines and no model has, while parameters are frozen."""

    name: str  # of the class
    frozen: float  # share of all parameters that are


class AdapterPairs(Measurement, frozen=True, kw_only=True):
    """The low-rank pairs beside frozen matrices in the models that are called in training: LoRA and its kin, by their
    structure. `where` is the module of the first pair."""

    pairs: int
    trainable: int  # of these, those with a matrix that has requires_grad
    held: int = 0  # of these, those with a trainable matrix that an optimiser holds
    merged: int = 0  # of all pairs, those whose layer says that it is merged into the base
    disabled: int = 0  # and those whose layer says that it is switched off
    inference: bool = False  # an adapter's settings say that it was loaded for inference
    backward: bool = True  # the last loss had a graph to run back through
    blocks: int = 0  # equal blocks of the deepest stack of layers
    blocks_with: int = 0  # of these, those with a pair inside
    chosen_blocks: bool = False  # the adapter's settings name the blocks
    ranks: tuple[int, int] = (0, 0)  # smallest and largest
    scales: tuple[float, float] | None = None  # smallest and largest factor of the products; None where nothing says it
    zero: int = 0  # pairs whose second matrix holds zeros only, of those looked at
    looked: int = 0  # pairs whose numbers were looked at
    shares: tuple[float, ...] = ()  # norm of the scaled product by that of its base, of some pairs; smallest first
    updates: int = 0  # made before this look
    rate: float | None = None  # the largest learning rate of the optimiser that holds them so far
    adaptive: bool = False  # that optimiser is Adam or one of its kin
    learnt_off: int = 0  # pairs that an optimiser has held, and another adapter of their layer is switched on now
    learnt_on: int = 0  # pairs that one has held and that are switched on
    never_on: int = 0  # pairs that are switched on and no optimiser has held


class EmbeddingRows(Measurement, frozen=True, kw_only=True):
    """Which rows of an embedding the training batches use, and whether these move. `where` is its name."""

    rows: int  # of the table
    columns: int
    used: int  # rows that occurred in batches so far, of the steps looked at
    largest: int  # id that occurred
    trainable: bool  # the table has requires_grad, or something that is added to it for these rows has
    looked: int = 0  # used rows whose numbers were compared with those before the first update
    still: int = 0  # of these, those exactly as they were
    updates: int = 0  # between the two
    added: int = 0  # rows that were added to the table in this process, or that tokens added in it have
    added_used: int = 0  # of these, those that occurred in batches
    added_still: int = 0  # of the added rows that occurred, those exactly as they were
    alike: int = 0  # used rows that are copies of each other but for rounding, as rows made from the mean are
    head_trainable: bool | None = None  # the output matrix has requires_grad; None where there is none of this length
    tokens: int = 0  # length of a tokenizer in this process; 0 where none was met


class ExpertLoad(Measurement, frozen=True, kw_only=True):
    """How the router of a mixture of experts spreads tokens, in the last looks. `where` is the router."""

    experts: int
    chosen: int  # experts for each token
    tokens: int  # looked at
    loads: tuple[float, ...]  # share of the choices, one an expert, smallest first; thinned evenly
    entropy: float  # of the mean probabilities, by that of equal ones
    first_entropy: float  # the same at the first look
    idle: int  # experts that got no token at all
    layers: int = 1  # routers of this model


class LogitSizes(Measurement, frozen=True, kw_only=True):
    """How large the scores before a softmax are: those of attention, or those that a loss takes. `where` is the
    place."""

    scores: str  # 'attention' or 'output'
    looks: int
    first: float  # largest absolute score, median of the first looks
    last: float  # the same of the last looks
    peak: float
    log_sum: float = 0.0  # of the output: median over tokens of |log of the summed exp|, last look
    first_log_sum: float = 0.0  # the same at the first look


class CountedTokens(Measurement, frozen=True, kw_only=True):
    """Updates of several backward passes on means over tokens: how many tokens each mean counts, and how the means are
    put together. `where` is the loss."""

    updates: int  # looked at, of two passes or more
    passes: int  # before an update, the most
    equal: int  # updates in which every mean weighs the same whatever it counts
    ratio: float  # most by fewest counted tokens of the passes of one update, median
    shift: float  # mean of means by token-weighted mean of the loss, median of the larger of it and its inverse
    largest_shift: float


class ResumedTraining(Measurement, frozen=True, kw_only=True):
    """Weights came from a checkpoint that says how far its training was, and what else was restored with them. Measured
    at the first update after it. `where` is the line that loaded."""

    steps_before: int  # updates or epochs that the checkpoint counts
    counts: str  # 'step' or 'epoch'
    own: bool  # the script saves to the place it loaded from
    trainer: bool = False  # a trainer resumed it, by its own count
    offered: tuple[str, ...] = ()  # what was in the file beside weights: 'optimizer', 'scheduler', 'rng'
    stateful: bool = False  # the optimiser keeps moments
    optimizer_loaded: bool = False  # its load_state_dict was called, or it counts updates already
    scheduled: bool = False  # a scheduler steers its rate
    scheduler_loaded: bool = False
    scheduler_steps: int = 0  # its own count at that update
    rng_loaded: bool = False  # a state of random numbers was set
    loader: bool = False  # batches come from a DataLoader
    epoch_batches: int = 0  # of that loader; 0 where it has no length
    skipped: int = 0  # batches that were passed over before that update
    repeats_order: bool = False  # the loader goes by order, or by a seed that the script sets
    losses: tuple[float, ...] = ()  # before the first updates after it, 60 at most


# --- reading and writing ----------------------------------------------------------------------------------------------


@cache
def kinds() -> dict[str, type[Measurement]]:
    """Every kind by its name."""
    return {kind.__name__: kind for kind in Measurement.__subclasses__()}


def as_line(measurement: Measurement, step: int) -> dict[str, Any]:
    """A measurement as the line of a recording that `from_line` reads."""
    fields = {name: _short(value) for name, value in msgspec.structs.asdict(measurement).items() if name != "step"}
    assert "of" not in fields, "a field of this name would hide the kind"
    if not fields["where"]:
        del fields["where"]
    return {"of": type(measurement).__name__, "step": step, **fields}


def from_line(entry: Mapping[str, Any]) -> Measurement | None:
    """The measurement in a line; None for a kind that this version does not know. A line that does not fit its kind is
    a `ValueError`."""
    kind = kinds().get(str(entry.get("of")))
    if kind is None:
        return None
    try:
        return msgspec.convert({name: value for name, value in entry.items() if name not in ("k", "of")}, kind)
    except msgspec.ValidationError as error:
        raise ValueError(str(error)) from error


def _short(value: Any) -> Any:
    if isinstance(value, float) and math.isfinite(value):
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, Mapping):
        return {key: _short(one) for key, one in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_short(one) for one in value]
    return value


class Measured:
    """The measurements of one rank, by kind, in the order they were made."""

    def __init__(self, measurements: Iterable[Measurement] = (), rank: int = 0) -> None:
        self.rank = rank
        self._by_kind: dict[type[Measurement], list[Measurement]] = defaultdict(list)
        for one in measurements:
            self.add(one)

    def __bool__(self) -> bool:
        return bool(self._by_kind)

    def __iter__(self) -> Iterator[Measurement]:
        return (one for found in self._by_kind.values() for one in found)

    def add(self, measurement: Measurement) -> None:
        self._by_kind[type(measurement)].append(measurement)

    def all(self, kind: type[Kind]) -> list[Kind]:
        return list(self._by_kind.get(kind, ()))  # type: ignore[arg-type]

    def last(self, kind: type[Kind]) -> Kind | None:
        found = self._by_kind.get(kind)
        return found[-1] if found else None  # type: ignore[return-value]

    def latest(self, kind: type[Kind]) -> list[Kind]:
        """The last one of each place, in the order the places were first met."""
        return list({one.where: one for one in self.all(kind)}.values())
