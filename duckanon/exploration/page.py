"""The page, and the parts of it that change: filled in here, where every name and label becomes text."""

from __future__ import annotations

from functools import cached_property
from importlib.resources import files
from typing import Any

from duckanon.comparison import Choice, Comparison
from duckanon.comparison.column_words import level_words
from duckanon.errors import discreet
from duckanon.exploration.exploring import Compared, Exploration, default_grid
from duckanon.exploration.figures import Figures
from duckanon.exploration.setting import Setting
from duckanon.pages import charts
from duckanon.pages.html import environment, markup, stylesheet
from duckanon.pages.protection import source_of
from duckanon.pages.sizes import parted
from duckanon.policy.load import METHODS

Told = dict[str, Any]  # an answer, as JSON

_LONGEST_PATH = 200  # steps that are listed: those at its end


class Page:
    """An exploration, as HTML."""

    def __init__(self, exploration: Exploration, file: str) -> None:
        self.exploration, self.file = exploration, file
        self._front: tuple[tuple[Choice, ...], str] | None = None  # as it was drawn last
        charts.must_be_there()

    @cached_property
    def _templates(self) -> Any:
        return environment("duckanon.exploration", by="the page")

    def _filled(self, template: str, **known: Any) -> str:
        text: str = self._templates.get_template(template).render(**known)
        return text

    def whole(self) -> str:
        """The page as it is loaded: with what was set last."""
        explored = self.exploration
        setting, policy = explored.setting, explored.policy
        told, grid = self.figures(setting), default_grid(explored)
        return self._filled(
            "explore.html.j2",
            policy=policy,
            source=source_of(policy),
            file=self.file,
            hierarchies=explored.census.hierarchies,
            setting=setting,
            fields=list(zip(explored.fields, setting.texts, strict=True)),
            methods={method: explored.skipped.get(method, "") for method in METHODS},
            grid={"k": grid.k, "suppression": grid.suppression, "method": grid.method},
            told=told,
            figures=markup(told["figures"]),
            columns=[part | {"html": markup(part["html"])} for part in told["columns"]],
            more={name: markup(html) for name, html in self.more(setting).items()},
            found=markup(self.found(explored.found)["html"]) if explored.found else "",
        )

    def style(self) -> str:
        return stylesheet() + files("duckanon.exploration").joinpath("explore.css").read_text(encoding="utf-8")

    def script(self) -> str:
        return files("duckanon.exploration").joinpath("explore.js").read_text(encoding="utf-8")

    # -- what changes -----------------------------------------------------------------------------

    def figures(self, setting: Setting) -> Told:
        """What a setting comes to: the figures, and of each column what its level does."""
        figures = self.exploration.figures(setting)
        labels = self.exploration.labels(setting, figures.k)
        html = self._filled("figures.html.j2", figures=figures)
        columns = []
        for h, level, shown in zip(self.exploration.census.hierarchies, setting.levels, labels, strict=True):
            words, lost = level_words(h, level), figures.utility["columns"][h.column.name]
            part = self._filled("column.html.j2", name=h.column.name, lost=lost, labels=shown)
            nth = f"level {level} of {h.height}"
            columns.append({"words": nth if words == nth else f"{nth}: {words}", "html": part})
        return {"figures": html, "columns": columns, "said": verdict_of(figures), "holds": figures.holds}

    def more(self, setting: Setting) -> Told:
        """What may come a moment later: a chart takes longer to draw than the figures to be measured."""
        figures = self.exploration.figures(setting)
        sizes = self._filled("sizes.html.j2", figures=figures, chart=markup(_sizes_chart(figures)))
        return {"sizes": sizes, "sample": self._filled("sample.html.j2", sample=self.exploration.sample(setting))}

    def found(self, choice: Choice) -> Told:
        """What a search found, and its path."""
        census, budget = self.exploration.census, choice.wanted.policy.budget(self.exploration.census.rows)
        path = choice.path[-_LONGEST_PATH:]
        drawn = charts.path_plot([step.failing_rows for step in path], budget) if len(path) > 1 else ""
        html = self._filled(
            "found.html.j2",
            choice=choice,
            says=says(choice),
            reasons=list(map(discreet, choice.reasons)),
            path=path,
            left_out=len(choice.path) - len(path),
            names=[h.column.name for h in census.hierarchies],
            budget=budget,
            chart=markup(drawn),
        )
        return {"html": html, "said": says(choice), "levels": _levels(choice)}

    def compared(self, compared: Compared | None) -> Told:
        """The choices that were measured until now, the front among them."""
        if compared is None:
            return {"html": "", "said": "", "running": False}
        comparison = compared.comparison
        done, asked = len(comparison.choices), len(comparison.choices) + comparison.missing
        said = f"{done} of {asked} choices compared" + (f": {compared.error}" if compared.error else "")
        if self._front is None or self._front[0] != comparison.choices:
            self._front = comparison.choices, self._front_of(comparison)
        return {"html": self._front[1], "said": said, "running": compared.running}

    def _front_of(self, comparison: Comparison) -> str:
        front = comparison.front
        shown = [(f"choice-{at}", choice, choice in front) for at, choice in enumerate(comparison.choices)]
        points = [
            {
                "href": f"#{name}",
                "says": says(choice),
                "k": choice.wanted.policy.k,
                "ncp": choice.ncp,
                "front": on_front,
                "own": choice.wanted.is_own,
            }
            for name, choice, on_front in shown
            if choice.status == "holds"
        ]
        return self._filled(
            "front.html.j2",
            shown=shown,
            settings=[self._setting_of(choice) for choice in comparison.choices],
            chart=markup(charts.front_plot(points)) if points else "",
            comparison=comparison,
        )

    def _setting_of(self, choice: Choice) -> Told:
        """What the page is set to when a choice is taken."""
        policy = choice.wanted.policy
        demands = [str(policy.k), str(policy.suppression)]  # the first of the fields
        return {"texts": demands, "method": policy.search.method, "levels": _levels(choice)}


def verdict_of(figures: Figures) -> str:
    """The figures in a sentence."""
    suppressed, budget = figures.rows["suppressed"], figures.budget
    fail = f"{suppressed:,} of {figures.rows['source']:,} rows fail, the budget is {budget:,}"
    if figures.holds:
        return f"Holds: {fail}."
    if not figures.within:
        return f"Does not hold: {fail}."
    if not figures.rows["released"]:
        return "Does not hold: no row would be released."
    broken = sum(not threshold.holds for threshold in figures.thresholds)
    return f"Does not hold: {broken} of {len(figures.thresholds)} constraints fail."


def says(choice: Choice) -> str:
    """A choice in a sentence."""
    if choice.status != "holds" or choice.ncp is None:
        return f"{choice.wanted.name}: no release is possible"
    return f"{choice.wanted.name}: {choice.suppressed:,} rows suppressed, {choice.ncp:.1%} lost"


def _levels(choice: Choice) -> list[int] | None:
    return None if choice.levels is None else list(choice.levels.values())


def _sizes_chart(figures: Figures) -> str:
    parts = parted(figures.released, figures.failing, figures.k)
    shares = [{"bin": part.name, "released": released, "fail": failing} for part, released, failing in parts]
    return charts.class_sizes(shares, f"size of the class, in {figures.counted}") if shares else ""
