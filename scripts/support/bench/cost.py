"""What sprof costs two CPU-bound threads: pairs of runs, bare and recorded, in turns."""
import os
import tempfile

import measure


def run(pairs, scale):
    rows = []
    for rate in (100, 1000):
        bare, recorded = [], []
        with tempfile.TemporaryDirectory(dir=measure.BUILD) as folder:
            for pair in range(pairs):
                order = (False, True) if pair % 2 == 0 else (True, False)
                for with_sprof in order:
                    seconds = once(folder, rate, scale) if with_sprof else once(None, 0, scale)
                    (recorded if with_sprof else bare).append(seconds)
                measure.note(f"{rate} Hz, pair {pair + 1} of {pairs}: bare {bare[-1]:.3f} s, "
                             f"recorded {recorded[-1]:.3f} s")
        ratios = [r / b for r, b in zip(recorded, bare)]
        rows.append([rate, f"{measure.median(bare):.3f}", f"{measure.median(recorded):.3f}",
                     f"{measure.median(ratios):.4f}", f"{measure.spread(ratios):.4f}",
                     f"{min(ratios):.3f} .. {max(ratios):.3f}"])
    print("\nWall time of two CPU-bound threads (spread: half of the middle half's range)\n")
    measure.table(["Hz", "bare s", "recorded s", "ratio (median of pairs)", "spread", "range"], rows)


def once(folder, rate, scale):
    """Seconds that the workload itself took; `folder` is where its recording goes, if any."""
    argv = [measure.built("workloads"), "cpu", "2", str(int(200000 * scale))]
    if folder:
        file = os.path.join(folder, "a.sprof")
        argv = [measure.SPROF, "record", "-r", str(rate), "-o", file, "--"] + argv
    result = measure.run(argv)
    if folder:
        os.remove(file)
    said = measure.account(result["out"])
    if result["code"] != 0 or said is None:
        raise SystemExit(f"{' '.join(argv)}: {result['err']}")
    return said["metric_s"]
