"""What the automaton cannot follow, found before generation begins.

A schema is lowered when generation gets to its parts. Parts that could then turn out to be impossible or too large are
possible only with some keywords. Where one of those occurs, everything from which it is reached is brought to normal
form at once; except, where that would be much, what bounds show to be simple (see `outlook`).
"""

from __future__ import annotations

from operator import attrgetter

from constrain.grammars.errors import ResourceLimitError
from constrain.grammars.json_schema import ir
from constrain.grammars.json_schema.alternatives import ObjectAlternative
from constrain.grammars.json_schema.deferred import at_hand
from constrain.grammars.json_schema.demands import FreeSome
from constrain.grammars.json_schema.distinct import Distinct
from constrain.grammars.json_schema.ir import SchemaDocument, Subschema
from constrain.grammars.json_schema.items import MAX_COUNTED, Items, is_tracked
from constrain.grammars.json_schema.members import Members
from constrain.grammars.json_schema.narrowing import reaching
from constrain.grammars.json_schema.normal import Has, NormalForm, Variable
from constrain.grammars.json_schema.outlook import Outlook
from constrain.grammars.json_schema.repetition import all_parts, goes_on
from constrain.grammars.json_schema.texts import is_combined, texts_of

MAX_VARIABLES = 5_000
"""Parts of a schema that are looked at; the rest is left until generation gets there."""

FEW_VARIABLES = 16
"""So many variables, and a third as many as there are subschemas to come by, are brought to normal form even where they
are simple: generation is likely to get there, and then a token would wait for it."""
MAX_LEADING = 100
"""Unless there are more of those."""
MAX_CHOICES = 3
"""Groups of choices on one value that cannot become too many alternatives, with as many branches as follows."""
MAX_BRANCHES = 8
_SCALAR = ir.NULL | ir.BOOLEAN | ir.NUMBER | ir.STRING


def _is_delicate(s: Subschema, document: SchemaDocument, forms: NormalForm) -> bool:
    """Whether what is made of a subschema's own keywords can be impossible or too large."""

    def is_negatable(index: int) -> bool:
        return _is_negatable(index, document, forms)

    if (
        s.contains is not None
        or s.unevaluated_properties is not None
        or s.unevaluated_items is not None
        or s.pattern_properties
        or s.property_names is not None
    ):
        return True
    if s.unique_items and not _is_plain_set(s, document):
        return True
    groups = [] if s.choice is not None else [group for group in s.one_of if forms.overlapping(group) != []]
    if not (groups or s.none_of or s.conditions):
        return False
    return (
        len(groups) + len(s.none_of) + len(s.conditions) > MAX_CHOICES
        or any(len(group) > MAX_BRANCHES or not all(map(is_negatable, group)) for group in groups)
        or not all(map(is_negatable, s.none_of))
        or not all(is_negatable(test) for test, _, _ in s.conditions)
    )


_hints = attrgetter(
    "contains", "unevaluated_properties", "unevaluated_items", "pattern_properties", "property_names", "unique_items",
    "one_of", "none_of", "conditions",
)  # fmt: skip
"""The fields that `_is_delicate` looks at first."""
_NO_HINTS = _hints(Subschema(pointer=""))


def _is_plain_set(s: Subschema, document: SchemaDocument) -> bool:
    """Whether items that must differ are scalars of plain types or lists, none of which has to be there."""
    if s.min_items > 1 or s.prefix_items or s.items is None:
        return False
    items = document.subschemas[s.items]
    return not items.types & ~_SCALAR and _says_little(items)


def _is_negatable(index: int, document: SchemaDocument, forms: NormalForm) -> bool:
    """Whether a value fails under a subschema in a few simple ways, by its type or by single members."""
    s = document.subschemas[index]
    if not forms.is_plain(index) or not _says_little(s, members=True):
        return False
    if s.values is not None and any(isinstance(v, list | dict) for v in s.values):
        return False
    parts = [document.subschemas[i] for i in s.properties.values()]
    return len(parts) + len(s.required) <= MAX_BRANCHES and not any(
        part.types & ~_SCALAR or not _says_little(part) or not forms.is_plain(i)
        for i, part in zip(s.properties.values(), parts, strict=True)
    )


def _says_little(s: Subschema, *, members: bool = False) -> bool:
    """Whether a subschema has but `type`, values, and with `members` those and the names that it requires."""
    if s.any_of or s.one_of:
        return False
    return _others(s) == _NO_OTHERS and (members or not (s.properties or s.required))


_LITTLE = (
    "pointer",
    "types",
    "values",
    "integral_fraction",
    "source",
    "properties",
    "required",
    "min_contains",
    "written",
    "names_at",
)
_others = attrgetter(*(n for n in Subschema.__dataclass_fields__ if n not in _LITTLE))
_NO_OTHERS = _others(Subschema(pointer=""))


def check_enforceable(document: SchemaDocument, forms: NormalForm) -> None:
    """Raise what lowering the whole schema would raise: `UnsupportedSchemaError` or `ResourceLimitError`."""
    known = at_hand(document.subschemas)
    for index, s in known:
        if not s.all_of and ((s.pattern is None and s.format is None) or not _asks_of_strings([s])):
            continue
        variable = forms.variable((index,))
        if _asks_of_strings([document.subschemas[i] for i in variable if i >= 0]):
            try:
                for text in forms.strings(variable):
                    texts_of(text)
            except ResourceLimitError as error:
                raise ResourceLimitError(error.pointer or s.pointer, error.keyword, error.reason, error.limit) from None
    delicate = {i for i, s in known if _hints(s) != _NO_HINTS and _is_delicate(s, document, forms)}
    # Where choices on one value come from several places, together they may be too many.
    delicate.update(i for i, s in known if _joins_choices(s) and _choices(i, document, forms) > MAX_CHOICES)
    if not delicate:
        return
    leading = reaching(document.subschemas, delicate)
    count = len(document.subschemas)
    outlook = Outlook(forms, document, delicate, leading)
    forms.has_few = outlook.has_few
    left = FEW_VARIABLES + len(leading) // 3 if len(leading) <= MAX_LEADING else 0
    todo: list[Variable] = [forms.root]
    seen = set(todo)
    distinct = Distinct(forms)
    looked_at: dict[int, tuple[ObjectAlternative, ...]] = {}
    while todo and len(seen) <= MAX_VARIABLES:
        variable = todo.pop()
        if outlook.is_fair(variable):
            if left <= 0:
                continue
            left -= 1
        node = next(iter(variable)) if len(variable) == 1 else count
        choice = forms.choice(variable)
        try:
            if choice is not None:
                parts = {forms.variable((i,)) for i in forms.branches_at_hand(choice)}
            elif 0 <= node < count and node not in delicate and forms.is_plain(node):
                parts = {forms.variable((i,)) for i in document.subschemas[node].of_members_and_items()}
            elif outlook.is_plain_itself(node):
                parts = outlook.parts(node)
            else:
                parts = _parts(forms, variable, distinct, outlook.scalars(variable), looked_at)
        except ResourceLimitError as error:
            if error.pointer:
                raise
            raise ResourceLimitError(forms.pointer(variable), error.keyword, error.reason, error.limit) from None
        for part in parts:
            if part not in seen and any(i < 0 or i >= count or i in leading for i in part):
                seen.add(part)
                todo.append(part)


def _joins_choices(s: Subschema) -> bool:
    return len(s.all_of) > 1 or bool(s.all_of and (s.one_of or s.none_of or s.conditions))


def _choices(index: int, document: SchemaDocument, forms: NormalForm) -> int:
    parts = [document.subschemas[i] for i in forms.variable((index,)) if i >= 0]
    return sum(len(s.one_of) + len(s.none_of) + len(s.conditions) for s in parts)


def _asks_of_strings(members: list[Subschema]) -> bool:
    """Whether more than one thing is asked of a string, its language among them."""
    languages = sum((s.pattern is not None) + (s.format is not None) for s in members)
    bounds = sum((s.min_length > 0) + (s.max_length is not None) for s in members)
    return languages > 0 and languages + bounds > 1


def _parts(
    forms: NormalForm,
    variable: Variable,
    distinct: Distinct,
    simple: int,
    looked_at: dict[int, tuple[ObjectAlternative, ...]],
) -> set[Variable]:
    """The variables of all members and items, the whole variable brought to normal form on the way.

    All but what it is for the types in `simple`, and but the members of alternatives that were looked at, which are
    kept with their addresses.
    """
    out: set[Variable] = set()
    types = forms.types(variable) & ~simple
    if types & ir.STRING:
        for text in forms.strings(variable):
            if is_combined(text):
                texts_of(text)
    if types & (ir.NUMBER | ir.NULL | ir.BOOLEAN):
        forms.atoms(variable)
    alternatives = forms.objects(variable) if types & ir.OBJECT else ()
    if alternatives and id(alternatives) not in looked_at:
        looked_at[id(alternatives)] = alternatives
        members = Members(forms, alternatives)
        for alternative in alternatives:
            values = {n: part for n in members.names if (part := forms.member(alternative, n)) is not None}
            free = {}
            for c in members.free:
                part = members.free_value(alternative, c.members)
                if part is not None:
                    free[c.members] = part
            out.update((*values.values(), *free.values()))
            for clause in members.clauses(alternative, values, free, lambda _: True) or ():
                for o in clause:
                    if isinstance(o, Has):
                        out.add(values[o.name] | o.value)
                    elif isinstance(o, FreeSome):
                        out.update(free[c] | o.value for c in o.classes)
    arrays = forms.arrays(variable) if types & ir.ARRAY else ()
    for array in arrays:
        tracked = is_tracked(forms, array)
        if tracked and array.minimum > MAX_COUNTED:
            raise ResourceLimitError(
                forms.pointer(variable),
                "uniqueItems",
                f"more than {MAX_COUNTED} items must differ",
                f"MAX_COUNTED = {MAX_COUNTED}",
            )
        if tracked and array.unique:
            distinct.feasible(array)
            for part in (*array.prefix, *(() if array.items is None else (array.items,))):
                distinct.is_endless(part)
        if array.repeated and not goes_on(array, lambda part: distinct.values(part, 1) is None):
            out |= all_parts(forms, array)
        elif array.contains:
            out |= Items(forms, array).parts()
        else:
            out.update((*array.prefix, *(() if array.items is None else (array.items,))))
    return out
