"""Special functions are scipy's, without the package around them."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import scipy.special

from persona_panel.statistics.core import special

CODE = """
import sys
from persona_panel.statistics.core import special
began = [name for name in sys.modules if name.startswith("scipy")]
value = special.stdtr(1, 1.0)
loaded = [name for name in ("scipy.special", "scipy._lib._docscrape") if name in sys.modules]
import scipy.special, scipy.stats
print(began, value, loaded, scipy.special.stdtr is special.stdtr, scipy.special.logsumexp([0.0]))
"""


def test_a_function_loads_no_more_than_it_needs_and_leaves_the_package_to_others() -> None:
    """Student's distribution with one degree of freedom is Cauchy's, 3/4 at 1; nothing is loaded
    before it is asked for, and scipy.special can be imported after it as ever."""
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=False)
    assert done.stdout.split("\n")[0] == "[] 0.75 [] True 0.0", done.stderr


@pytest.mark.parametrize("name", ["stdtr", "stdtrit", "fdtrc", "ndtri", "betaincinv", "nctdtr"])
def test_they_are_the_functions_of_scipy(name: str) -> None:
    """The same ufunc, so the same figures."""
    own, others = getattr(special, name), getattr(scipy.special, name)
    arguments = np.full(own.nin, 0.3)
    assert own(*arguments) == others(*arguments)


def test_what_scipy_does_not_have_is_not_there() -> None:
    """A wrong name fails as that of any module does."""
    with pytest.raises(AttributeError, match="stdtrr"):
        special.stdtrr  # noqa: B018
