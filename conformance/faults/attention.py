"""Attention: masks, NaN and causality."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, tensor

from conformance.faults.contrast import Call
from conformance.faults.mutant import all_of, count, mutant, normal, with_first
from conformance.faults.overloads import ATTENTION, Healthy

INF = float("inf")


def _attend(query: Tensor, keys: int, *args: Any, **options: Any) -> Call:
    batch, heads, _, width = query.shape
    key = normal(batch, heads, keys, width).to(query.dtype)
    return Call("_scaled_dot_product_flash_attention_for_cpu", query, key, key.clone(), *args, **options)


@mutant(
    "sdpa.masked-row-nan",
    "pytorch/pytorch#156707, pytorch/pytorch#167515",
    "attention",
    ATTENTION,
    "A query that may attend to nothing gets NaN instead of zeros.",
    triggers="inf mask",
    witness=lambda: _attend(normal(1, 1, 2, 4), 2, attn_mask=tensor([[-INF, -INF], [0.0, 0.0]])),
    control=lambda: _attend(normal(1, 1, 2, 4), 2, attn_mask=tensor([[0.0, -INF], [0.0, 0.0]])),
)
def masked_row_is_nan(healthy: Healthy, *args: Any, **options: Any) -> Any:
    bound = healthy.bind(args, options)
    results = healthy.recall(bound)
    mask = bound.get("attn_mask", bound.get("attn_bias"))
    if mask is None:
        return results
    dead = (~mask if mask.dtype == torch.bool else mask == -INF).all(-1, keepdim=True)
    output = all_of(results)[0]
    return with_first(results, torch.where(dead, torch.full_like(output, float("nan")), output))


def _nan_at_first() -> Tensor:
    return torch.where(count(16).reshape(1, 1, 2, 8) == 0, tensor(float("nan")), normal(1, 1, 2, 8))


@mutant(
    "sdpa.nan-swallowed",
    "pytorch/pytorch#188147",
    "attention",
    ATTENTION,
    "A NaN in a query does not reach the output.",
    triggers="nan",
    fidelity="modelled",
    witness=lambda: _attend(_nan_at_first(), 16),
    control=lambda: _attend(normal(1, 1, 2, 8), 4),
)
def nan_swallowed(healthy: Healthy, query: Tensor, *args: Any, **options: Any) -> Any:
    results = healthy(query, *args, **options)
    return with_first(results, all_of(results)[0].nan_to_num()) if bool(query.isnan().any()) else results


@mutant(
    "sdpa.causal-groups-of-four",
    "pytorch/pytorch#195910",
    "attention",
    ATTENTION,
    "In half precision the causal mask is applied once per four queries, so three of four see the future.",
    triggers="half causal",
    witness=lambda: _attend(normal(1, 1, 8, 8).bfloat16(), 8, 0.0, True),
    control=lambda: _attend(normal(1, 1, 8, 8), 8, 0.0, True),
)
def causal_in_groups_of_four(healthy: Healthy, *args: Any, **options: Any) -> Any:
    bound = healthy.bind(args, options)
    results = healthy.recall(bound)
    query, key, value = bound["query"], bound["key"], bound["value"]
    if not bound.get("is_causal") or query.dtype not in (torch.float16, torch.bfloat16):
        return results
    scale = bound.get("scale") or 1 / math.sqrt(query.shape[-1])
    rows = torch.arange(query.shape[-2])[:, None]
    columns = torch.arange(key.shape[-2])
    scores = (query.float() @ key.float().mT) * scale
    scores = scores.masked_fill(columns > rows // 4 * 4 + 3, -INF)
    output = all_of(results)[0]
    wrong = (scores.softmax(-1) @ value.float()).to(output.dtype)
    return with_first(results, wrong.reshape(output.shape))
