"""A hundred questions to five tools, made of a few phrases and many values: enough to tell rates apart.

Those of `questions` are harder to answer and fewer. Like them they have one right answer each, in the form of
`comparison`.
"""

from __future__ import annotations

from typing import Any

from constrain.tools.questions import TOOLS as ALL_TOOLS
from constrain.tools.questions import Question
from constrain.tools.tool import Tool

_NAMES = ("get_weather", "convert_currency", "create_event", "send_message", "set_alarm")
TOOLS: tuple[Tool, ...] = tuple(tool for tool in ALL_TOOLS if tool.name in _NAMES)
"""The five tools."""

_CITIES = ("Paris", "Oslo", "Cairo", "Lima", "Tokyo", "Delhi", "Rome", "Quito", "Accra", "Berlin")
_MONEY = (
    ("US dollars", "USD"),
    ("euros", "EUR"),
    ("Japanese yen", "JPY"),
    ("British pounds", "GBP"),
    ("Swiss francs", "CHF"),
)
_PEOPLE = ("Anna", "Ben", "Chloe", "David", "Emma", "Felix", "Grace", "Hugo", "Ines", "Jack")
_MESSAGES = ("I am on my way", "See you tomorrow", "The door is open", "Dinner is ready", "Please call me back")
_EVENTS = ("Team meeting", "Yoga class", "Book club", "Parent evening", "House warming")


def _weather(city: str, days: tuple[Any, ...], unit: tuple[Any, ...]) -> dict[str, Any]:
    return {"get_weather": {"city": [city], "days": days, "unit": unit}}


def _questions() -> list[Question]:
    out: list[Question] = []
    for i, city in enumerate(_CITIES):
        days = 2 + i
        out.append(Question(f"What is the weather like in {city} today?", [_weather(city, (1, ""), ("celsius", ""))]))
        out.append(
            Question(
                f"Give me the weather forecast for {city} for {days} days, in degrees Fahrenheit.",
                [_weather(city, (days,), ("fahrenheit",))],
            )
        )
    pairs = [(a, b) for a in _MONEY for b in _MONEY if a is not b]
    for i, ((source, from_code), (target, to_code)) in enumerate(pairs):
        amount = 10 * (i + 1) + (0.5 if i % 4 == 0 else 0)
        asked = (
            f"Convert {amount:g} {source} to {target}." if i % 2 else f"How much is {amount:g} {source} in {target}?"
        )
        arguments: dict[str, Any] = {"amount": [amount], "source": [from_code], "target": [to_code]}
        out.append(Question(asked, [{"convert_currency": arguments}]))
    for i in range(20):
        title, date = _EVENTS[i % 5], f"2025-{1 + i % 12:02d}-{3 + i:02d}"
        hour = f"{8 + i % 12:02d}:{(0, 15, 30, 45)[i % 4]:02d}"
        arguments = {"title": [title], "date": [date], "start": [hour], "guests": ["", []]}
        out.append(
            Question(f"Put '{title}' into my calendar on {date}, starting at {hour}.", [{"create_event": arguments}])
        )
    for i in range(20):
        person, text = _PEOPLE[i % 10], _MESSAGES[i % 5]
        asked = f'Send {person} the message "{text}".' if i < 10 else f'Tell {person}: "{text}". It is urgent.'
        arguments = {"recipient": [person], "text": [text], "urgent": [False, ""] if i < 10 else [True]}
        out.append(Question(asked, [{"send_message": arguments}]))
    for i in range(20):
        hour = f"{5 + i % 19:02d}:{5 * (i % 12):02d}"
        asked = f"Set an alarm for {hour}." if i % 2 else f"Set an alarm for {hour} with the label 'Number {i}'."
        label = ["", "Alarm"] if i % 2 else [f"Number {i}"]
        out.append(Question(asked, [{"set_alarm": {"time": [hour], "label": label, "repeat": ["", []]}}]))
    return out


QUESTIONS: tuple[Question, ...] = tuple(_questions())
"""The hundred questions, twenty to each tool."""
