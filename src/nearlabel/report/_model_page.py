"""The page of a model: verdict, labels, errors, metrics, calibration, thresholds, the data, explorer, card."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from nearlabel.report import _sections
from nearlabel.report._audit_page import suspects
from nearlabel.report._tables import Column, Facts, Markup, element, join, notes, shown, shown_threshold, table, texts

_SEEN = "The model was fitted to these samples"
_AROUND = re.compile(r"(?:Pipeline|TunedThresholdsClassifierCV|FixedThresholdsClassifier|CalibratedLabels)\((.*)\)")


def title(facts: Facts) -> str:
    """Return the title of the page."""
    return f"{_classifier(facts['card']['method'])} on {facts['data']['name']}"


def verdict(facts: Facts) -> Markup:
    """Return the sentence, the headline figures and the warnings below the title."""
    warned = [*_seen(facts), *facts["notes"]]
    return join(element("p", _verdict(facts["headline"]), class_="verdict"), _headline(facts), notes(warned))


def sections(facts: Facts) -> list[tuple[str, Markup]]:
    """Return the headings and contents of the page."""
    return [
        ("Labels", _labels(facts)),
        ("Most wrong samples", _sections.wrong_section(facts["wrong"], left_out=facts["left_out"], seen=facts["seen"])),
        ("Confusion between labels", _sections.confusion_section(facts["confusions"])),
        ("Precision and recall of labels", _label_curves(facts["label_curves"])),
        *([("Predictions to check", _doubtful(facts["doubtful"]))] if facts["doubtful"] else []),
        ("Metrics", _metrics(facts)),
        ("Calibration", _calibration(facts["calibration"])),
        ("Thresholds", _frontier(facts["frontier"])),
        *([("Label co-occurrence", _co_occurrence(facts))] if len(facts["co_occurrence"]["names"]) > 1 else []),
        ("Data", _sections.data_figures(facts["data"])),
        ("Findings in the data", _sections.examination_section(facts["examination"])),
        *([] if facts["suspects"] is None else [("Suspicious labels", _suspects(facts["suspects"]))]),
        ("Explorer", _explorer(facts["explorer"], seen=facts["seen"])),
        ("Model", _card(facts["card"], facts["made_with"])),
    ]


_STALE = {"thresholds_stale": "thresholds", "n_neighbors_stale": "number of neighbours"}


def _classifier(method: str) -> str:
    """Return the classifier in the text of a method: without the pipeline, thresholds and calibration around it.

    Examples
    --------
    >>> _classifier("Pipeline(FeatureScaler, TunedThresholdsClassifierCV(MLkNN))"), _classifier("BinaryRelevance(SVC)")
    ('MLkNN', 'BinaryRelevance(SVC)')
    """
    while found := _AROUND.fullmatch(method):
        method = _last_part(found[1])
    return method


def _last_part(text: str) -> str:
    """Return the part after the last comma outside brackets."""
    depth = start = 0
    for place, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        start = place + 2 if letter == "," and not depth else start
    return text[start:]


def _seen(facts: Facts) -> list[str]:
    if not facts["seen"]:
        return []
    if facts["left_out"]:
        figures = "The figures are leave-one-out: each sample is predicted from all others"
        hence = "Thresholds, numbers of neighbours and scaling are those of all samples, hence slightly optimistic"
        return [f"{_SEEN}. {figures}. {hence}."]
    own = ", and each sample is its own neighbour" if facts["explorer"]["explained"] else ""
    return [f"{_SEEN}: all figures are optimistic{own}."]


def _verdict(headline: Facts) -> str:
    """Return a one-sentence evaluation of the model."""
    true, predicted, hits = (headline[name] for name in ("true", "predicted", "hits"))
    if not true:
        return "No sample has a label, so the model cannot be evaluated."
    if not predicted:
        return "The model predicts no label."
    finds = f"The model finds {_percent(hits / true)} of the true labels, and {_percent(hits / predicted)} of its"
    better = "better than" if headline["f1"] > headline["constant_f1"] else "no better than"
    f1, constant = shown(headline["f1"]), shown(headline["constant_f1"])
    return (
        f"{finds} predicted labels are right: micro F1 {f1}, {better} the best prediction that is the same for all"
        f" samples ({constant})."
    )


def _percent(share: float) -> str:
    """Return a share in whole percent; only 0 and 1 are shown as 0 % and 100 %."""
    percent = round(100 * share)
    words = "under 1" if share and not percent else "over 99" if share < 1 and percent == 100 else str(percent)
    return f"{words}\N{NO-BREAK SPACE}%"


def _headline(facts: Facts) -> Markup:
    values = {one["name"]: one["value"] for one in facts["metrics"]}
    n_exact, n_samples = facts["headline"]["n_exact"], facts["data"]["instances"]
    worst = _by_trouble(facts["labels"])[0] if facts["labels"] else None
    pairs = [
        ("Micro F1", values.get("micro_f1")),
        ("Macro F1", values.get("macro_f1")),
        ("Average precision", values.get("average_precision")),
        ("Exact matches", None if n_exact is None else f"{n_exact:,} of {n_samples:,} samples"),
        ("Hardest label", f"{worst['name']} (F1 {shown(worst['f1'])})" if worst and worst["f1"] is not None else None),
    ]
    return element("div", _sections.facts_list(pairs), class_="headline")


def _by_trouble(labels: Sequence[Facts]) -> list[Facts]:
    """Return labels by F1, lowest first; ties by decreasing number of samples; undefined ones last."""
    return sorted(labels, key=lambda one: (one["f1"] is None, one["f1"] or 0.0, -one["support"]))


def _changes(changes: Mapping[str, Any] | None) -> list[tuple[str, str]]:
    """Return the changes of the training samples since the fit, and the stale settings."""
    if changes is None:
        return []
    stale = [words for name, words in _STALE.items() if changes[name]]
    return [
        ("Samples added since the fit", str(changes["added"])),
        ("Samples removed since", str(changes["forgotten"])),
        *([("New labels", str(len(changes["new_labels"])))] if changes["new_labels"] else []),
        ("Tuned before these changes", ", ".join(stale) or "nothing"),
    ]


def _card(card: Facts, made_with: Sequence[Mapping[str, str]]) -> Markup:
    data = card["data"]
    known = [(name, data[name]) for name in ("rows", "features", "labels", "cardinality", "density")]
    libraries = ", ".join(f"{library} {version}" for library, version in card["versions"].items())
    parameters = table(texts("parameter", "value"), list(card["parameters"].items()), "Parameters")
    pairs = [
        ("Method", card["method"]),
        ("Saved", card["created"]),
        ("Trained on", data["name"]),
        *((f"Training {name}", value) for name, value in known),
        ("Guarantee", card.get("guarantee") or None),
        ("Saved columns of training samples", ", ".join(card.get("kept", ())) or None),
        *_changes(card.get("changes")),
        ("Versions", libraries),
        ("Figures made with", _sections.shown_environments(made_with)),
    ]
    remarks = notes([card["notes"]] if card["notes"] else [])
    return join(
        _sections.facts_list(pairs), remarks, _sections.more(f"{len(card['parameters'])} parameters", parameters)
    )


def _suspects(found: Facts) -> Markup:
    if found["note"]:
        return notes([found["note"]])
    flagged = f"{found['n_issues']:,} cells of the training samples are flagged, based on leave-one-out predictions."
    words = f"{flagged} nearlabel audit MODEL --out FILE lists them for corrections. The most suspicious:"
    return join(notes([words]), suspects(found["cells"], n_open=3))


def _doubtful(found: Sequence[Facts]) -> Markup:
    words = (
        "The samples with the largest expected numbers of wrong labels, by the model's own probabilities."
        " nearlabel suggest MODEL POOL --for review lists more, also unlabelled samples."
    )
    columns = [*texts("sample", "predicted"), Column("wrong labels expected")]
    columns += texts("most uncertain labels, and the probability that they are wrong")
    rows = [
        (one["name"], ", ".join(one["predicted"]) or "no label", one["expected"], "; ".join(map(_doubt, one["doubts"])))
        for one in found
    ]
    told = table(columns, rows, "Predictions with the largest expected loss, worst first")
    return join(notes([words]), element("div", told, class_="prose"))


def _doubt(doubt: Facts) -> str:
    """Return a possibly wrong prediction of a label, and whether it is wrong."""
    decided = "predicted" if doubt["predicted"] else "not predicted"
    verdict = {None: "unknown", True: "wrong", False: "right"}[doubt["is_wrong"]]
    return f"{doubt['label']} {decided}, {doubt['probability_wrong']:.0%} ({verdict})"


def _metrics(facts: Facts) -> Markup:
    recorded = any(one["at_training"] is not None for one in facts["metrics"])
    keys = {"value": "value"} | ({"at_training": "at training time"} if recorded else {})
    columns = [*texts("metric"), *map(Column, keys.values())]
    rows = [
        (f"{one['title']} {'↑' if one['greater_is_better'] else '↓'}", *(one[key] for key in keys))
        for one in facts["metrics"]
    ]
    told = f" At training time: {facts['card']['measured']}." if recorded and facts["card"]["measured"] else ""
    words = f"↑ higher is better, ↓ lower is better.{told}"
    return join(notes([words]), table(columns, rows, f"Metrics on {facts['data']['name']}"))


def _labels(facts: Facts) -> Markup:
    labels = _by_trouble(facts["labels"])
    keys = {
        "support": "samples", "f1": "F1", "precision": "precision", "recall": "recall", "predicted": "predicted",
        "threshold": "threshold", "best_threshold": "best threshold",
    }  # fmt: skip
    used = [key for key in keys if any(one[key] is not None for one in labels)]
    columns = texts("label")
    columns += [Column(keys[key], show=shown_threshold if "threshold" in key else shown) for key in used]
    rows = [(one["name"], *(one[key] for key in used)) for one in labels]
    remarks = ["The label with the lowest F1 is first. – means 0/0: a label that is never predicted has no precision."]
    if "best_threshold" in used:
        remarks.append("The best thresholds are those of the largest micro-averaged F1 on these samples.")
    if len(labels) < facts["n_labels"]:
        remarks.append(f"The {len(labels):,} most frequent of {facts['n_labels']:,} labels.")
    each = table(columns, rows, "Precision, recall and F1 of each label, lowest F1 first", filtered="labels")
    return join(notes([" ".join(remarks)]), each)


def _label_curves(of_labels: Facts) -> Markup:
    curves = of_labels["curves"]
    if not curves:
        return notes(["The model has no scores, or no label has enough samples for a curve."])
    n_labels = of_labels["n_labels"]
    which = "All labels" if len(curves) == n_labels else f"The {len(curves)} of {n_labels:,} labels with the lowest F1"
    words = (
        f"{which}, the lowest F1 first; labels of fewer than five samples are not drawn. The line is reached by the"
        " thresholds of one label, the circle by the model. Random scores have a precision of the share of samples."
    )
    return join(notes([words]), element("div", *map(_label_curve, curves), class_="grid"))


def _label_curve(curve: Facts) -> Markup:
    pairs = [
        ("average precision", curve["average_precision"]),
        ("share of samples", curve["share"]),
        ("precision of the model", curve["precision_of_model"]),
        ("recall of the model", curve["recall_of_model"]),
        ("F1 of the model", curve["f1"]),
    ]
    numbers = table([*texts("figure"), Column("value")], pairs, f"Figures of {curve['name']}")
    words = f"Average precision {shown(curve['average_precision'])}, share of samples {shown(curve['share'])}."
    return _sections.figure(curve["name"], _sections.draw_label_curve(curve), numbers, words)


def _calibration(calibration: Facts | None) -> Markup:
    if calibration is None:
        return notes(["The model has no probabilities."])
    columns = [*texts("probability"), Column("pairs"), Column("mean probability"), Column("share true")]
    rows = [
        (f"{one['low']:.1f} to {one['high']:.1f}", one["count"], one["mean_score"], one["true_share"])
        for one in calibration["bins"]
    ]
    words = (
        f"Expected calibration error {shown(calibration['error'])}, over all pairs of a sample and a label."
        " Above the diagonal the probabilities are too low, below it too high; the larger a dot, the more pairs."
    )
    numbers = table(columns, rows, "Probabilities in ten bins")
    return _sections.figure("Reliability, micro-averaged", _sections.draw_reliability(calibration), numbers, words)


def _frontier(frontier: Facts | None) -> Markup:
    if frontier is None:
        return notes(["The model has no scores, or no label occurs in the data."])
    names = {"model": "the model's decisions", "best": "best thresholds for these samples"}
    points = [(names[key], *(frontier[key][name] for name in ("precision", "recall", "f1"))) for key in names]
    columns = [*texts("point"), Column("micro precision"), Column("micro recall"), Column("micro F1")]
    drawn, count = len(frontier["recall"]), frontier["n_points"]
    points_of_line = f"all {count:,} points" if drawn == count else f"{drawn:,} of the {count:,} points"
    words = (
        f"The line: {points_of_line} that thresholds per label can reach and that are best for some F-beta."
        " The best thresholds are those of the largest F1 on these samples, hence optimistic."
    )
    numbers = table(columns, points, "Two points of the figure")
    return _sections.figure(
        "Micro-averaged precision and recall", _sections.draw_precision_recall(frontier), numbers, words
    )


def _co_occurrence(facts: Facts) -> Markup:
    pairs = facts["co_occurrence"]
    count = len(pairs["names"])
    of = f"The {count} most frequent of {facts['n_labels']:,} labels. " if count < facts["n_labels"] else ""
    return _sections.co_occurrence_figure("Labels that occur together", pairs, of)


def _explorer(explorer: Facts, *, seen: bool) -> Markup:
    count, total = len(explorer["rows"]), explorer["n_rows"]
    which = f"{count} of {total:,} samples, spread evenly." if count < total else "All samples."
    has_amounts = any(row["amounts"] for row in explorer["rows"])
    is_explained = explorer["explained"] or has_amounts
    neighbours = "" if is_explained else " The model does not explain itself: no neighbours are known."
    if seen and explorer["explained"]:
        neighbours = " Each sample is its own neighbour here: these predictions are not leave-one-out."
    place = element("div", element("p", "The explorer needs JavaScript.", class_="note"), id="explorer-view")
    return join(notes([f"{which}{neighbours}"]), place)
