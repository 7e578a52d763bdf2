"""Learning algorithms adapted to label sets: boosting, mixtures, kernels, networks."""

__all__: list[str] = []
