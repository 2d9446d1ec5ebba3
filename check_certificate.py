#!/usr/bin/env python3
"""Check a certificate of dln: a proof of a claim about every possible row of a model.

    python check_certificate.py model.json certificate.json
    python check_certificate.py model.json other.json certificate.json
    python check_certificate.py model.json certificate.json --write proof

The second form is for the claim that two models are equal.

Prints the claim and exits with 0 if the proof is right, otherwise says why not and exits with 1.
With `--write`, a certificate that was accepted is also written as proof.cnf (DIMACS, with a comment
about each variable) and proof.lrat, for other checkers, such as cake_lpr and lrat-check.

This program shares no code with dln and needs only the Python standard library. It reads the model
file and the question by itself, and trusts nothing else in the certificate.

What is checked
---------------
A question asks for a row (or a pair of rows) of a region that fulfils demands: class a has at least
n votes more than class b. A claim holds if no row of the region fulfils all demands of one of its
goals. `read_question` below derives these goals from the question.

The certificate has a formula (DIMACS) and its refutation (LRAT). Every variable of the formula says
something about a row that refutes the claim:

    ["goal", g]               the row is in the region of goal g and fulfils its demands
    ["in", c, ranges]         the value of column c is in one of these atoms
    ["part", s, p]            part p of sum s is less than its least value, see below

The values of a column are grouped into atoms, on which no literal of the model changes. `patterns`
lists the atoms that are possible; the certificate must have them all.

A sum is about the votes that are lacking for a goal: the lack of each demand, multiplied by a
factor that is at least 0, and added up. If the goal is reached, the sum is at most 0. It is a
constant plus a number for each rule that is true. The certificate divides it into parts. A part has
some of the rules, less messages: numbers that depend on the value of a column. So

    sum = constant + all parts + the messages of all parts,

because each message is subtracted once and added once. In a box (a set of atoms for each column)
the sum is at least the constant, plus the least value of each part, plus, for each column, the
least of all messages to it together. If that is more than 0, no row of the box reaches the goal.

Every clause of the formula must be a fact, which `Formula.require_fact` decides by itself:

    about goals    some goal is reached; or: if goal g is reached, then a column is in its region
    of a column    true for every atom of one column
    of a part      in a box, a part is not less than its least value: all combinations of the values
                   that it depends on are tried
    of a sum       in a box, the goal is not reached, or a part is less than its least value: the
                   addition above

So the formula is true for every row that refutes the claim. The refutation then derives the empty
clause from it, step by step (`check_refutation`): there is no such row.

A question about two models is about the model of both, see `joint_of`: whether its votes differ.

A question about constraints needs no proof in the certificate. Each rule is checked on its own, see
`check_constraints`: a sum of rules that all move in one direction moves in that direction.
"""

import collections
import hashlib
import itertools
import json
import math
import struct
import sys

GATES = (
    *("FALSE", "AND", "A_AND_NOT_B", "A", "NOT_A_AND_B", "B", "XOR", "OR"),
    *("NOR", "XNOR", "NOT_B", "A_OR_NOT_B", "NOT_A", "NOT_A_OR_B", "NAND", "TRUE"),
)
"""The number of a gate, as four binary digits, is its output for (a, b) = 00, 01, 10, 11."""


class Refused(Exception):
    """The certificate does not prove its claim."""


def require(condition, message):
    if not condition:
        raise Refused(message)


# -- the model --------------------------------------------------------------------------------


class Model:
    """Columns, literals, gates (truth table, a, b), rules (wire, votes) and base votes."""

    def __init__(self, document):
        require(document.get("format") == "dln-circuit", "this is not a model file of dln")
        require(document.get("readout", "votes") in ("votes", "score"), "unknown readout")
        self.predicts_number = document.get("readout") == "score"
        if self.predicts_number:  # its points are the votes of the second of two classes
            document = {
                **document,
                "rules": [
                    {"wire": r["wire"], "votes": [0, r["points"]]} for r in document["rules"]
                ],
                "base_votes": [0, document["offset"]],
                "classes": [None, document["name"]],
            }
        self.columns = document["columns"]
        self.literals = document["literals"]
        self.gates = [(GATES.index(name), a, b) for name, a, b in document["gates"]]
        self.rules = [(rule["wire"], list(rule["votes"])) for rule in document["rules"]]
        self.base = list(document["base_votes"])
        self.classes = document["classes"]
        self.n_classes = len(self.classes)
        for wire, (_, a, b) in enumerate(self.gates, start=len(self.literals)):
            require(0 <= a < wire and 0 <= b < wire, "a gate reads a later wire")
        for wire, votes in self.rules:
            require(0 <= wire < len(self.literals) + len(self.gates), "a rule has no wire")
            require(len(votes) == self.n_classes, "a rule has too few votes")

    def index(self, name):
        found = [at for at, column in enumerate(self.columns) if column["name"] == name]
        require(len(found) == 1, f"there is no column {name!r}")
        return found[0]

    def cone(self, wires):
        """List wires and all wires that they depend on, ascending."""
        found, stack = set(), list(wires)
        while stack:
            wire = stack.pop()
            if wire not in found:
                found.add(wire)
                if wire >= len(self.literals):
                    gate, a, b = self.gates[wire - len(self.literals)]
                    # Some gates, such as NOT_B, do not depend on both inputs.
                    stack += [a] if gate >> 2 != gate & 3 else []
                    stack += [b] if gate >> 1 & 5 != gate & 5 else []
        return sorted(found)


def pair_of(model, names):
    """Make a model of pairs of rows that differ in the named columns only.

    Its classes are those of the first row, then those of the second. A rule that depends on a named
    column becomes two rules, one for each row; the others vote for both rows.
    """
    indices = sorted(model.index(name) for name in names)
    pair = object.__new__(Model)
    pair.columns = model.columns + [
        {**model.columns[at], "name": ["second row", model.columns[at]["name"]]} for at in indices
    ]
    twin_column = {at: len(model.columns) + n for n, at in enumerate(indices)}
    pair.literals, twin = list(model.literals), {}
    for wire, literal in enumerate(model.literals):
        if literal["column"] in twin_column:
            twin[wire] = len(pair.literals)
            pair.literals.append({**literal, "column": twin_column[literal["column"]]})
    shift = len(pair.literals) - len(model.literals)

    def moved(wire):
        return wire if wire < len(model.literals) else wire + shift

    pair.gates = [(gate, moved(a), moved(b)) for gate, a, b in model.gates]
    for wire, (gate, a, b) in enumerate(model.gates, start=len(model.literals)):
        if a in twin or b in twin:
            twin[wire] = len(pair.literals) + len(pair.gates)
            pair.gates.append((gate, twin.get(a, moved(a)), twin.get(b, moved(b))))
    none = [0] * model.n_classes
    pair.rules = []
    for wire, votes in model.rules:
        if wire in twin:
            pair.rules += [(moved(wire), votes + none), (twin[wire], none + votes)]
        else:
            pair.rules.append((moved(wire), votes + votes))
    pair.base, pair.n_classes = model.base * 2, 2 * model.n_classes
    return pair, twin_column


def joint_of(model, other, of):
    """Make the model of two models, whose columns are matched by name.

    For "classes", its classes are those of the first model, then those of the second. Otherwise its
    votes are those of the first model less those of the second.
    """
    joint = object.__new__(Model)
    names = [[column["name"] for column in own.columns] for own in (model, other)]
    require(all(len(own) == len(set(own)) for own in names), "two columns have the same name")
    joint.columns = model.columns + [c for c in other.columns if c["name"] not in names[0]]
    place = {column["name"]: at for at, column in enumerate(joint.columns)}
    joint.literals, joint.gates, joint.rules = [], [], []
    n_literals = len(model.literals) + len(other.literals)
    for own, far, sign in ((model, other, 1), (other, model, -1)):
        first, first_gate = len(joint.literals), n_literals + len(joint.gates)
        moved = [*range(first, first + len(own.literals))]
        moved += range(first_gate, first_gate + len(own.gates))
        for literal in own.literals:
            column = own.columns[literal["column"]]
            same = far.columns[far.index(column["name"])]
            meaning = [json.dumps([c["kind"], c.get("categories", [])]) for c in (column, same)]
            require(meaning[0] == meaning[1], f"the columns {column['name']!r} differ")
            joint.literals.append({**literal, "column": place[column["name"]]})
        joint.gates += [(gate, moved[a], moved[b]) for gate, a, b in own.gates]
        none = [0] * own.n_classes
        for wire, votes in own.rules:
            if of != "classes":
                votes = [sign * vote for vote in votes]
            else:
                votes = votes + none if own is model else none + votes
            joint.rules.append((moved[wire], votes))
    if of == "classes":
        joint.base = model.base + other.base
    else:
        joint.base = [x - y for x, y in zip(model.base, other.base)]
    joint.n_classes = len(joint.base)
    return joint


# -- values -----------------------------------------------------------------------------------


def patterns(column, literals, condition=("any",)):
    """Return the truth values of the literals for every value of a column that is possible.

    With a condition only for the values that fulfil it: ("missing",), ("range", low, high) with
    None for no limit, or ("among", categories).
    """
    found = set()
    missing = tuple("missing" in literal for literal in literals)
    if condition[0] in ("any", "missing"):
        found.add(missing)
    if condition[0] == "missing":
        return found
    if column["kind"] == "category":
        require(condition[0] in ("any", "among"), "a column of categories has no range")
        known = column.get("categories", [])
        for number, category in enumerate(known):
            if condition[0] == "any" or any(equal(category, other) for other in condition[1]):
                found.add(tuple(number in literal.get("among", ()) for literal in literals))
        if condition[0] == "any":  # an unknown category
            found.add(tuple(False for _ in literals))
        return found
    require(condition[0] in ("any", "range"), "a column of numbers has no categories")
    low, high = condition[1:] if condition[0] == "range" else (None, None)
    cutoffs = sorted({float(literal["above"]) for literal in literals if "above" in literal})
    for below, above in zip([-math.inf, *cutoffs], [*cutoffs, math.inf]):
        if has_value(column["kind"], below, above, low, high):
            found.add(tuple("above" in x and below >= float(x["above"]) for x in literals))
    return found


def has_value(kind, below, above, low, high):
    """Whether a number x of this kind has below < x <= above and low <= x <= high.

    If in doubt, the answer is yes, which makes a claim only harder to prove.
    """
    top = above if high is None else min(above, float(high))
    bottom = below if low is None else max(below, math.nextafter(float(low), -math.inf))
    if kind == "boolean":
        return any(bottom < bit <= top for bit in (0.0, 1.0))
    if kind == "integer" and bottom >= sys.float_info.max:
        return False  # infinity is no whole number
    if kind == "integer" and abs(bottom) < 2**52 and abs(top) < 2**52:
        return math.floor(bottom) + 1 <= top
    return bottom < top or bottom == top == -math.inf


def equal(a, b):
    return a == b and isinstance(a, str) == isinstance(b, str)


def condition_of(column, given):
    if given is None:
        return ("missing",)
    require(isinstance(given, list), "a condition is null or a list")
    if column["kind"] == "category":
        return ("among", given)
    require(len(given) == 2, "a range has two ends")
    return ("range", *given)


# -- the question -----------------------------------------------------------------------------


def beats(rival, winner):
    """A tie goes to the class that is listed first."""
    return (rival, winner, 0 if rival < winner else 1)


def read_question(model, question):
    """Return the model to ask, the goals, and the conditions by the index of the column."""
    n, kind, where = model.n_classes, question["kind"], question["where"]
    conditions = {
        model.index(name): condition_of(model.columns[model.index(name)], given)
        for name, given in where.items()
    }
    if kind == "independent":
        names = question["features"]
        require(names, "no column is named")
        pair, twin_column = pair_of(model, names)
        for at, twin in twin_column.items():
            if at in conditions:
                conditions[twin] = conditions[at]
        if model.predicts_number:  # its points differ by more than the given ones, either way
            require(question["points"] >= 0, "the points are negative")
            by = question["points"] + 1
            return pair, [[(1, 3, by)], [(3, 1, by)]], conditions
        goals = []
        for c in range(n):
            wins = [beats(c, other) for other in range(n) if other != c]
            for other in range(n):
                if other != c:
                    rival, winner, by = beats(other, c)
                    goals.append([*wins, (n + rival, n + winner, by)])
        return pair, goals, conditions
    require(kind == "range" or not model.predicts_number, "the model has no classes")
    number = question["class"]
    require(type(number) is int and 0 <= number < n, "there is no such class")
    others = [c for c in range(n) if c != number]
    if kind == "always":
        return model, [[beats(c, number)] for c in others], conditions
    if kind == "never":
        return model, [[beats(number, c) for c in others]], conditions
    require(kind == "range", f"unknown kind of question {kind!r}")
    goals = []
    if question["at_least"] is not None:
        goals += [[(c, number, 1 - question["at_least"])] for c in others]
    if question["at_most"] is not None:
        goals.append([(number, c, question["at_most"] + 1) for c in others])
    require(goals, "the range has no end")
    return model, goals, conditions


def read_equality(documents, question):
    """Return the model of two models, and the goals that are reached if they differ."""
    model, other = map(Model, documents)
    of, points = question["of"], question.get("points", 0)
    require(of in ("probabilities", "classes", "number"), "unknown kind of equality")
    is_number = [own.predicts_number for own in (model, other)]
    require(is_number == [of == "number"] * 2, "a model predicts something else")
    if of == "number":
        links = [document["link"] for document in documents]
        require(links[0] == links[1], "the models have different links")
        require(type(points) is int and points >= 0, "the points are negative")
        require(points == 0 or links[0] == "identity", "a tolerance needs the link identity")
        digits = max(document["digits"] for document in documents)
        for own, document in zip((model, other), documents):
            times = 10 ** (digits - document["digits"])
            own.base = [times * points for points in own.base]
            own.rules = [(wire, [times * v for v in votes]) for wire, votes in own.rules]
        # The votes of the first of two classes are 0, and those of the second are the points.
        return joint_of(model, other, of), [[(1, 0, points + 1)], [(0, 1, points + 1)]]
    labels = [json.dumps(own.classes) for own in (model, other)]
    require(labels[0] == labels[1], "the models have different classes")
    joint, n = joint_of(model, other, of), model.n_classes
    if of == "classes":
        goals = []
        for c in range(n):  # the first model predicts c, and the second another class
            wins = [beats(c, rival) for rival in range(n) if rival != c]
            for rival in range(n):
                if rival != c:
                    more, less, by = beats(rival, c)
                    goals.append([*wins, (n + more, n + less, by)])
        return joint, goals
    calibrations = [json.dumps(document.get("calibration")) for document in documents]
    require(calibrations[0] == calibrations[1], "the models have different calibrations")
    if documents[0].get("calibration") is None:
        temperatures = [document["temperature"] for document in documents]
        require(temperatures[0] == temperatures[1], "the models have different temperatures")
    # The votes are differences. They are the same for all classes if all leads are equal.
    return joint, [[demand] for c in range(1, n) for demand in ((c, 0, 1), (0, c, 1))]


# -- the formula ------------------------------------------------------------------------------


Table = collections.namedtuple("Table", "rules columns")
Part = collections.namedtuple("Part", "table least messages")
Sum = collections.namedtuple("Sum", "goal constant rules parts")


def add_up(terms, n_cells):
    """Return the sum of coefficients in each cell; a term is a coefficient and bits of cells.

    Eight bytes of a large number are a cell, so that a term is added to all cells at once.
    """
    require(sum(abs(term) for term, _ in terms) < 2**62, "a sum is too large")
    ones = int.from_bytes(bytes([1, 0, 0, 0, 0, 0, 0, 0]) * n_cells, "little")
    total = 0
    for term, bits in terms:
        digits = bytearray(8 * n_cells)
        digits[::8] = format(bits, f"0{n_cells}b").encode()[::-1]
        true = int.from_bytes(digits, "little") & ones  # the last bit of the digits 0 and 1
        total += term * true if term > 0 else -term * (ones - true)
    less = sum(min(term, 0) for term, _ in terms)
    values = struct.unpack(f"<{n_cells}q", total.to_bytes(8 * n_cells, "little"))
    return [value + less for value in values] if less else list(values)


class Formula:
    """The variables of a formula, and which clauses are facts about a row that refutes the claim.

    A goal is a list of demands and conditions by the index of the column.
    """

    def __init__(self, model, goals, document):
        self.model = model
        self.columns = sorted({literal["column"] for literal in model.literals})
        self.wires = {at: [] for at in self.columns}
        for wire, literal in enumerate(model.literals):
            self.wires[literal["column"]].append(wire)
        self.read_atoms(document["atoms"])
        self.demands = [demands for demands, _ in goals]
        self.regions = [self.read_region(conditions) for _, conditions in goals]
        self.tables = [self.read_table(given) for given in document["tables"]]
        self.sums = [self.read_sum(given) for given in document["sums"]]
        self.goal_of = {}  # variable -> goal
        self.column_of = {}  # variable of one column -> column, atoms as bits
        self.part_of = {}  # variable -> sum, part
        for number, meaning in enumerate(document["variables"], start=1):
            self.read_variable(number, meaning)
        self.n_variables = len(document["variables"])

    @property
    def n_wires(self):
        return len(self.model.literals) + len(self.model.gates)

    def read_atoms(self, given):
        """Read the truth values of the literals on each atom of each column."""
        require(len(given) == len(self.columns), "atoms of a column are missing")
        self.atoms, self.truth_of = [], {}  # literal -> column, atoms on which it is true, as bits
        for place, (at, texts) in enumerate(zip(self.columns, given)):
            own = [tuple(bit == "1" for bit in text) for text in texts]
            require(all(len(atom) == len(self.wires[at]) for atom in own), "an atom is too short")
            possible = self.possible(at, ("any",))
            require(possible <= set(own), f"an atom of column {at} is missing")
            self.atoms.append(own)
            for bit, wire in enumerate(self.wires[at]):
                true = sum(1 << n for n, atom in enumerate(own) if atom[bit])
                self.truth_of[wire] = (place, true)

    def possible(self, at, condition):
        literals = [self.model.literals[wire] for wire in self.wires[at]]
        return patterns(self.model.columns[at], literals, condition)

    def read_region(self, conditions):
        """Return the atoms of each column that fulfil the conditions, as bits."""
        region = []
        for at, atoms in zip(self.columns, self.atoms):
            possible = self.possible(at, conditions.get(at, ("any",)))
            require(possible, f"no value of {self.model.columns[at]['name']!r} is possible")
            region.append(sum(1 << n for n, atom in enumerate(atoms) if atom in possible))
        return region

    def read_variable(self, number, meaning):
        kind, what, *more = meaning
        require(type(what) is int and what >= 0, "a variable has no meaning")
        if kind == "goal":
            require(what < len(self.demands), "there is no such goal")
            self.goal_of[number] = what
        elif kind == "in":
            bits = 0
            for first, last in more[0]:
                require(0 <= first <= last < len(self.atoms[what]), "there is no such atom")
                bits |= (1 << last + 1) - (1 << first)
            self.column_of[number] = (what, bits)
        else:
            require(kind == "part", f"unknown kind of variable {kind!r}")
            require(what < len(self.sums), "there is no such sum")
            require(0 <= more[0] < len(self.sums[what].parts), "there is no such part")
            self.part_of[number] = (what, more[0])

    def read_table(self, given):
        """Read rules, and columns with a number for each atom: the place of its message."""
        table = Table(given["rules"], [(column, numbers) for column, *numbers in given["columns"]])
        require(all(0 <= r < len(self.model.rules) for r in table.rules), "there is no such rule")
        for column, numbers in table.columns:
            require(0 <= column < len(self.columns), "there is no such column")
            require(len(numbers) == len(self.atoms[column]), "a number of an atom is missing")
        require(len({c for c, _ in table.columns}) == len(table.columns), "a column is there twice")
        return table

    def read_sum(self, given):
        """Read the parts of a sum, and compute the sum from the model and the goal."""
        goal, factors = given["goal"], given["factors"]
        require(0 <= goal < len(self.demands), "there is no such goal")
        demands = self.demands[goal]
        require(len(factors) == len(demands), "there is not one factor for each demand")
        require(all(type(f) is int and f >= 0 for f in factors), "a factor is negative")
        weights, constant = {}, 0
        for (more, less, by), factor in zip(demands, factors):
            weights[more] = weights.get(more, 0) - factor
            weights[less] = weights.get(less, 0) + factor
            constant += factor * by
        constant += sum(w * self.model.base[c] for c, w in weights.items())
        rules = [sum(w * votes[c] for c, w in weights.items()) for _, votes in self.model.rules]
        parts = []
        for table, least, *messages in given["parts"]:
            require(0 <= table < len(self.tables), "there is no such table")
            table = self.tables[table]
            require(type(least) is int, "a least value is not an integer")
            require(len(messages) == len(table.columns), "messages are missing")
            require(all(type(m) is int for own in messages for m in own), "a message is no integer")
            of_atoms = {
                column: [own[number] for number in numbers]
                for (column, numbers), own in zip(table.columns, messages)
            }
            parts.append(Part(table, least, of_atoms))
        return Sum(goal, constant, rules, parts)

    def require_fact(self, clause):
        """Refuse a clause that is not true for every row that refutes the claim."""
        variables = [abs(literal) for literal in clause]
        require(all(1 <= v <= self.n_variables for v in variables), "a variable has no meaning")
        goals = any(v in self.goal_of for v in variables)
        parts = any(v in self.part_of for v in variables)
        if parts:
            known = self.is_about_sum(clause) if goals else self.is_about_part(clause)
        elif goals:
            known = self.is_about_goals(clause)
        else:
            known = self.is_about_column(clause)
        require(known, f"the clause {clause} is not a fact")

    def is_about_goals(self, clause):
        reached = {self.goal_of.get(literal) for literal in clause}
        if all(goal in reached for goal in range(len(self.demands))):
            return True
        for goal in (self.goal_of[-literal] for literal in clause if -literal in self.goal_of):
            for literal in clause:
                if literal in self.column_of:
                    column, bits = self.column_of[literal]
                    if self.regions[goal][column] & ~bits == 0:
                        return True
        return False

    def is_about_column(self, clause):
        columns = {self.column_of[abs(literal)][0] for literal in clause}
        if len(columns) != 1:
            return False
        false = (1 << len(self.atoms[columns.pop()])) - 1  # the atoms on which it is false
        for literal in clause:
            bits = self.column_of[abs(literal)][1]
            false &= bits if literal < 0 else ~bits
        return false == 0

    def read_box(self, clause):
        """Return the atoms, as bits, that columns can have if a clause is false."""
        box = {}
        for literal in clause:
            if abs(literal) in self.column_of:
                column, bits = self.column_of[abs(literal)]
                box[column] = box.get(column, -1) & (bits if literal < 0 else ~bits)
        return box

    def is_about_part(self, clause):
        parts = [self.part_of[-literal] for literal in clause if -literal in self.part_of]
        if len(parts) != 1:
            return False
        of, place = parts[0]
        own = self.sums[of]
        return self.least_of(own, own.parts[place], clause) >= own.parts[place].least

    def least_of(self, own, part, clause):
        """Return the least value of a part if a clause is false.

        The values on which the part depends are axes, and each combination of them is a cell. A
        wire is a number with a bit for each cell.
        """
        box, terms = self.read_box(clause), {}  # the lack of each wire
        for number in part.table.rules:
            wire = self.model.rules[number][0]
            terms[wire] = terms.get(wire, 0) + own.rules[number]
        terms = {wire: term for wire, term in terms.items() if term}
        cone = self.model.cone(terms)
        read = {column: [] for column in part.messages}
        axes = []  # of each axis: wires, and for each value the truth of these wires and a message
        for wire in cone:
            if wire in self.truth_of:
                read.setdefault(self.truth_of[wire][0], []).append(wire)
        for column, wires in read.items():
            messages = part.messages.get(column, [0] * len(self.atoms[column]))
            truths = [self.truth_of[wire][1] for wire in wires]
            allowed = box.get(column, -1)
            values = {
                (tuple(true >> atom & 1 for true in truths), message)
                for atom, message in enumerate(messages)
                if allowed >> atom & 1
            }
            axes.append((wires, sorted(values)))
        n_cells = math.prod(len(values) for _, values in axes)
        require(n_cells <= 2**22, "a part has too many cells")
        if n_cells == 0:  # there is no such row
            return math.inf
        bits, stride, all_cells = {}, 1, (1 << n_cells) - 1
        for wires, values in axes:
            width = stride * len(values)
            for place, wire in enumerate(wires):
                once = sum(
                    ((1 << stride) - 1) << n * stride
                    for n, (truth, _) in enumerate(values)
                    if truth[place]
                )
                bits[wire] = once * (all_cells // ((1 << width) - 1))
            stride = width
        for wire in cone:
            if wire not in bits:
                gate, a, b = self.model.gates[wire - len(self.model.literals)]
                x, y = bits.get(a, 0), bits.get(b, 0)
                true = ~x & ~y if gate & 8 else 0
                true |= ~x & y if gate & 4 else 0
                true |= x & ~y if gate & 2 else 0
                true |= x & y if gate & 1 else 0
                bits[wire] = true & all_cells
        cells = add_up([(term, bits[wire]) for wire, term in terms.items()], n_cells)
        for _, values in reversed(axes):
            n = len(cells) // len(values)
            slices = [
                [cell - message for cell in cells[at * n : at * n + n]]
                if message
                else cells[at * n : at * n + n]
                for at, (_, message) in enumerate(values)
            ]
            cells = list(map(min, *slices)) if len(slices) > 1 else slices[0]
        return cells[0]

    def is_about_sum(self, clause):
        goals = [self.goal_of[-literal] for literal in clause if -literal in self.goal_of]
        parts = {self.part_of[literal] for literal in clause if literal in self.part_of}
        if len(goals) != 1 or len({of for of, _ in parts}) != 1:
            return False
        own = self.sums[min(parts)[0]]
        if own.goal != goals[0]:
            return False
        box, columns = self.read_box(clause), {}
        least, rest = own.constant, list(own.rules)
        for part in (own.parts[place] for _, place in parts):
            least += part.least
            for number in part.table.rules:
                rest[number] -= own.rules[number]
            for column, messages in part.messages.items():
                before = columns.get(column, itertools.repeat(0))
                columns[column] = [x + y for x, y in zip(before, messages)]
        least += sum(min(0, lack) for lack in rest)  # of rules that are in no part, or in several
        for column, messages in columns.items():
            allowed = box.get(column, -1)
            least += min(
                (own for atom, own in enumerate(messages) if allowed >> atom & 1), default=math.inf
            )
        return least > 0

    def describe(self, number):
        """Write what a variable says."""
        if number in self.goal_of:
            return f"goal {self.goal_of[number]} is reached"
        if number in self.part_of:
            return self.describe_part(*self.part_of[number])
        column, bits = self.column_of[number]
        wires = self.wires[self.columns[column]]
        chosen = [atom for n, atom in enumerate(self.atoms[column]) if bits >> n & 1]
        texts = ["".join("01"[bit] for bit in atom) for atom in chosen]
        return f"{' '.join(f'w{wire}' for wire in wires)} = {' or '.join(texts)}"

    def describe_part(self, of, place):
        own, part = self.sums[of], self.sums[of].parts[place]
        lack = "".join(f" {own.rules[n]:+d}*w{self.model.rules[n][0]}" for n in part.table.rules)
        for column, messages in part.messages.items():
            name = json.dumps(self.model.columns[self.columns[column]]["name"], ensure_ascii=False)
            lack += f" -{messages}[atom of {name}]"
        return f"part of the lack of goal {own.goal}:{lack} < {part.least}"

    def describe_wire(self, wire):
        if wire >= len(self.model.literals):
            gate, a, b = self.model.gates[wire - len(self.model.literals)]
            return f"{GATES[gate]}(w{a}, w{b})"
        literal = self.model.literals[wire]
        column = self.model.columns[literal["column"]]
        name = json.dumps(column["name"], ensure_ascii=False)
        if "above" in literal:
            return f"{name} > {literal['above']}"
        if "among" in literal:
            among = [column["categories"][number] for number in literal["among"]]
            return f"{name} in {json.dumps(among, ensure_ascii=False)}"
        return f"{name} is missing"


def read_dimacs(text):
    """Return the clauses of a formula, and the number of its variables."""
    lines = [line for line in text.splitlines() if line and not line.startswith("c")]
    p, cnf, n_variables, n_clauses = lines[0].split()
    require((p, cnf) == ("p", "cnf"), "the formula does not begin with p cnf")
    clauses = []
    for line in lines[1:]:
        *clause, end = map(int, line.split())
        require(end == 0 and 0 not in clause, "a clause does not end with 0")
        clauses.append(clause)
    require(len(clauses) == int(n_clauses), "the number of clauses is wrong")
    return clauses, int(n_variables)


def check_refutation(clauses, text):
    """Check that steps of LRAT derive the empty clause from the clauses 1, 2 and so on.

    A step is a number, a clause, 0, the numbers of clauses, 0. If the clause is false, each of
    these clauses in turn has a single literal that can still be true, until one has none.
    """
    known = dict(enumerate(clauses, start=1))
    last = None
    for line in text.splitlines():
        number, *rest = map(int, line.split())
        end = rest.index(0)
        clause, hints = rest[:end], rest[end + 1 :]
        require(hints and hints.pop() == 0 and number not in known, "a step is not as expected")
        true, contradiction = {-literal for literal in clause}, False
        for hint in hints:
            require(hint in known, f"step {number} names an unknown clause")
            still = [literal for literal in known[hint] if -literal not in true]
            require(len(still) < 2, f"step {number} does not follow")
            contradiction = contradiction or not still
            true.update(still)
        require(contradiction, f"step {number} does not follow")
        known[number] = last = clause
    require(last == [], "the empty clause is not derived")


# -- constraints ------------------------------------------------------------------------------


def check_constraints(model, question):
    """Check that every rule satisfies constraints on its own, so that their sum does.

    Each wire gets the columns that it depends on, those with which it may rise, and those with
    which it may fall. A literal "above" rises with its column. A gate may rise with what an input
    rises with if some other input makes it rise with that input, and so on.
    """
    known = {
        *("kind", "monotone", "interactions", "forbidden_pairs"),
        *("unused_columns", "max_columns_per_rule"),
    }
    require(set(question) <= known, "the question has unknown parts")
    require(len(question) > 1, "the question has no constraint")
    directions = []
    for own in question.get("monotone", ()):
        at = model.index(own["column"])
        require(model.columns[at]["kind"] != "category", "a column of categories has no order")
        require(own["sign"] in ("+", "-"), "a sign is + or -")
        directions.append((at, 1 if own["sign"] == "+" else -1, class_of(model, own)))
    groups = None
    if question.get("interactions") is not None:
        groups = [{model.index(name) for name in group} for group in question["interactions"]]
    pairs = [{model.index(name) for name in pair} for pair in question.get("forbidden_pairs", ())]
    unused = {model.index(name) for name in question.get("unused_columns", ())}
    most = question.get("max_columns_per_rule")
    reach = reach_of(model)
    for wire, votes in model.rules:
        columns, rises, falls = reach[wire]
        require(not columns & unused, "a rule reads an unused column")
        require(most is None or len(columns) <= most, "a rule reads too many columns")
        require(not any(pair <= columns for pair in pairs), "a rule reads a forbidden pair")
        together = groups is None or len(columns) < 2 or any(columns <= group for group in groups)
        require(together, "a rule reads columns of different groups")
        for at, sign, own in directions:
            for other in votes:
                lead = sign * (votes[own] - other)
                require(lead <= 0 or at not in falls, "a rule may move against a direction")
                require(lead >= 0 or at not in rises, "a rule may move against a direction")


def class_of(model, own):
    """Return the number of the class that a direction is about."""
    if model.predicts_number:
        require("class" not in own, "the model has no classes")
        return 1
    wanted = json.dumps(own["class"])
    same = [n for n, label in enumerate(model.classes) if json.dumps(label) == wanted]
    require(len(same) == 1, "there is no such class")
    return same[0]


def reach_of(model):
    """Return for each wire the columns that it depends on, may rise with, and may fall with."""
    reach = []
    for literal in model.literals:
        column = {literal["column"]}
        reach.append((column, column if "above" in literal else set(), set()))
    for gate, a, b in model.gates:
        # The output for (a, b): the digits of the gate's number, the first for 00.
        value = {(x, y): gate >> (3 - 2 * x - y) & 1 for x in (0, 1) for y in (0, 1)}
        columns, rises, falls = set(), set(), set()
        steps = (
            (a, [value[1, y] - value[0, y] for y in (0, 1)]),
            (b, [value[x, 1] - value[x, 0] for x in (0, 1)]),
        )
        for source, changes in steps:
            of_input, up, down = reach[source]
            if any(changes):
                columns |= of_input
            if max(changes) > 0:
                rises, falls = rises | up, falls | down
            if min(changes) < 0:
                rises, falls = rises | down, falls | up
        reach.append((columns, rises, falls))
    return reach


def check(models, certificate):
    """Return the claim, or raise `Refused`. `models` are the bytes of one file or of two."""
    claim, formula = read(models, certificate)
    if formula is not None:
        clauses, n_variables = read_dimacs(certificate["dimacs"])
        require(n_variables == formula.n_variables, "the number of variables is wrong")
        for clause in clauses:
            formula.require_fact(clause)
        check_refutation(clauses, certificate["lrat"])
    return claim


def read(models, certificate):
    """Return the claim and the formula, which is None for constraints: these are checked here."""
    require(certificate.get("format") == "dln-certificate", "this is not a certificate of dln")
    require(certificate.get("version") == 4, "this program reads certificates of version 4")
    question = certificate["question"]
    n_models = 2 if question["kind"] == "equal" else 1
    require(len(models) == n_models, f"this certificate is about {n_models} model file(s)")
    for name, content in zip(("model_sha256", "other_sha256"), models):
        digest = hashlib.sha256(content).hexdigest()
        require(digest == certificate[name], "the certificate is about another model file")
    documents = [json.loads(content) for content in models]
    if question["kind"] == "equal":
        asked, goals = read_equality(documents, question)
        require(goals, "models of a single class are always equal")
        claim = describe_equality(documents, question)
        return claim, Formula(asked, [(demands, {}) for demands in goals], certificate)
    document = documents[0]
    model = Model(document)
    if question["kind"] == "constraints":
        check_constraints(model, question)
        return describe_constraints(model, question), None
    several = question["kind"] == "all"  # about rows of the model itself
    questions = question["questions"] if several else [question]
    require(questions, "there is no question")
    require(not several or all(q["kind"] == "always" for q in questions), "a question differs")
    goals = []
    for each in questions:
        asked, demands, conditions = read_question(model, each)
        goals += [(own, conditions) for own in demands]
    claim = "\n".join(describe(document, each) for each in questions)
    return claim, Formula(asked, goals, certificate)


def write(name, models, certificate):
    """Write the formula, with the meaning of its variables, and the refutation."""
    claim, formula = read(models, certificate)
    require(formula is not None, "constraints need no formula; there is nothing to write")
    comments = [f"c {line}" for line in claim.splitlines()]
    comments += [f"c w{wire}: {formula.describe_wire(wire)}" for wire in range(formula.n_wires)]
    for number in range(1, formula.n_variables + 1):
        comments.append(f"c {number}: {formula.describe(number)}")
    with open(f"{name}.cnf", "w", encoding="utf-8") as file:
        file.write("\n".join(comments) + "\n" + certificate["dimacs"])
    with open(f"{name}.lrat", "w", encoding="utf-8") as file:
        file.write(certificate["lrat"])


def describe_equality(documents, question):
    """Write the claim that two models are equal in words."""
    if question["of"] == "classes":
        return "the two models give the same class on every possible row"
    if question["of"] == "probabilities":
        return "the two models give the same class and probabilities on every possible row"
    if not question.get("points", 0):
        return "the two models give the same number on every possible row"
    unit = f"in units of 10**{-max(document['digits'] for document in documents)}"
    return f"the numbers of the two models differ by at most {question['points']} ({unit})"


def describe(document, question):
    """Write the question in words; the words in the certificate are not trusted."""
    where = ", ".join(f"{name}: {json.dumps(given)}" for name, given in question["where"].items())
    region = f" where {{{where}}}" if where else ""
    if document.get("readout") == "score":
        return describe_number(document, question) + region
    if question["kind"] == "independent":
        return f"the class never changes with {names_of(question)} alone{region}"
    label = json.dumps(document["classes"][question["class"]])
    if question["kind"] == "range":
        return (
            f"the lead of class {label} is at least {question['at_least']} "
            f"and at most {question['at_most']}{region}"
        )
    return f"{question['kind']} class {label}{region}"


def names_of(question):
    return ", ".join(map(json.dumps, question["features"]))


def describe_constraints(model, question):
    """Write constraints in words."""
    lines = []
    for own in question.get("monotone", ()):
        who = json.dumps(model.classes[class_of(model, own)])
        if model.predicts_number:
            what = f"the prediction {who} never {'falls' if own['sign'] == '+' else 'rises'}"
        else:
            what = f"class {who} never {'loses' if own['sign'] == '+' else 'gains'} votes"
        lines.append(f"{what} as {json.dumps(own['column'])} grows")
    if question.get("interactions") is not None:
        groups = json.dumps(question["interactions"])
        lines.append(f"only columns of the same group occur together in a rule: {groups}")
    for pair in question.get("forbidden_pairs", ()):
        lines.append(f"{json.dumps(pair)} never occur together in a rule")
    if "unused_columns" in question:
        lines.append(f"no rule reads any of {json.dumps(question['unused_columns'])}")
    if "max_columns_per_rule" in question:
        lines.append(f"every rule reads at most {question['max_columns_per_rule']} columns")
    return "; ".join(lines)


def describe_number(document, question):
    """Write a question about a number in words: (points / 10**digits) through the link."""
    unit = f"in units of 10**{-document['digits']}, link {document['link']}"
    name = json.dumps(document["name"])
    if question["kind"] == "independent":
        return (
            f"{name} never changes by more than {question['points']} ({unit}) "
            f"with {names_of(question)} alone"
        )
    return f"{name} is at least {question['at_least']} and at most {question['at_most']} ({unit})"


def main(arguments):
    writes = arguments[-2:-1] == ["--write"]
    files = arguments[:-2] if writes else arguments
    if len(files) not in (2, 3) or any(name.startswith("--") for name in files):
        print(
            "usage: python check_certificate.py model.json [other.json] certificate.json "
            "[--write NAME]",
            file=sys.stderr,
        )
        return 2
    try:
        models = []
        for name in files[:-1]:
            with open(name, "rb") as file:
                models.append(file.read())
        with open(files[-1], encoding="utf-8") as file:
            certificate = json.load(file)
        claim = check(models, certificate)
        if writes:
            write(arguments[-1], models, certificate)
    except OSError as error:
        print(f"cannot read or write: {error}", file=sys.stderr)
        return 2
    except Refused as reason:
        print(f"REFUSED: {reason}")
        return 1
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        print(f"REFUSED: the file is not as expected ({type(error).__name__}: {error})")
        return 1
    print(f"PROVEN: {claim}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
