"""The passes that a kernel takes from bytecode to LLVM's code: numba's own ones, without those that find nothing to do.

Numba goes through every function some thirty times. For kernels, which are plain loops over numbers, pointers and
arrays, half of that is in vain, and most of the time goes into what is worked out anew after each pass. Left out are:

- the passes that look for closures, comprehensions, `with` and `literal_unroll`, and for array expressions to fuse; a
  function that has code inside its code is compiled in numba's way, a `with` does not compile;
- static single assignment: a variable has one type wherever it is assigned. LLVM makes that form by itself;
- the ends of lives of variables, where no variable owns memory.
"""

from __future__ import annotations

from types import CodeType
from typing import Any

from numba.core import ir, ir_utils, transforms, typed_passes, types, untyped_passes
from numba.core.compiler import Compiler
from numba.core.compiler_machinery import AnalysisPass, FunctionPass, PassManager, register_pass
from numba.core.rewrites import rewrite_registry

from .lowering import PLAIN, Lowering


@register_pass(mutates_CFG=True, analysis_only=False)
class _Settle(FunctionPass):  # type: ignore[misc]
    """In place of `IRProcessing`, for what is no generator: lives of variables are not looked at."""

    _name = "constrain_settle"

    def __init__(self) -> None:  # abstract in numba
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        state.func_ir.blocks = transforms.canonicalize_cfg(state.func_ir.blocks)
        state.func_ir.generator_info = None
        return True


@register_pass(mutates_CFG=True, analysis_only=False)
class _Constants(FunctionPass):  # type: ignore[misc]
    """In place of `GenericRewrites`: the same rewrites, and no new look at the lives of variables."""

    _name = "constrain_constants"

    def __init__(self) -> None:  # abstract in numba
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        blocks = state.func_ir.blocks
        for kind in rewrite_registry.rewrites["before-inference"]:
            rewrite = kind(state)
            for key, block in list(blocks.items()):
                while rewrite.match(state.func_ir, block, state.typemap, state.calltypes):
                    blocks[key] = block = rewrite.apply()
        return True


@register_pass(mutates_CFG=True, analysis_only=False)
class _Varying(FunctionPass):  # type: ignore[misc]
    """Gives a constant a variable of its own where its own one is assigned elsewhere too, as numba would hold that to
    the constant's type."""

    _name = "constrain_varying"

    def __init__(self) -> None:  # abstract in numba
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        definitions = state.func_ir._definitions = ir_utils.build_definitions(state.func_ir.blocks)
        for block in state.func_ir.blocks.values():
            body = []
            for each in block.body:
                if isinstance(each, ir.Assign) and len(definitions[each.target.name]) > 1:
                    if isinstance(each.value, ir.Const | ir.Global | ir.FreeVar):
                        alone = block.scope.redefine("$constant", loc=each.loc)
                        body.append(ir.Assign(each.value, alone, each.loc))
                        definitions[alone.name].append(each.value)
                        each.value = alone
                body.append(each)
            block.body = body
        return True


_UNOWNED: tuple[Any, ...] = (
    *PLAIN,
    types.NoneType,
    types.Function,
    types.Dispatcher,
    types.Module,
    types.NumberClass,
    types.RangeType,
    types.RangeIteratorType,
)


def _owns_nothing(a_type: Any) -> bool:
    if isinstance(a_type, types.BaseTuple):
        return all(map(_owns_nothing, a_type))
    if isinstance(a_type, types.Pair):
        return _owns_nothing(a_type.first_type) and _owns_nothing(a_type.second_type)
    return isinstance(a_type, _UNOWNED)


@register_pass(mutates_CFG=False, analysis_only=True)
class _Lives(AnalysisPass):  # type: ignore[misc]
    """In place of `IRLegalization`: marks the ends of lives only where a variable may own memory."""

    _name = "constrain_lives"

    def __init__(self) -> None:  # abstract in numba
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        if all(map(_owns_nothing, state.typemap.values())):
            return False
        done: bool = typed_passes.IRLegalization().run_pass(state)
        return done


_PASSES: Any = (
    untyped_passes.TranslateByteCode,
    untyped_passes.FixupArgs,
    _Settle,
    untyped_passes.RewriteSemanticConstants,
    untyped_passes.DeadBranchPrune,
    _Constants,
    untyped_passes.RewriteDynamicRaises,
    untyped_passes.InlineInlinables,
    untyped_passes.DeadBranchPrune,
    _Varying,
    typed_passes.NopythonTypeInference,
    typed_passes.InlineOverloads,
    typed_passes.NoPythonSupportedFeatureValidation,
    _Lives,
    typed_passes.AnnotateTypes,
    Lowering,
    typed_passes.NoPythonBackend,
)


class _Manager(PassManager):  # type: ignore[misc]
    """Runs passes without the records that numba keeps of each."""

    def _runPass(self, index: int, pss: Any, internal_state: Any) -> None:  # noqa: ARG002
        pss.analysis = self._analysis
        pss.run_initialization(internal_state)
        pss.run_pass(internal_state)
        pss.run_finalizer(internal_state)


class PlainCompiler(Compiler):  # type: ignore[misc]
    """Compiles what has no code inside its code with fewer passes, anything else as numba does."""

    def define_pipelines(self) -> list[Any]:
        code = self.state.func_id.code
        if any(isinstance(constant, CodeType) for constant in code.co_consts) or self.state.func_id.is_generator:
            return list(super().define_pipelines())
        self.state.flags.enable_ssa = False
        manager = _Manager("kernels")
        for each in _PASSES:
            manager.add_pass(each, each.__name__)
        manager.finalize()
        return [manager]
