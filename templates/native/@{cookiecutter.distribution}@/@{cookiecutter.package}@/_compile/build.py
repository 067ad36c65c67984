"""From the source of a fused kernel to a function in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from torch._inductor.async_compile import get_compile_threads
from torch._inductor.codecache import CppCodeCache, LambdaFuture
from torch._inductor.utils import clear_on_fresh_cache

if TYPE_CHECKING:
    from torch._inductor.async_compile import AsyncCompile


@clear_on_fresh_cache
class KernelCache(CppCodeCache):
    """Inductor's cache of C++ libraries, with the header of all kernels compiled once: most of the time goes there."""

    cache: ClassVar[dict[str, Any]] = {}
    cache_clear = staticmethod(cache.clear)

    @classmethod
    def _get_uncompiled_header(cls, _device: str) -> str:
        return "torch/csrc/inductor/cpp_prefix.h"


def build(async_compile: AsyncCompile, source: str) -> Any:  # noqa: ANN401 (ctypes' own type)
    """Compile a source and return its function `kernel`, or a future of it where Inductor has compile workers."""
    if get_compile_threads() <= 1:
        return KernelCache.load(source).kernel
    library = KernelCache.load_async(source, submit_fn=async_compile.submit)
    return LambdaFuture(lambda: library().kernel)
