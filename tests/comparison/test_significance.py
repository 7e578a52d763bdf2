import itertools
import math

import numpy as np
import pytest
from scipy import stats

from nearlabel.comparison import (
    FriedmanTest,
    OverlappingFoldsWarning,
    PairedTest,
    PairedValues,
    compare,
    friedman_test,
    order_methods,
    paired_tests,
    paired_values,
)


def record(dataset, method, fold, value, *, metric="hamming_loss", n_neighbors=None, seed=0):
    """A record of a fold."""
    return {
        "dataset": dataset, "seed": seed, "fold": fold, "method": method, "n_neighbors": n_neighbors, "metric": metric,
        "value": value,
    }  # fmt: skip


def table(values, *, metric="micro_f1", overlap=0.0):
    """Paired values of methods a, b, c, ..."""
    values = np.asarray(values, dtype=float)
    return PairedValues("all", metric, tuple("abcdefgh"[: values.shape[1]]), values, overlap)


def test_values_by_fold_and_by_data_set():
    """Folds are rows, in their order; data sets have the mean of their folds; numbers of neighbours are averaged."""
    records = [
        record(d, m, fold, 0.1 * fold + 0.01 * k + (m == "b") + 2 * (d == "two"), n_neighbors=k)
        for d in ("one", "two") for m in "ab" for fold in range(3) for k in (1, 3)
    ]  # fmt: skip
    one, two = paired_values(records, "folds")
    assert (one.dataset, two.dataset, one.methods, one.metric) == ("one", "two", ("a", "b"), "hamming_loss")
    np.testing.assert_allclose(one.values, [[0.02, 1.02], [0.12, 1.12], [0.22, 1.22]])
    assert one.overlap == 1 / 2
    (both,) = paired_values(records, "datasets", methods=["b", "a"])
    np.testing.assert_allclose(both.values, [[1.12, 0.12], [3.12, 2.12]])
    assert (both.dataset, both.overlap, both.methods) == ("all", 0.0, ("b", "a"))


def test_undefined_values():
    """A pair needs both values, 0 is one; a method without any takes part in nothing; counts are no measure."""
    records = [
        record("one", m, f, v) for m, row in {"a": [0.0, 2, None], "b": [3, None, 4]}.items() for f, v in enumerate(row)
    ]
    records += [record("one", "c", f, None) for f in range(3)] + [record("one", "a", 0, 5, metric="empty_predictions")]
    (values,) = paired_values(records, "folds")
    assert values.difference("a", "b").tolist() == [-3]
    assert len(values.difference("a", "c")) == 0
    assert values.complete().methods == ("a", "b")
    assert values.complete().values.tolist() == [[0, 3]]
    assert [t.methods for t in paired_tests(values, "corrected-t")] == [("a", "b")]


def test_folds_of_a_run_that_is_not_complete():
    """The overlap is that of as many folds as the highest number tells, also where another seed has but one."""
    records = [
        record("one", m, f, f + (m == "b"), seed=s) for m in "ab" for s, f in [*((0, f) for f in range(10)), (1, 0)]
    ]
    (values,) = paired_values(records, "folds")
    assert values.overlap == 1 / 9
    assert len(values.values) == 11
    given = [record(d, m, 0, 1.0, seed=None) for d in ("one", "two") for m in "ab"]
    assert [table.overlap for table in paired_values(given, "folds")] == [0.0, 0.0]


def test_data_sets_have_the_means_of_common_folds():
    """A method that lacks folds, of an interrupted run, lets the others be compared on those it has."""
    records = [record("one", m, f, f + (m == "b")) for m, n in (("a", 10), ("b", 4)) for f in range(n)]
    records += [record("two", "a", 0, 1.0), record("two", "b", 1, 2.0)]  # no fold in common
    records += [record("three", "a", f, f) for f in range(3)]  # b is not there at all
    (values,) = paired_values(records, "datasets")
    np.testing.assert_array_equal(values.values, [[1.5, 2.5], [np.nan, np.nan], [1.0, np.nan]])


def test_numbers_of_neighbors_must_be_the_same():
    """Means over other numbers are not comparable; one that is undefined for a method is left out for all."""
    records = [record("one", m, f, k + f, n_neighbors=k) for m in "ab" for f in range(2) for k in (1, 3)]
    records += [record("one", "c", f, 7.0) for f in range(2)]
    (values,) = paired_values(records, "folds")
    np.testing.assert_array_equal(values.values, [[2, 2, 7], [3, 3, 7]])
    undefined = [
        r | {"value": None} if (r["method"], r["fold"], r["n_neighbors"]) == ("a", 0, 1) else r for r in records
    ]
    np.testing.assert_array_equal(paired_values(undefined, "folds")[0].values, [[3, 3, 7], [3, 3, 7]])
    with pytest.raises(
        ValueError, match=r"n_neighbors must be the same .* on one \(hamming_loss\), got .*\[1, 3\].*\[1\]"
    ):
        paired_values([r for r in records if (r["method"], r["n_neighbors"]) != ("b", 3)], "folds")


def test_t_equals_scipy_and_the_sign_follows_the_measure():
    """Student's paired t; positive where the first method is better, for losses where its values are lower."""
    values = np.random.default_rng(0).normal(size=(9, 2))
    expected = stats.ttest_rel(*values.T)
    for metric, sign in (("micro_f1", 1), ("hamming_loss", -1)):
        (test,) = paired_tests(table(values, metric=metric), "t")
        assert test.statistic == pytest.approx(sign * expected.statistic)
        assert test.p_value == pytest.approx(expected.pvalue)
        assert test.difference == pytest.approx(np.mean(values[:, 0] - values[:, 1]))
        assert test.better == ("a" if sign * expected.statistic > 0 else "b")
        assert test.n_pairs == 9


def test_corrected_t_by_hand():
    """Nadeau and Bengio: the variance of the mean is s² (1/n + n_test/n_train), ten folds 1/10 + 1/9."""
    differences = np.array([0.01, 0.03, 0.02, 0.02, 0.05, -0.01, 0.03, 0.02, 0.01, 0.02])
    values = np.column_stack([0.5 + differences, np.full(10, 0.5)])
    (test,) = paired_tests(table(values, overlap=1 / 9), "corrected-t")
    variance = sum((d - 0.02) ** 2 for d in differences) / 9
    t = 0.02 / math.sqrt((1 / 10 + 1 / 9) * variance)
    assert test.statistic == pytest.approx(t)
    assert test.p_value == pytest.approx(2 * stats.t.sf(t, 9))
    (independent,) = paired_tests(table(values), "corrected-t")
    assert independent.p_value == pytest.approx(stats.ttest_rel(*values.T).pvalue)


@pytest.mark.parametrize("seed", range(8))
def test_wilcoxon_equals_all_signs(seed):
    """The p-value is the share of the 2^n signs whose rank sum is as far out; ties share ranks, zeros count half."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 15))
    differences = rng.integers(-3, 4, n) / 10 if seed % 2 else rng.normal(size=n)
    (test,) = paired_tests(table(np.column_stack([differences, np.zeros(n)])), "wilcoxon")
    differences = np.round(differences, 12)
    ranks = stats.rankdata(np.abs(differences))  # with the zeros, whose ranks fall half to each side
    observed = np.sign(differences) @ ranks
    sums = [
        np.dot(signs, ranks[differences != 0]) for signs in itertools.product((-1, 1), repeat=sum(differences != 0))
    ]
    assert test.statistic == pytest.approx(observed)
    assert test.p_value == pytest.approx(np.mean(np.abs(sums) >= abs(observed) - 1e-9))


def test_wilcoxon_of_many_pairs_equals_scipy():
    """Without ties the exact distribution is scipy's, also for sixty pairs."""
    differences = np.random.default_rng(0).normal(size=60) + 0.2
    (test,) = paired_tests(table(np.column_stack([differences, np.zeros(60)])), "wilcoxon")
    assert test.p_value == pytest.approx(stats.wilcoxon(np.round(differences, 12), method="exact").pvalue)


@pytest.mark.long
@pytest.mark.parametrize("n", [5, 8, 30])
def test_bayesian_signed_rank_equals_baycomp(n):
    """The same random numbers give the probabilities of the authors' library, in both directions of the measure."""
    baycomp = pytest.importorskip("baycomp")
    rng = np.random.default_rng(n)
    values = np.round(rng.normal(size=(n, 2)) + np.array([0.2, 0]), 1)
    worse, better = baycomp.SignedRankTest.probs(np.zeros(n), np.round(values[:, 0] - values[:, 1], 12), random_state=0)
    for metric, sign in (("micro_f1", 1), ("hamming_loss", -1)):
        (test,) = paired_tests(table(sign * values, metric=metric), "bayes")
        assert test.statistic == pytest.approx(better - worse, abs=1e-9)
        assert test.p_value == pytest.approx(min(better, worse), abs=1e-9)


def test_few_pairs_have_no_bayesian_answer():
    """Below five the prior decides."""
    (test,) = paired_tests(table([[2, 1]] * 4), "bayes")
    assert math.isnan(test.p_value)
    (test,) = paired_tests(table([[2, 1]] * 5), "bayes")
    assert test.p_value < 0.05


@pytest.mark.parametrize("test", ["t", "corrected-t", "wilcoxon", "bayes"])
def test_nothing_to_test(test):
    """No difference, or one pair: nothing is computed and nothing warns; noise of rounding is no difference."""
    for values in ([[1, 1], [2, 2]], [[1, 2]], [[0.1 + 0.2, 0.3], [0.3, 0.3]]):
        (outcome,) = paired_tests(table(values), test)
        assert math.isnan(outcome.p_value)
        assert math.isnan(outcome.statistic)
    assert order_methods([outcome], "ab").relations == ()


def test_the_same_difference_everywhere():
    """Student's t has no deviation to divide by; signed ranks have an answer."""
    values = table(np.column_stack([np.arange(8) + 0.5, np.arange(8)]))
    assert math.isnan(paired_tests(values, "t")[0].p_value)
    assert paired_tests(values, "wilcoxon")[0].p_value == pytest.approx(2 / 2**8)


def test_overlapping_folds_are_told():
    """Tests that take folds as independent warn; the corrected one need not."""
    values = table(np.random.default_rng(0).normal(size=(5, 3)), overlap=1 / 4)
    for test in ("t", "wilcoxon"):
        with pytest.warns(OverlappingFoldsWarning, match="corrected-t"):
            paired_tests(values, test)
    with pytest.warns(OverlappingFoldsWarning):
        friedman_test(table(np.random.default_rng(0).normal(size=(7, 3)), overlap=1 / 6))
    assert len(paired_tests(values, "corrected-t")) == 3


def test_friedman_equals_scipy_and_iman_davenport():
    """χ² as scipy's, with ties; F = (n - 1) χ² / (n (k - 1) - χ²)."""
    values = np.random.default_rng(1).integers(0, 6, (12, 4)) / 10
    test = friedman_test(table(values))
    expected = stats.friedmanchisquare(*values.T)
    assert test.statistic == pytest.approx(expected.statistic)
    assert test.p_value == pytest.approx(expected.pvalue)
    f = 11 * expected.statistic / (12 * 3 - expected.statistic)
    assert test.f_statistic == pytest.approx(f)
    assert test.f_p_value == pytest.approx(stats.f.sf(f, 3, 33))
    ranks = np.mean([stats.rankdata(-row) for row in values], axis=0)
    assert list(test.mean_ranks.values()) == pytest.approx(ranks.tolist())
    losses = friedman_test(table(-values, metric="hamming_loss"))
    assert losses.mean_ranks == test.mean_ranks
    assert losses.tests[0].statistic == pytest.approx(test.tests[0].statistic)


@pytest.mark.parametrize(("n_methods", "n", "expected"), [(4, 14, 1.25), (5, 30, 1.11)])
def test_critical_differences_of_the_literature(n_methods, n, expected):
    """Demšar (2006): four methods on 14 data sets need 1.25; q = 2.728 for five gives 2.728 sqrt(5·6/(6·30)) = 1.11."""
    values = np.random.default_rng(0).normal(size=(n, n_methods))
    assert friedman_test(table(values)).critical_difference == pytest.approx(expected, abs=0.005)
    assert friedman_test(table(values), alpha=0.1).critical_difference < 0.95 * expected


def test_pairs_are_not_looked_at_unless_f_rejects():
    """Here F does not reject, Nemenyi would: the diagram, as the relations, shows no difference."""
    rng = np.random.default_rng(31)
    values = rng.random((int(rng.integers(5, 12)), 6))
    values[:, 0] += 0.35
    test = friedman_test(table(values))
    assert min(pair.p_value for pair in test.tests) < 0.05 < test.f_p_value
    assert not test.rejects()
    assert [len(group) for group in test.not_different()] == [6]


def test_rows_that_friedman_leaves_out_are_told():
    """One method that is known of few data sets takes the others' rows with it."""
    records = [record(f"set{d}", m, 0, d + i) for d in range(9) for i, m in enumerate("abc")]
    records += [record(f"set{d}", "late", 0, d + 3) for d in range(7)]
    notes = compare(records, test="friedman").notes
    assert notes == (
        "hamming_loss: 2 of 9 data sets are left out, on which late have no value. Hint: compare without them.",
    )
    rough = compare([r for r in records if r["dataset"] < "set5"], test="friedman").notes
    assert rough == ("Friedman's p-values are approximations, rough for 5 data sets.",)


@pytest.mark.long
def test_post_hoc_tests_equal_other_libraries():
    """Nemenyi's p-values are scikit-posthocs's; Holm's are statsmodels's of the two-tailed z."""
    posthocs = pytest.importorskip("scikit_posthocs")
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    values = np.random.default_rng(3).normal(size=(10, 4)) + np.array([0, 0.5, 1, 1.5])
    nemenyi = friedman_test(table(values))
    theirs = posthocs.posthoc_nemenyi_friedman(values).to_numpy()
    pairs = [*itertools.combinations(range(4), 2)]
    assert [t.p_value for t in nemenyi.tests] == pytest.approx([theirs[i, j] for i, j in pairs], abs=1e-6)
    ranks = np.mean([stats.rankdata(-row) for row in values], axis=0)
    z = [(ranks[j] - ranks[i]) / math.sqrt(4 * 5 / 60) for i, j in pairs]
    holm = friedman_test(table(values), "holm")
    assert [t.statistic for t in holm.tests] == pytest.approx(z)
    expected = multitest.multipletests(2 * stats.norm.sf(np.abs(z)), method="holm")[1]
    assert [t.p_value for t in holm.tests] == pytest.approx(expected.tolist())


def test_holm_by_hand():
    """The smallest p-value is multiplied by three, the next by two, the last by one, and none falls below another."""
    values = np.array([[3, 2, 1]] * 6 + [[3, 1, 2]] * 2, dtype=float)
    test = friedman_test(table(values), "holm")  # mean ranks 1, 2.25, 2.75, the error sqrt(3·4/(6·8)) = 1/2
    z = {("a", "b"): 2.5, ("a", "c"): 3.5, ("b", "c"): 1.0}
    assert {t.methods: t.statistic for t in test.tests} == pytest.approx(z)
    p = {pair: 2 * stats.norm.sf(v) for pair, v in z.items()}
    expected = {("a", "c"): 3 * p["a", "c"], ("a", "b"): 2 * p["a", "b"], ("b", "c"): p["b", "c"]}
    assert {t.methods: t.p_value for t in test.tests} == pytest.approx(expected)
    assert test.not_different() == [["b", "c"]]
    assert test.not_different(alpha=0.02) == [["a", "b"], ["b", "c"]]
    assert test.not_different(alpha=0.001) == [["a", "b", "c"]]


def test_friedman_on_equal_and_on_unanimous_rows():
    """All alike: nothing to find; all rows agree: χ² is at its largest, F infinite."""
    equal = friedman_test(table(np.ones((6, 3))))
    assert (equal.statistic, equal.p_value, equal.f_p_value) == (0.0, 1.0, 1.0)
    assert equal.not_different() == [["a", "b", "c"]]
    unanimous = friedman_test(table([[1, 2, 3]] * 6))
    assert unanimous.statistic == pytest.approx(12)
    assert (unanimous.f_statistic, unanimous.f_p_value) == (math.inf, 0.0)
    assert isinstance(unanimous, FriedmanTest)


@pytest.mark.parametrize("values", [[[1, 2], [2, 1]], [[1, 2, 3]], [[1, 2, np.nan]] * 4])
def test_too_little_for_friedman(values):
    """Three methods on two rows at least, after what is undefined has left."""
    with pytest.raises(
        ValueError, match="must have values of 3 methods on the same 2 folds or data sets, for Friedman's"
    ):
        friedman_test(table(values))


def test_order_by_hand():
    """A win is +1 and a defeat -1; what is not below the level is nothing."""
    tests = [
        PairedTest("one", "hamming_loss", ("a", "b"), -0.1, 3.0, 0.01, 10),
        PairedTest("one", "hamming_loss", ("b", "c"), 0.1, -3.0, 0.049, 10),
        PairedTest("one", "micro_f1", ("a", "c"), 0.1, 3.0, 0.001, 10),
        PairedTest("one", "micro_f1", ("b", "c"), 0.1, 2.0, 0.05, 10),
    ]
    order = order_methods(tests, ["c", "b", "a"])
    assert [(r.metric, r.better, r.worse) for r in order.relations] == [
        ("hamming_loss", "a", "b"), ("hamming_loss", "c", "b"), ("micro_f1", "a", "c"),
    ]  # fmt: skip
    assert list(order.scores.items()) == [("a", 2), ("c", 0), ("b", -2)]
    assert order.by_metric() == {
        "hamming_loss": {"a": 1, "c": 1, "b": -2}, "micro_f1": {"a": 1, "c": -1, "b": 0},
    }  # fmt: skip
    few = order_methods(tests, "abc", alpha=0.005)
    assert few.scores == {"a": 1, "b": 0, "c": -1}
    assert few.by_metric()["hamming_loss"] == {"a": 0, "b": 0, "c": 0}


def random_records(n_datasets, n_folds=4, methods="abc"):
    """Records in which a is best, b next."""
    rng = np.random.default_rng(0)
    return [
        record(f"set{d}", m, fold, 0.5 + 0.1 * i + 0.01 * rng.random())
        for d in range(n_datasets) for fold in range(n_folds) for i, m in enumerate(methods)
    ]  # fmt: skip


def test_compare():
    """Over folds of one data set, over data sets if there are several; the notes say what the test assumes."""
    one = compare(random_records(1))
    assert (one.over, one.test, one.notes) == ("folds", "corrected-t", ())
    assert one.order.scores == {"a": 2, "b": 0, "c": -2}
    assert "corrected-t" in compare(random_records(1), test="t").notes[0]
    several = compare(random_records(6))
    assert several.test == "wilcoxon"
    assert (several.over, several.notes) == ("datasets", ())
    assert several.order.scores == {"a": 2, "b": 0, "c": -2}
    assert {t.n_pairs for t in several.tests} == {6}
    relation = several.order.relations[0]
    assert (relation.better, relation.worse, relation.n_pairs) == ("a", "b", 6)
    assert relation.difference == pytest.approx(-0.1, abs=0.02)
    each = compare(random_records(6), over="folds")
    assert each.order.scores == {"a": 12, "b": 0, "c": -12}
    assert compare(random_records(6), methods=["c", "a"]).order.scores == {"a": 1, "c": -1}


def test_compare_by_friedman():
    """The pairs count only where Friedman's test itself rejects."""
    comparison = compare(random_records(6), test="friedman")
    assert comparison.friedman[0].mean_ranks == {"a": 1.0, "b": 2.0, "c": 3.0}
    assert [(r.better, r.worse) for r in comparison.order.relations] == [("a", "c")]
    rng = np.random.default_rng(0)
    noise = [record(f"set{d}", m, 0, float(rng.random())) for d in range(6) for m in "abc"]
    quiet = compare(noise, test="friedman", alpha=0.05)
    assert quiet.friedman[0].f_p_value > 0.05
    assert quiet.order.relations == ()
    assert len(quiet.tests) == 3


def test_measures_that_friedman_cannot_take():
    """A measure that is known of two methods only is left out, and the notes say so; the others are tested."""
    records = random_records(6) + [record(f"set{d}", m, 0, d, metric="coverage") for d in range(6) for m in "ab"]
    comparison = compare(records, test="friedman")
    assert [of.metric for of in comparison.friedman] == ["hamming_loss"]
    assert comparison.notes == (
        "coverage is left out: it must have values of 3 methods on the same 2 folds or data sets.",
    )
    with pytest.raises(ValueError, match="coverage must have values of 3 methods"):
        compare(records, test="friedman", metrics=["coverage"])


@pytest.mark.parametrize(
    ("records", "options", "message"),
    [
        (random_records(1), {"test": "u"}, "test must be one of"),
        (random_records(1), {"over": "rows"}, "over must be one of"),
        (random_records(1), {"alpha": 1}, "alpha must be below 1, got 1"),
        (random_records(1), {"alpha": 0}, "alpha must be a finite number above 0, got 0"),
        (random_records(6), {"test": "friedman", "post_hoc": "x"}, "post_hoc must be one of"),
        (random_records(1), {"metrics": ["x"]}, "metrics must be of those in the results, hamming_loss, got x"),
        (random_records(1), {"methods": ["a", "x"]}, "methods must be of those in the results, a, b, c, got x"),
        (random_records(1, methods="a"), {}, "at least 2 methods to compare, got a"),
        (random_records(1, n_folds=1), {}, "at least 2 folds to compare methods over them, got 1. Hint"),
        (random_records(1), {"over": "datasets"}, "at least 2 datasets to compare methods over them, got 1"),
        ([], {}, "results must contain at least one record, got none"),
        ([record("one", "a", 0, 1, metric="empty_predictions")], {}, "metrics that are better or worse, got none"),
        (
            [record("one", "a", 0, 1, metric="n_scans")],
            {},
            "greater_is_better must be known of every metric, got none for n_scans. Hint: --lower-is-better n_scans",
        ),
        (random_records(1), {"methods": ["a", "a"]}, r"methods must name at least one, each once, got \('a', 'a'\)"),
        (random_records(1), {"metrics": ["hamming_loss"] * 2}, "metrics must name at least one, each once"),
        (
            [record("one", m, f, 0.5, seed=i) for i, m in enumerate("ab") for f in range(3)],
            {},
            "methods must share folds to be compared, got none in common of a, b. Hint: the same seed",
        ),
    ],
)
def test_bad_input(records, options, message):
    """What is wrong is said, with what was expected."""
    with pytest.raises(ValueError, match=message):
        compare(records, **options)


@pytest.mark.parametrize(("test", "alpha", "least"), [("wilcoxon", 0.05, 6), ("wilcoxon", 0.25, 4), ("bayes", 0.05, 5)])
def test_too_few_pairs_for_any_difference_are_named(test, alpha, least):
    """One method wins everywhere: with one pair fewer than needed no difference can be found, and that is told."""
    records = [
        record(f"set {number}", method, 0, value + number)
        for number in range(least)
        for method, value in (("a", 0.1), ("b", 0.2))
    ]
    few = compare(records[:-2], test=test, over="datasets", alpha=alpha)
    assert not few.order.relations
    (note,) = few.notes
    assert note == (
        f"{least - 1} data sets are too few: {test} finds no difference significant at {alpha:g} with fewer than"
        f" {least}. Hint: compare over folds."
    )
    enough = compare(records, test=test, over="datasets", alpha=alpha)
    assert not enough.notes
    assert [(found.better, found.worse) for found in enough.order.relations] == [("a", "b")]
