"""`check_schema`: does the engine enforce this schema exactly, as far as random examples show?

Texts that must be accepted come from values that an independent validator calls valid, in several spellings; texts that
must be refused from values one edit away, which the validator calls invalid, and from texts that are not JSON; and
random walks through the masks must end in valid texts. A disagreement is reduced before it is reported.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field
from typing import Any, NoReturn

from constrain.grammars.errors import UnsatisfiableSchemaError
from constrain.testing.choices import Choices, SeededChoices
from constrain.testing.default_vocabulary import default_vocabulary
from constrain.testing.disagreement import reduce
from constrain.testing.edits import broken_text, edited
from constrain.testing.excuses import Excuses, has_exponent
from constrain.testing.instance_generator import DeadEnd, InstanceGenerator
from constrain.testing.json_values import NotJson, plain_text, read_exactly, spellable
from constrain.testing.masks import MaskError, Tokens, finish, read_mask, walk
from constrain.testing.minimise import minimise, smaller_values
from constrain.testing.spelling import Style, random_style, spell
from constrain.testing.validator import CannotJudge, Validator, draft_of


@dataclass
class SchemaReport:
    """What `check_schema` did.

    Attributes:
        valid: distinct valid values driven through the matcher.
        near_misses: invalid values one edit away.
        broken: texts that are not JSON.
        texts: texts of all these.
        walks: random walks through the masks that ended in a text, each judged by the validator.
        narrowed: valid texts that the grammar's documented narrowings leave out (exponents, parts of some formats).
        undecided: values that no validator could judge.
        backend: the validator.
        unenforced: keywords that are annotations to the engine, such as formats that no draft defines.
    """

    valid: int = 0
    near_misses: int = 0
    broken: int = 0
    texts: int = 0
    walks: int = 0
    narrowed: int = 0
    undecided: int = 0
    backend: str = ""
    unenforced: tuple[Any, ...] = field(default=())


class Engine:
    """A compiled grammar as a predicate on texts."""

    def __init__(self, grammar: Any, compiled: Any) -> None:
        self.grammar, self.compiled = grammar, compiled
        self._start = compiled.matcher()

    def accepts(self, text: str | bytes) -> bool:
        """Whether a whole text is accepted."""
        matcher = self._start.fork()
        return bool(matcher.accept_bytes(text if isinstance(text, bytes) else text.encode()) and matcher.is_accepting)

    def refused_at(self, text: str) -> int:
        """How many bytes of a text are accepted."""
        matcher, data = self._start.fork(), text.encode()
        for at in range(len(data)):
            if not matcher.accept_bytes(data[at : at + 1]):
                return at
        return len(data)


def check_schema(schema: Any, vocab: Any = None, *, max_examples: int = 100, seed: int | None = None) -> SchemaReport:
    """Check the engine's verdicts under a schema against an independent validator. For use in tests.

    Args:
        schema: a JSON Schema, as a dict or boolean.
        vocab: the `Vocabulary` whose masks are walked; by default all bytes and common pieces of JSON.
        max_examples: how many values to try; each gives a few texts, near misses and now and then a walk.
        seed: of the random choices; by default a new one each time, named in the message of a failure.

    Raises:
        AssertionError: a verdict of the engine is wrong. The message has the reduced text and what was expected.
        ConstrainError: the engine refuses the schema (`UnsupportedSchemaError` and so on).
        CannotJudge: no installed validator can build the schema.

    Example:
        >>> from constrain.testing import check_schema
        >>> check_schema({"type": "integer", "minimum": 3}, max_examples=20, seed=1).valid > 0
        True
    """
    import constrain

    seed = random.randrange(1 << 32) if seed is None else seed
    choices = SeededChoices(seed)
    validator = Validator(schema)
    try:
        grammar = constrain.json_schema(schema)
        compiled = grammar.compile(default_vocabulary() if vocab is None else vocab)
    except UnsatisfiableSchemaError as error:
        _check_unsatisfiable(schema, validator, choices, error, max_examples)
        raise
    check = _Check(schema, validator, Engine(grammar, compiled), choices, seed)
    check.run(max_examples)
    return check.report


def _check_unsatisfiable(
    schema: Any, validator: Validator, choices: Choices, error: Exception, max_examples: int
) -> None:
    generator = InstanceGenerator(schema, choices)
    for _ in range(max_examples):
        try:
            value = generator.value()
            valid = spellable(value) and validator.is_valid(value)
        except (DeadEnd, CannotJudge):
            continue
        if valid:
            raise AssertionError(
                f"the engine calls the schema unsatisfiable ({error}), but {plain_text(value)} is valid\n"
                f"  schema: {_shown(schema)}"
            )


class _Check:
    def __init__(self, schema: Any, validator: Validator, engine: Engine, choices: Choices, seed: int) -> None:
        self._schema, self._validator, self._engine, self._choices = schema, validator, engine, choices
        self._seed = seed
        self._excuses = Excuses(schema, engine.grammar, engine.accepts)
        self._draft_4 = draft_of(schema) == 4
        vocabulary = engine.compiled.vocabulary
        self._tokens = Tokens(vocabulary.token_bytes, vocabulary.eos_token_ids)
        self._seen: set[str] = set()
        self.report = SchemaReport(backend=validator.backend, unenforced=tuple(engine.grammar.unenforced))

    def run(self, max_examples: int) -> None:
        choices = self._choices
        generator = InstanceGenerator(self._schema, choices)
        for example in range(max_examples):
            value = self._candidate(generator)
            if value is None:
                self._walk()
                continue
            value = value[0]
            for text in self._texts(value):
                self._judge_text(value, text)
            if example % 4 == 0:
                self._drive_tokens(value)
                self._walk()
            for _ in range(3):
                near = self._near(value)
                if near is not None:
                    for text in self._texts(near[0])[:2]:
                        self._judge_text(near[0], text)
            broken = broken_text(value, choices)
            self.report.broken += 1
            self.report.texts += 1
            if self._engine.accepts(broken):
                self._fail("a text that is not JSON, or writes a name twice", broken, valid=False)

    def _candidate(self, generator: InstanceGenerator) -> list[Any] | None:
        """A value in a list, valid if one was found soon; None where the generator led nowhere."""
        value = None
        for _ in range(4):
            try:
                value = [generator.value()]
                if spellable(value) and self._validator.is_valid(value[0]):
                    return value
            except DeadEnd:
                continue
            except CannotJudge:
                self.report.undecided += 1
        return value if value is not None and spellable(value) else None

    def _near(self, value: Any) -> list[Any] | None:
        """A value one edit away in a list, an invalid one if one was found soon."""
        near = None
        for _ in range(4):
            candidate = edited(value, self._choices, self._schema)
            if not spellable(candidate):
                continue
            near = [candidate]
            try:
                if not self._validator.is_valid(candidate):
                    break
            except CannotJudge:
                self.report.undecided += 1
        return near

    def _texts(self, value: Any) -> list[str]:
        """Texts that are promised, the plain one first."""
        choices = self._choices
        styles = [random_style(choices, zeros=not self._draft_4) for _ in range(3)]
        if not self._draft_4:
            styles.append(random_style(choices, exponents=True))
        return [plain_text(value), json.dumps(value), *(spell(value, choices, style) for style in styles)]

    def _verdict(self, text: str) -> bool | None:
        try:
            return self._validator.is_valid(read_exactly(text))
        except CannotJudge:
            return None

    def _judge_text(self, value: Any, text: str) -> None:
        """Compare the verdicts on a text of `value`."""
        self.report.texts += 1
        expected = self._verdict(text)
        if expected is None:
            self.report.undecided += 1
            return
        plain = plain_text(value)
        if plain not in self._seen:
            self._seen.add(plain)
            self.report.valid += expected
            self.report.near_misses += not expected
        if self._engine.accepts(text) == expected:
            return
        if expected and self._excuses.excuse(text):
            self.report.narrowed += 1
            return
        if self._wrong(plain):
            reduced = minimise(value, lambda v: spellable(v) and self._wrong(plain_text(v)), smaller_values)
            text = plain_text(reduced)
        else:
            text = self._reduced_spelling(value, text)
        self._fail("", text, valid=bool(self._verdict(text)))

    def _wrong(self, text: str) -> bool:
        expected = self._verdict(text)
        if expected is None or self._engine.accepts(text) == expected:
            return False
        return not (expected and self._excuses.excuse(text))

    def _reduced_spelling(self, value: Any, text: str) -> str:
        """A smaller value that shows the fault in some spelling."""
        found = text

        def shows(candidate: Any) -> bool:
            nonlocal found
            if not spellable(candidate):
                return False
            choices = SeededChoices(0)
            for escapes in ("few", "ascii", "any"):
                for whitespace in ("none", "spaces", "any"):
                    for numbers in ("plain", "zeros", "exponents") if has_exponent(text) else ("plain", "zeros"):
                        spelled = spell(candidate, choices, Style(whitespace, escapes, numbers, True))
                        if self._wrong(spelled):
                            found = spelled
                            return True
            return False

        minimise(value, shows, smaller_values, tries=150)
        return found

    def _drive_tokens(self, value: Any) -> None:
        """Drive a valid text token by token: every token must be in the mask and be accepted, and the end allowed."""
        text = plain_text(value)
        if not self._verdict(text) or not self._engine.accepts(text):
            return
        ids = self._tokens.cut(text.encode(), self._choices)
        if ids is None:
            return
        matcher = self._engine.compiled.matcher()
        for number, token in enumerate(ids):
            written = b"".join(self._tokens.texts[i] or b"" for i in ids[:number])
            if not read_mask(matcher, self._tokens.size)[token]:
                self._fail(
                    f"the mask after {written!r} lacks {self._tokens.texts[token]!r}", text, valid=True, law=True
                )
            if not matcher.accept_token(token):
                self._fail(
                    f"{self._tokens.texts[token]!r} after {written!r} is not accepted", text, valid=True, law=True
                )
        mask = read_mask(matcher, self._tokens.size)
        if not all(mask[i] for i in self._tokens.end_ids):
            self._fail("the mask after the whole text lacks an end-of-sequence id", text, valid=True, law=True)

    def _walk(self) -> None:
        matcher = self._engine.compiled.matcher()
        try:
            text = walk(matcher, self._tokens, self._choices, self._choices.integer(0, 30))
        except MaskError as error:
            self._fail(str(error), "", valid=True, law=True)
        rest = finish(matcher, self._tokens)
        if rest is None:
            self._fail(
                "no byte after this text leads nearer to the end (min_tokens_to_end)", text, valid=True, law=True
            )
        whole = text + (rest)
        try:
            value = read_exactly(whole)
        except NotJson as error:
            self._fail(f"the masks led to a text that is not JSON: {error}", whole, valid=False)
        try:
            valid = self._validator.is_valid(value)
        except CannotJudge:
            self.report.undecided += 1
            return
        self.report.walks += 1
        if not valid:
            plain = plain_text(value)
            if self._wrong(plain):
                reduced = minimise(value, lambda v: spellable(v) and self._wrong(plain_text(v)), smaller_values)
                self._fail("the masks led to an invalid text", plain_text(reduced), valid=False)
            self._fail("the masks led to an invalid text", whole, valid=False)

    def _fail(self, what: str, text: str | bytes, *, valid: bool, law: bool = False) -> NoReturn:
        """Raise the report. `law`: the fault is in the masks, whatever the verdict on the text."""
        shown = text.decode("utf-8", "backslashreplace") if isinstance(text, bytes) else text
        lines = [what or ("the engine refuses a valid text" if valid else "the engine accepts an invalid text")]
        lines.append(f"  schema:   {_shown(self._schema)}")
        lines.append(f"  text:     {shown}")
        if law:
            pass
        elif valid:
            at = self._engine.refused_at(shown)
            stop = f"refused at byte {at}" if at < len(shown.encode()) else "not complete at its end"
            lines += [f"  expected: accepted (valid by {self._validator.backend})", f"  got:      {stop}"]
        else:
            lines += [f"  expected: refused ({self._why(shown)})", "  got:      accepted"]
        reduced = None if law else reduce(self._schema, shown)
        if reduced and reduced.schema != self._schema:
            lines += [f"  reduced:  {_shown(reduced.schema)}", f"            {reduced.text}"]
        lines.append(f"  seed:     {self._seed}")
        raise AssertionError("\n".join(lines))

    def _why(self, text: str) -> str:
        try:
            faults = self._validator.faults(read_exactly(text))
        except NotJson as error:
            return f"not JSON: {error}"
        except CannotJudge:
            return f"invalid by {self._validator.backend}"
        if not faults:
            return "its spelling is not JSON"
        pointer, message = faults[0]
        return f"{self._validator.backend}, at {pointer or '(root)'}: {message}"


def _shown(schema: Any) -> str:
    text = json.dumps(schema, ensure_ascii=False)
    return text if len(text) <= 2000 else text[:2000] + " …"
