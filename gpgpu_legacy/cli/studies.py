"""Studies of single questions: two pictures, an anomaly, the formats' accuracy, an example."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from gpgpu_legacy.cli.completion import arithmetic_names
from gpgpu_legacy.cli.file_options import FILM
from gpgpu_legacy.cli.frame import Report, answers
from gpgpu_legacy.cli.options import Argument, Option, Several
from gpgpu_legacy.cli.shared import ARITHMETICS, ExecutorName, Seed
from gpgpu_legacy.cli.words import Jobs, RunJob, split
from gpgpu_legacy.errors import InputError

if TYPE_CHECKING:
    from gpgpu_legacy.api.pipeline import Pipeline
    from gpgpu_legacy.studies.figure_2.model import Demonstration
    from gpgpu_legacy.studies.host_anomaly.result import Anomaly
    from gpgpu_legacy.studies.multichannel.model import Demonstration as Multichannel
    from gpgpu_legacy.studies.precision.model import Precision
    from gpgpu_legacy.studies.sdk_example.model import Example

# Pictures ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ShownProduct:
    """The product that a picture shows."""

    words: Annotated[
        Several[str],
        Argument(
            "[NAME=VALUE]...",
            "Matrices as in A=a.npy B=b.npy, sizes as in n=3 m=2, and the method's parameters.",
        ),
    ] = ()
    seed: Annotated[
        int | None,
        Option("SEED", "Seed of random matrices (default: the picture's own, where these fit)."),
    ] = None
    executor: ExecutorName = "auto"

    def built(self, method: str) -> tuple[Pipeline, dict[str, Any]]:
        """The product by a method, 4×4 unless the words say otherwise, and the matrices given."""
        whats, given = split(self.words)
        if whats:
            raise InputError(f"{whats[0]} is neither a matrix nor a parameter; write NAME=VALUE")
        own = () if given.keys() & {"n", "A", "B"} else ("n=4",)
        return RunJob((method, *own, *self.words)).built


@answers("study figure-2", plot="Draw the passes; a .gif shows one at a time.", picture=FILM)
def figure_2_command(shown: ShownProduct) -> Demonstration:
    """Show what Figure 2 of Hall, Carr & Hart 2003 demonstrates: larson-mcallister, pass by pass.

    It is made from the paper's words, not after its picture. Matrices have up to 16 rows and
    columns.
    """
    from gpgpu_legacy.predict.auto import executor_for
    from gpgpu_legacy.studies.figure_2.model import METHOD, demonstrate

    p, given = shown.built(METHOD.name)
    return demonstrate(executor_for(shown.executor, p.plan()), p, given, shown.seed)


@answers("study multichannel", plot="Draw a fragment; a .gif shows them all.", picture=FILM)
def multichannel_command(shown: ShownProduct) -> Multichannel:
    """Show what a fragment of hall-carr-hart-multi looks up, swizzles, multiplies and adds.

    That is equations (8) to (11) of Hall, Carr & Hart 2003, in one pass. Matrices have up to 8 rows
    and columns.
    """
    from gpgpu_legacy.predict.auto import executor_for
    from gpgpu_legacy.studies.multichannel.model import METHOD, demonstrate

    p, given = shown.built(METHOD.name)
    return demonstrate(executor_for(shown.executor, p.plan()), p, given, shown.seed)


# Numbers ----------------------------------------------------------------------------------------

# Those of chips/hosts.toml and studies/host_anomaly/; the latter imports NumPy, so a test compares
# them.
MACHINES = "core2-3mb, core2-6mb"
PAGINGS = "coloured miscoloured:0.01 random xnu"
POLICIES = "lru; for the first machine plru and random-plru, too, with xnu"
SIZES = "768, 1280, 2048"
ROWS = 2


@dataclass(frozen=True)
class HostOptions:
    """The cases to simulate, all combinations of machine, paging and policy."""

    machine: Annotated[
        Several[str],
        Option(
            "NAME …", f"One or several of {MACHINES} (default: all); the first is shown in full."
        ),
    ] = ()
    paging: Annotated[
        Several[str],
        Option(
            "PAGING …",
            "How pages are mapped to frames: coloured, random, miscoloured:F with F the "
            "fraction of miscoloured pages, or as OS X does: xnu, xnu@N with N the first page of "
            "512, xnu:F with F pages for others per page (default: "
            f"{PAGINGS}); the first is shown in full.",
        ),
    ] = ()
    policy: Annotated[
        Several[str],
        Option(
            "POLICY …",
            "How level 2 replaces lines: lru, plru, random-plru, fifo, random (default: "
            f"{POLICIES}).",
        ),
    ] = ()
    seed: Annotated[int, Option("SEED", "Seed of the random frames.")] = 0


@answers("study anomaly", plot="Plot times and misses by size.")
def anomaly_command(
    *,
    words: Annotated[
        Several[str],
        Argument("[n=N,…]", f"Sizes (default: all with published times, {SIZES})."),
    ] = (),
    hosts: HostOptions,
    rows: Annotated[
        int, Option("ROWS", "Rows of C to count, after one that warms up the caches.")
    ] = ROWS,
    report: Report,
) -> Anomaly:
    """Explain why the host of Dobravec & Bulić is slow at n = 1024 and 1536.

    The host's loop is simulated on the caches, the DTLB and the pages of its processor. First come
    the sizes at which the simulation has outliers beside those that were published: for that
    nothing is fitted to a time, but the size of level 2 is inferred. Then miss penalties are fitted
    to the published times at n = 1024 and its neighbours; they predict the times at all other
    sizes, which are shown beside the published ones.
    """
    from gpgpu_legacy.algorithms.registry import find_product
    from gpgpu_legacy.studies.host_anomaly import model
    from gpgpu_legacy.studies.host_anomaly.simulation import METHOD, make_cases

    whats, given = split(words)
    if whats or given.keys() - {"n"}:
        raise InputError("the host's product has a size alone; write n=512,1024")
    cases = make_cases(hosts.machine, hosts.paging, hosts.policy, hosts.seed)
    method, texts = find_product(METHOD), given["n"].split(",") if given else ()
    sizes = model.sizes_for([method.settings({"n": text.strip()})["n"] for text in texts])
    with report.progress("simulating", len(sizes)) as step:
        return model.anomaly(cases, sizes, rows, progress=step)


@answers("study precision", plot="Draw error and bound against n.")
def precision_command(
    jobs: Jobs,
    report: Report,
    arithmetic: Annotated[
        Several[str],
        Option(
            "NAME …", f"One or several of {ARITHMETICS} (default: all).", complete=arithmetic_names
        ),
    ] = (),
    seed: Seed = 0,
) -> Precision:
    """Measure the error of each fragment method by arithmetic and size, and give its bound.

    Every operation is rounded to the arithmetic, on the reference executor; the product is compared
    with one in float64. Fixed-point formats are measured twice: with matrices in [0, 1), and with
    matrices scaled so that the sums fit. WHAT: methods, by default all that draw; n=16,64,256 and
    all texture formats unless other sizes or formats are given.
    """
    from gpgpu_legacy.algorithms.registry import find_product
    from gpgpu_legacy.studies.precision import model

    whats, given = split(jobs.words)
    methods = [find_product(name) for name in whats or model.methods()]
    swept = (
        f"{name}={values}"
        for name, values in model.SWEPT.items()
        if name not in given and any(name in method.parameters for method in methods)
    )
    pipelines = Jobs((*jobs.words, *swept)).pipelines(*model.methods())
    cases = model.cases(pipelines, arithmetic)
    with report.progress("measuring", len(cases)) as step:
        return model.measure(cases, seed, step)


@answers("study sdk-example")
def sdk_example_command(executor: ExecutorName = "auto") -> Example:
    """Reproduce the 4×4 example that the Mali OpenCL SDK prints of its SGEMM, by mali-sgemm."""
    from gpgpu_legacy.studies.sdk_example.model import sdk_example

    return sdk_example(executor)
