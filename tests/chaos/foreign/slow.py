"""slow.py: a function that takes some time and always answers the same."""
import time


def slow(x):
    time.sleep(0.002)
    return x + 5
