"""What the benchmark is made of: a host that counts, a slow line, visits in a real browser, a neighbour."""
