#!/usr/bin/env python3
"""Check a certificate of dln: a proof of a claim about every possible row of a model.

    python check_certificate.py model.json certificate.json

Prints the claim and exits with 0 if the proof is right, otherwise says why not and exits with 1.

This program shares no code with dln and needs only the Python standard library. It reads the model
file and the question by itself, and trusts nothing else in the certificate.

What is checked
---------------
A question asks for a row (or a pair of rows) of a region that fulfils demands: class a has at least
n votes more than class b. A claim holds if no row of the region fulfils all demands of one of its
goals. `goals` below derives these goals from the question.

The values of a column are grouped into atoms, on which no literal of the model changes. `patterns`
lists the atoms that are possible; the certificate must have them all.

The votes are a sum over tables. A table has some rules of the model, and a cell for each
combination of patterns of the columns that they read. Every rule must be in exactly one table.

A proof is a tree of boxes (sets of atoms for each column) that splits the region. At some nodes
tables are added up to larger ones: a group of tables is a table over the columns of all of them. In
a box, atoms that no table of a group distinguishes are one pattern, and the patterns are numbered
by their first atoms. Each leaf has integers: multipliers m >= 0 of the demands, and messages
u(group, column, pattern). For every row

    sum over demands of m * (votes that are lacking)
      = constant + sum over groups (value of the cell - messages of its patterns)
                 + sum over columns (messages of all groups to the atom),

because each message is subtracted once and added once. So the left side is at least the constant
plus the least value of each group plus the least value of each column, over the box. If that is
positive, some demand lacks votes in every row of the box.

A question about constraints needs no proof in the certificate. Each rule is checked on its own, see
`check_constraints`: a sum of rules that all move in one direction moves in that direction.
"""

import hashlib
import itertools
import json
import math
import sys

GATES = (
    *("FALSE", "AND", "A_AND_NOT_B", "A", "NOT_A_AND_B", "B", "XOR", "OR"),
    *("NOR", "XNOR", "NOT_B", "A_OR_NOT_B", "NOT_A", "NOT_A_OR_B", "NAND", "TRUE"),
)
"""The number of a gate, as four binary digits, is its output for (a, b) = 00, 01, 10, 11."""


REGROUP = -(2**31)
"""Begins a node of a proof that adds up tables."""


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

    def cone(self, wire):
        """List a wire and all wires that it depends on, ascending."""
        found, stack = set(), [wire]
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


# -- tables -----------------------------------------------------------------------------------


class Tables:
    """The atoms of the columns that are read, and the votes of every cell of every table."""

    def __init__(self, model, document):
        self.model = model
        self.columns = sorted({literal["column"] for literal in model.literals})
        self.wires = {at: [] for at in self.columns}
        for wire, literal in enumerate(model.literals):
            self.wires[literal["column"]].append(wire)
        self.atoms = []  # of each column: tuples of truth values of its literals
        require(len(document["atoms"]) == len(self.columns), "atoms of a column are missing")
        for at, texts in zip(self.columns, document["atoms"]):
            atoms = [tuple(bit == "1" for bit in text) for text in texts]
            possible = patterns(model.columns[at], [model.literals[w] for w in self.wires[at]])
            require(all(len(atom) == len(self.wires[at]) for atom in atoms), "an atom is too short")
            require(possible <= set(atoms), f"an atom of column {at} is missing")
            self.atoms.append(atoms)
        used = sorted(rule for table in document["tables"] for rule in table["rules"])
        require(used == list(range(len(model.rules))), "a rule is in no table, or in several")
        self.tables = []  # columns, pattern of each atom, votes of each cell
        for table in document["tables"]:
            self.add(table)

    def add(self, table):
        scope, of_atoms = table["columns"], table["patterns"]
        require(len(scope) == len(set(scope)) == len(of_atoms), "the columns of a table are wrong")
        truths = {}  # (place, pattern) -> truth values of the literals that the rules read
        cones = [self.model.cone(self.model.rules[rule][0]) for rule in table["rules"]]
        literals = {w for cone in cones for w in cone if w < len(self.model.literals)}
        read = {}
        for place, (number, of_atom) in enumerate(zip(scope, of_atoms)):
            require(0 <= number < len(self.columns), "a table names an unknown column")
            require(len(of_atom) == len(self.atoms[number]), "patterns do not fit the atoms")
            wires = self.wires[self.columns[number]]
            read.update(dict.fromkeys(wires, place))
            for atom, pattern in zip(self.atoms[number], of_atom):
                bits = {w: bit for w, bit in zip(wires, atom) if w in literals}
                same = truths.setdefault((place, pattern), bits)
                require(same == bits, "a pattern joins atoms that a rule distinguishes")
        require(literals <= set(read), "a rule reads a column that is not in its table")
        sizes = [max(of_atom) + 1 for of_atom in of_atoms]
        for place, size in enumerate(sizes):
            require(
                {p for q, p in truths if q == place} == set(range(size)), "a pattern is missing"
            )
        gates = sorted({w for cone in cones for w in cone if w >= len(self.model.literals)})
        cells = {}
        for cell in itertools.product(*map(range, sizes)):
            value = {}
            for place, pattern in enumerate(cell):
                value.update(truths[place, pattern])
            for wire in gates:
                gate, a, b = self.model.gates[wire - len(self.model.literals)]
                a, b = value.get(a, False), value.get(b, False)  # outside the cone: not read
                value[wire] = bool(gate >> (3 - 2 * a - b) & 1)
            votes = [0] * self.model.n_classes
            for rule in table["rules"]:
                wire, given = self.model.rules[rule]
                if value[wire]:
                    votes = [x + y for x, y in zip(votes, given)]
            cells[cell] = votes
        self.tables.append((scope, of_atoms, cells))

    def box(self, conditions):
        """Return the atoms of each column that fulfil the conditions."""
        box = []
        for at, atoms in zip(self.columns, self.atoms):
            literals = [self.model.literals[w] for w in self.wires[at]]
            possible = patterns(self.model.columns[at], literals, conditions.get(at, ("any",)))
            box.append({n for n, atom in enumerate(atoms) if atom in possible})
            require(box[-1], f"no value of {self.model.columns[at]['name']!r} is possible")
        return box

    def regroup(self, box, groups):
        """Return groups of tables as (columns, atom -> pattern, first messages, cells)."""
        members = sorted(member for group in groups for member in group)
        require(members == list(range(len(self.tables))), "a table is in no group, or in several")
        made, n_messages = [], 0
        for group in groups:
            tables = [self.tables[member] for member in group]
            columns, of_atoms, examples = [], [], []
            for column in sorted({number for scope, _, _ in tables for number in scope}):
                uses = [of[scope.index(column)] for scope, of, _ in tables if column in scope]
                known, of_atom, example = {}, {}, []
                for atom in sorted(box[column]):
                    key = tuple(use[atom] for use in uses)
                    if key not in known:
                        known[key] = len(example)
                        example.append(atom)
                    of_atom[atom] = known[key]
                columns.append(column)
                of_atoms.append(of_atom)
                examples.append(example)
            kept = [place for place, example in enumerate(examples) if len(example) > 1]
            first = []
            for place in kept:
                first.append(n_messages)
                n_messages += len(examples[place])
            cells = []
            for cell in itertools.product(*(range(len(examples[place])) for place in kept)):
                atoms = {column: example[0] for column, example in zip(columns, examples)}
                for place, pattern in zip(kept, cell):
                    atoms[columns[place]] = examples[place][pattern]
                votes = [0] * self.model.n_classes
                for scope, of, table in tables:
                    found = table[tuple(use[atoms[number]] for number, use in zip(scope, of))]
                    votes = [x + y for x, y in zip(votes, found)]
                cells.append((cell, [f + p for f, p in zip(first, cell)], votes))
            scope, patterns_of = [columns[p] for p in kept], [of_atoms[p] for p in kept]
            made.append((scope, patterns_of, first, cells))
        return made, n_messages

    def bound(self, box, goal, groups, multipliers, messages):
        """Return a lower bound of the multiplied lack of votes in a box."""
        groups, n_messages = groups
        require(len(multipliers) == len(goal) and len(messages) == n_messages, "wrong numbers")
        require(all(type(m) is int and m >= 0 for m in multipliers), "a multiplier is negative")
        require(all(type(m) is int for m in messages), "a message is not an integer")
        weight, constant = [0] * self.model.n_classes, 0
        for (more, less, by), m in zip(goal, multipliers):
            weight[more] -= m
            weight[less] += m
            constant += m * by
        total = constant + sum(w * b for w, b in zip(weight, self.model.base))
        unary = [dict.fromkeys(atoms, 0) for atoms in box]
        for scope, of_atoms, first, cells in groups:
            allowed = []
            for number, of_atom, start in zip(scope, of_atoms, first):
                allowed.append({of_atom[atom] for atom in box[number]})
                for atom in box[number]:
                    unary[number][atom] += messages[start + of_atom[atom]]
            total += min(
                sum(w * v for w, v in zip(weight, votes)) - sum(messages[at] for at in places)
                for cell, places, votes in cells
                if all(p in a for p, a in zip(cell, allowed))
            )
        return total + sum(min(values.values()) for values in unary)

    def check(self, box, goal, proof):
        """Check that no row of a box fulfils all demands of a goal."""
        tokens = iter(proof["tree"])

        def take(n):
            require(0 <= n <= len(proof["tree"]), "a number is out of range")
            return [next(tokens, -1) for _ in range(n)]

        stack = [(box, None)]
        while stack:
            part, groups = stack.pop()
            token = next(tokens, None)
            require(token is not None, "the tree ends too early")
            if token == REGROUP:
                members = [take(next(tokens, 0)) for _ in take(1)[0] * [None]]
                stack.append((part, self.regroup(part, members) if all(part) else None))
                continue
            if token < 0:
                require(-token <= len(proof["messages"]), "a leaf has no messages")
                if all(part):
                    require(groups is not None, "a leaf has no groups of tables")
                    numbers = proof["multipliers"][~token], proof["messages"][~token]
                    require(self.bound(part, goal, groups, *numbers) > 0, "a bound is not positive")
                continue
            require(token < len(part), "a node splits an unknown column")
            chosen = set(take(next(tokens, 0)))
            others = [atoms - chosen if n == token else atoms for n, atoms in enumerate(part)]
            those = [atoms & chosen if n == token else atoms for n, atoms in enumerate(part)]
            stack += [(others, groups), (those, groups)]
        require(next(tokens, None) is None, "the tree goes on after its end")


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


def check(model_bytes, certificate):
    """Return the claim, or raise `Refused`."""
    require(certificate.get("format") == "dln-certificate", "this is not a certificate of dln")
    require(certificate.get("version") == 2, "this program reads certificates of version 2")
    digest = hashlib.sha256(model_bytes).hexdigest()
    require(digest == certificate["model_sha256"], "the certificate is about another model file")
    document, question = json.loads(model_bytes), certificate["question"]
    model = Model(document)
    if question["kind"] == "constraints":
        check_constraints(model, question)
        return describe_constraints(model, question)
    several = question["kind"] == "all"  # about rows of the model itself
    questions = question["questions"] if several else [question]
    require(questions, "there is no question")
    require(not several or all(q["kind"] == "always" for q in questions), "a question differs")
    tables, proofs, texts = None, iter(certificate["proofs"]), []
    for each in questions:
        asked, goals, conditions = read_question(model, each)
        tables = tables or Tables(asked, certificate)
        for goal in goals:
            proof = next(proofs, None)
            require(proof is not None, "there is not one proof for each goal")
            tables.check(tables.box(conditions), goal, proof)
        texts.append(describe(document, each))
    require(next(proofs, None) is None, "there are more proofs than goals")
    return "\n".join(texts)


def describe(document, question):
    """Write the question in words; the words in the certificate are not trusted."""
    where = ", ".join(f"{name}: {json.dumps(given)}" for name, given in question["where"].items())
    region = f" where {{{where}}}" if where else ""
    if document.get("readout") == "score":
        return describe_number(document, question) + region
    if question["kind"] == "independent":
        return f"the class never changes with {question['features']} alone{region}"
    label = json.dumps(document["classes"][question["class"]])
    if question["kind"] == "range":
        return (
            f"the lead of class {label} is at least {question['at_least']} "
            f"and at most {question['at_most']}{region}"
        )
    return f"{question['kind']} class {label}{region}"


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
            f"with {question['features']} alone"
        )
    return f"{name} is at least {question['at_least']} and at most {question['at_most']} ({unit})"


def main(arguments):
    if len(arguments) != 2:
        print("usage: python check_certificate.py model.json certificate.json", file=sys.stderr)
        return 2
    try:
        with open(arguments[0], "rb") as file:
            model = file.read()
        with open(arguments[1], encoding="utf-8") as file:
            certificate = json.load(file)
        claim = check(model, certificate)
    except OSError as error:
        print(f"cannot read: {error}", file=sys.stderr)
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
