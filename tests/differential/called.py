"""called.py: functions in Python that random programs call. They need nothing but Python, and say the same of a row
whatever rows are beside it."""
import os


# ---- what they got -----------------------------------------------------------------------------

def same(x):
    return x


def back(xs):
    return xs


def listed(xs):
    return xs.to_pylist()


class Capsules:
    """An array that nobody knows but by the Arrow PyCapsule interface."""

    def __init__(self, array):
        self.__arrow_c_array__ = array.__arrow_c_array__

    def __len__(self):
        raise AssertionError("the array is not read as such")


def column(xs):
    return Capsules(xs)


def said(x, y):
    return repr((x, y))


# ---- numbers -----------------------------------------------------------------------------------

def half(x):
    return None if x is None else x // 2


def picky(x):
    if x is not None and x % 5 == 3:
        raise ValueError("%d is none that it likes" % x)
    return half(x)


def picky_all(xs):
    return [picky(x) for x in xs.to_pylist()]


def fussy(xs):
    return [ValueError("two of seven") if x is not None and x % 7 == 2 else half(x) for x in xs.to_pylist()]


def wrong(x):
    """Some results are of no type that fits."""
    if x is None:
        return x
    return {1: "a text", 2: None, 3: 1 << 70, 4: True, 5: 0.5}.get(x % 11, half(x))


class Added:
    def __init__(self):
        self.more = 1

    def __call__(self, xs):
        return [None if x is None else min(x, 1 << 40) + self.more for x in xs.to_pylist()]


class Counted:
    def __call__(self, x):
        return picky(x)

    def close(self):
        self.closed = True


def quits(x):
    if x is not None and x % 13 == 5:
        os._exit(3)
    return half(x)
