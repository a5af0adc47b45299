"""Questions with tools and the calls that answer them, to compare a model with and without a constraint.

Written for this project. The answers are in the form of `comparison`: "" among the accepted values means that the
argument may be left out. Questions without an expected call are ones that no tool helps with.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from constrain.tools.read_tools import read_tools
from constrain.tools.tool import Tool


@dataclass(frozen=True, slots=True)
class Question:
    """A question and the calls that answer it."""

    text: str
    expected: Sequence[Mapping[str, Mapping[str, Sequence[Any]]]]


def _tool(name: str, description: str, required: Sequence[str], **properties: dict[str, Any]) -> dict[str, Any]:
    parameters = {"type": "object", "properties": properties, "required": list(required)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


_TEXT = {"type": "string"}
_TIME = {"type": "string", "pattern": "^([01][0-9]|2[0-3]):[0-5][0-9]$", "description": "24-hour time, HH:MM"}
_DATE = {"type": "string", "format": "date", "description": "Date, YYYY-MM-DD"}

TOOLS: tuple[Tool, ...] = read_tools(
    [
        _tool(
            "get_weather",
            "Get the weather forecast for a city.",
            ["city"],
            city={**_TEXT, "description": "Name of the city"},
            days={"type": "integer", "minimum": 1, "maximum": 14, "description": "How many days, 1 if absent"},
            unit={"enum": ["celsius", "fahrenheit"], "description": "Unit of temperatures, celsius if absent"},
        ),
        _tool(
            "convert_currency",
            "Convert an amount of money from one currency to another.",
            ["amount", "source", "target"],
            amount={"type": "number", "exclusiveMinimum": 0},
            source={"type": "string", "pattern": "^[A-Z]{3}$", "description": "Three-letter currency code"},
            target={"type": "string", "pattern": "^[A-Z]{3}$", "description": "Three-letter currency code"},
        ),
        _tool(
            "create_event",
            "Put an event into the calendar.",
            ["title", "date"],
            title=_TEXT,
            date=_DATE,
            start=_TIME,
            guests={"type": "array", "items": _TEXT, "description": "Names of the guests"},
        ),
        _tool(
            "send_message",
            "Send a text message to a person.",
            ["recipient", "text"],
            recipient=_TEXT,
            text=_TEXT,
            urgent={"type": "boolean", "description": "Whether it is urgent, false if absent"},
        ),
        _tool(
            "search_flights",
            "Search for flights between two cities.",
            ["origin", "destination", "date"],
            origin=_TEXT,
            destination=_TEXT,
            date=_DATE,
            cabin={"enum": ["economy", "business", "first"], "description": "economy if absent"},
            max_stops={"type": "integer", "minimum": 0, "maximum": 3},
        ),
        _tool(
            "set_alarm",
            "Set an alarm.",
            ["time"],
            time=_TIME,
            label=_TEXT,
            repeat={
                "type": "array",
                "items": {"enum": ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]},
                "uniqueItems": True,
                "description": "Days of the week on which it repeats",
            },
        ),
        _tool(
            "order_food",
            "Order food from a restaurant.",
            ["restaurant", "items"],
            restaurant=_TEXT,
            items={
                "type": "array",
                "minItems": 1,
                "items": {
                    "type": "object",
                    "properties": {"dish": _TEXT, "quantity": {"type": "integer", "minimum": 1}},
                    "required": ["dish", "quantity"],
                },
            },
        ),
        _tool("list_alarms", "List all alarms that are set.", []),
    ]
)
"""The eight tools of all questions."""


def _weather(city: Sequence[str], days: Sequence[Any] = (1, ""), unit: Sequence[str] = ("celsius", "")) -> Any:
    return {"get_weather": {"city": city, "days": days, "unit": unit}}


def _flight(
    origin: str, destination: str, date: str, cabin: Sequence[str] = ("economy", ""), stops: Any = ("",)
) -> Any:
    return {
        "search_flights": {
            "origin": [origin],
            "destination": [destination],
            "date": [date],
            "cabin": cabin,
            "max_stops": stops,
        }
    }


def _money(amount: float, source: str, target: str) -> Any:
    return {"convert_currency": {"amount": [amount], "source": [source], "target": [target]}}


def _event(title: Sequence[str], date: str, start: Sequence[str] = ("",), guests: Sequence[Any] = ("", [])) -> Any:
    return {"create_event": {"title": title, "date": [date], "start": start, "guests": guests}}


def _message(recipient: str, text: Sequence[str], urgent: Sequence[Any] = (False, "")) -> Any:
    return {"send_message": {"recipient": [recipient], "text": text, "urgent": urgent}}


def _alarm(time: str, label: Sequence[str] = ("",), repeat: Sequence[Any] = ("", [])) -> Any:
    return {"set_alarm": {"time": [time], "label": label, "repeat": repeat}}


def _food(restaurant: str, *items: tuple[Sequence[str], int]) -> Any:
    dishes = [{"dish": list(dish), "quantity": [quantity]} for dish, quantity in items]
    return {"order_food": {"restaurant": [restaurant], "items": [dishes]}}


QUESTIONS: tuple[Question, ...] = (
    Question("What is the weather like in Paris today?", [_weather(["Paris", "Paris, France"])]),
    Question("Give me the forecast for Tokyo for the next 5 days.", [_weather(["Tokyo", "Tokyo, Japan"], [5])]),
    Question(
        "How warm will it be in Boston over the next three days, in Fahrenheit?",
        [_weather(["Boston", "Boston, MA"], [3], ["fahrenheit"])],
    ),
    Question("Do I need an umbrella in London tomorrow?", [_weather(["London", "London, UK"], [1, 2, ""])]),
    Question("Show a two-week forecast for São Paulo.", [_weather(["São Paulo", "Sao Paulo"], [14])]),
    Question("How much is 100 US dollars in euros?", [_money(100.0, "USD", "EUR")]),
    Question("Convert 2500.50 yen to British pounds.", [_money(2500.5, "JPY", "GBP")]),
    Question("What are 75 Swiss francs in US dollars?", [_money(75.0, "CHF", "USD")]),
    Question("I have 1200 Indian rupees. What is that in Australian dollars?", [_money(1200.0, "INR", "AUD")]),
    Question(
        "Put a dentist appointment into my calendar for 3 March 2025 at half past two in the afternoon.",
        [_event(["Dentist appointment", "Dentist"], "2025-03-03", ["14:30"])],
    ),
    Question(
        "Add 'Team lunch' on 2025-06-12 at noon with Ana and Ben.",
        [_event(["Team lunch"], "2025-06-12", ["12:00"], [["Ana", "Ben"], ["Ben", "Ana"]])],
    ),
    Question(
        "Create an all-day event called Mum's birthday on May 9th 2025.",
        [_event(["Mum's birthday"], "2025-05-09", ["", "00:00"])],
    ),
    Question("Schedule 'Budget review' for 2025-10-01, 09:15.", [_event(["Budget review"], "2025-10-01", ["09:15"])]),
    Question(
        'Send Maria the message "Running late".',
        [_message("Maria", ["Running late"])],
    ),
    Question(
        'Text Tom "Call me back" and mark it as urgent.',
        [_message("Tom", ["Call me back"], [True])],
    ),
    Question(
        'Write to Dr. Lee: "The results are in".',
        [_message("Dr. Lee", ["The results are in"])],
    ),
    Question("Find flights from Berlin to Madrid on 2025-04-18.", [_flight("Berlin", "Madrid", "2025-04-18")]),
    Question(
        "I want to fly business class from New York to Singapore on 1 August 2025.",
        [_flight("New York", "Singapore", "2025-08-01", ["business"])],
    ),
    Question(
        "Search non-stop flights from Oslo to Rome on 2025-12-23.",
        [_flight("Oslo", "Rome", "2025-12-23", stops=[0])],
    ),
    Question(
        "Any first class flights from Dubai to Sydney on 2025-07-07 with at most one stop?",
        [_flight("Dubai", "Sydney", "2025-07-07", ["first"], [1])],
    ),
    Question("Wake me up at 6:45.", [_alarm("06:45", ["", "Wake up"])]),
    Question(
        "Set an alarm at 7 in the morning on Saturdays and Sundays.",
        [_alarm("07:00", repeat=[["sat", "sun"], ["sun", "sat"]])],
    ),
    Question("Set an alarm for 22:00 labelled 'Take medicine'.", [_alarm("22:00", ["Take medicine"])]),
    Question("Which alarms have I set?", [{"list_alarms": {}}]),
    Question("List my alarms, please.", [{"list_alarms": {}}]),
    Question(
        "Order two margherita pizzas from Luigi's.",
        [_food("Luigi's", (["margherita pizza", "margherita pizzas", "margherita", "pizza margherita"], 2))],
    ),
    Question(
        "Get one pad thai and three spring rolls from Thai Garden.",
        [
            _food("Thai Garden", (["pad thai"], 1), (["spring roll", "spring rolls"], 3)),
        ],
    ),
    Question(
        "Compare the weather in Oslo and Cairo today.",
        [_weather(["Oslo", "Oslo, Norway"]), _weather(["Cairo", "Cairo, Egypt"])],
    ),
    Question(
        "Convert 10 euros to Swedish kronor and set an alarm for 08:00.",
        [_money(10.0, "EUR", "SEK"), _alarm("08:00")],
    ),
    Question("Who wrote Don Quixote?", []),
    Question("Thank you, that was all.", []),
)
"""About thirty, mostly with one call; two with two calls, two with none."""
