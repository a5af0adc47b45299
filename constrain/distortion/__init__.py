"""How far masked sampling bends a model's distribution away from exact conditioning: measure it, bound it, place it.

    from constrain.distortion import HFModel, compare

    report = compare(HFModel(model, prompt_ids), compiled, max_tokens=200)
    print(report)

Masking draws from q(y), the product of p(y_t | y_<t) / Z_t over allowed tokens. What people mean is p(y | y valid). The
difference is the distortion, KL(q || p*); what the constraint costs in any case is -log Z, the unavoidable price.
Importing this package needs neither torch nor transformers.
"""

from __future__ import annotations

from constrain.distortion.compare import compare
from constrain.distortion.counts import CountFigures, SampleComparison, compare_samples, count_figures
from constrain.distortion.dfa_language import DFALanguage, finite_language
from constrain.distortion.difference import MaskDifference, first_difference
from constrain.distortion.estimate import Estimate
from constrain.distortion.executed import (
    ExecutedLaw,
    MaskThenWarp,
    SampleThenMask,
    Warpers,
    WarpThenMask,
    as_executed,
)
from constrain.distortion.foreign_matchers import llguidance_language, xgrammar_language
from constrain.distortion.hf_model import HFModel
from constrain.distortion.hmm import HMMModel, HMMProduct
from constrain.distortion.language import Language
from constrain.distortion.laws import exact_law
from constrain.distortion.localisation import Contribution, grouped, json_location
from constrain.distortion.matcher_language import MatcherLanguage
from constrain.distortion.model import CallableModel, Model
from constrain.distortion.ngram_model import NGramModel
from constrain.distortion.paired import PairedComparison, compare_paired
from constrain.distortion.records import PlaceMass, RecordsReport, by_prompt, summarize
from constrain.distortion.report import Report
from constrain.distortion.spellings import Spellings
from constrain.distortion.table_model import TableModel
from constrain.distortion.trie import Trie
from constrain.distortion.trie_file import load_trie, save_trie

__all__ = [
    "CallableModel",
    "Contribution",
    "CountFigures",
    "DFALanguage",
    "Estimate",
    "ExecutedLaw",
    "HFModel",
    "HMMModel",
    "HMMProduct",
    "Language",
    "MaskDifference",
    "MaskThenWarp",
    "MatcherLanguage",
    "Model",
    "NGramModel",
    "PairedComparison",
    "PlaceMass",
    "RecordsReport",
    "Report",
    "SampleComparison",
    "SampleThenMask",
    "Spellings",
    "TableModel",
    "Trie",
    "WarpThenMask",
    "Warpers",
    "as_executed",
    "by_prompt",
    "compare",
    "compare_paired",
    "compare_samples",
    "count_figures",
    "exact_law",
    "finite_language",
    "first_difference",
    "grouped",
    "json_location",
    "llguidance_language",
    "load_trie",
    "save_trie",
    "summarize",
    "xgrammar_language",
]
