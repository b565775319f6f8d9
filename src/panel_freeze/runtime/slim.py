"""Compile libraries without what only their authors read. Runs in the browser's own Python, in the bake.

A reader downloads Python's memory with every module in it. What this leaves out there is a good part of it:
help texts and documentation, annotations of functions, and the line of each instruction. A traceback still
names file and function, with the line on which the function begins.
"""

from __future__ import annotations

import ast
from types import CodeType

_DOCUMENTING = {"add_newdoc", "add_docstring"}  # NumPy's functions that give documentation to what C defines


def compile_slim(source: bytes, path: str) -> CodeType:
    """Compile a library's module without documentation, assertions, annotations of functions, and lines.

    Parameters
    ----------
    source : bytes
        The module's source.
    path : str
        The path that tracebacks name.

    Raises
    ------
    SyntaxError
        If the source is none.
    """
    tree = _Slim().visit(ast.parse(source, path))
    return _first_lines(compile(tree, path, "exec", dont_inherit=True, optimize=2))


class _Slim(ast.NodeTransformer):
    def visit_Call(self, node: ast.Call) -> ast.AST:
        # Bokeh's properties have `help`, param's parameters `doc`: text that is shown nowhere.
        self.generic_visit(node)
        if _called(node)[:1].isupper():
            node.keywords = [k for k in node.keywords if not (k.arg in ("help", "doc") and _is_text(k.value))]
        return node

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        self.generic_visit(node)
        documents = isinstance(node.value, ast.Call) and _called(node.value) in _DOCUMENTING
        return _nothing(node) if documents else node

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        self.generic_visit(node)
        return _nothing(node) if all(map(_is_documentation, node.targets)) else node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        self.generic_visit(node)
        return _nothing(node) if _is_documentation(node.target) else node

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.AST:
        self.generic_visit(node)
        node.returns = None
        given = node.args
        for argument in (*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg):
            if argument:
                argument.annotation = None
        return node

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815 (the name that ast asks for)


def _called(node: ast.Call) -> str:
    return str(getattr(node.func, "attr", getattr(node.func, "id", "")))


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _is_documentation(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "__doc__"


def _nothing(node: ast.stmt) -> ast.Pass:
    return ast.copy_location(ast.Pass(), node)


def _first_lines(code: CodeType) -> CodeType:
    """Return code all of whose instructions say that they stand on the first line.

    A location table has an entry for up to eight code units: a byte with its kind (13: no columns) and
    length, then by how much the line changes.
    """
    full, rest = divmod(len(code.co_code) // 2, 8)
    lines = bytes((0xEF, 0)) * full + (bytes((0xE8 + rest - 1, 0)) if rest else b"")
    inner = tuple(_first_lines(value) if isinstance(value, CodeType) else value for value in code.co_consts)
    return code.replace(co_linetable=lines, co_consts=inner)
