"""OpenMM's Brook kernels of 2009 on a small molecule, beside forces in float64: openmm.py FOLDER.

FOLDER is a clone of github.com/openmm/openmm at 82e0bd2fd, the last commit that has the kernels.
They are called as that platform called them: the forces of all pairs but excluded ones, in partial
sums; the merge of these; bonds, angles, torsions and 1-4 pairs; and the gathers of their forces.
The molecule is a random tree of atoms. The forces beside it are the gradient of its energy, by
central differences. What the kernels cost follows, and what two chips of the time would say.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable
from functools import partial
from itertools import combinations, permutations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy import Pipeline
from gpgpu_legacy.api.check import check_programs
from gpgpu_legacy.api.run import Run
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.files import read_text
from gpgpu_legacy.languages.brook.kernels import Kernels
from gpgpu_legacy.languages.c.parser import parse
from gpgpu_legacy.languages.language import CompilerOptions
from gpgpu_legacy.pipeline.storage import Stream
from gpgpu_legacy.present.grid import Entry, Grid, Numeral, as_markdown

F64 = NDArray[np.float64]
Indices = NDArray[np.intp]
KERNELS = Path("platforms", "brook", "src", "kernels")
WIDTH, J_WIDTH, SUM_WIDTH, SUMS = 32, 16, 64, 4
"""Of the platform's streams: atoms, those of the inner loop by fours, and SUMS partial forces."""
MAPS = (3, 5, 3, 2)
"""Of the gathers that the platform falls back on: four forces of an atom as i, j, k and l each."""
COULOMB = 138.935485
REMAINDERS = {
    "Cg's, by the fraction of x/y": "",
    "x - y trunc(x/y)": "#define fmod(x, y) ((x) - (y) * trunc((x) / (y)))\n",
}
CHIPS = ("radeon-x800-xt", "geforce-6800-ultra")


class Molecule(NamedTuple):
    """Places in nm, charges, sigmas and epsilons of atoms, in OpenMM's units; and paths.

    paths: four atoms in a row. numbers: of each path, as the kernel takes them: five coefficients
    of Ryckaert and Bellemans; a torsion's stiffness, phase and multiplicity; two angles and three
    lengths at rest, each with its stiffness; sigma and four epsilon of the pair of its ends.
    """

    places: F64
    charges: F64
    sigmas: F64
    epsilons: F64
    paths: Indices
    numbers: F64


def molecule(atoms: int, seed: int) -> Molecule:
    """A tree of atoms with three bonds each at most, at 106° to 138°, and none at 0.24 nm else."""
    rng = np.random.default_rng(seed)
    places, near = [np.zeros(3)], [list[int]()]
    while len(places) < atoms:
        parent, step = int(rng.integers(len(places))), rng.normal(size=3)
        place = places[parent] + 0.15 * step / np.linalg.norm(step)
        apart = [np.linalg.norm(place - p) for p in places]
        bent = all(apart[n] < 0.28 for n in near[parent]) and len(near[parent]) < 3
        if bent and all(r > 0.24 for n, r in enumerate(apart) if n != parent):
            near[parent].append(len(places))
            near.append([parent])
            places.append(place)
    bonds = [(j, k) for j in range(atoms) for k in near[j] if j < k]
    paths = [(i, j, k, n) for j, k in bonds for i in near[j] for n in near[k] if i != k and n != j]
    low = [*5 * [-9.0], -9.0, 0.0, 1.0, *2 * [1.7, 60.0], *3 * [0.13, 3e4], 0.2, 0.8]
    high = [*5 * [9.0], 9.0, 3.0, 4.0, *2 * [2.2, 200.0], *3 * [0.17, 1e5], 0.24, 3.2]
    numbers = rng.uniform(low, high, (len(paths), 20))
    numbers[:, 7] //= 1
    charges, sigmas = rng.uniform(-0.5, 0.5, atoms), rng.uniform(0.2, 0.24, atoms)
    epsilons = rng.uniform(0.2, 0.8, atoms)
    return Molecule(np.array(places), charges, sigmas, epsilons, np.array(paths), numbers)


# The forces in float64 ----------------------------------------------------------------------------


def pair_energy(r: F64, charges: F64, sigmas: F64, epsilons: F64) -> float:
    """The energy of charges' products and of Lennard-Jones' potential at distances, in kJ/mol."""
    six = (sigmas / r) ** 6
    return float((4 * epsilons * (six**2 - six) + COULOMB * charges / r).sum())


def far_energy(m: Molecule, places: F64, i: Indices, j: Indices) -> float:
    """The energy of pairs of atoms that no path has."""
    r = np.linalg.norm(places[i] - places[j], axis=-1)
    epsilons = np.sqrt(m.epsilons[i] * m.epsilons[j])
    return pair_energy(r, m.charges[i] * m.charges[j], (m.sigmas[i] + m.sigmas[j]) / 2, epsilons)


def path_energy(m: Molecule, places: F64) -> float:
    """The energy of the paths."""

    def angle(a: F64, b: F64) -> F64:
        return np.arctan2(np.linalg.norm(np.cross(a, b), axis=-1), (a * b).sum(-1))

    i, j, k, n = (places[m.paths[:, end]] for end in range(4))
    *coefficients, stiffness, phase, times = m.numbers.T[:8]
    one, other = np.cross(j - i, k - j), np.cross(k - j, n - k)
    phi = angle(one, other) * np.sign(((j - i) * other).sum(-1))
    total = (stiffness * (1 + np.cos(times * phi - phase))).sum()
    for power, c in enumerate(coefficients, 1):
        total += (c * (-np.cos(phi)) ** power).sum()
    turns = [angle(i - j, k - j), angle(j - k, n - k)]
    turns += [np.linalg.norm(a - b, axis=-1) for a, b in ((i, j), (j, k), (k, n))]
    for column, turn in enumerate(turns):
        rest, stiffness = m.numbers.T[8 + 2 * column : 10 + 2 * column]
        total += (stiffness / 2 * (turn - rest) ** 2).sum()
    charges = m.charges[m.paths[:, 0]] * m.charges[m.paths[:, 3]]
    ends = np.linalg.norm(i - n, axis=-1)
    return float(total) + pair_energy(ends, charges, m.numbers[:, 18], m.numbers[:, 19] / 4)


def gradient(energy: Callable[[F64], float], places: F64, step: float = 1e-6) -> F64:
    """Of an energy, by central differences."""
    found = np.zeros_like(places)
    for at in np.ndindex(found.shape):
        move = np.zeros_like(places)
        move[at] = step
        found[at] = (energy(places + move) - energy(places - move)) / (2 * step)
    return found


def near_pairs(m: Molecule) -> set[tuple[int, ...]]:
    """The atoms of one path, in both orders."""
    return {pair for path in m.paths.tolist() for pair in permutations(path, 2)}


def forces(m: Molecule) -> dict[str, F64]:
    """Of pairs that are not near, and of all terms."""
    near = near_pairs(m)
    pairs = [pair for pair in combinations(range(len(m.places)), 2) if pair not in near]
    i, j = np.array(pairs).T
    apart = -gradient(partial(far_energy, m, i=i, j=j), m.places)
    return {"pairs": apart, "all": apart - gradient(partial(path_energy, m), m.places)}


# The kernels --------------------------------------------------------------------------------------


class Platform:
    """A pipeline of the kernels in a folder for a molecule, and the arrays of its streams."""

    def __init__(self, folder: Path, m: Molecule, head: str) -> None:
        self.folder, self.head, self.p = folder, head, Pipeline("openmm")
        self.arrays: dict[str, F64] = {}
        self.atoms = len(m.places)
        self.rows = -(-(self.atoms + 4) // WIDTH)  # a part without atoms reads past the last row
        self.places = self.stream("places", m.places, WIDTH, rows=self.rows)
        pairs = self.nonbonded(m)
        self.p.output("pairs", pairs)
        self.p.output("all", self.bonded(m, pairs))

    def call(self, file: str, kernel: str, *arguments: Any) -> None:
        text = self.head + read_text(self.folder / file)
        unit = parse(text, file, CompilerOptions(folder=self.folder))
        self.p.call(Kernels(unit).find(kernel), *arguments)

    def stream(
        self, name: str, values: F64, width: int, rest: float = 0.0, rows: int = 0
    ) -> Stream:
        """A stream of rows with an element for each value, filled up with one more number."""
        rows, shape = rows or -(-len(values) // width), values.shape[1:]
        whole = np.full((rows * width, *shape), rest)
        whole[: len(values)] = values
        self.arrays[name] = whole.reshape(rows, width, *shape)
        kind = f"float{shape[0]}" if shape else "float"
        return self.p.stream(name, kind, (rows, width), given=True)

    def results(self, name: str, rows: int, width: int, count: int = 1) -> list[Stream]:
        return [self.p.stream(f"{name}{n}", "float3", (rows, width)) for n in range(count)]

    def nonbonded(self, m: Molecule) -> Stream:
        """A primes' product for each atom and four others tells which pairs count."""
        size = self.rows * WIDTH
        counts = np.zeros((size, size), bool)
        counts[: self.atoms, : self.atoms] = ~np.eye(self.atoms, dtype=bool)
        for a, b in near_pairs(m):
            counts[a, b] = False
        primes = np.where(counts, np.resize([2.0, 3, 5, 7], size), 1)
        products = primes.reshape(size, size // 4, 4).prod(-1).T
        half, root = np.resize(m.sigmas / 2, size), np.zeros(size)
        root[: self.atoms] = 2 * np.sqrt(m.epsilons)
        outer = np.stack([half, root, 0 * root, 0 * root], 1)
        whole = -(-self.atoms // 4) * 4
        partial = self.results("partial", -(-size * SUMS // 4 // SUM_WIDTH), SUM_WIDTH, 4)
        (merged,) = self.results("nonbonded", self.rows, WIDTH)
        self.call(
            *("kforce_CDLJ.br", "knbforce_CDLJ4", self.atoms, whole, SUMS, self.rows, WIDTH),
            *(J_WIDTH, SUM_WIDTH, COULOMB, self.places),
            self.stream("charges", m.charges, WIDTH, rows=self.rows),
            self.stream("outer", outer, WIDTH),
            self.stream("sigmas", half.reshape(-1, 4), J_WIDTH, 1.0),
            self.stream("epsilons", root.reshape(-1, 4), J_WIDTH),
            self.stream("exclusions", products.reshape(-1), size),
            *partial,
        )
        self.call(
            *("kmerge_partial_forces.br", "kMergeFloat3_4_nobranch", SUMS, WIDTH, SUM_WIDTH),
            *(self.atoms, whole, 4, *partial, merged),
        )
        return merged

    def bonded(self, m: Molecule, before: Stream) -> Stream:
        columns = [m.numbers[:, n : n + 4] for n in range(0, 20, 4)]
        charges = m.charges[m.paths[:, 0]] * m.charges[m.paths[:, 3]]
        bonded = self.results("bonded", -(-len(m.paths) // WIDTH), WIDTH, 4)
        self.call(
            *("kforce_CDLJ.br", "kbonded_CDLJ", COULOMB, WIDTH, self.places),
            self.stream("products", charges, WIDTH),
            self.stream("paths", m.paths, WIDTH),
            *(self.stream(f"numbers{n}", column, WIDTH) for n, column in enumerate(columns)),
            *bonded,
        )
        for a, b in ((0, 2), (1, 3)):
            maps = [self.inverse(f"map{n}_", m.paths[:, n], MAPS[n]) for n in (a, b)]
            (after,) = self.results(f"gathered{a}", self.rows, WIDTH)
            self.call(
                *("kinvmap_gather.br", f"kinvmap_gather{MAPS[a]}_{MAPS[b]}", WIDTH),
                *(*maps[0], bonded[a], *maps[1], bonded[b], before, after),
            )
            before = after
        return before

    def inverse(self, name: str, ends: Indices, count: int) -> list[Stream]:
        """For each atom, the paths that have it at one end, four in each of so many streams."""
        found = np.full((self.rows * WIDTH, 4 * count), -1.0)
        for atom in range(self.atoms):
            (mine,) = np.nonzero(ends == atom)
            found[atom, : len(mine)] = mine
        return [self.stream(f"{name}{n}", found[:, 4 * n : 4 * n + 4], WIDTH) for n in range(count)]

    def run(self, arithmetic: str) -> Run:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a path without an l has roots of 0
            return self.p.run(self.arrays, executor="numpy", arithmetic=arithmetic)


# What is printed ----------------------------------------------------------------------------------


def errors(platforms: dict[str, Platform], expected: dict[str, F64]) -> Grid:
    """How far a component of a force is from its reference, over their root mean square."""
    rows = list[tuple[Entry, ...]]()
    for name, platform in platforms.items():
        for arithmetic in ("fp32", "fp24"):
            run, apart = platform.run(arithmetic), list[Entry]()
            for which, force in expected.items():
                found = run[which].reshape(-1, 3)[: len(force)]
                error = np.abs(found - force).max() / np.sqrt((force**2).mean())
                apart.append(Numeral(f"{error:.1e}"))
            rows.append((name, arithmetic, *apart))
    heads = ("fmod(x, y)", "arithmetic", "pairs' largest error", "all forces'")
    return Grid("errors", "", heads, tuple(rows))


def costs(platform: Platform) -> Grid:
    """What each pass costs, whether it loads, and the executed instructions' time at full rate."""
    executed = {one.program: one for one in platform.run("fp32").branching}
    plan, rows = platform.p.plan(), list[tuple[Entry, ...]]()
    verdicts = {chip: check_programs(plan.programs(), chip).programs for chip in CHIPS}
    (rate,) = (t.per_second for t in platform.p.predict(CHIPS[1]).terms if t.name == "arithmetic")
    for number, (program, pass_) in enumerate(zip(plan.programs(), plan.steps, strict=True)):
        count, fragments = len(program.instructions), pass_.rect.width * pass_.rect.height
        each = executed[program.name].instructions / fragments if program.branches else count
        lookups = sum(i.mnemonic.startswith("TEX") for i in program.instructions)
        said = [verdicts[chip][number].verdict for chip in CHIPS]
        assert rate is not None and all(said)
        rows.append(
            (
                program.name.partition(":")[2],
                *(fragments, count, lookups, round(each)),
                *(", ".join(v.excesses) or v.answer.value for v in said if v),
                Numeral(f"{each * fragments / rate * 1e6:.1f}"),
            )
        )
    numbers = ("fragments", "instructions", "lookups", "executed")
    return Grid("costs", "", ("kernel", *numbers, *CHIPS, "least µs"), tuple(rows))


def main() -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--atoms", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    m, folder = molecule(given.atoms, given.seed), given.folder / KERNELS
    try:
        platforms = {name: Platform(folder, m, head) for name, head in REMAINDERS.items()}
    except InputError as error:
        parser.error(str(error))
    print(as_markdown([errors(platforms, forces(m)), costs(platforms["x - y trunc(x/y)"])]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
