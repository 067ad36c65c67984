"""The models of these tests, as a user would write them: each function is a `build`."""

import os
import signal

import torch
from torch import nn
from torch.nn import functional


def mlp():
    return nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3)), (torch.randn(4, 6),)


class Block(nn.Module):
    def __init__(self, width=16, heads=2):
        super().__init__()
        self.heads = heads
        self.norm, self.qkv, self.out = nn.LayerNorm(width), nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x, *, scale):
        batch, length, width = x.shape
        parts = self.qkv(self.norm(x)).chunk(3, -1)
        q, k, v = (part.view(batch, length, self.heads, -1).transpose(1, 2) for part in parts)
        mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2)
        return {"out": x + scale * self.out(mixed.reshape(batch, length, width)), "extra": [None]}


def block():
    return Block(), [torch.randn(2, 5, 16)], {"scale": 0.5}


def conv():
    layers = (nn.Conv2d(2, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(36, 2))
    return nn.Sequential(*layers), (torch.randn(2, 2, 8, 8),)


class Branching(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x):
        y = self.layer(x)
        return y.exp() if y.sum() > 0 else y.sin()


def branching():
    return Branching(), (torch.randn(3, 4),)


class Raising(nn.Module):
    def forward(self, x):
        return x @ torch.ones(7, 7)


def raising():
    return Raising(), (torch.randn(3, 4),)


class Inference(nn.Module):
    """What runs on the device of the tests, and in which ways."""

    def forward(self, x):
        y = torch.relu(x + x)  # both have kernels
        return torch.cumsum(y.abs(), 0).exp().cos()  # wrong, absent, dead and without a kernel


def inference():
    return Inference(), (torch.linspace(-2, 2, 12).reshape(3, 4),)


class Deadly(nn.Module):
    def forward(self, x):
        os.kill(os.getpid(), signal.SIGSEGV)
        return x


def deadly():
    return Deadly(), (torch.ones(2),)


def bare():
    return nn.Linear(2, 2)


def three_things():
    return nn.Linear(2, 2), (torch.ones(2),), {}, 1


def no_module():
    return torch.relu, (torch.ones(2),)


def no_tuple():
    return nn.Linear(2, 2), torch.ones(2)


def no_dictionary():
    return nn.Linear(2, 2), (torch.ones(2),), [1]


def failing():
    raise KeyError("weights")


def with_argument(size):
    return size


class Numberless(nn.Module):
    def forward(self, x):
        return 3


def numberless():
    return Numberless(), (torch.ones(2),)


class Overwriting(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)

    def forward(self, x):
        y = self.layer(x).sigmoid()
        z = y * y
        y.add_(1)
        return z


def overwriting():
    return Overwriting(), (torch.ones(2, 2),)


class Dropping(nn.Module):
    def forward(self, x):
        return torch.nn.functional.dropout(x, 0.25)


def dropping():
    return Dropping(), (torch.randn(64, 8),)
