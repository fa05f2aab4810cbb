"""The middle of the page: curves with the symptoms on them, heat maps, every symptom that was looked for."""

from __future__ import annotations

from traindx.diagnosis import Diagnosis, Observation
from traindx.reporters.html.heat import HeatMap, legend_stops
from traindx.reporters.html.markup import Html, inner, tag
from traindx.reporters.html.plots import Plots, is_log, is_problem, sentence, still
from traindx.reporters.html.svg import chart_svg
from traindx.reporters.html.verdict import in_code
from traindx.reporters.wording import amount, count, span, wanted

ROW_HEIGHTS = ((30, 18), (60, 12), (140, 6))  # of a heat map: up to so many layers, so many pixels each
SMALLEST_ROW = 3
SMOOTH = 60  # percent at which the slider begins where a curve is long enough to be noisy
SMOOTH_FROM = 100  # values of a curve


def curves(plots: Plots, diagnosis: Diagnosis | None = None) -> Html | None:
    """The curves on one step axis."""
    if not plots.panels:
        return None
    figures = []
    for place, panel in enumerate(plots.panels):
        log = is_log(panel)
        keys = [
            tag("button", tag("i", class_=f"c{color}"), series.name, type="button", class_="key", aria_pressed="true")
            for series, color in zip(panel.series, panel.colors, strict=True)
        ]
        words = ". ".join(sentence(series) for series in panel.series)
        figures.append(
            tag(
                "figure",
                tag("figcaption", tag("b", panel.title), keys, tag("span", class_="spring"), _log_button(log)),
                tag("div", chart_svg(still(panel, plots.clock), width=1100, height=290 if place == 0 else 170),
                    class_="plot"),
                tag("p", words, class_="unseen"),
                class_="panel main" if place == 0 else "panel", data_panel=place, data_summary=f"{words}.",
            )
        )  # fmt: skip
    longest = max(len(series) for panel in plots.panels for series in panel.series)
    return tag(
        "section",
        tag("h2", "Curves"),
        _tools(SMOOTH if longest >= SMOOTH_FROM else 0),
        _lane(diagnosis, plots) if diagnosis is not None else None,
        figures,
        _figures(diagnosis),
        _picker(plots),
        tag("p", class_="unseen", aria_live="polite", data_speaker=True),
        class_="card",
    )


def _log_button(log: bool) -> Html:
    return tag(
        "button",
        "log",
        type="button",
        class_="button",
        data_log=True,
        aria_pressed="true" if log else "false",
        title="logarithmic axis",
    )


def _tools(smooth: int) -> Html:
    def button(what: str, sign: str, title: str) -> Html:
        return tag("button", sign, type="button", class_="button", data_do=what, aria_label=title, title=title)

    return tag(
        "div",
        tag("label", "smoothing", tag("input", type="range", min=0, max=99, value=smooth, data_smooth=True),
            tag("output", f"{smooth / 100:.2f}", data_smooth_value=True)),
        button("left", "←", "earlier"), button("in", "+", "zoom in"), button("out", "−", "zoom out"),
        button("right", "→", "later"), button("reset", "all", "show the whole run"),
        tag("span", "drag to zoom · shift-drag to pan · Ctrl-wheel · double-click for all", class_="soft small hint"),
        class_="tools",
    )  # fmt: skip


def _figures(diagnosis: Diagnosis | None) -> Html | None:
    """Data, gap and gradient norms in numbers."""
    texts = () if diagnosis is None else diagnosis.figures
    return tag("ul", [tag("li", text) for text in texts], class_="small soft") if texts else None


def _lane(diagnosis: Diagnosis, plots: Plots) -> Html | None:
    present = diagnosis.present()
    if not present:
        return None
    rows = [
        tag(
            "li",
            tag(
                "button",
                tag("span", tag("span", symptom.id, class_="id"),
                    tag("span", span(symptom.steps, plots.clock.axis) or "whole run"), class_="label"),
                tag("span", tag("i"), class_="bar", aria_hidden="true"),
                type="button", class_=None if is_problem(symptom) else "note", data_first=str(mark["first"]),
                data_last=str(mark["last"]),
                title="zoom to where it happens",
            ),
        )
        for symptom, mark in zip(present, plots.marks, strict=True)
    ]  # fmt: skip
    return tag("ul", rows, class_="lane", aria_label="Symptoms on the step axis")


def _picker(plots: Plots) -> Html | None:
    if not plots.others:
        return None
    options = [tag("option", "another series …", value="")]
    options += [
        tag("option", f"{series.name} ({count(len(series))} values)", value=place)
        for place, series in enumerate(plots.others)
    ]
    figure = tag(
        "figure",
        tag("figcaption", tag("b", "", data_name=True), tag("span", class_="spring"), _log_button(False)),
        tag("div", class_="plot"),
        class_="panel", data_picked=True, data_summary="", hidden=True,
    )  # fmt: skip
    left = f" {count(plots.left_out)} more series of the log are not in this file." if plots.left_out else ""
    return inner(
        tag(
            "div",
            tag("label", "Show ", tag("select", options, data_more=True)),
            tag("span", left, class_="soft small"),
            class_="tools",
        ),
        figure,
    )


def heats(plots: Plots) -> Html | None:
    if not plots.heats:
        return None
    return tag(
        "section",
        tag("h2", "Inside the model"),
        tag(
            "p",
            "Layer by step, as the recording saw it. A column is a step at which the layers were looked at.",
            class_="lead small",
        ),
        tag("div", class_="tools", data_tabs=True, role="group", aria_label="Which map"),
        [_map(heat) for heat in plots.heats],
        class_="card",
    )


def _map(heat: HeatMap) -> Html:
    rows = len(heat.layers)
    size = next((pixels for most, pixels in ROW_HEIGHTS if rows <= most), SMALLEST_ROW)
    stops = legend_stops()
    gradient = tag(
        "svg",
        [tag("rect", x=place * 20, width="20.5", height="9", fill=color) for place, color in enumerate(stops)],
        viewBox=f"0 0 {20 * len(stops)} 9", preserveAspectRatio="none", aria_hidden="true",
    )  # fmt: skip
    low, high = heat.ends
    return tag(
        "div",
        tag("h3", heat.title),
        tag("p", heat.sentence, class_="soft small"),
        tag(
            "div",
            tag(
                "ol",
                [tag("li", name, title=name) for name in heat.layers],
                class_=f"layers h{size}",
                aria_hidden="true",
            ),
            tag("img", src=heat.picture(), alt=heat.summary(), height=rows * size, tabindex=0),
            tag(
                "div",
                tag("span", f"{heat.axis} {count(heat.steps[0])}"),
                tag("span", f"{heat.axis} {count(heat.steps[-1])}"),
                class_="steps",
            ),
            tag(
                "div",
                tag("span", low),
                gradient,
                tag("span", high),
                tag(
                    "span",
                    "red: NaN or Inf · black: exactly 0 · empty: not measured" if heat.log else "empty: not measured",
                ),
                class_="legend",
            ),
            class_="heat",
        ),
        class_="map",
        data_title=heat.title,
    )


def symptoms_table(diagnosis: Diagnosis) -> Html:
    """Every symptom: what was seen in full, what was ruled out with its number, what could not be measured."""
    axis = diagnosis.run.axis
    by_state: dict[str, list[Observation]] = {"present": [], "absent": [], "unknown": []}
    for symptom in diagnosis.symptoms:
        by_state[symptom.state].append(symptom)
    seen = by_state["present"]
    return tag(
        "section",
        tag("h2", "Evidence"),
        _table(seen, axis, "symptoms seen") if seen else tag("p", "No symptom was seen.", class_="soft"),
        _folded(f"{len(by_state['absent'])} looked for and not found", by_state["absent"], axis),
        _folded(f"{len(by_state['unknown'])} checks could not run", by_state["unknown"], axis, "unknown, not passed"),
        _missing(diagnosis),
        class_="card",
    )


def _folded(title: str, listed: list[Observation], axis: str, aside: str = "") -> Html | None:
    if not listed:
        return None
    return tag(
        "details",
        tag("summary", title, " ", tag("span", aside, class_="soft") if aside else None),
        _table(listed, axis, title),
    )


def _table(listed: list[Observation], axis: str, label: str) -> Html:
    head = tag(
        "tr",
        *(tag("th", name, scope="col") for name in ("symptom", "when", "where", "measured")),
    )
    rows = [
        tag(
            "tr",
            tag("td", symptom.id, class_="id"),
            tag("td", span(symptom.steps, axis) or "–", class_="when"),
            tag("td", symptom.where or "–", class_=f"wrap where mono{'' if symptom.where else ' none'}"),
            tag("td", in_code(symptom.evidence), class_="wrap"),
        )
        for symptom in listed
    ]
    return tag(
        "div",
        tag("table", tag("thead", head), tag("tbody", rows)),
        class_="table stack",
        tabindex=0,
        role="region",
        aria_label=label,
    )


def _missing(diagnosis: Diagnosis) -> Html | None:
    items = wanted(diagnosis)
    if not items:
        return None
    rows = [
        tag(
            "li",
            tag("b", item.evidence),
            inner(": ", in_code(item.how)) if item.how else None,
            _decides(item.would_decide),
        )
        for item in items
    ]
    return tag(
        "details", tag("summary", f"{amount(len(items), 'way')} to know more"), tag("ul", rows, class_="lines small")
    )


def _decides(ids: tuple[str, ...]) -> Html | None:
    return (
        tag("div", tag("span", "would decide"), [tag("span", name, class_="id") for name in ids], class_="chips")
        if ids
        else None
    )
