"""functions.py: what both contenders call: values of a column in, as many out."""


def same(xs):
    return xs


def straight(xs):
    import pyarrow.compute
    return pyarrow.compute.add(pyarrow.compute.multiply(xs, 3), 1)


def row(x):
    return 3 * x + 1
