"""A study made: texts and a design in, packets and their key out, and the folder written."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from persona_panel.files.documents import json_lines
from persona_panel.files.errors import Fault, InputError
from persona_panel.files.outputs import writing
from persona_panel.files.private_files import make_private_folder, replace_file
from persona_panel.files.response_batch import Batch, line_of
from persona_panel.graphs import Response
from persona_panel.graphs.records import prompt_of
from persona_panel.rubrics import Rubric
from persona_panel.study.attention import PROMPT, attention_texts
from persona_panel.study.blinding import NamingText, naming_texts, new_secret, opaque_id
from persona_panel.study.design import StudyDesign, TextSet, design_study
from persona_panel.study.key import (
    KEY_FOLDER,
    KEY_NAME,
    KeyedPacket,
    KeyedPrompt,
    KeyedSet,
    KeyedText,
    StudyKey,
)
from persona_panel.study.packet import (
    Packet,
    ShownDimension,
    ShownSet,
    ShownText,
    estimated_minutes,
    shown_dimensions,
)
from persona_panel.study.ranking import ranking_words
from persona_panel.study.settings import StudySettings

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
    """A study that is made and not yet written.

    Attributes:
        design: who sees what.
        key: what tells the labels.
        packets: one a rater, in the order of the key's.
        responses: the texts, each with a prompt id.
        naming: texts that name a system.
    """

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
    """Packets for raters, blind to who wrote the texts.

    The design follows from the texts and the seed; the ids are new each time, as they follow from
    a secret.

    Args:
        responses: the texts, two or more to a prompt where they are to be ranked.
        rubric: what they are rated by.
        settings: how many raters, texts and sets, and the tasks.
        consent: what a rater agrees to.
        instructions: what a rater reads first.
        inclusion: with which probability each text was drawn, by `prompt_id/id`; None where they
            were not drawn.

    Raises:
        ConfigurationError: no design can be what is asked for, which names a number that would do;
            or the rubric does not say by what texts are ranked.
        InputError: a response is there twice, or a prompt id stands for two prompts.
    """
    batch = Batch(responses, one_prompt_each=True)
    by_prompt: dict[str, list[Response]] = {}
    for one in batch:
        by_prompt.setdefault(str(one.prompt_id), []).append(one)
    texts = list(by_prompt.values())
    design = design_study([len(group) for group in texts], settings)
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
    )
    naming = naming_texts(batch, {one.system for one in batch})
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
        """What a rater is given, and what its ids stand for."""
        sets = [self._set(rater, place, one) for place, one in enumerate(session)]
        shown = tuple(one for one, _ in sets)
        rated = self._dimensions if "rate" in self._settings.tasks else ()
        minutes = estimated_minutes(
            shown, self._settings.tasks, len(rated), f"{self._instructions} {self._consent}"
        )
        packet = Packet(
            study=self.study,
            packet=opaque_id(self.secret, "packet", rater),
            tasks=self._settings.tasks,
            question=self._rubric.question,
            part=self._rubric.item.prompt,
            not_assessable=self._rubric.not_assessable,
            dimensions=rated,
            ranking=self._ranking,
            consent=self._consent,
            instructions=self._instructions,
            minutes=minutes,
            sets=shown,
        )
        keyed = KeyedPacket(
            packet=packet.packet,
            rater=f"rater-{rater + 1:0{max(2, len(str(self._settings.raters)))}d}",
            sha256=packet.digest,
            minutes=minutes,
            sets=tuple(one for _, one in sets),
        )
        return packet, keyed

    def _set(self, rater: int, place: int, one: TextSet) -> tuple[ShownSet, KeyedSet]:
        if one.role == "attention":
            return self._attention(rater, place)
        group = self._texts[one.prompt]
        shown, keyed = [], []
        for label, text in zip(_LABELS, one.texts, strict=False):
            response = group[text]
            own = opaque_id(self.secret, "text", rater, place, label)
            shown.append(
                ShownText(id=own, label=label, text=response.text, context=response.context)
            )
            keyed.append(
                KeyedText(id=own, label=label, response=response.id, system=response.system)
            )
        own = opaque_id(self.secret, "set", rater, place)
        again = None if one.repeats is None else opaque_id(self.secret, "set", rater, one.repeats)
        first = group[0]
        return (
            ShownSet(id=own, prompt=prompt_of(first, self._rubric), texts=tuple(shown)),
            KeyedSet(
                id=own,
                role=one.role,
                prompt_id=first.prompt_id,
                repeats=again,
                texts=tuple(keyed),
            ),
        )

    def _attention(self, rater: int, place: int) -> tuple[ShownSet, KeyedSet]:
        draw = Random(f"{self._settings.seed} attention {rater} {place}")
        shown, keyed = [], []
        asked = attention_texts(self._dimensions, self._settings.tasks, draw)
        for label, (said, rank, scores) in zip(_LABELS, asked, strict=False):
            own = opaque_id(self.secret, "text", rater, place, label)
            shown.append(ShownText(id=own, label=label, text=said))
            keyed.append(KeyedText(id=own, label=label, rank=rank, scores=scores))
        own = opaque_id(self.secret, "set", rater, place)
        return (
            ShownSet(id=own, prompt=PROMPT, texts=tuple(shown)),
            KeyedSet(id=own, role="attention", prompt_id=None, repeats=None, texts=tuple(keyed)),
        )


def refuse_a_study_there(folder: Path) -> None:
    """Refuse a folder that has anything in it.

    Raises:
        InputError: it has: packets that were sent could be unblinded no more.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(
            [
                Fault(
                    str(folder),
                    "a folder that is not empty" if folder.is_dir() else "a file",
                    "a new folder: a study is never written over another, as answers to its "
                    "packets could be unblinded no more",
                    field="--out",
                )
            ]
        )


def write_key(study: Study, folder: Path) -> Path:
    """Write what unblinds a study into a folder below its own, which only its owner can read; gives
    that folder.

    Raises:
        RunFolderError: it cannot be written.
    """
    below = folder / KEY_FOLDER
    kept = study.key.model_dump(mode="json")
    kept = {"schema": kept.pop("schema_"), **kept}
    lines = json_lines(line_of(one) for one in study.responses)
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
