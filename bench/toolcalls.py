"""Does a model call tools rightly, without the constraint and with it?

Both ways see the same prompts and go on greedily to the same length. Without the constraint an answer is read twice:
strictly, as the wire format has it, and leniently, where any JSON object in the text that names a tool and gives
arguments passes for a call. What is required of an answer, from the weakest to the strongest:

- format: it can be read, and calls where a call is expected;
- schema: every call is of a tool that is there, with arguments that it takes;
- name: the tools expected were called, and no others; match: with arguments that are accepted.

The prompts have most of their tokens in common where the tools are the same, so these go through the model once.
"""

from __future__ import annotations

import copy
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from constrain.bench.bfcl import Case
from constrain.bench.results import BenchError, Result, describe
from constrain.bench.tables import Cell, Table, figure, ranked
from constrain.tools import ArgumentChecker, ParsedMessage, Tool, ToolCall, compare_calls

WAYS = ("free", "constrained")
SETS = ("varied", "small")


@dataclass
class Answer:
    """What came of one question one way.

    Attributes:
        completed: it ended by itself.
        called: it has calls, right or wrong.
        format, schema, name, match: as above; the last two None where no answer is known.
        lenient: `schema` for what passes for a call leniently.
    """

    text: str
    completed: bool
    called: bool
    format: bool
    schema: bool
    name: bool | None
    match: bool | None
    lenient: bool
    problem: str
    tokens: int
    forced: int
    seconds: float


def built_in(name: str) -> list[Case]:
    """The cases of a question set that comes with this. Raises `BenchError` where there is none of that name."""
    from constrain.tools import questions, varied_questions

    sets: dict[str, Any] = {"varied": varied_questions, "small": questions}
    if name not in sets:
        raise BenchError(f"there is no question set {name!r}; there are {', '.join(SETS)}")
    found = sets[name]
    return [
        Case(f"{name}-{number}", [{"role": "user", "content": question.text}], found.TOOLS, question.expected)
        for number, question in enumerate(found.QUESTIONS)
    ]


def run(
    cases: Sequence[Case],
    *,
    model: str,
    source: str,
    format: str = "auto",
    max_new_tokens: int = 128,
    ways: Sequence[str] = WAYS,
    advance: Callable[[str], None] = lambda _: None,
) -> Result:
    """Answer all questions in every way."""
    import torch

    from constrain.cli.models import load

    loaded, tokenizer = load(model)
    with torch.no_grad():
        asker = _Asker(loaded, tokenizer, format, max_new_tokens)
        prepared = [asker.prepare(case) for case in cases]
        found: dict[str, list[Answer]] = {}
        for way in ways:
            found[way] = []
            for case, grammar, prompt in prepared:
                found[way].append(asker.ask(case, grammar, prompt, constrained=way == "constrained"))
                advance(f"{way} {case.id}")
    meta = describe(
        ["constrain"],
        None,
        model=model,
        questions=source,
        format=asker.format.name,
        max_new_tokens=max_new_tokens,
        tools=len({tool.name for case in cases for tool in case.tools}),
    )
    data = {
        "ways": {way: _figures(cases, answers) for way, answers in found.items()},
        "items": [
            {"id": case.id, "question": case.messages[-1].get("content")}
            | {way: asdict(answers[i]) for way, answers in found.items()}
            for i, case in enumerate(cases)
        ],
    }
    return Result("toolcalls", meta, [], data)


class _Asker:
    """Asks one model."""

    def __init__(self, model: Any, tokenizer: Any, format: str, max_new_tokens: int) -> None:
        from transformers.generation import GenerateDecoderOnlyOutput

        from constrain.generation.generate import format_of
        from constrain.generation.prepared import vocabulary_of
        from constrain.vocabulary.source import id_list

        self._model, self._tokenizer, self._most = model, tokenizer, max_new_tokens
        self.format = format_of(format, tokenizer)
        ends = id_list(model.generation_config.eos_token_id, "eos_token_id")
        self._vocabulary = vocabulary_of(tokenizer, tuple(sorted(ends)))
        fields = GenerateDecoderOnlyOutput.__dataclass_fields__
        self._cache_name = "cache" if "cache" in fields else "past_key_values"
        self._common: dict[tuple[str, ...], tuple[list[int], Any]] = {}

    def prepare(self, case: Case) -> tuple[Case, Any, Any]:
        """The case with its grammar and its prompt."""
        from constrain.generation.prompts import PromptWriter
        from constrain.grammars.tool_formats import start_state
        from constrain.wire.grammar import tool_calls

        writer = PromptWriter(self._tokenizer, self.format, case.tools, {}, sanitize=True)
        prompt = writer.write(case.messages)
        several = case.expected is None or len(case.expected) > 1
        grammar = tool_calls(
            case.tools,
            format=self.format,
            tool_choice="auto" if case.expected is not None and not case.expected else "required",
            parallel=several,
            start=start_state(self.format, prompt.text),
        )
        ids = prompt.inputs["input_ids"][0].tolist()
        key = tuple(tool.name for tool in case.tools)
        common, _ = self._common.get(key, (ids[:-1], None))
        shared = next(
            (i for i, (a, b) in enumerate(zip(common, ids, strict=False)) if a != b), min(len(common), len(ids))
        )
        self._common[key] = common[:shared], None
        return case, grammar, prompt

    def _cache(self, case: Case) -> Any:
        """What the model remembers of the tokens that the prompts with these tools have in common."""
        import torch

        key = tuple(tool.name for tool in case.tools)
        common, cache = self._common[key]
        if cache is None:
            self._common = {k: (ids, None) for k, (ids, _) in self._common.items()}
            output = self._model(torch.tensor([common], device=self._model.device), use_cache=True)
            cache = output.get(self._cache_name)
            self._common[key] = common, cache
        return copy.deepcopy(cache)

    def ask(self, case: Case, grammar: Any, prompt: Any, *, constrained: bool) -> Answer:
        """One answer."""
        from constrain.generation.prepared import compiled_of
        from constrain.generation.turn import run_turns

        options = {"do_sample": False, "temperature": None, "top_p": None, "top_k": None}
        options[self._cache_name] = self._cache(case)
        compiled = compiled_of(grammar, self._vocabulary)
        if constrained:
            (turn,) = run_turns(
                self._model, self._tokenizer, [prompt], [compiled], [case.messages], self._most, options, jump=None
            )
            tokens, forced, seconds = turn.statistics.tokens, turn.statistics.forced, turn.statistics.seconds
            return self._judge(case, turn.message, turn.text, turn.finish_reason != "length", tokens, forced, seconds)
        ends = sorted({*compiled.end_token_ids, *compiled.stop_token_ids})
        inputs = {key: value.to(self._model.device) for key, value in prompt.inputs.items()}
        begin = time.perf_counter()
        output = self._model.generate(
            **inputs, **options, max_new_tokens=self._most, eos_token_id=ends, pad_token_id=ends[0]
        )
        seconds = time.perf_counter() - begin
        new = output[0, inputs["input_ids"].shape[1] :].tolist()
        text = self._tokenizer.decode(new, skip_special_tokens=False)
        end = next((self._tokenizer.decode([t]) for t in new[-1:] if t in ends), "")
        message = grammar.parse(text.removesuffix(end), errors="collect")
        return self._judge(case, message, text, bool(end), len(new), 0, seconds)

    def _judge(
        self, case: Case, message: ParsedMessage, text: str, completed: bool, tokens: int, forced: int, seconds: float
    ) -> Answer:
        demanded = case.expected is None or bool(case.expected)
        called = bool(message.calls) or any(problem.call is not None for problem in message.problems)
        unread = any(problem.error.kind in ("malformed", "truncated") for problem in message.problems)
        form = not unread and called == demanded
        compared = None if case.expected is None else compare_calls(message.calls, case.expected)
        schema = form and not message.problems
        return Answer(
            text=text,
            completed=completed,
            called=called,
            format=form,
            schema=schema,
            name=None if compared is None else compared.names_match and schema,
            match=None if compared is None else compared.matches and schema,
            lenient=schema or (demanded and read_leniently(text, case.tools)),
            problem=str(message.problems[0].error) if message.problems else "" if form else "no call",
            tokens=tokens,
            forced=forced,
            seconds=round(seconds, 4),
        )


def read_leniently(text: str, tools: Sequence[Tool]) -> bool:
    """Whether the JSON objects in a text that look like calls, at least one, are calls that the tools take."""
    decoder, checker = json.JSONDecoder(), ArgumentChecker(tools)
    at, found = text.find("{"), 0
    while at >= 0:
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            at = text.find("{", at + 1)
            continue
        if isinstance(value, Mapping) and isinstance(value.get("name"), str):
            arguments = value.get("arguments", value.get("parameters"))
            if not isinstance(arguments, dict):
                return False
            try:
                checker.check(ToolCall(None, value["name"], arguments))
            except ValueError:
                return False
            found += 1
        at = text.find("{", end)
    return found > 0


def _figures(cases: Sequence[Case], answers: Sequence[Answer]) -> dict[str, Any]:
    known = [a for a in answers if a.match is not None]
    completed = [a for a in answers if a.completed]
    tokens, seconds = sum(a.tokens for a in answers), sum(a.seconds for a in answers)
    return {
        "questions": len(cases),
        "completed": len(completed),
        "completed_calls": sum(a.called for a in completed),
        "completed_calls_valid": sum(a.called and a.schema for a in completed),
        "format": sum(a.format for a in answers),
        "schema": sum(a.schema for a in answers),
        "lenient": sum(a.lenient for a in answers),
        "answers_known": len(known),
        "name": sum(bool(a.name) for a in known),
        "match": sum(bool(a.match) for a in known),
        "tokens": tokens,
        "forced": sum(a.forced for a in answers),
        "seconds": round(seconds, 3),
        "tokens_per_s": round(tokens / seconds, 2) if seconds else 0.0,
    }


RATES = (
    ("format", "format-valid", "questions"),
    ("schema", "schema-valid", "questions"),
    ("lenient", "schema-valid, read leniently", "questions"),
    ("name", "right tools", "answers_known"),
    ("match", "right arguments too", "answers_known"),
)
"""Keys of the rates, their names, and what they are rates of."""


def tables(result: Result) -> list[Table]:
    """Rates by way."""
    ways, options = result.data["ways"], result.meta["options"]
    names = list(ways)
    count = next(iter(ways.values()))["questions"] if ways else 0
    title = f"Tool calls of {options['model']}, {count} questions ({options['questions']}), format {options['format']}"
    table = Table(title, ["", *(f"{'without' if n == 'free' else 'with'} the constraint" for n in names)])

    def share(number: int, of: int) -> str:
        return f"{100 * number / of:.0f} % ({number} of {of})" if of else "–"

    for key, label, of in RATES:
        values = [ways[n][key] / ways[n][of] if ways[n][of] else None for n in names]
        table.add(label, *ranked(values, [share(ways[n][key], ways[n][of]) for n in names], low=False))
    table.add("ended by themselves", *(share(ways[n]["completed"], ways[n]["questions"]) for n in names))
    table.add(
        "of these with calls, schema-valid",
        *(
            Cell(
                share(ways[n]["completed_calls_valid"], ways[n]["completed_calls"]),
                "good" if ways[n]["completed_calls_valid"] == ways[n]["completed_calls"] else "bad",
            )
            for n in names
        ),
    )
    table.add("tokens, of which forced", *(f"{ways[n]['tokens']:,}, {ways[n]['forced']:,}" for n in names))
    table.add("tokens per second", *(figure(ways[n]["tokens_per_s"]) for n in names))
    table.note = "Greedy; a call is demanded where one is expected, and one alone where one is expected."
    return [table]


def only(cases: Sequence[Case], limit: int | None) -> list[Case]:
    """So many cases, from all parts of the list."""
    if limit is None or limit >= len(cases):
        return list(cases)
    return [replace(cases[i * len(cases) // limit]) for i in range(limit)]
