"""The classifier."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin

from gcwsnet._locks import reads, writes
from gcwsnet._validation import MOST_WEIGHT, check_choice, check_weights
from gcwsnet.estimators._base import BaseGCWSNet, without_targets
from gcwsnet.estimators._input import UnmaskedScore
from gcwsnet.estimators._stream import WARM_UP_ROWS
from gcwsnet.net._settings import TrainingSettings
from gcwsnet.net._targets import (
    LOSSES,
    LabelIndicators,
    Labels,
    Numbers,
    Targets,
    UnknownLabelError,
    check_labels,
    is_indicator_matrix,
)
from gcwsnet.net._trainer import Trainer
from gcwsnet.tables._coder import CoderSettings


@dataclass(kw_only=True, eq=False, repr=False)
class GCWSNetClassifier(UnmaskedScore, ClassifierMixin, BaseGCWSNet):
    """A classifier of rows of numbers, or of a table, by neural nets on their GCWS codes.

    Rows are preprocessed, hashed to k codes of b bits (`GCWSHasher`) and learned by nets in batches, with Adam. The
    codes stand for the pGMM kernel, so that one pass is worth many over the original numbers. What is "auto" below is
    searched for on held-out rows, see `search`. On a CPU everything is done by the native core, and the same seed,
    settings and rows give the same weights, to the last bit, on any machine and with any number of threads. (The
    scalings "quantile", "idf" and "tfidf" use functions of libraries, whose last bit may differ between machines.)

    The paper's practice, one net in one pass over the rows, is
    ``GCWSNetClassifier(epochs=1, hidden=(200,), search="off")``.

    X is an array, a CSR matrix, or a frame of pandas, polars or Arrow with columns of numbers, booleans, text,
    categories, dates and missing values, which are found by their names. ``docs/tables.md`` has the rules.

    Parameters
    ----------
    n_hashes : int, default=256
        k, the codes of a row. More are more accurate, and time and memory grow with them.
    bits : int, default=8
        b, the bits of a code. The table of the first layer has 2**b k rows: fewer bits make it smaller and the net
        less accurate.
    t_bits : "all" or int from 0 to 8, default="all"
        How much of t* is kept, see `GCWSHasher`. 0 with ``encoding="lowbits"`` is the paper's practice.
    p : float or "auto", default="auto"
        The power of the pGMM kernel. A large one lets the largest entries of a row decide. Without a search it is 1.
    scale : str or None, default="auto"
        The scaling of the columns, which can decide everything: "numeric", "standard", "minmax", "quantile", "local",
        "codes", "idf", "unit", "tfidf", "auto" or None. "numeric" standardises numeric columns, leaves
        binary ones as they are and drops constant ones; sparse rows are divided and not shifted. "standard" treats
        binary columns like numeric ones, "minmax" puts columns into [0, 1], "quantile" makes numeric ones normal by
        their ranks, "local" adds hat functions over their quantiles to "numeric", so that the neighbourhood of a number
        counts, "codes" adds a column of 0 and 1 for each value of integer columns that are codes, and None takes rows
        as they come, which suits columns that share one unit, such as pixels. For counts of words or clicks, "idf"
        makes rare columns weigh more, "unit" gives rows length 1, and "tfidf" does both. "auto" selects among these
        ("quantile", "local" and "codes" for dense rows alone, the last three for sparse ones); without a search it is
        "numeric". It is learned in `fit`, or from the first rows of a stream, see `partial_fit`. For any other
        preprocessing, put a transformer before the model in a `Pipeline`.
    relevance : float or "auto", default="auto"
        The power of the relevance that columns are multiplied by, after they were scaled. In pGMM the scale of a
        column is its weight, and columns that say nothing dilute the kernel. The relevance of a column is the share of
        the variance of y that it explains by itself. 0 treats all columns alike, and so does "auto" without a search;
        with one it is 0, 0.5 or 1.
    search : {"fast", "thorough", "off"}, default="fast"
        How long to look for what is "auto". Small nets are compared on held-out rows by their loss, in three stages
        with fewer candidates and larger nets each: some dozen preprocessings and powers; the best three; and the
        epochs for the best one. The default stays unless another is clearly better. It takes a second or two for
        thousands of rows, and at most a third of the `fit` for very many. "thorough" compares more and takes several
        times as long. Fewer than 200 rows are not enough to search for a preprocessing, fewer than 30 for anything.
    hidden : int, sequence of int or "auto", default="auto"
        Units of the hidden layers, or of the one there is; ``()`` is a linear model on the codes, which is faster and
        less accurate. "auto" is 48 for each net of an ensemble, 64 for a net with one or two outputs, as of two
        classes or a number, and else 200. It is 200 for streams.
    ensemble : int or "auto", default="auto"
        The number of nets, each with its own `n_hashes` hashes, whose outputs are averaged. "auto" is 4 for at most
        10,000 rows if `hidden` is "auto", and else 1: where rows are few, four nets of 48 units are more accurate than
        one of 200 and take about as much memory.
    reduction : int, "8bit" or None, default=None
        m: the table is m times smaller, by count-sketch. Some accuracy is lost, little up to 16. None is no reduction.
    epochs : int or "auto", default="auto"
        How often `fit` goes over the rows. "auto" selects 8 times, 3 times or once for at most 20,000 rows, 3 times or
        once for at most 53,000, and is once for more. Where labels are noisy, fewer are better.
    batch_size : int or "auto", default="auto"
        Rows of a step. More are faster and learn less from few rows. "auto" is 128 for a `fit` over at least 200,000
        rows, all epochs together, 32 for others, and 16 for streams.
    learning_rate : float or "auto", default="auto"
        The learning rate of Adam at the beginning. "auto" is 0.005 for a `fit` of at most 3,000 steps and 0.003 for
        longer ones and for streams, with more than 256 hashes times the root of 256 / k; without hidden layers 0.01.
        The paper's is 0.001.
    class_weight : dict, "balanced" or None, default=None
        Factors of the losses of the classes; those not in the dict have 1. "balanced" makes all classes weigh the
        same in `fit`.
    schedule : {"constant", "linear", "cosine"}, default="linear"
        How the learning rate goes down to zero in the course of a `fit`, if at all. `partial_fit` knows no end and
        keeps it constant. The paper's is "constant".
    optimizer : {"lazy", "adam"}, default="lazy"
        "lazy" steps on the rows of the table that occur in a batch, "adam" on all of them, as in the paper, which
        takes many times longer.
    betas : pair of float, default=(0.0, 0.999)
        Adam's. With a first one of 0 there is no momentum: one pass then gives a better net, and a third of the memory
        and of the time of a step is saved. The paper has Adam's defaults, (0.9, 0.999).
    weight_decay : float, default=0.0
        Decoupled, as in AdamW. A stream of millions of single rows needs some, such as 0.001, or the weights grow and
        the accuracy falls slowly.
    average : bool, default=True
        Whether predictions after `partial_fit` may be those of averaged weights: over recent rows, or over the last
        half of the stream, or somewhat more. Where a stream stays as it is, that is as good as a rate that falls to
        zero, and much better than the last weights; which of the three predict is decided by their recent losses. It
        takes the memory of three more nets.
    encoding : {"mixed", "lowbits"}, default="mixed"
        How samples become codes, see `GCWSHasher`.
    missing : {"auto", "error", "zero", "mean"}, default="auto"
        What a missing number (NaN, None, null) means. "auto": it is not there, and a column that had missing numbers in
        training gets another one that says so; "error": an error; "zero": 0 before any preprocessing; "mean": 0 after
        it, which is the mean of a standardised column. A missing category is not there, or an error.
    shuffle : bool, default=True
        Whether `fit` takes the rows of each epoch in random order.
    records : int or sequence of float, default=10
        How often in an epoch `history_` gets a record, or at which fractions of it; always at its end.
    early_stopping : bool, default=False
        Whether `fit` stops when the loss on held-out rows no longer falls. The learning rate is constant until then,
        weights are averaged as in `partial_fit`, and the loss is that at the best temperature. With an `eval_set` the
        first one decides, and the best weights are taken. Without one `validation_fraction` of the rows is held out;
        a new net then learns from all rows, for as many epochs as were best, and `history_` is that of the net that
        was stopped. With ``epochs="auto"`` there are at most 30 epochs.
    patience : int, default=5
        The epochs without a lower loss before early stopping.
    validation_fraction : float, default=0.1
        The share of rows that early stopping holds out where there is no `eval_set`.
    callbacks : sequence of callables, optional
        Each is called at each record with the estimator and the record, a dict. If it returns True, `fit` stops.
    warm_start : bool, default=False
        Whether `fit` goes on with the net there is, its preprocessing and its hashes.
    verbose : int, default=0
        1 shows a bar with rows per second, loss and time left, or lines of the logger "gcwsnet" where there is no
        terminal.
    random_state : int, RandomState instance or None, default=None
        An int from 0 to 2**64 - 1 is the seed of hashes, weights and order.
    n_jobs : int, default=None
        Threads; None is 1 and -1 is all. The model is the same for any number of them.
    device : str or torch.device, default="cpu"
        Where the net learns. All but "cpu" need torch and do not promise the same bits everywhere.

    Attributes
    ----------
    classes_ : array
        The labels, ascending; where y has a column for each label, the numbers of the columns.
    scaling_ : ColumnScaling, QuantileScaling, LocalScaling, LevelScaling, TermScaling or None
        The scaling of columns in use; ``coder_.preprocessing`` has the relevance and the indicators of missing values,
        too, and `explain` says it in words.
    p_ : float
        The power in use.
    selection_ : list of Candidate
        What the search has compared, each with its loss on held-out rows, the standard error of that, its accuracy, its
        temperature, its seconds and whether it was chosen. `plot_selection` draws it. The temperature divides the
        outputs of the chosen nets before they become probabilities, which corrects nets that are too sure.
    hasher_ : GCWSHasher
        The hasher in use.
    coder_ : Coder
        Preprocessing, p and hasher as one object: ``coder_.codes(X)`` are the codes of checked rows.
    trainer_ : Trainer
        The net and how far its training has come: ``trainer_.net.weights()`` are the weights by their names in
        `gcwsnet.nn.GCWSNet`, of an ensemble with the number of the net before the name.
    history_ : dict of lists
        The records: "epoch", "rows" learned so far, "seconds", "learning_rate"; "loss" and "accuracy" on the rows since
        the record before, each taken before it was learned; "eval_loss" and "eval_accuracy" on an `eval_set`. A call
        of `partial_fit` counts as an epoch. Of a stream there are at most 512 records, see ``docs/streams.md``.
    stream_events_ : list of dict
        What happened while a stream was followed: "preprocessing", "columns" and "label", with the "rows" seen.
    schema_ : Schema or None
        What the columns of a frame became; None for arrays. ``get_feature_names_out()`` has the names of the columns
        that are hashed.
    seed_, n_features_in_, n_rows_seen_, n_epochs_seen_ : int
    feature_names_in_ : array of str
        Where X has names that are all strings.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.model_selection import train_test_split
    >>> from gcwsnet import GCWSNetClassifier
    >>> X_train, X_test, y_train, y_test = train_test_split(*load_digits(return_X_y=True), random_state=0)
    >>> classifier = GCWSNetClassifier(n_hashes=64, scale="numeric", random_state=0).fit(X_train, y_train)
    >>> classifier.score(X_test, y_test) > 0.95
    True
    >>> classifier.scaling_
    ColumnScaling('numeric': 57 numeric standardised, 4 binary left as they are, 3 constant dropped)
    """

    class_weight: Mapping[Any, float] | Literal["balanced"] | None = None

    @writes
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> GCWSNetClassifier:
        """Learn from further rows, once and in their order; they may come in pieces of any size.

        The model follows a stream that changes: ``docs/streams.md`` says how. Where preprocessing or p are learned from
        the rows, the first 2,600 are kept in a warm-up buffer, and what is learned from them is learned again whenever
        they have doubled. The call that fills the buffer searches for a preprocessing, which takes a moment. What the
        columns of a frame become, with their categories, is learned from the rows of the first call.

        Parameters
        ----------
        X : array, CSR matrix or array, or frame, of shape (n, D)
        y : array of shape (n,), or of 0 and 1 of shape (n, labels)
        classes : array, optional
            All labels that the stream can have, at the first call; any other label is an error then. Without them, a
            label that is new becomes a class when it comes.
        sample_weight : array of shape (n,), optional
            A row of weight 0 is as if it were not there, with its label. If all rows of the first call have weight 0,
            that is an error; later calls of this kind change nothing.

        Returns
        -------
        self : GCWSNetClassifier
        """
        if y is None:
            raise without_targets(self)
        fitted = self.__sklearn_is_fitted__()
        if (self._fitted_params["class_weight"] if fitted else self.class_weight) == "balanced":
            raise ValueError(
                "class_weight='balanced' needs all rows and cannot be used with partial_fit; give the weights as a dict"
            )
        targets: Labels | None = None
        if not fitted and is_indicator_matrix(y):
            targets = LabelIndicators(np.arange(y.shape[1]))
        if classes is not None and not (fitted and _are_same(classes, self.classes_)):
            classes = np.unique(check_labels(classes))
            if not fitted:
                targets = Labels(classes) if targets is None else targets
            elif not np.array_equal(classes, self.classes_):
                raise ValueError(f"classes must be those of the first call, {self.classes_}, got {classes}")
        if not fitted:
            self._grows = classes is None
        return self._partial_fit(X, y, targets, sample_weight)

    @reads
    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the outputs of the net, of shape (n, n_classes); of two classes the second minus the first, (n,)."""
        outputs = self._outputs(X).astype(np.float64)
        if len(self.classes_) == 2 and not isinstance(self.trainer_.targets, LabelIndicators):
            return outputs[:, 1] - outputs[:, 0]
        return outputs

    @reads
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probabilities of the classes, of shape (n, n_classes); of each label where rows have several."""
        outputs = self._outputs(X)
        targets: Any = self.trainer_.targets
        return targets.probabilities(outputs)

    @reads
    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable label of each row; where rows have any number of labels, 1 for those they have."""
        outputs = self._outputs(X)
        return self.trainer_.targets.predictions(outputs)

    def _meet_targets(self, y: Any) -> NDArray[Any]:
        targets = self.trainer_.targets
        try:
            return targets.encode(y)
        except UnknownLabelError:
            if not self._grows or type(targets) is not Labels:
                raise
            labels = np.unique(check_labels(y))
            if (labels.dtype.kind == "U") != (targets.classes.dtype.kind == "U"):
                raise
        for label in np.setdiff1d(labels, targets.classes):
            place = int(np.searchsorted(targets.classes, label))
            classes = np.insert(np.append(targets.classes, label)[:-1], place, label)
            targets = Labels(classes, targets.temperature)
            self.trainer_.insert_output(place, targets)
            self._note("label", label=label.item(), classes=len(classes))
        self._use(self.trainer_)
        return targets.encode(y)

    def _targets_of(self, y: Any) -> Targets:
        if is_indicator_matrix(y):
            return LabelIndicators(np.arange(y.shape[1]))
        return Labels(np.unique(check_labels(y)))

    def _use(self, trainer: Trainer) -> None:
        super()._use(trainer)
        targets: Any = trainer.targets
        self.classes_ = targets.classes

    def _row_weights(self, weight: NDArray[Any] | None, target: NDArray[Any], targets: Any) -> NDArray[Any] | None:
        class_weight = self._fitted_params["class_weight"]
        if class_weight is None:
            return weight
        if isinstance(targets, LabelIndicators):
            raise ValueError(
                "class_weight is for one label in each row, and y has a column for each label; leave it out"
            )
        if self._stream is not None and self._grows:  # a class that has a weight may come later
            class_weight = {label: class_weight.get(label, 1.0) for label in targets.classes.tolist()}
        of_row = class_weights(class_weight, target, targets.classes)[target]
        return check_weights(of_row if weight is None else weight * of_row, "sample_weight times class_weight")

    def _strata(self, y: Any, n_held_out: int) -> Any:
        if y.ndim > 1:
            return None
        counts = np.unique(y, return_counts=True)[1]
        possible = counts.min() > 1 and len(counts) <= min(n_held_out, len(y) - n_held_out)
        return y if possible else None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


def _are_same(classes: Any, known: NDArray[Any]) -> bool:
    """Return whether classes are given as they are known, which takes less time than to sort them."""
    of_one_kind = isinstance(classes, np.ndarray) and classes.shape == known.shape and classes.dtype == known.dtype
    return of_one_kind and known.dtype.kind in "biuU" and classes.tobytes() == known.tobytes()


def class_weights(class_weight: Any, target: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.float64]:
    """Return the weight of each class; "balanced" gives all classes the same weight in total."""
    if class_weight == "balanced":
        counts = np.bincount(target, minlength=len(classes))
        return len(target) / (len(classes) * np.maximum(counts, 1))
    if isinstance(class_weight, Mapping):
        unknown = set(class_weight) - set(classes.tolist())
        if unknown:
            raise ValueError(f"class_weight must be for classes of y, got {unknown} that are none of them")
        weights = {label: float(class_weight.get(label, 1.0)) for label in classes.tolist()}
        for label, weight in weights.items():
            if not 0 <= weight <= MOST_WEIGHT:
                raise ValueError(f"class_weight must be from 0 to {MOST_WEIGHT:g}, that of {label!r} is {weight:g}")
        return np.array(list(weights.values()))
    raise ValueError(f"class_weight must be a dict, 'balanced' or None, got class_weight={class_weight!r}")


@dataclass(kw_only=True, eq=False, repr=False)
class GCWSNetRegressor(UnmaskedScore, RegressorMixin, BaseGCWSNet):
    """A regressor that predicts one or more numbers for rows of numbers, or of a table, by nets on their GCWS codes.

    It is `GCWSNetClassifier` for numbers; the net learns standardised targets.

    Parameters
    ----------
    loss : {"squared_error", "absolute_error", "huber"}, default="squared_error"
        The loss of the standardised targets. "absolute_error" predicts medians; "huber" is the square up to one
        standard deviation and grows like the absolute error beyond.
    n_hashes, bits, t_bits, p, scale, relevance, search, hidden, ensemble, reduction, epochs, batch_size, \
learning_rate, schedule, optimizer, betas, weight_decay, average, encoding, missing, shuffle, records, \
early_stopping, patience, validation_fraction, callbacks, warm_start, verbose, random_state, n_jobs, device
        As of `GCWSNetClassifier`.

    Attributes
    ----------
    scaling_, p_, selection_, schema_, hasher_, coder_, trainer_, seed_, n_features_in_, \
n_rows_seen_, n_epochs_seen_, feature_names_in_
        As of `GCWSNetClassifier`.
    history_ : dict of lists
        As of `GCWSNetClassifier`, with "rmse", the root mean square error in the units of y, for the accuracy. The
        loss is that of the standardised targets.
    target_mean_, target_deviation_ : arrays of float64, shape (n_outputs,)
        Mean and standard deviation of the targets of `fit`, or of the first `partial_fit`.

    Examples
    --------
    >>> import numpy as np
    >>> from gcwsnet import GCWSNetRegressor
    >>> X = np.random.default_rng(0).normal(size=(2000, 2))
    >>> y = X[:, 0] * X[:, 1]
    >>> regressor = GCWSNetRegressor(n_hashes=128, epochs=5, random_state=0).fit(X[:1500], y[:1500])
    >>> regressor.score(X[1500:], y[1500:]) > 0.7
    True
    """

    loss: str = "squared_error"

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> GCWSNetRegressor:
        """Learn from further rows, once and in their order; they may come in pieces of any size.

        The model follows a stream that changes: ``docs/streams.md`` says how. The first 2,600 rows are kept in a
        warm-up buffer. Whenever these rows have doubled, preprocessing and the mean and the standard deviation of y are
        learned from all of them again. The call that fills the buffer searches for a preprocessing and p.

        Parameters
        ----------
        X : array, CSR matrix or array, or frame, of shape (n, D)
        y : array of shape (n,) or (n, m)
        sample_weight : array of shape (n,), optional
            A row of weight 0 is as if it were not there, with its label. If all rows of the first call have weight 0,
            that is an error; later calls of this kind change nothing.

        Returns
        -------
        self : GCWSNetRegressor
        """
        if y is None:
            raise without_targets(self)
        return self._partial_fit(X, y, None, sample_weight)

    @reads
    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return numbers of the shape of y."""
        outputs = self._outputs(X)
        return self.trainer_.targets.predictions(outputs)

    def _check_parameters(self) -> tuple[CoderSettings, TrainingSettings]:
        check_choice("loss", self.loss, LOSSES)
        return super()._check_parameters()

    def _targets_of(self, y: Any) -> Targets:
        return Numbers.learn(y, self.loss)

    def _targets_with(self, targets: Targets, y: Any) -> Targets:
        return Numbers.learn(y, targets.loss)

    def _warm_up_rows(self) -> int:
        return WARM_UP_ROWS  # for the mean and the standard deviation of y

    def _use(self, trainer: Trainer) -> None:
        super()._use(trainer)
        targets: Any = trainer.targets
        self.target_mean_: NDArray[np.float64] = targets.mean
        self.target_deviation_: NDArray[np.float64] = targets.deviation

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
