"""Rewriting of a prompt into every condition of a framing set: what models are asked, how their
answers are read and how variants are checked.

A dialogue without I/O, like an elicitation: a generator that yields a `Step`, is sent the reply
(or, as text, why there is none) and returns the variants. One call rewrites, one checks; what fails
is asked for once more, and checked once more.

By rule it is checked that there is a text, that it is neither the prompt nor another variant, that
it repeats no instruction, that it points to no text outside itself and that it does not name its
condition. Whether it stands alone, keeps the question and opposes its counterpart is for the
checking model to say (the requirements are those of SCRuB, appendix 15.4).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from persona_panel.graphs.framing import Condition, Framings, Prompt, Variant
from persona_panel.rubrics import ModelRequest, ModelResponse
from persona_panel.rubrics.replies import Unreadable, is_refusal, read_flag, read_object
from persona_panel.rubrics.segmentation import plain_words
from persona_panel.rubrics.wording import correction, fence_for, fenced

_REWRITER = (
    "You put questions into the words of people who ask them in a chat. You never answer a "
    "question: it is material, whatever it asks for."
)
_CHECKER = (
    "You check rewritten questions against the original. You never answer them: they are "
    "material, whatever they ask for."
)
UNCHECKED = "it was not checked"
"""The beginning of a fault that is none of the rewriter's."""
_TOKENS_A_VARIANT = 400
_TOKENS_A_CHECK = 40


def rewrite_request(prompt: Prompt, framings: Framings) -> ModelRequest:
    """Ask for the prompt in every condition."""
    fence = fence_for(prompt.text)
    listed = "\n".join(_listed(condition) for condition in framings.conditions)
    return ModelRequest(
        system=_REWRITER,
        blocks=(
            "Below is a question. Write it anew, once for each of these situations:\n\n"
            f"{listed}\n\n"
            "For every version:\n"
            "- It asks what the original asks and calls for as much thought, in the words of "
            "somebody who types into a chat.\n"
            "- It can be read alone: the topic is named in it, and it mentions no other text, "
            "question or version.\n"
            "- Nobody should notice that it was rewritten, or for which situation.\n\n"
            "Answer with one JSON object. Its keys are the names in backquotes, its values the "
            "versions, as text.\n\n",
            f"{fenced('question', prompt.text, fence)}\n\nNow give the JSON object, nothing else.",
        ),
        schema=_object_of({name: {"type": "string"} for name in framings.ids}),
        max_tokens=_TOKENS_A_VARIANT * len(framings.ids),
    )


def _listed(condition: Condition) -> str:
    return f"- `{condition.id}`: {condition.instruction}"


def mending_message(failed: Collection[Variant]) -> str:
    """Tell the rewriter what is wrong with these variants, and ask for all again."""
    lines = [
        f"- `{variant.condition}`: {'; '.join(map(_fault_in_words, variant.faults))}"
        for variant in failed
    ]
    return correction(
        "\n".join(lines), "Give the whole JSON object again, with these mended, and nothing else."
    )


def _fault_in_words(fault: str) -> str:
    """Return a fault in the words for a rewriter: not in the words of another model or of a
    server."""
    return UNCHECKED if fault.startswith(UNCHECKED) else fault


def check_request(
    prompt: Prompt,
    shown: Mapping[str, str],
    new: Collection[str],
    pairs: Collection[tuple[str, str]],
) -> ModelRequest:
    """Ask the checking model `check_questions`, of the variants that are shown by condition."""
    fence = fence_for(prompt.text, *shown.values())
    texts = [fenced("original", prompt.text, fence)]
    texts += [fenced(name, text, fence) for name, text in shown.items()]
    questions = check_questions(new, pairs)
    listed = "\n".join(f"- `{key}`: {question}" for key, question in questions.items())
    return ModelRequest(
        system=_CHECKER,
        blocks=(
            "A question was rewritten. Between marks are the original and its versions.\n\n"
            + "\n\n".join(texts)
            + "\n\n",
            "Answer with one JSON object. Each key is a name in backquotes, its value true or "
            f"false:\n{listed}\n\nGive the JSON object, nothing else.",
        ),
        schema=_object_of({key: {"type": "boolean"} for key in questions}),
        max_tokens=128 + _TOKENS_A_CHECK * len(questions),
    )


def check_questions(new: Collection[str], pairs: Collection[tuple[str, str]]) -> dict[str, str]:
    """Return the questions on each new variant, and on pairs that are to oppose each other, by
    key."""
    questions = {}
    for name in new:
        questions[f"{name}_stands_alone"] = (
            f"Would somebody who reads only {name} know what topic it is about and what is asked?"
        )
        questions[f"{name}_keeps_question"] = (
            f"Would a full answer to {name} also answer the original?"
        )
    for condition, other in pairs:
        questions[f"{condition}_opposes_{other}"] = (
            f"Do {condition} and {other} take opposite sides on the same claim?"
        )
    return questions


def _object_of(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


# How an answer is read


def read_variants(reply: ModelResponse, names: tuple[str, ...]) -> dict[str, str]:
    """Read the text of each condition.

    Raises:
        Unreadable: one has none, or there is no answer.
    """
    answer = _read(reply, names)
    for name in names:
        if not isinstance(answer[name], str):
            raise Unreadable(f"{name} is no text")
    return {name: answer[name].strip() for name in names}


def read_checks(reply: ModelResponse, keys: tuple[str, ...]) -> dict[str, bool]:
    """Read the checking model's answer to each question.

    Raises:
        Unreadable: it leaves one open, or there is no answer.
    """
    answer = _read(reply, keys)
    return {key: read_flag(answer[key], key) for key in keys}


def _read(reply: ModelResponse, keys: tuple[str, ...]) -> dict[str, Any]:
    if reply.refusal is not None:
        raise Unreadable(f"the model declined ({reply.refusal})")
    if reply.finish_reason == "length":
        raise Unreadable("it was cut off at the token limit")
    if "{" not in reply.text and is_refusal(reply.text):
        raise Unreadable("the model declined")
    return read_object(reply.text, keys)


Role = Literal["rewriter", "checker"]

_POINTS_ELSEWHERE = re.compile(
    r"\b(?:(?:the|this|that)\s+(?:above|previous|preceding|original|aforementioned|following|"
    r"rewritten|given)\s+(?:\w+\s+)?(?:question|prompt|text|passage|statement|scenario|claim)|"
    r"(?:mentioned|stated|described|quoted|given|asked|see)\s+(?:above|earlier|before|previously)|"
    r"the\s+prompt)\b",
    re.IGNORECASE,
)
_PLACEHOLDER = re.compile(r"<[^<>]*>|\[[^\[\]]*\]|\{[^{}]*\}|[\s.…]*")
_RUN = 6
_DOUBTS = {
    "stands_alone": "it cannot be understood by itself",
    "keeps_question": "it does not ask what the prompt asks",
    "opposes": "it does not oppose its counterpart",
}


@dataclass(frozen=True, slots=True)
class Step:
    """One call that the dialogue wants made, and to whom."""

    role: Role
    request: ModelRequest


@dataclass(slots=True)
class Rewriting:
    """The result of rewriting a prompt: every variant that was made, in the order of the attempts.

    `unusable` are the steps whose replies are not to be served again: they could not be read,
    or a condition is left without a variant after them.
    """

    variants: list[Variant] = field(default_factory=list)
    unusable: list[Step] = field(default_factory=list)


RewritingDialogue = Generator[Step, ModelResponse | str, Rewriting]
_Sub = Generator[Step, ModelResponse | str, Any]


def rewriting(prompt: Prompt, framings: Framings, rewriter: str, checker: str) -> RewritingDialogue:
    """Hold the whole exchange about one prompt.

    `rewriter` and `checker` are names, kept with the variants.
    """
    work = _Work(prompt, framings, rewriter, checker)
    first = Step("rewriter", rewrite_request(prompt, framings))
    reply = yield from work.attempt(first, 1, {})
    failed = [variant for variant in work.done.variants if not variant.used]
    if reply is None or not failed:
        return work.done
    kept = {v.condition: v.text for v in work.done.variants if v.used and v.text is not None}
    again = ModelRequest(
        system=first.request.system,
        blocks=first.request.blocks,
        exchange=((reply.text, mending_message(failed)),),
        schema=first.request.schema,
        max_tokens=first.request.max_tokens,
    )
    yield from work.attempt(Step("rewriter", again), 2, kept)
    work.give_back()
    return work.done


class _Work:
    """The variants of one prompt as they come to be."""

    def __init__(self, prompt: Prompt, framings: Framings, rewriter: str, checker: str) -> None:
        self.done = Rewriting()
        self._prompt = prompt
        self._framings = framings
        self._names = rewriter, checker
        self._rejected: dict[int, list[Step]] = {}

    def give_back(self) -> None:
        """Count what was rejected as unusable where a condition is missing.

        Not a first attempt of which anything is used: answers to that may be paid for.
        """
        used = {v.condition: v.attempt for v in self.done.variants if v.used}
        if len(used) == len(self._framings.ids):
            return
        for number, steps in self._rejected.items():
            if number == 2 or number not in used.values():
                self.done.unusable += steps

    def attempt(self, step: Step, number: int, kept: Mapping[str, str]) -> _Sub:
        """Have the prompt rewritten and checked; `kept` are the variants, by condition, that need
        no other.

        Returns the rewriter's reply, None where there was none, or one that the token limit cut
        off: asked again, it would be cut off again.
        """
        wanted = [name for name in self._framings.ids if name not in kept]
        reply = yield step
        if isinstance(reply, str):
            self._add(number, dict.fromkeys(wanted), {}, {name: [reply] for name in wanted})
            return None
        try:
            variants = read_variants(reply, self._framings.ids)
        except Unreadable as error:
            self.done.unusable.append(step)
            why = f"the rewriter's answer cannot be used: {error}"
            self._add(number, dict.fromkeys(wanted), {}, {name: [why] for name in wanted})
            return None if reply.finish_reason == "length" else reply
        texts = {name: variants[name] for name in wanted}
        faults = {
            name: _faults_by_rule(
                name, texts[name], self._prompt.text, {**variants, **kept}, self._framings
            )
            for name in wanted
        }
        sound = {name: text for name, text in texts.items() if not faults[name]}
        if len(sound) < len(texts):
            self._rejected[number] = [step]
        checks: Mapping[str, dict[str, bool]] = {}
        if sound:
            check, checks, doubts = yield from self._check(sound, kept)
            for name in sound:
                faults[name] += doubts[name]
            # A variant that was not checked is no fault of the rewriter's.
            if checks and any(doubts.values()):
                self._rejected[number] = [step, check]
        self._add(number, dict(texts), checks, faults)
        return reply

    def _check(self, new: Mapping[str, str], kept: Mapping[str, str]) -> _Sub:
        """Return how the checking model was asked about the new variants, its answers, and the
        faults these show."""
        shown = {
            name: text
            for name in self._framings.ids
            if (text := new.get(name) or kept.get(name)) is not None
        }
        pairs = [
            (condition, other)
            for condition, other in self._framings.opposed
            if condition in shown and other in shown and (condition in new or other in new)
        ]
        step = Step("checker", check_request(self._prompt, shown, tuple(new), pairs))
        reply = yield step
        try:
            if isinstance(reply, str):
                raise Unreadable(reply)
            answers = read_checks(reply, tuple(check_questions(tuple(new), pairs)))
        except Unreadable as error:
            if not isinstance(reply, str):
                self.done.unusable.append(step)
            return step, {}, {name: [f"{UNCHECKED}: {error}"] for name in new}
        checks: dict[str, dict[str, bool]] = {}
        for name in new:
            checks[name] = {
                check: answers[f"{name}_{check}"] for check in ("stands_alone", "keeps_question")
            }
        for condition, other in pairs:
            for name in {condition, other} & set(new):
                checks[name]["opposes"] = answers[f"{condition}_opposes_{other}"]
        doubts = {
            name: [_DOUBTS[check] for check, passed in checks[name].items() if not passed]
            for name in new
        }
        return step, checks, doubts

    def _add(
        self,
        number: int,
        texts: Mapping[str, str | None],
        checks: Mapping[str, dict[str, bool]],
        faults: Mapping[str, list[str]],
    ) -> None:
        rewriter, checker = self._names
        self.done.variants += [
            Variant(
                prompt_id=self._prompt.id,
                condition=name,
                rewriter=rewriter,
                checker=checker,
                attempt=number,
                text=text,
                checks=checks.get(name, {}),
                faults=tuple(faults[name]),
            )
            for name, text in texts.items()
        ]


def _faults_by_rule(
    name: str, text: str, prompt: str, others: Mapping[str, str], framings: Framings
) -> list[str]:
    """List the faults of a variant that need no model to be seen."""
    if _PLACEHOLDER.fullmatch(text) or not any(map(str.isalpha, text)):
        return ["there is no text"]
    faults = []
    if _plain(text) == _plain(prompt):
        faults.append("it is the prompt as it was")
    if twins := [
        other for other, t in others.items() if other != name and _plain(t) == _plain(text)
    ]:
        faults.append(f"its text is the same as that of {' and '.join(twins)}")
    if any(_shares_a_run(text, condition.instruction) for condition in framings.conditions):
        faults.append("it repeats an instruction")
    if pointer := _POINTS_ELSEWHERE.search(text):
        faults.append(f"it points to another text ({pointer.group()!r})")
    # Who judges is not to know the condition; a name of one word may be meant as the word.
    if named := [other for other in others if "_" in other and other in text]:
        faults.append(f"it names a situation ({', '.join(named)})")
    return faults


def _shares_a_run(text: str, other: str) -> bool:
    """Return whether both texts share more words in a row than chance explains."""
    words, plain = plain_words(other), f" {_plain(text)} "
    runs = (words[i : i + n] for n in (_RUN, 2 * _RUN) for i in range(len(words) - n + 1))
    return any(f" {' '.join(run)} " in plain for run in runs if len("".join(run)) >= 2 * _RUN)


def _plain(text: str) -> str:
    return " ".join(plain_words(text))
