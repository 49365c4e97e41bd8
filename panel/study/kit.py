"""A study made: texts and a design in, blinded packets with attention checks and their key out, and
the folder written.

An id is a keyed digest: whoever has the packets, the texts and even the systems' names, but not the
study's secret, cannot find out which id is whose.

A rubric says in its composite which of its dimensions make the one number that texts are ranked by,
and in its scales what their ends mean. So the first rank is that of the highest composite, and
people's ranks compare with a panel's scores: where the highest is very offensive, the first text is
the most offensive one, and no text is called the best.
"""

from __future__ import annotations

import hmac
import json
import re
import secrets
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any
from unicodedata import normalize

from persona_panel.files.attributes import rater_attributes
from persona_panel.files.errors import ConfigurationError, Fault, InputError
from persona_panel.files.outputs import json_lines, make_private_folder, replace_file, writing
from persona_panel.files.records import Responses
from persona_panel.files.responses import Batch, line_of
from persona_panel.files.wording import some
from persona_panel.graphs import Response
from persona_panel.graphs.records import prompt_of
from persona_panel.results.conclusions.wording import counted
from persona_panel.rubrics import Rubric
from persona_panel.study.design import StudyDesign, StudySettings, Task, TextSet, design_study
from persona_panel.study.packet import (
    KEY_FOLDER,
    KEY_NAME,
    KeyedPacket,
    KeyedPrompt,
    KeyedSet,
    KeyedText,
    Packet,
    RankingWords,
    ShownDimension,
    ShownSet,
    ShownText,
    StudyKey,
    estimated_minutes,
    shown_dimensions,
)


def disciplines_of(file: str) -> dict[str, str]:
    """Read the discipline of each expert, by name: a file with `rater` and `discipline`. Raises
    InputError: it cannot be read, or a name or a discipline cannot be used; lists every fault."""
    table = rater_attributes(file)
    disciplines = {name: known.get("discipline") or "" for name, known in table.values.items()}
    lacking = [name for name, discipline in disciplines.items() if not discipline]
    faults = []
    if lacking:
        whose = f"no discipline of {some(lacking)}"
        faults.append(Fault(file, whose, "one of each, in a column discipline", field="discipline"))
    faults += [
        Fault(file, repr(name), "letters, digits, - and _: packets are called so", field="rater")
        for name in disciplines
        if not name.replace("-", "").replace("_", "").isalnum()
    ]
    by_file: dict[str, list[str]] = {}
    for name in disciplines:
        by_file.setdefault(normalize("NFC", name).casefold(), []).append(name)
    faults += [
        Fault(
            file,
            some(names),
            "names that differ by more than case: each names a file",
            field="rater",
        )
        for names in by_file.values()
        if len(names) > 1
    ]
    faults += [
        Fault(file, repr(name), "another name: results use it", field="discipline")
        for name in sorted({"all", "humans"} & set(disciplines.values()))
    ]
    if faults:
        raise InputError(faults)
    return disciplines


def selected_responses(
    responses: Responses, inclusion: Mapping[str, float], source: str
) -> tuple[list[Response], dict[str, float]]:
    """Return the responses that were drawn, in their order with their prompt ids, and the
    probability of each by `prompt_id/id`.

    `inclusion` is by item, called `prompt_id/id`, as a run calls it, or `id`, where ids come once,
    as `read_inclusion` gives it from the file `source`. Raises InputError where an item is none of
    the responses, or two items are the same one.
    """
    batch = Batch(responses)
    whole = {f"{response.prompt_id}/{response.id}": response for response in batch}
    places: dict[str, list[str]] = {}
    for own, response in whole.items():
        for name in {own, response.id}:
            places.setdefault(name, []).append(own)
    probabilities: dict[str, float] = {}
    absent, again = [], []
    for item, probability in inclusion.items():
        # Its own name counts before the id of another response that happens to be the same.
        named = [item] if item in whole else places.get(item, [])
        if len(named) != 1:
            absent.append(item)
        elif named[0] in probabilities:
            again.append(item)
        else:
            probabilities[named[0]] = probability
    faults = []
    if not inclusion:
        faults.append(Fault(source, "no items", "one item or more, as `select` writes them"))
    if absent:
        what = f"{counted(len(absent), 'item')} that no response, or more than one, has the name of"
        expected = "items called as the responses are, prompt_id/id, or id where ids come once"
        faults.append(Fault(source, f"{what}: {some(absent)}", expected, field="item"))
    if again:
        faults.append(Fault(source, f"a response twice: {some(again)}", "each once", field="item"))
    if faults:
        raise InputError(faults)
    kept = {name: response for name, response in whole.items() if name in probabilities}
    return list(kept.values()), {name: probabilities[name] for name in kept}


_DIGITS = 16
_LEAST_LETTERS = 3
"""Shorter names would be found in any text."""


def new_secret() -> str:
    """Draw a study's secret: 32 random bytes in hexadecimal digits."""
    return secrets.token_hex(32)


def opaque_id(secret: str, *parts: object) -> str:
    """Return the id of what these parts name: 16 hexadecimal digits of their HMAC-SHA256."""
    message = "\x1f".join(map(str, parts)).encode("utf-8", "surrogatepass")
    return hmac.new(bytes.fromhex(secret), message, "sha256").hexdigest()[:_DIGITS]


@dataclass(frozen=True, slots=True)
class NamingText:
    """A text that names a system, its own or another, which a rater may take for its author; the
    name as it stands in a `part`: "response", "prompt" or "context"."""

    prompt_id: str
    id: str
    system: str
    part: str
    name: str
    own: bool


def naming_texts(responses: Iterable[Response], systems: Collection[str]) -> list[NamingText]:
    """Return the texts that name a system, each once, by that of its own system if it names
    several.

    A name counts as a whole word, whatever its case and whether its words are parted by hyphens,
    underscores, spaces or not at all: `gpt-4o` is also found in "GPT 4o" and "GPT4o". It is looked
    for without what stands before its last colon or slash, too, without what follows its first
    number (`gpt-4o` for `gpt-4o-mini-2024-07-18`), and of a model with its provider by its first
    word (`claude` for `anthropic:claude-sonnet-4-5`); not of fewer than three letters and digits.
    """
    by_system = {system: _pattern_of(_names_of(system)) for system in systems}
    patterns = [pattern for pattern in by_system.values() if pattern is not None]
    if not patterns:
        return []
    any_name = re.compile("|".join(pattern.pattern for pattern in patterns), re.IGNORECASE)
    named = []
    for response in responses:
        texts = (response.text, response.prompt, response.context or "")
        own = by_system.get(response.system)
        matches = (
            (part, match.group(), is_own)
            for is_own, pattern in ((True, own), (False, any_name))
            for part, text in zip(("response", "prompt", "context"), texts, strict=True)
            if pattern is not None and (match := pattern.search(text)) is not None
        )
        if (first := next(matches, None)) is not None:
            prompt_id = str(response.prompt_id)
            named.append(NamingText(prompt_id, response.id, response.system, *first))
    return named


def _names_of(system: str) -> Iterator[list[str]]:
    """Yield the words of each name that a system goes by."""
    last = re.split(r"[:/]", system)[-1]
    for name in (system, last):
        yield _words_of(name)
    words = _words_of(last)
    if last != system:
        yield words[:1]
    # Up to the first number: gpt 4o, llama 3.1.
    numbered = next((at for at, word in enumerate(words) if word[0].isdigit()), None)
    if numbered:
        yield words[: numbered + 1]


def _words_of(name: str) -> list[str]:
    """Return the words of a name: parted by what is no letter or digit, but for points in numbers,
    and where letters are followed by a number."""
    return re.findall(r"[^\W\d_]+|\d[\w.]*\w|\d", name)


def _pattern_of(names: Iterable[list[str]]) -> re.Pattern[str] | None:
    """Return a pattern that finds each of some names; None where all are too short."""
    forms = {
        r"[\W_]{0,2}".join(map(re.escape, words)): len("".join(words))
        for words in names
        if len("".join(words)) >= _LEAST_LETTERS
    }
    if not forms:
        return None
    longest_first = sorted(forms, key=forms.__getitem__, reverse=True)
    return re.compile(rf"(?<![^\W_])(?:{'|'.join(longest_first)})(?![^\W_])", re.IGNORECASE)


def ranking_words(rubric: Rubric) -> RankingWords:
    """Return the words that tell raters by what to rank texts; raises ConfigurationError where the
    rubric has categories alone, and no composite."""
    composite = rubric.composite
    if composite is not None and (share := composite.share_of) is not None:
        by = tuple(each.label for each in rubric.dimensions if each.id == share.dimension)
        most, least = (f"{much} clearly “{share.value}”" for much in ("most", "least"))
        return RankingWords(first=most, last=least, by=by)
    named = () if composite is None else composite.mean_of or composite.product_of or ()
    own = [dimension for dimension in rubric.dimensions if dimension.id in named]
    weighed = own if named else rubric.numeric
    if not weighed:
        raise ConfigurationError(
            f"the rubric {rubric.id!r} has categories alone and no composite, which says by what "
            "texts are ranked; add a composite, or leave the ranking out (--tasks rate)"
        )
    labels = tuple(dimension.label for dimension in weighed)
    scales = rubric.numeric_scales
    ends = {(scales[dimension.id].low, scales[dimension.id].high) for dimension in weighed}
    if len(ends) > 1:
        return RankingWords(first="highest", last="lowest", by=labels)
    [(low, high)] = ends
    return RankingWords(first=f"nearest to “{high}”", last=f"nearest to “{low}”", by=labels)


PROMPT = "Before you go on: please read both texts to their end, and do what they say."
_BOTH = (
    "This text was not written as an answer. It is here to check that texts are read to their end, "
    "as anybody may skim the odd one in a long session. "
)


def attention_texts(
    dimensions: Sequence[ShownDimension], tasks: Sequence[Task], draw: Random
) -> list[tuple[str, int, dict[str, int | str]]]:
    """Make the two texts of an attention set, in an order that is drawn: of each what it says, the
    rank it asks for, and the score on each dimension."""
    ranks = draw.sample((1, 2), 2)
    texts = []
    for rank, end in zip(ranks, draw.sample((0, -1), 2), strict=True):
        scores = {dimension.id: _value_of(dimension, end) for dimension in dimensions}
        wanted = [f"give it rank {rank}"] if "rank" in tasks else []
        wanted += [f"rate it {_in_words(dimensions, scores)}"] if "rate" in tasks else []
        sentence = f"{_BOTH}Please {' and '.join(wanted)}, whatever you think of it."
        texts.append((sentence, rank, scores))
    return texts


def _value_of(dimension: ShownDimension, end: int) -> int | str:
    """Return the lowest (0) or highest (-1) value of a scale."""
    if dimension.kind == "category":
        return dimension.values[end][0]
    # A scale of numbers has both ends.
    return (dimension.min, dimension.max)[end] or 0


def _in_words(dimensions: Sequence[ShownDimension], scores: dict[str, int | str]) -> str:
    if len(set(scores.values())) == 1 and len(dimensions) > 1:
        return f"{next(iter(scores.values()))} on every scale"
    return ", ".join(f"{scores[dimension.id]} on “{dimension.label}”" for dimension in dimensions)


PACKETS = "packets"
_LABELS = "ABCDEF"
CONSENT = """\
Taking part is voluntary, and you may stop at any time without giving a reason.
Your answers stay in this browser until you save them as a file and send that file yourself. The \
file has your answers, the time that each page was in view, and no name.
The answers will be used for research, and may be published without anything that identifies you."""
INSTRUCTIONS = """\
You will read texts that answer the same prompt. You do not learn who wrote them: please judge \
what is written, not who may have written it.
Please do not ask anybody, and use no artificial intelligence. There is no right or wrong answer; \
use the whole range of a scale. Your reasons matter: a few sentences each time."""


@dataclass(frozen=True, slots=True)
class Study:
    """A study that is made and not yet written: who sees what, what tells the labels, the packets,
    one a rater in the order of the key's, the texts with their prompt ids, and those that name a
    system."""

    design: StudyDesign
    key: StudyKey
    packets: tuple[Packet, ...]
    responses: tuple[Response, ...]
    naming: tuple[NamingText, ...]


def make_study(
    responses: Sequence[Response],
    rubric: Rubric,
    settings: StudySettings,
    *,
    consent: str = CONSENT,
    instructions: str = INSTRUCTIONS,
    inclusion: Mapping[str, float] | None = None,
) -> Study:
    """Make packets for raters, blind to who wrote the texts, two or more to a prompt where they are
    to be ranked. The design follows from the texts and the seed; the ids are new each time, as they
    follow from a secret. A rater agrees to `consent` and reads `instructions` first; `inclusion` is
    the probability with which each text was drawn, by `prompt_id/id`, None where they were not.

    Raises ConfigurationError where no design can be what is asked for, with a number that would do,
    or the rubric does not say by what texts are ranked; InputError where a response is there twice,
    or a prompt id stands for two prompts.
    """
    batch = Batch(responses, one_prompt_each=True)
    by_prompt: dict[str, list[Response]] = {}
    for response in batch:
        by_prompt.setdefault(str(response.prompt_id), []).append(response)
    if unknown := [name for name in settings.controls if name not in by_prompt]:
        raise ConfigurationError(
            f"--calibration: no prompt is called {some(unknown)}; prompts are {some(by_prompt)}"
        )
    by_prompt = {name: by_prompt[name] for name in dict.fromkeys((*settings.controls, *by_prompt))}
    texts = list(by_prompt.values())
    numbers: dict[str, int] = {}
    systems = [[numbers.setdefault(each.system, len(numbers)) for each in of] for of in texts]
    design = design_study([len(group) for group in texts], settings, systems)
    maker = _Maker(new_secret(), settings, rubric, texts, consent.strip(), instructions.strip())
    made = [maker.packet(rater, session) for rater, session in enumerate(design.sessions)]
    key = StudyKey(
        study=maker.study,
        secret=maker.secret,
        seed=settings.seed,
        tasks=settings.tasks,
        rubric=rubric,
        prompts=tuple(
            KeyedPrompt(prompt_id=name, prompt=prompt_of(group[0], rubric))
            for name, group in by_prompt.items()
        ),
        packets=tuple(keyed for _, keyed in made),
        inclusion=None if inclusion is None else dict(inclusion),
        exclude_failed=settings.exclude_failed,
        abstain=settings.abstain,
    )
    naming = naming_texts(batch, {response.system for response in batch})
    return Study(design, key, tuple(packet for packet, _ in made), tuple(batch), tuple(naming))


class _Maker:
    """Puts packets together, all with the ids of one study."""

    def __init__(
        self,
        secret: str,
        settings: StudySettings,
        rubric: Rubric,
        texts: Sequence[Sequence[Response]],
        consent: str,
        instructions: str,
    ) -> None:
        self.secret, self._settings, self._rubric, self._texts = secret, settings, rubric, texts
        self.study = opaque_id(secret, "study")
        self._dimensions: tuple[ShownDimension, ...] = shown_dimensions(rubric)
        self._ranking = ranking_words(rubric) if "rank" in settings.tasks else None
        self._consent, self._instructions = consent, instructions

    def packet(self, rater: int, session: Sequence[TextSet]) -> tuple[Packet, KeyedPacket]:
        """Make a rater's packet, and the key to its ids."""
        sets = [self._set(rater, place, text_set) for place, text_set in enumerate(session)]
        shown = tuple(shown_set for shown_set, _ in sets)
        rated = self._dimensions if "rate" in self._settings.tasks else ()
        minutes = estimated_minutes(
            shown, self._settings.tasks, len(rated), f"{self._instructions} {self._consent}"
        )
        rubric = self._rubric
        packet = Packet(
            study=self.study, packet=opaque_id(self.secret, "packet", rater),
            tasks=self._settings.tasks, question=rubric.question, part=rubric.item.prompt,
            not_assessable=rubric.not_assessable or self._settings.abstain, dimensions=rated,
            ranking=self._ranking,
            consent=self._consent, instructions=self._instructions, minutes=minutes, sets=shown,
        )  # fmt: skip
        names, groups = self._settings.names, self._settings.groups
        number = f"rater-{rater + 1:0{max(2, len(str(self._settings.raters)))}d}"
        keyed = KeyedPacket(
            packet=packet.packet, rater=names[rater] if names else number,
            group=groups[rater] if groups else None, sha256=packet.digest, minutes=minutes,
            sets=tuple(keyed for _, keyed in sets),
        )  # fmt: skip
        return packet, keyed

    def _set(self, rater: int, place: int, text_set: TextSet) -> tuple[ShownSet, KeyedSet]:
        shown: list[dict[str, Any]]
        keyed: list[dict[str, Any]]
        if text_set.role == "attention":
            draw = Random(f"{self._settings.seed} attention {rater} {place}")
            asked = attention_texts(self._dimensions, self._settings.tasks, draw)
            shown = [{"text": sentence} for sentence, _, _ in asked]
            keyed = [{"rank": rank, "scores": scores} for _, rank, scores in asked]
            prompt, prompt_id = PROMPT, None
        else:
            group = self._texts[text_set.prompt]
            texts = [group[text] for text in text_set.texts]
            shown = [{"text": each.text, "context": each.context} for each in texts]
            keyed = [{"response": each.id, "system": each.system} for each in texts]
            prompt, prompt_id = prompt_of(group[0], self._rubric), group[0].prompt_id
        own, again = (
            None if at is None else opaque_id(self.secret, "set", rater, at)
            for at in (place, text_set.repeats)
        )
        names = [
            {"id": opaque_id(self.secret, "text", rater, place, label), "label": label}
            for label, _ in zip(_LABELS, shown, strict=False)
        ]
        texts_shown = tuple(ShownText(**name, **of) for name, of in zip(names, shown, strict=True))
        texts_keyed = tuple(KeyedText(**name, **of) for name, of in zip(names, keyed, strict=True))
        return (
            ShownSet(id=str(own), prompt=prompt, texts=texts_shown),
            KeyedSet(
                id=str(own), role=text_set.role, prompt_id=prompt_id, repeats=again,
                texts=texts_keyed,
            ),
        )  # fmt: skip


def refuse_a_study_there(folder: Path) -> None:
    """Raise InputError for a folder with anything in it: packets that were sent could be unblinded
    no more."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        actual = "a folder that is not empty" if folder.is_dir() else "a file"
        expected = (
            "a new folder: a study is never written over another, as answers to its packets could "
            "be unblinded no more"
        )
        raise InputError([Fault(str(folder), actual, expected, field="--out")])


def write_key(study: Study, folder: Path) -> Path:
    """Write what unblinds a study into a folder below its own, which only its owner can read;
    return that folder. Raises RunFolderError."""
    below = folder / KEY_FOLDER
    kept = study.key.model_dump(mode="json")
    kept = {"schema": kept.pop("schema_"), **kept}
    lines = json_lines(line_of(response) for response in study.responses)
    readme = (
        "These files say which text is whose. Whoever rates must not see them: send the files\n"
        f"of the folder {PACKETS} alone. Without {KEY_NAME} no answer can be unblinded: keep a\n"
        "copy.\n"
    )
    with writing(below):
        make_private_folder(below)
        # A link or an earlier folder may have other permissions.
        below.chmod(0o700)
        replace_file(below / KEY_NAME, json.dumps(kept, ensure_ascii=False, indent=1).encode())
        replace_file(below / "responses.jsonl", lines)
        replace_file(below / "README.txt", readme.encode())
    return below
