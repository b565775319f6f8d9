"""The arrays of this package: their types, and the one matrix product."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


def row_products(rows: Floats, others: Floats) -> Floats:
    """Every row of one array times every row of another: (..., n, d), (..., m, d) -> (..., n, m).

    This is `rows @ others.T`. A BLAS may add up the cells of one product in different orders, depending
    on where a cell falls in its blocks; then q·k and k·q differ in the last place, and a head's columns
    differ from the same columns of the full matrix. Here each cell is one dot product along contiguous
    memory, so equal rows give equal bits.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        product: Floats = np.einsum("...nd,...md->...nm", np.ascontiguousarray(rows), np.ascontiguousarray(others))
    return product
