from __future__ import annotations

import io
import json

from rich.console import Console

from bench.measure import Check, Fault, Results, Sample
from bench.peers import Availability
from bench.report import as_json, bare_ms, show
from bench.stages import STAGES
from bench.summary import summarize

PEERS = {
    "framefs": Availability({"av": "18"}),
    "pyav": Availability({"av": "18"}),
    "decord": Availability(why_not="no module named [decord]"),
}


def results() -> Results:
    counts = {"reconstructed": 20, "state_only": 4}
    samples = [Sample("framefs", "a.mp4", "random", 0, k, 10.0, 9.0, counts) for k in range(2)]
    samples += [Sample("pyav", "a.mp4", "random", 0, k, 25.0, 24.0, {}) for k in range(2)]
    return Results(
        samples=samples,
        faults=[Fault("pyav", "a.mp4", 17, "12.0 dB, shows frame 18")] * 30,
        checks={"framefs": Check(exact=10), "pyav": Check(exact=8, close=1, wrong=1)},
        open_ms={"framefs": {"a.mp4": 3.0}},
        profiles={
            "random": [
                {
                    "clip": "a.mp4",
                    "batches": 2,
                    "ms": 30.0,
                    "plain_ms": 20.0,
                    "counts": {"reconstructed": 40},
                    "stages": {**dict.fromkeys(STAGES, 1.0), "decode": 24.0},
                    "top": [("<method 'decode'>", "decode", 24.0, 40)],
                }
            ]
        },
        floors={"a.mp4": {"decode": 0.4, "convert": 0.1, "copy": 0.1}},
    )


def text() -> str:
    stream = io.StringIO()
    found = results()
    console = Console(file=stream, width=120)
    show(console, found, summarize(found.samples, "framefs"), PEERS, "framefs")
    return stream.getvalue()


def test_the_tables_say_what_was_found() -> None:
    shown = text()
    rows = [[cell.strip() for cell in line.split("│")] for line in shown.splitlines()]
    assert any(row[2:3] == ["framefs"] and "20.0 + 4.0" in row for row in rows)
    assert any(row[2:3] == ["pyav"] and "2.50" in row for row in rows)
    assert any(row[1:2] == ["decode"] and row[2] == "12.00" for row in rows)
    assert any(row[1:2] == ["bare decoder, same pictures"] and row[2] == "8.00" for row in rows)
    assert "left out: no module named [decord]" in shown
    assert "pyav: a.mp4 frame 17: 12.0 dB, shows frame 18" in shown
    assert "and 10 more" in shown


def test_the_bare_decoder_is_reckoned_with_the_pictures_of_the_batches() -> None:
    assert bare_ms(results()) == {"random": 20 * 0.4}


def test_the_json_holds_everything() -> None:
    found = results()
    summary = summarize(found.samples, "framefs")
    whole = as_json(found, summary, PEERS, {"seed": "1"}, {"cpu": "x"})
    again = json.loads(json.dumps(whole, allow_nan=False))
    assert again["summary"]["mean"]["pyav"]["ratio"] == 2.5
    assert again["geometric_mean"]["pyav"] == 2.5
    assert len(again["samples"]) == 4
    assert again["faults"][0]["frame"] == 17
    assert again["peers"]["decord"]["why_not"]
    assert again["settings"] == {"seed": "1"}
