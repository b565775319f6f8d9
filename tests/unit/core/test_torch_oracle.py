"""The same draws from PyTorch itself, to the bit. Skipped where torch is not installed."""

import json
from pathlib import Path

import numpy as np
import pytest

from attention_core import (
    EMBEDDINGS,
    Projections,
    TorchGenerator,
    attention,
    largest_jacobian_entry,
    mask_before_softmax,
    softmax_jacobian,
)

torch = pytest.importorskip("torch", reason="PyTorch, to compare with, is not installed: pip install torch")

NUMBERS = json.loads((Path(__file__).resolve().parents[2] / "data" / "numbers.json").read_text("utf-8"))
SEEDS = [0, 1, 2, 42, 123, 789, 2024, 99_999, 2**31 - 1, 2**31, 2**32 - 2, 2**32 - 1]
SHAPES = [(1,), (2, 3), (3, 5), (15,), (16,), (17,), (4, 4, 4), (623,), (1000, 3), (768, 768)]
LAYERS = [(1, 1), (2, 3), (3, 2), (6, 8), (7, 5), (16, 16), (17, 4), (64, 33), (768, 64), (768, 768)]


def draws_as_mkl_does():
    torch.manual_seed(123)
    mask = torch.nn.Dropout(0.5)(torch.ones(6, 6)).numpy() != 0
    return mask.astype(int).tolist() == NUMBERS["fig4_mask_intel"]["value"]


@pytest.fixture(params=SEEDS)
def seed(request):
    torch.manual_seed(request.param)
    return request.param


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_rand(seed, shape):
    np.testing.assert_array_equal(TorchGenerator(seed).rand(*shape), torch.rand(*shape).numpy())


@pytest.mark.parametrize("layer", LAYERS, ids=str)
@pytest.mark.parametrize("bias", [False, True], ids=["no bias", "bias"])
def test_linear(seed, layer, bias):
    theirs = torch.nn.Linear(*layer, bias=bias)
    ours = TorchGenerator(seed).linear(*layer, bias=bias)
    weight = ours[0] if bias else ours
    np.testing.assert_array_equal(weight, theirs.weight.detach().numpy())
    if bias:
        np.testing.assert_array_equal(ours[1], theirs.bias.detach().numpy())


@pytest.mark.skipif(draws_as_mkl_does(), reason="this PyTorch draws masks by Intel's MKL, another generator")
@pytest.mark.parametrize("p", [0.0, 0.1, 0.2, 0.3, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("shape", [(6, 6), (1,), (3, 17), (40, 40)], ids=str)
def test_dropout(seed, shape, p):
    generator = TorchGenerator(seed)
    keep = torch.nn.Dropout(p)(torch.ones(*shape)).numpy() != 0
    np.testing.assert_array_equal(generator.dropout_keep(shape, p), keep)
    np.testing.assert_array_equal(generator.rand(3), torch.rand(3).numpy())


def test_draws_follow_on(seed):
    generator = TorchGenerator(seed)
    np.testing.assert_array_equal(generator.rand(3, 2), torch.rand(3, 2).numpy())
    theirs = torch.nn.Linear(3, 2, bias=False).weight.detach().numpy()
    np.testing.assert_array_equal(generator.linear(3, 2), theirs)
    np.testing.assert_array_equal(generator.rand(17), torch.rand(17).numpy())


@pytest.mark.parametrize("number", [-1, -(2**63), 2**32, 2**32 + 123, 2**64 - 1])
def test_seeds_of_more_than_32_bits(number):
    torch.manual_seed(number)
    np.testing.assert_array_equal(TorchGenerator(number).rand(5), torch.rand(5).numpy())


@pytest.mark.parametrize("number", [2**64, -(2**63) - 1])
def test_seeds_that_both_refuse(number):
    with pytest.raises((ValueError, RuntimeError, OverflowError)):
        torch.manual_seed(number)
    with pytest.raises(ValueError, match="seed"):
        TorchGenerator(number)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("num_heads", [1, 2, 4])
def test_attention(num_heads, causal):
    generator = TorchGenerator(0)
    projections = Projections(*(generator.linear(3, 8).T.astype(float) for _ in range(3)))
    q, k, v = (torch.tensor(EMBEDDINGS @ matrix).view(6, num_heads, -1).transpose(0, 1) for matrix in projections)
    theirs = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
    ours, _ = attention(EMBEDDINGS, projections, num_heads, causal=causal)
    np.testing.assert_allclose(ours, theirs.transpose(0, 1).reshape(6, 8).numpy(), rtol=0, atol=1e-15)


def test_masked_softmax():
    scores, visible = np.random.default_rng(0).standard_normal((2, 5, 5)), np.tri(5, dtype=bool)
    filled = torch.tensor(scores).masked_fill(~torch.tensor(visible), -torch.inf)
    theirs = torch.softmax(filled / 8**0.5, dim=-1).numpy()
    ours = mask_before_softmax(scores, visible, divisor=8**0.5)
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-15)


def test_jacobian():
    scores = torch.tensor([0.3, -1.0, 2.0, 0.0], dtype=torch.float64)
    theirs = torch.autograd.functional.jacobian(lambda s: torch.softmax(s, dim=-1), scores).numpy()
    ours = softmax_jacobian(torch.softmax(scores, dim=-1).numpy())
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-15)
    assert float(largest_jacobian_entry(scores.numpy())) == pytest.approx(np.abs(theirs).max(), rel=1e-14, abs=0)
