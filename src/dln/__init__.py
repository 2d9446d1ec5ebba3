"""Learn small, readable logic circuits from tables.

table -> encode -> train -> Circuit -> simplify -> predict | explain | cost
"""

from importlib import import_module as _import_module
from importlib.metadata import version as _version
from typing import TYPE_CHECKING as _TYPE_CHECKING

from dln.core.calibration import Calibration
from dln.core.circuit import Circuit
from dln.core.constraints import Constraints, Monotone
from dln.core.edit_record import EditRecord
from dln.core.gates import GATE_BY_NAME, GATES, Gate
from dln.core.literals import Above, Among, Column, Missing
from dln.core.logic import Logic
from dln.core.origin import Origin
from dln.core.parts import Node, Rule
from dln.core.readout import Votes
from dln.core.score import Score
from dln.core.value_range import ValueRange
from dln.core.verdict import Counterexample, Meeting, Proof, Reversal, Undecided, Violation
from dln.costs.circuit import cost
from dln.costs.report import Cost, PartCost
from dln.decisions.calibrate import calibrate
from dln.edits.editing import Editing, edit
from dln.edits.edits_file import load_edits, save_edits
from dln.edits.effect import EditEffect
from dln.edits.number_effect import NumberEditEffect
from dln.errors import (
    CircuitError,
    CircuitFileError,
    ColumnTypeError,
    DeviceMemoryError,
    DiskSpaceError,
    DlnError,
    DlnWarning,
    ExtraMissingError,
    MissingColumnError,
    OptionError,
    RuleTextError,
    TableError,
    TaskError,
    TrainingError,
)
from dln.estimators.presets import preset_options
from dln.evaluate.evaluation import Evaluation
from dln.explain.change import Change
from dln.explain.codes import reason_codes
from dln.explain.differences import Difference, Differences, find_differences
from dln.explain.explanation import Explanation
from dln.explain.number_explanation import NumberExplanation
from dln.explain.number_rules import NumberRule, NumberRuleTable, NumberScoreCard
from dln.explain.options import ChangeOption, ChangeOptions
from dln.explain.reach import Reach
from dln.explain.reasons import Reason
from dln.explain.rules import RuleRow, RuleTable, rule_table, score_card
from dln.explain.score_card import ScoreCard
from dln.explain.several import ClassReasons
from dln.explain.trends import Trends, find_trends
from dln.explain.why import ClassReason, ReasonPart
from dln.exporters.export import export
from dln.exporters.result import Export
from dln.paths.path import CircuitPath, PathPoint
from dln.paths.path_file import load_path
from dln.paths.size import Size, measure_size
from dln.prove.certify import prove_independent, prove_range, prove_rule
from dln.prove.constraints import ConstraintProofs, prove_constraints, prove_interactions
from dln.prove.equal import prove_equal
from dln.prove.monotone import prove_monotone
from dln.prove.robust import Robustness, certified_radius, prove_robust
from dln.prove.share import Share, share_independent, share_range, share_rule
from dln.prove.share_monotone import share_monotone
from dln.prove.share_robust import share_robust
from dln.shrink.prune.curve import PruneCurve, PruneStep
from dln.shrink.prune.prune import prune
from dln.shrink.simplify.simplify import simplify
from dln.train.settings import Alternating, Annealing, Freezing, Gumbel, Pruning
from dln.train.trace import Trace

if _TYPE_CHECKING:
    from dln.costs.baselines import cost_of_model
    from dln.estimators.classifier import DLNClassifier
    from dln.estimators.refit import refit
    from dln.estimators.regressor import DLNRegressor
    from dln.search.estimator import DLNSearchCV
    from dln.search.number_estimator import DLNRegressorSearchCV
    from dln.search.space import Between

__version__ = _version("dln")

__all__ = [
    "GATES",
    "GATE_BY_NAME",
    "Above",
    "Alternating",
    "Among",
    "Annealing",
    "Between",
    "Calibration",
    "Change",
    "ChangeOption",
    "ChangeOptions",
    "Circuit",
    "CircuitError",
    "CircuitFileError",
    "CircuitPath",
    "ClassReason",
    "ClassReasons",
    "Column",
    "ColumnTypeError",
    "ConstraintProofs",
    "Constraints",
    "Cost",
    "Counterexample",
    "DLNClassifier",
    "DLNRegressor",
    "DLNRegressorSearchCV",
    "DLNSearchCV",
    "DeviceMemoryError",
    "Difference",
    "Differences",
    "DiskSpaceError",
    "DlnError",
    "DlnWarning",
    "EditEffect",
    "EditRecord",
    "Editing",
    "Evaluation",
    "Explanation",
    "Export",
    "ExtraMissingError",
    "Freezing",
    "Gate",
    "Gumbel",
    "Logic",
    "Meeting",
    "Missing",
    "MissingColumnError",
    "Monotone",
    "Node",
    "NumberEditEffect",
    "NumberExplanation",
    "NumberRule",
    "NumberRuleTable",
    "NumberScoreCard",
    "OptionError",
    "Origin",
    "PartCost",
    "PathPoint",
    "Proof",
    "PruneCurve",
    "PruneStep",
    "Pruning",
    "Reach",
    "Reason",
    "ReasonPart",
    "Reversal",
    "Robustness",
    "Rule",
    "RuleRow",
    "RuleTable",
    "RuleTextError",
    "Score",
    "ScoreCard",
    "Share",
    "Size",
    "TableError",
    "TaskError",
    "Trace",
    "TrainingError",
    "Trends",
    "Undecided",
    "ValueRange",
    "Violation",
    "Votes",
    "calibrate",
    "certified_radius",
    "cost",
    "cost_of_model",
    "edit",
    "export",
    "find_differences",
    "find_trends",
    "load_edits",
    "load_path",
    "measure_size",
    "preset_options",
    "prove_constraints",
    "prove_equal",
    "prove_independent",
    "prove_interactions",
    "prove_monotone",
    "prove_range",
    "prove_robust",
    "prove_rule",
    "prune",
    "reason_codes",
    "refit",
    "rule_table",
    "save_edits",
    "score_card",
    "share_independent",
    "share_monotone",
    "share_range",
    "share_robust",
    "share_rule",
    "simplify",
]

# These need scikit-learn, which takes two seconds to import. Prediction does not need it.
_LATER = {
    "Between": "dln.search.space",
    "DLNClassifier": "dln.estimators.classifier",
    "DLNRegressor": "dln.estimators.regressor",
    "DLNRegressorSearchCV": "dln.search.number_estimator",
    "DLNSearchCV": "dln.search.estimator",
    "cost_of_model": "dln.costs.baselines",
    "refit": "dln.estimators.refit",
}


def __getattr__(name: str) -> object:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(_import_module(_LATER[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER})
