"""The names other code may use. A change here is a change of the interface."""

import ast
import doctest
import importlib
import inspect
import pkgutil
import re
import sys
from pathlib import Path

import pytest

import attention_core

PACKAGE = Path(attention_core.__file__).parent

NAMES = {  # where each name may be imported from, besides the package itself
    "attention_core.book": {"TOKENS", "EMBEDDINGS", "section_3_4", "section_3_5"},
    "attention_core.cost": {"AttentionCost", "cards_needed", "seconds_per_token"},
    "attention_core.dropout": {"dead_row_probability", "inverted_dropout", "row_sum_std"},
    "attention_core.heads": {
        "Step",
        "attention",
        "head_columns",
        "merge_heads",
        "parameter_count",
        "shape_trace",
        "split_heads",
    },
    "attention_core.masking": {"causal_mask", "mask_after_softmax", "mask_before_softmax"},
    "attention_core.projections": {"Projections", "asymmetry", "mean_pairwise_distance", "project", "scores"},
    "attention_core._softmax": {"largest_jacobian_entry", "sample_scores", "softmax", "softmax_jacobian"},
    "attention_core.torch_random": {"TorchGenerator"},
}

SIGNATURES = {
    "AttentionCost": "(n, d_in, d_out, num_heads, bytes_per_score=2)",
    "Projections": "(query, key, value)",
    "Step": "(code, shape)",
    "TorchGenerator": "(seed)",
    "TorchGenerator.rand": "(self, *shape)",
    "TorchGenerator.linear": "(self, d_in, d_out, *, bias=False)",
    "TorchGenerator.dropout_keep": "(self, shape, p)",
    "asymmetry": "(matrix)",
    "attention": "(x, projections, num_heads=1, *, causal=False, keep=None, p=0.0)",
    "cards_needed": "(total_bytes, card_bytes=85899345920)",
    "causal_mask": "(n_queries, n_keys=None, *, align=None)",
    "dead_row_probability": "(weights, p)",
    "head_columns": "(head, num_heads, d_out)",
    "inverted_dropout": "(weights, keep, p, *, rescale=True)",
    "largest_jacobian_entry": "(scores)",
    "mask_after_softmax": "(scores, visible, *, divisor=1.0)",
    "mask_before_softmax": "(scores, visible, *, divisor=1.0, fill=-inf)",
    "mean_pairwise_distance": "(points)",
    "merge_heads": "(x)",
    "parameter_count": "(d_in, d_out, num_heads, kind, *, output_projection, qkv_bias=False)",
    "project": "(x, projections)",
    "row_sum_std": "(weights, p, *, rescale=True)",
    "sample_scores": "(rng, d_k, n_keys, draws, *, exact=False)",
    "scores": "(q, k)",
    "seconds_per_token": "(n, *, base_seconds=0.1, base_n=1024)",
    "section_3_4": "()",
    "section_3_5": "()",
    "shape_trace": "(b, n, d_in, d_out, num_heads, kind)",
    "softmax": "(x, axis=-1)",
    "softmax_jacobian": "(p)",
    "split_heads": "(x, num_heads)",
}


def modules():
    names = [found.name for found in pkgutil.iter_modules([str(PACKAGE)])]
    return [importlib.import_module(f"attention_core.{name}") for name in names]


def public_callables():
    for name in attention_core.__all__:
        value = getattr(attention_core, name)
        if callable(value):
            yield name, value
    for name in ("rand", "linear", "dropout_keep"):
        yield f"TorchGenerator.{name}", getattr(attention_core.TorchGenerator, name)


CALLABLES = dict(public_callables())


def test_names_of_the_package():
    assert sorted(attention_core.__all__) == sorted(set().union(*NAMES.values()))


def test_names_of_the_modules():
    for module, names in NAMES.items():
        for name in names:
            assert getattr(importlib.import_module(module), name) is getattr(attention_core, name)


def test_modules_define_no_other_names():
    for module in modules():
        defined = {
            name
            for name, value in vars(module).items()
            if not name.startswith("_") and inspect.getmodule(value) is module
        }
        private = module.__name__.rpartition(".")[2].startswith("_")
        assert private or defined <= NAMES[module.__name__]


def test_no_module_hides_behind_a_name():
    assert set(attention_core.__all__).isdisjoint(module.__name__.rpartition(".")[2] for module in modules())
    assert inspect.isfunction(attention_core.softmax)


def test_signatures():
    found = {}
    for name, value in CALLABLES.items():
        signature = inspect.signature(value)
        bare = [part.replace(annotation=inspect.Parameter.empty) for part in signature.parameters.values()]
        found[name] = str(inspect.Signature(bare))
    assert found == SIGNATURES


def test_numpy_is_the_only_import():
    allowed = {"numpy", "attention_core"} | set(sys.stdlib_module_names)
    for source in PACKAGE.glob("*.py"):
        for node in ast.walk(ast.parse(source.read_text("utf-8"))):
            roots = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            roots += [node.module] if isinstance(node, ast.ImportFrom) else []
            assert {root.partition(".")[0] for root in roots} <= allowed, source.name


def test_the_package_says_that_it_is_typed():
    assert (PACKAGE / "py.typed").is_file()


@pytest.mark.parametrize("name", CALLABLES)
def test_docstrings_are_complete(name):
    value = CALLABLES[name]
    text = inspect.getdoc(value)
    prose = text.partition(">>>")[0]
    assert len(doctest.DocTestFinder(recurse=False).find(value, name)[0].examples) >= 1
    for parameter in inspect.signature(value).parameters:
        assert parameter == "self" or re.search(rf"`{parameter}`|[(]{parameter},|, {parameter}[)]", prose)


@pytest.mark.parametrize("name", CALLABLES)
def test_docstrings_begin_with_one_sentence_and_leave_the_contract_to_the_package(name):
    text = inspect.getdoc(CALLABLES[name])
    first, _, rest = text.partition("\n")
    assert re.fullmatch(r"[A-Z].*[.]", first)
    assert not rest.strip() or rest.startswith("\n")
    assert "Raises" not in text


@pytest.mark.parametrize("name", CALLABLES)
def test_docstrings_of_arrays_give_a_shape(name):
    if "ndarray" in str(inspect.signature(CALLABLES[name]).return_annotation):
        assert re.search(r"\((\.\.\.|\w+, \w+)[\w, ]*\)|shape", inspect.getdoc(CALLABLES[name]).partition(">>>")[0])


def test_the_contract_is_stated_once():
    said = " ".join(attention_core.__doc__.split())
    for words in ("float64", "-inf", "`ValueError`: one sentence naming the argument, what was expected and what came"):
        assert words in said
    assert not [module.__name__ for module in modules() if "ValueError" in (module.__doc__ or "")]
