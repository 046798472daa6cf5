"""Line charts."""

import xml.etree.ElementTree as ElementTree

from benches.load.line_chart import Line, Panel, line_charts

_SVG = "{http://www.w3.org/2000/svg}"


def test_each_panel_has_its_lines_and_its_limit() -> None:
    panels = [
        Panel("Delay <ms>", [1.0, 2.0, 3.0], [Line("p50", [1.0, 2.0, 3.0]), Line("p99", [2.0, 4.0, 8.0])], limit=10.0),
        Panel("Memory", [1.0, 2.0, 3.0], [Line("anonymous", [0.0, 0.0, 0.0])]),
    ]
    drawing = ElementTree.fromstring(line_charts(panels, "seconds"))
    lines = drawing.findall(f"{_SVG}polyline")
    assert [line.get("points", "").count(",") for line in lines] == [3, 3, 3]
    assert len([line for line in drawing.findall(f"{_SVG}line") if line.get("stroke-dasharray")]) == 1
    texts = [text.text for text in drawing.findall(f"{_SVG}text")]
    assert {"Delay <ms>", "Memory", "p50", "p99", "anonymous", "seconds"} <= set(texts)


def test_highest_value_is_at_the_top_and_zero_at_the_bottom() -> None:
    drawing = ElementTree.fromstring(line_charts([Panel("", [0.0, 1.0], [Line("", [0.0, 5.0])])], "x"))
    points = drawing.findall(f"{_SVG}polyline")[0].get("points", "").split()
    (_, zero), (_, highest) = (map(float, point.split(",")) for point in points)
    assert zero - highest == 142
