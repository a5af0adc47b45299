"""Numba's way from typed code to LLVM's, without asking again what has been found out.

Numba looks up the meaning of an operator once when it infers types and several times more when it writes code, each
time among all that `+` may be. For plain numbers and pointers the first answer is kept.
"""

from __future__ import annotations

from typing import Any

from numba.core import cgutils, ir, lowering, typed_passes, types
from numba.core.compiler_machinery import register_pass

PLAIN = (types.Number, types.Boolean, types.CPointer, types.Literal)
"""Types whose operators mean the same wherever they are used."""


class _Lower(lowering.Lower):  # type: ignore[misc]
    signatures: dict[tuple[Any, tuple[Any, ...]], Any] = {}  # noqa: RUF012 - shared on purpose

    def lower_binop(self, resty: Any, expr: Any, op: Any) -> Any:
        signature = self.fndesc.calltypes[expr]
        constant = expr.static_lhs is not ir.UNDEFINED or expr.static_rhs is not ir.UNDEFINED
        if constant or not all(isinstance(a, PLAIN) for a in signature.args):
            return super().lower_binop(resty, expr, op)
        function = self.context.typing_context.resolve_value_type(op)
        key = op, signature.args
        found = self.signatures.get(key)
        if found is None:
            found = self.signatures[key] = function.get_call_type(self.context.typing_context, signature.args, {})
        operands = [
            self.context.cast(self.builder, self.loadvar(each.name), self.typeof(each.name), wanted)
            for each, wanted in zip((expr.lhs, expr.rhs), signature.args, strict=True)
        ]
        result = self.context.get_function(function, found)(self.builder, operands)
        return self.context.cast(self.builder, result, signature.return_type, resty)

    def alloca_lltype(self, name: str, lltype: Any, datamodel: Any = None) -> Any:
        if self.flags.debuginfo:
            return super().alloca_lltype(name, lltype, datamodel=datamodel)
        return cgutils.alloca_once(self.builder, lltype, name=name, zfill=False)  # the size is for a debugger


@register_pass(mutates_CFG=True, analysis_only=False)
class Lowering(typed_passes.BaseNativeLowering):  # type: ignore[misc]
    """The pass that writes LLVM's code."""

    _name = "constrain_lowering"

    @property
    def lowering_class(self) -> Any:
        return _Lower
