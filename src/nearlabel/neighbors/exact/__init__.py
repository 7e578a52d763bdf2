"""The exact search, and distances; not public. Its files, in the order in which a search uses them.

- `_search`: `ExactNeighbors` checks what users give, and chooses the engine that searches a segment.
- `_segments`: training samples in segments, one for each time that many were added; lists that follow their changes.
- `_panel_search`: an engine compares queries with panels of samples, and decides in float64; `_gemm_search`: by
  products.
- `_panels`: samples in panels, as float32 points; the proven bound on the errors of their products.
- `_kernel_search`: the same engine with a compiled kernel in the place of products, and lists as it takes them;
  `_kernel_points`: points as it takes them.
- `kernels`: the library of compiled kernels, its levels, and its calls.
- `_candidates`: the few samples that bounds leave for a query, the result of a search, equal samples, threads.
- `_distances`: the distances that decide, summed feature by feature in float64, with bounds on them.
- `_metrics`: the distances of other metrics, and those of samples with missing values.
- `_bounds_search`: the engines for other metrics, for few features (a tree), and for queries that are left unresolved.
- `all_pairs`: the distances of all pairs, for methods that need more than neighbours.

Imports go down: `kernels`, `_candidates` and `_panels` know nothing of the others; `_distances` and `_panel_search` are
above them; then `_metrics`, `_segments`, `_kernel_search` and `_bounds_search`; then `_search`. An engine gets the one
for its unresolved queries from `_search`.
"""
