"""The rule of the tests, so that Bazel runs what is in them."""

def py_test(name, srcs, data = [], **kwargs):
    """A native py_test whose program is pytest on the one file in srcs.

    Args:
      name: Of the rule.
      srcs: A list of one file. Run as a program, it would only define tests.
      data: Files that the test reads.
      **kwargs: What else native.py_test takes.
    """
    native.py_test(
        name = name,
        srcs = srcs + ["tests/pytest_main.py"],
        main = "tests/pytest_main.py",
        args = ["$(location %s)" % srcs[0]],
        data = data + ["pyproject.toml"],
        **kwargs
    )
