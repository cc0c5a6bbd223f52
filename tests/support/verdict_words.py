"""Reads the verdicts of sweep, scaling and compare beside the figures that stand with them, and says what contradicts what."""

import re
import statistics

NUMBER = r"[\d.e+-]+"
WINS = re.compile(rf"(?:was faster than|, than) (.+?) \(({NUMBER}) s\) in (\d+) of (\d+)")


def seconds_text(time_s):
    return f"{time_s:.4g}"


def shown(text):
    """A printed number as the same number prints in another way: 0.1000 and 0.1."""
    return seconds_text(float(text))


def complaints_of_verdict(verdict, medians, rounds, is_mostly_disturbed):
    """Of one line. medians: {name: text of its median}. rounds: {name: {round: seconds}}, or None where they are not known."""
    found = []
    if match := re.search(rf"(?:best is )?(\S.*?) with ({NUMBER}) s.*?, better than (.+?) by ({NUMBER}) %", verdict):
        best, time, other = match[1], match[2], match[3]
        if time and shown(time) != medians.get(best):
            found.append(f"best with {time} s, the table has {medians.get(best)}")
        if float(medians[other]) < float(medians[best]) and "though the median" not in verdict:
            found.append(f"{best} is called better than {other}, which has the lower median")
        if "no clear winner" in verdict:
            found.append("decided and not")
        return found
    if "no clear winner" not in verdict:
        return [] if "nothing to compare" in verdict or "no grid succeeded" in verdict else [f"no verdict in {verdict!r}"]
    first = re.search(rf"no clear winner: (.+?) \(median ({NUMBER}) s\)", verdict)
    if not first:
        return ["no winner, and no median of the first"]
    pairs = [(first[1], first[2])]
    for name, time, wins, count in WINS.findall(verdict):
        pairs.append((name, time))
        if rounds:
            common = rounds[first[1]].keys() & rounds[name].keys()
            if (int(wins), int(count)) != (sum(rounds[first[1]][one] < rounds[name][one] for one in common), len(common)):
                found.append(f"{first[1]} against {name}: {wins} of {count} rounds are not those of the runs")
    found += [f"median of {name}: {time}, the table has {medians.get(name)}" for name, time in pairs if shown(time) != medians.get(name)]
    if is_mostly_disturbed and ("take --repeat" in verdict or "too noisy to decide" not in verdict):
        found.append("more rounds are suggested where most runs were disturbed")
    if not is_mostly_disturbed and "too noisy" in verdict:
        found.append("too noisy, and most runs were quiet")
    return found + ([w for w in ("ahead of", "not distinguishable") if w in verdict])


def complaints_of_sweep(text, lines):
    """lines: documents of its file, one problem with one setting of all choices but the grid."""
    attempts = {}
    for line in lines:
        if line["sweep"].get("purpose") is None:
            grid, sweep = line["configuration"]["grid"], line["sweep"]
            attempts[grid["columns"] * grid["rows"], grid["name"], sweep["sitting"], sweep["round"]] = line
    found = ["nothing was repeated"] if re.search(r"\b0 more", text) else []
    for ranks in {key[0] for key in attempts}:
        runs = {key[1:]: line for key, line in attempts.items() if key[0] == ranks}
        rounds = {}
        for (name, sitting, number), line in runs.items():
            rounds.setdefault(name, {})[sitting, number] = line["result"]["time_s"]
        medians = {name: seconds_text(statistics.median_low(times.values())) for name, times in rounds.items()}
        disturbed = sum(line["quiet"]["disturbed"] for line in runs.values())
        verdict = re.search(rf"(?m)^  P = {ranks}: (.*)$", text)[1]
        found += complaints_of_verdict(verdict, medians, rounds, 2 * disturbed > len(runs))
        row = re.search(rf"(?m)^ +{ranks} .*$", text)[0]
        cells = [shown(cell) for cell in re.findall(r"(?<= )(\d[\d.e-]*)(?=[*~o!]+[ \d]| )", row + " ")[1:]]
        found += [f"{median} of {name} is not in the table" for name, median in medians.items() if median not in cells]
        if ("best is" in verdict) != ("*" in row):
            found.append("the mark * and the verdict")
    return found


def complaints_of_scaling(text):
    """Of the text alone: its rows have the medians, and the lines "Disturbed" the numbers of runs."""
    found, medians = [], {}
    for row in re.finditer(r"(?m)^ +(\d+)  (\S+(?: \S+)*?) +(\S+) +(\d+ x \d+) +(?:(even|nonzeros|speed|-) +)?\d+x\d+ .*? (\d+\.\d{6}) ", text):
        name = ", ".join(word for word in (row[2], row[3], row[4]) if word != "-") + (f", cut {row[5]}" if row[5] not in (None, "-", "even") else "")
        medians.setdefault(row[1], {})[name] = row[6]
    rounds = int(re.search(r"medians of (\d+) round", text)[1])
    disturbed = dict.fromkeys(medians, 0)
    for line in re.finditer(r"(?m)^  Disturbed \(!\): (\d+) cores?, .*?, (\d+) of \d+ runs?, in round", text):
        disturbed[line[1]] += int(line[2])
    for cores, ways in medians.items():
        if len(ways) < 2:
            continue
        verdict = re.search(rf"(?m)^  {cores} cores?: (.*)$", text)[1]
        # The verdict has four digits of the six after the point.
        seconds = {name: shown(time) for name, time in ways.items()}
        for name, time in re.findall(rf"(?:than |winner: |best is )([^()]+?) (?:with |\((?:median )?)({NUMBER}) s", verdict):
            if abs(float(time) - float(ways[name])) <= 5.1e-4 * float(ways[name]):
                seconds[name] = shown(time)
        found += complaints_of_verdict(verdict, seconds, None, 2 * disturbed[cores] > rounds * len(ways))
    return found


def complaints_of_compare(text, document):
    """document: the same comparison as JSON."""
    found = []
    for pair in document["compared"]:
        before, after, ratio, verdict = (pair[key] for key in ("before", "after", "ratio", "text"))
        line = next(line for line in text.splitlines() if line.startswith(pair["key"] + " "))
        if not line.endswith(verdict):
            found.append(f"{line!r} has not the verdict {verdict!r}")
        if not (before and after and ratio):
            continue
        times = re.findall(NUMBER, line.removeprefix(pair["key"]))
        if [shown(times[0]), shown(before["median_s"])] != [shown(before["median_s"])] * 2:
            found.append(f"median {times[0]}")
        opposite = {"regression": after["median_s"] < before["median_s"], "faster": after["median_s"] > before["median_s"]}
        if opposite.get(pair["change"]) and "the opposite" not in verdict:
            found.append(f"{verdict} beside {before['median_s']} and {after['median_s']}")
        counts = [pair[key] for key in ("disturbed_before", "disturbed_after")]
        disturbed = sum(one["count"] for one in counts)
        if (disturbed > 0) != ("disturbed: " in verdict):
            found.append(f"{disturbed} disturbed runs: {verdict}")
        if 2 * disturbed > sum(one["of"] for one in counts) and "(take " in verdict:
            found.append(f"more rounds on a busy machine: {verdict}")
    return found
