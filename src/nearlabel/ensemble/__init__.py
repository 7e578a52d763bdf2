"""Many multi-label models, one answer."""

__all__: list[str] = []
