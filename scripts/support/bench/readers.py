"""What a profile holds, for each format that a profiler of the table writes."""
import collections
import gzip
import json
import os
import re
import subprocess

import measure


class Seen:
    """The common summary: one `add` a sample."""

    def __init__(self):
        self.tracks = set()
        self.samples = self.deep_enough = self.named = 0
        self.ticks = []  # of sprof only: the time, how long threads were held, the skew, in seconds

    def add(self, pid, tid, depth, depth_min, named, count=1):
        self.tracks.add((pid, tid))
        self.samples += count
        self.deep_enough += count * (depth >= depth_min)
        self.named += count * named


NO_NAME = re.compile(r"^(0x)?[0-9a-f]+$|^\[unknown\]$|^\?\?$|^$")


def has_name(text):
    return not NO_NAME.match(text)


SAMPLE = re.compile(r'{"type":"sample",.*?"pid":(\d+),"tid":(\d+),.*?"frames":\[({[^{}]*})?')


def sprof(path, depth_min):
    """A recording of sprof, by way of its JSON lines: these can be gigabytes, so they are neither kept
    nor taken apart further than is needed."""
    seen = Seen()
    convert = [measure.SPROF, "convert", path, "--to", "jsonl", "-o", "-"]
    with subprocess.Popen(convert, stdout=subprocess.PIPE, text=True, bufsize=1 << 20) as converting:
        for line in converting.stdout:
            found = SAMPLE.match(line)
            if found:
                leaf = found[3]
                named = leaf is not None and '"missing"' not in leaf
                depth = line.count('{"name":', found.end(2))
                seen.add(found[1], found[2], depth, depth_min, named)
            elif line.startswith('{"type":"tick"'):
                record = json.loads(line)
                seen.ticks.append([record[key] / 1e9 for key in ("time_ns", "stop_ns", "skew_ns")])
    return seen


def perf_script(path, depth_min):
    """perf script -F comm,pid,tid,time,ip,sym"""
    seen, head, frames = Seen(), None, []
    header = re.compile(r"^.*?\s+(\d+)/(\d+)\s+(?:\[\d+\]\s+)?[\d.]+:")

    def end_of_sample():
        if head:
            seen.add(head[0], head[1], len(frames), depth_min, bool(frames) and has_name(frames[0]))
    with open(path, errors="replace") as lines:
        for line in lines:
            if line[0] not in " \t\n":
                end_of_sample()
                found = header.match(line)
                head, frames = (found[1], found[2]) if found else None, []
            elif line.strip():
                words = line.split(None, 1)
                frames.append(words[1].strip() if len(words) > 1 else "")
    end_of_sample()
    return seen


def load(path):
    with open(path, "rb") as file:
        zipped = file.read(2) == b"\x1f\x8b"
    with (gzip.open if zipped else open)(path, "rt", encoding="utf-8") as file:
        return json.load(file)


def speedscope(path, depth_min):
    """What py-spy writes: one list of stacks a thread."""
    profile, seen = load(path), Seen()
    names = [frame["name"] for frame in profile["shared"]["frames"]]
    for number, thread in enumerate(profile["profiles"]):
        pid = re.search(r"process\s*(\d+)", thread.get("name", ""), re.I)
        for stack in thread["samples"]:
            named = bool(stack) and has_name(names[stack[-1]])
            seen.add(pid[1] if pid else "?", number, len(stack), depth_min, named)
    return seen


def firefox(path, depth_min):
    """What samply writes: the Firefox Profiler's format, with names in a file beside it."""
    profile, seen, names = load(path), Seen(), beside(path)
    shared = profile.get("shared", {})
    for thread in profile["threads"]:
        part = {key: thread.get(key) or shared.get(key)
                for key in ("stackTable", "frameTable", "funcTable", "resourceTable")}
        strings = thread.get("stringArray") or shared.get("stringArray")
        depth = []
        for prefix in part["stackTable"]["prefix"]:
            depth.append(1 if prefix is None else depth[prefix] + 1)
        samples = thread["samples"]
        weights = samples.get("weight") or [1] * len(samples["stack"])
        for stack, weight in zip(samples["stack"], weights):
            if stack is None:
                seen.add(thread["pid"], thread["tid"], 0, depth_min, False)
                continue
            frame = part["stackTable"]["frame"][stack]
            function = part["frameTable"]["func"][frame]
            named = has_name(strings[part["funcTable"]["name"][function]])
            resource = part["funcTable"]["resource"][function]
            if not named and resource is not None and resource >= 0:
                library = profile["libs"][part["resourceTable"]["lib"][resource]]["debugName"]
                named = part["frameTable"]["address"][frame] in names[library]
            count = abs(weight) if isinstance(weight, int) else 1
            seen.add(thread["pid"], thread["tid"], depth[stack], depth_min, named, count)
    return seen


def beside(path):
    """Addresses with a name, by library."""
    names = collections.defaultdict(set)
    side = re.sub(r"(\.json)?(\.gz)?$", "", path) + ".syms.json"
    if not os.path.exists(side):
        side = re.sub(r"\.gz$", "", path) + ".syms.json"
    if os.path.exists(side):
        symbols = load(side)
        for library in symbols["data"]:
            for address, index in library["known_addresses"]:
                name = library["symbol_table"][index]["symbol"]
                if symbols["string_table"][name] != "UNKNOWN":
                    names[library["debug_name"]].add(address)
    return names
