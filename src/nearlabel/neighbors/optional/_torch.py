"""Arrays of torch, on a GPU or in ordinary memory, for the search by an accelerator."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from threading import local
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearlabel.utils.naming import import_optional
from nearlabel.utils.types import Float32Array

_GPU_PANEL, _GPU_TILE = 65_536, 4096
_CPU_PANEL, _CPU_TILE = 4096, 1024
_BYTES_PER_PAIR = 4 * 12  # of a panel and a tile: scores of two tiles, and about as much as one for everything else
_FEWEST_QUERIES = 64


class TorchDevice:
    """A device of torch that computes with float32, and a GPU with factors in bf16.

    Its arrays are compared, computed with, indexed and reshaped as those of numpy are. At most `panel_rows` rows, a
    multiple of `_device.LONGEST_GROUP`, and `tile_queries` queries are compared at once.
    """

    def __init__(self, name: str) -> None:
        self._torch = torch = import_optional("torch", extra="gpu", purpose=f"ExactNeighbors(device={name!r})")
        if name != "cpu" and (torch.device(name).index or 0) >= torch.cuda.device_count():
            raise ValueError(
                f"device must be one that torch finds here, got {name!r}."
                f" It finds {torch.cuda.device_count()} GPUs. Hint: device=None needs none."
            )
        self.name, self._device = name, torch.device(name)
        self._in_bf16 = name != "cpu" and torch.cuda.is_bf16_supported(including_emulation=False)
        self._copies: Any = None if name == "cpu" else local()  # of each thread the stream that copies
        self.panel_rows, self.tile_queries = _CPU_PANEL, _CPU_TILE
        if name != "cpu":
            self.panel_rows = _GPU_PANEL
            self.tile_queries = max(_FEWEST_QUERIES, min(_GPU_TILE, self.room() // (_BYTES_PER_PAIR * _GPU_PANEL)))

    def room(self) -> int:
        """Return how many bytes panels may take: half of the free ones of a GPU; ordinary memory has room anyway."""
        return sys.maxsize if self.name == "cpu" else int(self._torch.cuda.mem_get_info(self._device)[0]) // 2

    def factor(self, values: Float32Array) -> Any:
        """Return numbers of eight significant bits in the format that is multiplied fastest, not yet on the device.

        That is bf16, which rounds nothing, or float32 where bf16 is not multiplied.
        """
        tensor = self._torch.from_numpy(values)
        return tensor.to(self._torch.bfloat16) if self._in_bf16 else tensor

    def put(self, array: Any) -> Any:
        """Return a numpy array or a factor on the device; an array of the device is returned unchanged.

        Nothing waits: what is computed later on the device comes after the copy, and CUDA returns as soon as it has
        taken what is to be copied from ordinary memory.
        """
        return self._torch.as_tensor(array).to(self._device, non_blocking=True)

    def ready(self, factor: Any) -> Any:
        """Return a factor that stays in memory, of which a GPU can copy it while it multiplies."""
        return factor if self._copies is None else factor.pin_memory()

    def send(self, factor: Any) -> Any:
        """Put a factor on the device, for the next product of this thread; a GPU may multiply others meanwhile."""
        if self._copies is None or factor.is_cuda:
            return self.put(factor)
        if not hasattr(self._copies, "stream"):
            self._copies.stream = self._torch.cuda.Stream(self._device)
        with self._torch.cuda.stream(self._copies.stream):
            sent = factor.to(self._device, non_blocking=True)
        sent.record_stream(self._torch.cuda.current_stream(self._device))  # not to be overwritten before it is used
        return sent

    def get(self, array: Any) -> NDArray[Any]:
        """Return a tensor as an array of numpy."""
        return np.asarray(array.cpu().numpy())

    def product(self, left: Any, right: Any) -> Any:
        """Return the products (n_left, n_right) of the rows of two factors, summed in float32 or better.

        cuBLAS adds parts of a sum in the type of the result or a more precise one: here in float32, whatever the value
        of torch's `allow_bf16_reduced_precision_reduction`. Where float32 is multiplied as TF32, its factors lose
        nothing.
        """
        if hasattr(self._copies, "stream"):
            self._torch.cuda.current_stream(self._device).wait_stream(self._copies.stream)
        if not self._in_bf16:
            return left @ right.T
        return self._torch.mm(left, right.T, out_dtype=self._torch.float32)

    def greatest(self, values: Any, axis: int) -> Any:
        """Return the greatest values along an axis."""
        return values.amax(axis)

    def merged(self, kept: Any, values: Any) -> Any:
        """Return the greatest of each row of `kept` (n, k) and of the column of `values` (m, n) with it, in order."""
        return self._torch.cat([kept, values.T], dim=1).topk(kept.shape[1], dim=1).values

    def joined(self, arrays: Iterable[Any], axis: int) -> Any:
        """Return arrays as one."""
        return self._torch.cat(tuple(arrays), dim=axis)

    def nonzero(self, mask: Any) -> tuple[Any, Any]:
        """Return rows and columns of the true values."""
        row, column = self._torch.nonzero(mask, as_tuple=True)
        return row, column


def device_named(name: object) -> TorchDevice:
    """Return a device; raise ValueError if there is none of this name, and ImportError without torch."""
    if not isinstance(name, str) or not re.fullmatch(r"cpu|cuda(:\d+)?", name):
        raise ValueError(f"device must be None, 'cpu', 'cuda', or 'cuda:0' and so on for one of several, got {name!r}.")
    return TorchDevice(name)
