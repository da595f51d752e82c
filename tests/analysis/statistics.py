"""What SciPy and pandas say, for the tests of crates/analysis: one JSON object a line.

    python statistics.py tests | correlations | tables
"""

import sys

# This file has the name of a module of the standard library, which others must find.
sys.path.pop(0)

import itertools
import json
import warnings

import numpy as np
import pandas as pd
from scipy import stats

ALTERNATIVES = ("two-sided", "less", "greater")


def say(line):
    print(json.dumps(line, allow_nan=False))


def number(value):
    """None for what JSON cannot hold."""
    value = float(value)
    return value if np.isfinite(value) else None


def numbers(values):
    return [number(value) for value in values]


# Samples are rounded to few decimals, so that they are the same numbers after being read back.


def normal(rng, n, mean=0.0, deviation=1.0, decimals=6):
    return np.round(rng.normal(mean, deviation, n), decimals)


def pairs_of_samples(rng):
    """Two samples each: of many sizes, far apart and near, with ties, offsets and long tails."""
    sizes = [(2, 2), (2, 3), (3, 5), (5, 4), (7, 7), (8, 9), (8, 30), (9, 9), (12, 15), (20, 20),
             (33, 34), (50, 31), (100, 120), (143, 150), (300, 200), (1000, 700)]
    for m, n in sizes:
        for shift in (0.0, 0.4, 3.0):
            yield normal(rng, m), normal(rng, n, shift, 1.5)
    for m, n in [(6, 8), (20, 25), (200, 150)]:
        yield rng.integers(0, 5, m).astype(float), rng.integers(1, 6, n).astype(float)
        yield np.round(rng.lognormal(0, 2, m), 6), np.round(rng.lognormal(0.5, 1, n), 6)
        yield np.round(rng.standard_cauchy(m), 6), np.round(rng.standard_cauchy(n), 6)
        yield normal(rng, m, 1e9, 1, 3), normal(rng, n, 1e9 + 0.5, 1, 3)
        yield normal(rng, m, 0, 1e-6, 12), normal(rng, n, 1e-6, 1e-6, 12)
        yield -normal(rng, m, 1e6, 1e3, 2), normal(rng, n, 1e6, 1e5, 2)
    # Far tails.
    for m, n, shift in [(40, 40, 8.0), (200, 300, 3.0), (500, 400, 4.0), (1500, 1200, 1.5)]:
        yield normal(rng, m), normal(rng, n, shift)
    # Without spread in one of them; entirely apart; the same values; one value beside many.
    yield np.array([5.0] * 6), np.array([1.0, 2.0, 3.0, 4.0])
    yield np.arange(8.0), np.arange(100.0, 140.0)
    yield np.arange(30.0), np.arange(30.0)
    yield np.array([1.0, 2.0]), normal(rng, 400)
    yield np.full(3, 2.5), np.full(12, 2.5)


def paired(rng):
    for n, shift in [(2, 0.3), (3, 1.0), (10, 0.2), (30, 0.5), (200, 0.1), (200, 2.0), (1000, 0.5)]:
        first = normal(rng, n)
        yield first, np.round(first + rng.normal(shift, 0.7, n), 6)
    yield normal(rng, 50, 1e9, 1, 3), normal(rng, 50, 1e9, 1, 3)


def result(test, alternative, found, effect, degrees=(), interval=None, **more):
    line = {
        "test": test,
        "alternative": alternative,
        "statistic": number(found.statistic),
        "p_value": number(found.pvalue),
        "effect": number(effect),
        "degrees_of_freedom": numbers(degrees),
        "interval": None if interval is None else numbers(interval),
    }
    return line | more


def near_zero(*samples):
    """The same samples without a large offset, for which SciPy's means lose their digits."""
    offset = np.round(np.median(samples[0]))
    return [offset, *(sample - offset for sample in samples)] if abs(offset) > 1e5 else [0, *samples]


def t_results(a, b):
    _, a, b = near_zero(a, b)
    for alternative in ALTERNATIVES:
        for test in ("t", "welch"):
            found = stats.ttest_ind(a, b, equal_var=test == "t", alternative=alternative)
            va, vb, na, nb = a.var(ddof=1), b.var(ddof=1), len(a), len(b)
            if test == "t":
                variance = ((na - 1) * va + (nb - 1) * vb) / (na + nb - 2)
            else:
                variance = (va + vb) / 2
            effect = (a.mean() - b.mean()) / np.sqrt(variance)
            yield result(test, alternative, found, effect, [found.df], found.confidence_interval())


def mann_whitney_results(a, b):
    for alternative in ALTERNATIVES:
        found = stats.mannwhitneyu(a, b, alternative=alternative)
        effect = 2 * found.statistic / (len(a) * len(b)) - 1
        yield result("mann_whitney", alternative, found, effect)


def two_sample_ks_results(a, b):
    for alternative in ALTERNATIVES:
        with warnings.catch_warnings():
            # Where SciPy gives up being exact there is nothing to compare with.
            warnings.simplefilter("error")
            try:
                found = stats.ks_2samp(a, b, alternative=alternative)
            except RuntimeWarning:
                continue
        yield result("ks", alternative, found, found.statistic)


def one_sample_results(a):
    offset, a = near_zero(a)
    for alternative in ALTERNATIVES:
        if a.var() > 0:
            for value in (0.0, float(np.round(a.mean() * 4) / 4 + 0.25)):
                found = stats.ttest_1samp(a, value, alternative=alternative)
                effect = (a.mean() - value) / a.std(ddof=1)
                interval = np.array(found.confidence_interval()) - value
                yield result("t", alternative, found, effect, [found.df], interval,
                             value=value + offset)
            shape = float(np.round(a.mean() * 4) / 4), float(np.round(a.std(ddof=1), 3)) or 1e-3
            found = stats.ks_1samp(a, stats.norm.cdf, args=shape, alternative=alternative)
            yield result("ks", alternative, found, found.statistic,
                         shape=[shape[0] + offset, shape[1]])


def tests():
    rng = np.random.default_rng(20240229)
    for a, b in pairs_of_samples(rng):
        results = [*mann_whitney_results(a, b), *two_sample_ks_results(a, b)]
        if a.var() + b.var() > 0:
            results += t_results(a, b)
        say({"samples": [numbers(a), numbers(b)], "results": results})
        say({"samples": [numbers(a)], "results": list(one_sample_results(a))})
    for a, b in paired(rng):
        results = []
        for alternative in ALTERNATIVES:
            found = stats.ttest_rel(a, b, alternative=alternative)
            effect = (a - b).mean() / (a - b).std(ddof=1)
            results.append(
                result("paired_t", alternative, found, effect, [found.df], found.confidence_interval()))
        say({"samples": [numbers(a), numbers(b)], "results": results})
    # Beyond the size up to which Smirnov's test is exact.
    for m, n, shift in [(10001, 4000, 0.0), (10001, 12000, 0.04), (10500, 30, 0.3), (10001, 3, 0.0)]:
        a, b = normal(rng, m, 0, 1, 3), normal(rng, n, shift, 1, 3)
        say({"samples": [numbers(a), numbers(b)], "results": list(two_sample_ks_results(a, b))})
    anova(rng)
    counts(rng)
    kolmogorov_distribution()


def anova(rng):
    shapes = [(2, 2), (3, 4, 5), (1, 5, 9), (10, 10, 10, 10), (50, 60, 70), (200, 300), (5,) * 40]
    for shape, shift, offset in itertools.product(shapes, (0.0, 0.5, 2.5), (0.0, 1e6)):
        groups = [normal(rng, n, offset + shift * at, 1, 3) for at, n in enumerate(shape)]
        _, *centred = near_zero(*groups)
        found = stats.f_oneway(*centred)
        all_values = np.concatenate(centred)
        mean = all_values.mean()
        between = sum(len(group) * (group.mean() - mean) ** 2 for group in centred)
        effect = between / ((all_values - mean) ** 2).sum()
        degrees = [len(groups) - 1, len(all_values) - len(groups)]
        say({"samples": [numbers(group) for group in groups],
             "results": [result("anova", "two-sided", found, effect, degrees)]})


def counts(rng):
    shapes = [(2, 2), (2, 3), (3, 3), (5, 4), (1, 4), (8, 12)]
    for shape, most in itertools.product(shapes, (3, 10, 100, 5000)):
        table = rng.integers(1, most, shape)
        found = stats.chi2_contingency(table)
        effect = stats.contingency.association(table) if min(shape) > 1 else 0.0
        say({"samples": table.astype(float).tolist(),
             "results": [result("independence", "two-sided", found, effect, [found.dof])]})
    # Independent altogether, and dependent altogether.
    for table in ([[10, 10], [10, 10]], [[900, 1], [2, 800]], [[12, 5], [29, 2]], [[5000, 9], [3, 7000]]):
        found = stats.chi2_contingency(table)
        effect = stats.contingency.association(np.array(table))
        say({"samples": np.array(table, float).tolist(),
             "results": [result("independence", "two-sided", found, effect, [found.dof])]})
    for n, most in itertools.product((2, 3, 7, 40), (4, 50, 3000)):
        observed = rng.integers(1, most, n).astype(float)
        expected = rng.integers(1, most, n).astype(float)
        expected *= observed.sum() / expected.sum()
        found = stats.chisquare(observed, expected)
        effect = np.sqrt(found.statistic / observed.sum())
        say({"samples": [observed.tolist(), expected.tolist()],
             "results": [result("goodness_of_fit", "two-sided", found, effect, [n - 1])]})


def kolmogorov_distribution():
    """Each of the methods that make it up, and both sides of the borders between them."""
    results = []
    for n in (1, 2, 3, 10, 50, 139, 140, 141, 500, 5000, 99_999, 100_001, 2_000_000):
        scaled = (0.2, 0.3, 0.5, 0.7, 0.868, 0.87, 1.0, 1.3, 1.48, 1.49, 1.9, 2.1, 5.0, 12.0, 19.0)
        for d in [z / np.sqrt(n) for z in scaled] + [0.6 / n, 0.99 / n, 1.01 / n, 0.49, 0.51, 0.97]:
            if d < 1:
                d = float(f"{d:.10g}")
                results.append({"n": n, "d": d, "two_sided": number(stats.kstwo.sf(d, n)),
                                "one_sided": number(stats.ksone.sf(d, n))})
    say({"distribution": results})


def correlations():
    rng = np.random.default_rng(19471224)
    for n in (2, 3, 4, 5, 10, 20, 33, 34, 50, 200, 1500):
        for weight, is_tied in itertools.product((0.0, 0.3, -0.9, 3.0), (False, True)):
            x = normal(rng, n)
            y = np.round(weight * x + rng.normal(0, 1, n), 6)
            if is_tied:
                x, y = np.round(x), np.round(y * 2)
            correlation(x, y)
    correlation(np.arange(12.0), np.arange(12.0))
    correlation(np.arange(40.0), -np.arange(40.0))
    correlation(np.arange(40.0), np.r_[1.0, 0.0, np.arange(2.0, 40.0)])
    correlation(normal(rng, 60, 1e9, 1, 3), normal(rng, 60, -1e6, 1e-2, 6))
    correlation(np.full(9, 0.1), np.arange(9.0))


def correlation(x, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = {"pearson": stats.pearsonr(x, y), "spearman": stats.spearmanr(x, y),
                 "kendall": stats.kendalltau(x, y)}
    say({
        "x": numbers(x),
        "y": numbers(y),
        "covariance": number(np.cov(x, y)[0, 1]),
        "methods": {name: numbers([it.statistic, it.pvalue]) for name, it in found.items()},
    })


def tables():
    """The same through whole analyses: of tables with groups and missing values."""
    rng = np.random.default_rng(18960327)
    for n in (12, 60, 9000):
        frame = pd.DataFrame({
            "group": rng.choice(["x", "y"], n),
            "three": rng.choice(["a", "b", "c"], n),
            "value": np.where(rng.random(n) < 0.1, np.nan, normal(rng, n, 10, 2)),
            "other": normal(rng, n, 10.4, 3),
            "whole": rng.integers(0, 7, n),
        })
        frame["sum"] = np.round(frame["value"] + frame["other"], 6)
        table_tests(frame)
        table_correlations(frame)


said = None


def analysis(name, frame, parameters, facts, expected=()):
    """The rows are there if they are not those of the line before."""
    global said
    line = {"analysis": name, "parameters": parameters, "facts": facts, "expected": list(expected)}
    if frame is not said:
        line["rows"] = json.loads(frame.to_json(orient="records", double_precision=15))
        said = frame
    say(line)


def table_tests(frame):
    known = frame[frame["value"].notna()]
    x, y = (known.loc[known["group"] == group, "value"].to_numpy() for group in "xy")
    grouped = {"field": "value", "group_by": "group"}
    for name, test in {"t": stats.ttest_ind, "mann_whitney": stats.mannwhitneyu, "ks": stats.ks_2samp}.items():
        for alternative in ALTERNATIVES:
            if name == "ks" and alternative != "two-sided" and len(frame) > 1000:
                # SciPy gives up being exact.
                continue
            found = test(x, y, alternative=alternative)
            groups = [{"group": group, "n": len(values), "mean": values.mean(), "std": values.std(ddof=1),
                       "median": float(np.median(values))} for group, values in (("x", x), ("y", y))]
            analysis("test", frame, {"test": name, "alternative": alternative} | grouped,
                     {"statistic": number(found.statistic), "p_value": number(found.pvalue), "groups": groups})
    found = stats.ttest_ind(x, y, equal_var=False)
    analysis("test", frame, {"test": "welch"} | grouped,
             {"p_value": number(found.pvalue), "degrees_of_freedom": number(found.df)})
    found = stats.ttest_rel(known["value"], known["other"])
    analysis("test", frame, {"test": "paired_t", "fields": ["value", "other"]}, {"p_value": number(found.pvalue)})
    found = stats.f_oneway(*(part["value"] for _, part in known.groupby("three")))
    analysis("test", frame, {"test": "anova", "field": "value", "group_by": "three"},
             {"statistic": number(found.statistic), "p_value": number(found.pvalue)})
    table = pd.crosstab(frame["group"], frame["three"])
    found = stats.chi2_contingency(table)
    expected = [{"group": group, "three": three, "observed": int(table.loc[group, three]),
                 "expected": float(found.expected_freq[row, column])}
                for row, group in enumerate(table.index) for column, three in enumerate(table.columns)]
    analysis("test", frame, {"test": "chi_square", "fields": ["group", "three"]},
             {"p_value": number(found.pvalue), "degrees_of_freedom": found.dof}, expected)


def table_correlations(frame):
    fields = ["value", "other", "whole", "sum"]

    def listed(table, **group):
        return [group | {"field": field} | {name: number(value) for name, value in row.items()}
                for field, row in table.iterrows()]

    for method in ("pearson", "spearman", "kendall"):
        whole = listed(frame[fields].corr(method=method))
        analysis("correlation", frame, {"method": method}, {}, whole)
        parts = [listed(part[fields].corr(method=method), group=group) for group, part in frame.groupby("group")]
        parameters = {"method": method, "fields": fields, "group_by": "group"}
        analysis("correlation", frame, parameters, {}, itertools.chain(*parts))
        known = frame[frame["value"].notna()]
        test = {"pearson": stats.pearsonr, "spearman": stats.spearmanr, "kendall": stats.kendalltau}[method]
        found = test(known["value"], known["other"])
        facts = {"correlation": number(found.statistic), "p_value": number(found.pvalue), "n": len(known)}
        analysis("correlation", frame, {"method": method, "fields": ["value", "other"]}, facts)
    analysis("covariance", frame, {"fields": fields}, {}, listed(frame[fields].cov()))


if __name__ == "__main__":
    warnings.filterwarnings("ignore", "Precision loss")
    globals()[sys.argv[1]]()
