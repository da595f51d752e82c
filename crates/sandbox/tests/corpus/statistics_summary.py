"""Descriptive statistics by hand and by the statistics module, compared."""
import math
import statistics as st
from fractions import Fraction

latencies = [12.1, 15.3, 11.8, 14.2, 98.7, 13.3, 12.1, 14.9, 13.0, 12.6, 45.2, 12.1]
weights = [4, 1, 4, 2, 1, 3, 4, 2, 3, 3, 1, 4]


def percentile(values, q):
    """Linear interpolation, the 'inclusive' definition."""
    ordered = sorted(values)
    position = (len(ordered) - 1) * q
    low = math.floor(position)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (position - low)


print(f"mean {st.mean(latencies):.4f}  fmean {st.fmean(latencies):.4f}  weighted {st.fmean(latencies, weights):.4f}")
print(f"median {st.median(latencies):.3f} low {st.median_low(latencies)} high {st.median_high(latencies)}")
print(f"stdev {st.stdev(latencies):.5f} pstdev {st.pstdev(latencies):.5f} ratio {st.variance(latencies) / st.pvariance(latencies):.6f}")
print("mode", st.mode(latencies), st.mode("banana"), st.multimode("aabbcd"), st.multimode([]))
print(f"geometric {st.geometric_mean(latencies):.4f} harmonic {st.harmonic_mean([40, 60], weights=[5, 30]):.3f}")

cuts = st.quantiles(latencies, n=4, method="inclusive")
assert all(math.isclose(c, percentile(latencies, q)) for c, q in zip(cuts, (0.25, 0.5, 0.75)))
print("quartiles in/exclusive:", [round(c, 3) for c in cuts], [round(c, 3) for c in st.quantiles(latencies)])
fence = cuts[2] + 1.5 * (cuts[2] - cuts[0])
print(f"fence {fence:.2f} outliers", [x for x in latencies if x > fence], f"p95 {percentile(latencies, 0.95):.2f}")

# Exactness: a mean of Fractions stays one; floating sums need care.
print(st.mean([Fraction(1, 3), Fraction(1, 6), 1]), st.mean([True, True, False, False]), st.median([1, 2]))
print(math.fsum([0.1] * 10) == 1.0, math.fsum([1e100, 1.0, -1e100]), st.fmean([1e100, 1.0, -1e100]) == 1 / 3)

xs = list(range(1, 9))
ys = [2.1, 3.9, 6.2, 7.8, 10.1, 12.2, 13.8, 16.1]
slope, intercept = st.linear_regression(xs, ys)
print(f"y = {slope:.4f}x + {intercept:.4f}, r = {st.correlation(xs, ys):.6f}, cov = {st.covariance(xs, ys):.4f}")
residuals = [y - (slope * x + intercept) for x, y in zip(xs, ys)]
print(f"residual sum is zero: {abs(math.fsum(residuals)) < 1e-9}, worst {max(map(abs, residuals)):.4f}")

normal = st.NormalDist(100, 15)
shifted = normal * 2 + 10
print(f"cdf {normal.cdf(130):.6f} inv {normal.inv_cdf(0.9):.4f} z {normal.zscore(85)} {shifted.mean} {shifted.stdev}")
print(f"overlap {normal.overlap(st.NormalDist(110, 15)):.5f}", (normal + st.NormalDist(0, 8)).stdev)
for call in (lambda: st.mean([]), lambda: st.stdev([1]), lambda: st.quantiles([1, 2], n=0), lambda: st.harmonic_mean([1, -1])):
    try:
        call()
    except st.StatisticsError as exc:
        print(type(exc).__name__, isinstance(exc, ValueError), end="; ")
print()
