"""Where the values of one plain subschema start, without the general way through sets of alternatives.

The first mask at a member asks where values of every type start there. For most members that is one subschema without
applicators, so one alternative at most for each type, whose record is written down here from the fields: the state of
free text, a list of texts, the state of an unbounded number, the shape of an object that names members, that of an
array of like items. It is the record that `Shapes.start` would come to, by a way about a fifth as long; what is not
plain (patterns of names, bounds on numbers, declared order) still goes through there.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING

from constrain.engine.branches import UNBOUNDED, ArrayBranch, ObjectBranch, Shape
from constrain.engine.scanners import add_names
from constrain.grammars.json_schema import ir
from constrain.grammars.json_schema.alternatives import ANYTHING, ArrayAlternative, ObjectAlternative
from constrain.grammars.json_schema.ir import Subschema
from constrain.grammars.json_schema.members import Members
from constrain.grammars.json_schema.plain import (
    admits_any_text_alone,
    asks_of_numbers,
    asks_of_texts,
    names_members_alone,
)
from constrain.kernels import memory as m
from constrain.kernels.layout import ARRAY_KIND, FREE_BIT, OBJECT_KIND, V_ARRAY, V_ATOM, V_OBJECT, V_STRING, VSET_WIDTH

if TYPE_CHECKING:
    from constrain.engine.shapes import Shapes
    from constrain.engine.store import Store
    from constrain.grammars.json_schema.normal import NormalForm, Variable

_ATOMS = ir.NULL | ir.BOOLEAN | ir.NUMBER
_MANY = 64  # members or listed values that take no little time
_OF_A_SEARCH = 16  # what it takes to find out whether there is a value, as `PlainStarts.load` counts
_NO_PATTERN: frozenset[int] = frozenset()  # the class of free names where no pattern tells names apart

_ANY_OBJECT = ObjectAlternative((), {}, frozenset(), (), (), 0, None)
_ANY_ARRAY = ArrayAlternative((), ANYTHING, 0, None)

Starts = tuple[int, int, int, int]
"""Where objects, arrays, strings and other values start, in the order of the kernels."""
assert (V_OBJECT, V_ARRAY, V_STRING, V_ATOM) == (0, 1, 2, 3)


class PlainStarts:
    """The starts of plain subschemas in one automaton."""

    def __init__(self, shapes: Shapes, store: Store, forms: NormalForm) -> None:
        # Shapes own this, and nothing may hold them but an automaton.
        self._shapes: Shapes = weakref.proxy(shapes)
        self._store, self._forms = store, forms
        self._inhabitation, self._scanners = shapes.inhabitation, shapes.scanners
        self._free_text = int(store.array[m.FREE_TEXT_STATE])
        self._free_texts: Variable | None = None
        self._atoms: dict[tuple[int, bool], int] = {}  # by type atoms, and whether 1.0 is an integer

    def of(self, vset: int, variable: Variable) -> Starts | None:
        """The starts of a set of this one variable; None where it is no plain subschema."""
        forms, shapes = self._forms, self._shapes
        if not variable:
            return *self._anything, self._free_text, self._of_types(vset, _ATOMS, True)
        s = forms.single(variable)
        if s is None:
            return None
        types = s.types if s.values is None else forms.types(variable)
        start_of_object = start_of_array = text = atom = 0
        if types & ir.STRING:
            text = self._free_text if s.values is None and not asks_of_texts(s) else shapes.start(vset, V_STRING)
        if types & _ATOMS:
            if s.values is None and not asks_of_numbers(s):
                atom = self._of_types(vset, types & _ATOMS, s.integral_fraction)
            else:
                atom = shapes.start(vset, V_ATOM)
        if types & ir.OBJECT:
            if names_members_alone(s) and not forms.declared_order:
                start_of_object = self._object(vset, variable, s)
            else:
                start_of_object = shapes.start(vset, V_OBJECT)
        if types & ir.ARRAY:
            if s.values is None and s.contains is None and not s.unique_items:
                start_of_array = self._array(variable)
            else:
                start_of_array = shapes.start(vset, V_ARRAY)
        return start_of_object, start_of_array, text, atom

    def _of_types(self, vset: int, types: int, integral_fraction: bool) -> int:
        key = types, integral_fraction
        found = self._atoms.get(key)
        if found is None:
            found = self._atoms[key] = self._shapes.start(vset, V_ATOM)
        return found

    def add_anything(self) -> None:
        """Add where objects, arrays and strings of any kind start: most grammars get there, by members not named."""
        shapes, store = self._shapes, self._store
        nothing = ObjectBranch(0, _ANY_OBJECT, (), {_NO_PATTERN: ANYTHING}, 0, 0)
        names = Members.named(self._forms, ())
        first = add_names(store, [])
        shape = Shape(OBJECT_KIND, first_name=first, branches=[nothing], members=names, keys=self._free_text)
        of_object = shapes.add_shape(shape)
        of_array = shapes.add_shape(Shape(ARRAY_KIND, branches=[ArrayBranch(0, _ANY_ARRAY, UNBOUNDED)]))
        vset = shapes.vset((ANYTHING,))
        shapes.ahead.supply_only_slot(of_object, FREE_BIT | 1, ANYTHING)
        shapes.ahead.supply_only_slot(of_array, 0, ANYTHING)
        store.write(m.VSET, VSET_WIDTH * vset, (of_object, of_array, self._free_text, -1))
        self._anything = of_object, of_array

    def is_simple(self, variable: Variable) -> bool:
        """Whether a variable admits scalars by their types alone, so that their starts are at hand or soon will be."""
        s = self._forms.single(variable)
        return (
            s is not None
            and not s.types & (ir.OBJECT | ir.ARRAY)
            and s.values is None
            and not (asks_of_texts(s) or asks_of_numbers(s))
        )

    def load(self, variable: Variable) -> int | None:
        """How much it takes to tell where values of a variable start, in about what free items of an array take.

        None where it may be much, as a language has to be made.
        """
        s = self._forms.single(variable)
        if type(s) is not Subschema or s.pattern is not None:  # or it is yet to be read
            return None
        if s.property_names is not None or s.contains is not None or s.multiple_of is not None:
            return None
        if s.pattern_properties or s.prefix_items or s.unique_items:
            return None
        many = len(s.properties) + (0 if s.values is None else len(s.values))
        if many > _MANY:
            return None
        sought = self._inhabitation.count_sought(s.properties.values()) if s.properties else 0
        return 1 + (many + 4) // 8 + (asks_of_texts(s) or asks_of_numbers(s)) + _OF_A_SEARCH * sought

    def is_text(self, variable: Variable) -> bool:
        """Whether a variable admits all strings and nothing else; it is started then."""
        if self._free_texts is None or variable != self._free_texts:
            s = self._forms.single(variable)
            if s is None or not admits_any_text_alone(s):
                return False
            self._free_texts = variable
            self._shapes.supply_starts(self._shapes.vset((variable,)))
        return True

    def _object(self, vset: int, variable: Variable, s: Subschema) -> int:
        """As `Shapes.start` for objects, where members are told by their names alone."""
        alternatives = self._forms.objects(variable)
        if not alternatives:
            return 0
        (a,) = alternatives
        properties, required = s.properties, a.required
        names: tuple[str, ...] = tuple(sorted({*properties, *required}))  # in the order of their bytes, too
        text = "".join(names)
        if not text.isascii() and any("\ud800" <= c <= "\udfff" for c in text):
            return self._shapes.start(vset, V_OBJECT)
        rest = s.additional
        indices = [properties.get(name, rest) for name in names]
        indices.append(rest)
        values = self._inhabitation.parts(indices)
        others = values.pop()
        wanted = {*required}
        allowed = needed = 0
        bit = 1
        for name, part in zip(names, values, strict=True):
            if part is not None:
                allowed |= bit
            if name in wanted:
                needed |= bit
            bit <<= 1
        if needed & ~allowed or (others is None and allowed.bit_count() < a.minimum):
            return 0
        free = {} if others is None else {_NO_PATTERN: others}
        branch = ObjectBranch(0, a, tuple(values), free, allowed, needed)
        shape = Shape(
            OBJECT_KIND,
            names,
            first_name=add_names(self._store, [n.encode() for n in names]),
            saturation=max(1, a.minimum, a.maximum or 0),
            branches=[branch],
            members=Members.named(self._forms, names),
            keys=self._free_text,
        )
        number = self._shapes.add_object(shape, branch)
        if names:
            self._shapes.ahead.supply_first_slots(number)
        if others is not None:
            self._shapes.ahead.supply_only_slot(number, FREE_BIT | 1, others)
        return number

    def _array(self, variable: Variable) -> int:
        """As `Shapes.start` for arrays, where items are told by their positions alone."""
        alternatives = self._forms.arrays(variable)
        if not alternatives:
            return 0
        (a,) = alternatives
        longest = self._inhabitation.required_length(a)
        if a.minimum > longest:
            return 0
        prefix = len(a.prefix)
        saturation = max(1, a.minimum, prefix, longest if longest < UNBOUNDED else 0)
        shape = Shape(ARRAY_KIND, prefix=prefix, saturation=saturation, branches=[ArrayBranch(0, a, longest)])
        number = self._shapes.add_shape(shape)
        if a.items is not None and not prefix and longest:
            self._shapes.ahead.supply_only_slot(number, 0, a.items)
        return number
