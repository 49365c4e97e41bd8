"""Decisions as JUnit XML, as continuous-integration servers read it."""

from __future__ import annotations

import re
from xml.etree import ElementTree as Xml

from persona_panel.files.secrets.visible import visible
from persona_panel.results.requirements.decision import GateResult, sentence

# What no XML 1.0 document may hold, escaped or not, beyond what `visible` escapes.
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit(result: GateResult, suite: str) -> str:
    """A document with one test suite, in which each requirement is a test case; one that is not met
    has a failure with its sentence.

    Args:
        suite: its name, such as `persona-panel score`.
    """
    n, failures = len(result.decisions), len(result.unmet)
    counts = {"tests": str(n), "failures": str(failures), "errors": "0", "skipped": "0"}
    root = Xml.Element("testsuites", counts)
    cases = Xml.SubElement(root, "testsuite", {"name": _text(suite), **counts, "time": "0"})
    for decision in result.decisions:
        about = {"classname": _text(suite), "name": _text(str(decision.requirement)), "time": "0"}
        case = Xml.SubElement(cases, "testcase", about)
        said = _text(sentence(decision))
        if decision.met:
            Xml.SubElement(case, "system-out").text = said
        else:
            kind = {"message": said, "type": f"requirement: {decision.why}"}
            Xml.SubElement(case, "failure", kind).text = said
    Xml.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{Xml.tostring(root, "unicode")}\n'


def _text(text: str) -> str:
    """A text in characters that XML may hold."""
    return _FORBIDDEN.sub(lambda sign: f"\\u{ord(sign[0]):04x}", visible(text))
