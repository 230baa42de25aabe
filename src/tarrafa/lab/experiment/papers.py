"""Tables 3, 4.3, 4.4 and 4.5 of the papers as printed, our figures for the same, and a comparison.

Tables 4.4 and 4.5 follow from 4.3: a cycle of 100,000 pages takes 270 seconds without the verifier, and adds a million
known URLs. Summed over cycles, with times interpolated between the printed sizes, that gives the printed hours to
within half a percent; the rates are pages divided by time.
"""

from typing import NamedTuple

from tarrafa.lab.experiment.uniqueness import MILLION, GrowthCurve, GrowthRow, curve

OTHER_SECONDS = 270
PAGES_PER_CYCLE = 100_000
KNOWN_PER_CYCLE = MILLION

MARKS = (1, 50, 100, 150, 200, 250, 300, 350)  # millions of URLs
TABLE_3 = {
    "drum": (16.28, 26.39, 35.62, 44.70, 53.99, 64.46, 73.18, 82.85),
    "veuniq": (1.38, 2.78, 3.62, 4.50, 5.47, 7.20, 7.44, 9.26),
}
TABLE_4_3 = {
    "drum": (22.17, 53.53, 81.24, 114.55, 149.11, 196.60, 238.53, 284.92),
    "veuniq": (1.35, 2.60, 3.53, 4.47, 6.11, 6.17, 7.26, 9.07),
}
TABLE_4_4 = {
    "drum": (0.08, 4.29, 8.99, 14.06, 19.61, 25.70, 32.46, 39.84),
    "veuniq": (0.07, 3.77, 7.56, 11.37, 15.19, 19.03, 22.88, 26.74),
}
TABLE_4_5 = {
    "drum": (341.85, 323.55, 308.84, 296.32, 283.19, 270.19, 256.68, 244.00),
    "veuniq": (368.49, 367.87, 367.03, 366.26, 365.57, 364.87, 364.18, 363.51),
}


class SizeMark(NamedTuple):
    """An engine at a size of the repository; printed figures are None for engines that the papers do not measure."""

    engine: str
    millions: float
    cpu_seconds: float
    wall_seconds: float
    crawl_hours: float
    pages_per_second: float
    table_3: float | None = None
    table_4_3: float | None = None
    table_4_4: float | None = None
    table_4_5: float | None = None


def printed_curve(times: tuple[float, ...]) -> GrowthCurve:
    return GrowthCurve(tuple(float(mark * MILLION) for mark in MARKS), times)


def crawl_hours(cycle_seconds: GrowthCurve, millions: float) -> float:
    """Return the hours of a crawl until so many millions of URLs are known."""
    cycles = max(1, round(millions * MILLION / KNOWN_PER_CYCLE))
    verifying = sum(cycle_seconds.at(cycle * KNOWN_PER_CYCLE) for cycle in range(1, cycles + 1))
    return (cycles * OTHER_SECONDS + verifying) / 3600


def pages_per_second(cycle_seconds: GrowthCurve, millions: float) -> float:
    cycles = max(1, round(millions * MILLION / KNOWN_PER_CYCLE))
    return cycles * PAGES_PER_CYCLE / (crawl_hours(cycle_seconds, millions) * 3600)


def marks(rows: list[GrowthRow]) -> list[SizeMark]:
    """Return every engine at the papers' sizes that it reached, and at its last size."""
    found = []
    for engine in dict.fromkeys(row.engine for row in rows):
        wall, cpu = curve(rows, engine), curve(rows, engine, wall=False)
        if not wall.known:
            continue
        reached = wall.known[-1] / MILLION
        sizes = [float(mark) for mark in MARKS if mark <= reached]
        if not sizes or reached - sizes[-1] > 0.01 * reached:
            sizes.append(round(reached, 2))
        found += [_mark(engine, millions, wall, cpu) for millions in sizes]
    return found


def _mark(engine: str, millions: float, wall: GrowthCurve, cpu: GrowthCurve) -> SizeMark:
    known = millions * MILLION
    ours = (cpu.at(known), wall.at(known), crawl_hours(wall, millions), pages_per_second(wall, millions))
    if millions not in MARKS or engine not in TABLE_3:
        return SizeMark(engine, millions, *ours)
    place = MARKS.index(int(millions))
    printed = (table[engine][place] for table in (TABLE_3, TABLE_4_3, TABLE_4_4, TABLE_4_5))
    return SizeMark(engine, millions, *ours, *printed)


HEADS = (
    *("engine", "million URLs", "CPU s", "wall s", "Table 3", "Table 4.3"),
    *("crawl h", "Table 4.4", "pages/s", "Table 4.5"),
)


def cells(mark: SizeMark) -> tuple[str, ...]:
    """Return a row of the table, under HEADS."""
    ours = (f"{mark.cpu_seconds:.2f}", f"{mark.wall_seconds:.2f}")
    crawl = (f"{mark.crawl_hours:.2f}", _shown(mark.table_4_4), f"{mark.pages_per_second:.2f}", _shown(mark.table_4_5))
    return (mark.engine, f"{mark.millions:g}", *ours, _shown(mark.table_3), _shown(mark.table_4_3), *crawl)


def _shown(figure: float | None) -> str:
    return "" if figure is None else f"{figure:.2f}"


def page(found: list[SizeMark]) -> str:
    """Return the table and the verdict as Markdown."""
    lines = [HEADS, ("---",) * len(HEADS), *(cells(mark) for mark in found)]
    rows = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return f"# Time per cycle as the repository grows\n\n{rows}\n\n{verdict(found)}\n"


def verdict(found: list[SizeMark]) -> str:
    """Return the conclusions in sentences."""
    sentences = [_growth(found, engine) for engine in dict.fromkeys(mark.engine for mark in found)]
    last = {mark.engine: mark for mark in found}
    if "veuniq" in last:
        sentences += [_against(last["veuniq"], mark) for engine, mark in last.items() if engine != "veuniq"]
    return "\n".join(sentences)


def _growth(found: list[SizeMark], engine: str) -> str:
    mine = [mark for mark in found if mark.engine == engine]
    first, last = mine[0], mine[-1]
    text = (
        f"{engine}: a cycle takes {last.wall_seconds:.2f} s ({last.cpu_seconds:.2f} s of CPU) "
        f"at {last.millions:g} million known URLs"
    )
    if len(mine) > 1:
        text += f", {last.wall_seconds / first.wall_seconds:.1f} times what it takes at {first.millions:g} million"
    if len(mine) > 1 and last.table_3 and last.table_4_3 and first.table_3 and first.table_4_3:
        text += f" (papers: {last.table_3 / first.table_3:.1f} and {last.table_4_3 / first.table_4_3:.1f} times)"
    lost = 1 - last.pages_per_second / (PAGES_PER_CYCLE / OTHER_SECONDS)
    return f"{text}; verifying takes {lost:.1%} of the crawl."


def _against(veuniq: SizeMark, other: SizeMark) -> str:
    ratio = other.wall_seconds / veuniq.wall_seconds
    cpu_ratio = other.cpu_seconds / veuniq.cpu_seconds
    holds = "holds" if ratio > 1 and cpu_ratio > 1 else "does not hold at this size"
    text = f"At the end {other.engine} takes {ratio:.1f} times as long as veuniq and {cpu_ratio:.1f} times its CPU: "
    text += f"that veuniq is the cheaper one {holds}"
    if other.table_3 and veuniq.table_3 and other.table_4_3 and veuniq.table_4_3:
        ratios = (other.table_3 / veuniq.table_3, other.table_4_3 / veuniq.table_4_3)
        text += f" (papers: {ratios[0]:.1f} and {ratios[1]:.1f} times as long)"
    return text + "."
