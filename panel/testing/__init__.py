"""For the tests of whoever uses or extends persona-panel: models with a script, and checks.

`ScriptedModel` takes the place of a model in a `Panel`, without a key, a network or a cost:

>>> from persona_panel import Panel, Response
>>> from persona_panel.testing import ScriptedModel
>>> essay = Response(id="a", prompt="Should rents be capped?", text="Yes: …", system="me")
>>> model = ScriptedModel('{"quality": 4}')
>>> run = Panel("disciplinary", model, "debate-speech", elicitation="dimensions").score([essay])
>>> run.coverage.missing
{'unparsed': 5}

`serving` starts a local server that speaks OpenAI's chat completions, for tests that want the
whole way over HTTP, with faults:

>>> from persona_panel import ModelConfig
>>> from persona_panel.testing import in_turn, ok, serving, status
>>> with serving(in_turn(status(503), ok())) as server:
...     model = ModelConfig(model="openai:stub", base_url=server.base_url)
...     run = Panel("disciplinary", model).score([essay])
...     len(server.calls), run.coverage.missing
(6, {})

`assert_requirements` has a test fail where the figures of a run are not what they have to be, in
the sentences of `--require`:

>>> from persona_panel.testing import assert_requirements
>>> assert_requirements(run, "coverage >= 0.98")
>>> assert_requirements(run, "composite[me] >= 4")  # doctest: +ELLIPSIS
Traceback (most recent call last):
    ...
AssertionError: composite[me] >= 4 is not met: ...

The `check_` functions are for authors of extensions: each raises an `AssertionError` that says in
a sentence what an extension does not do as the others do. None needs pytest.
"""

from persona_panel._names import lazy_names

__getattr__, __dir__ = lazy_names(__name__)
