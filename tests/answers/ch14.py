SUMS = "zip(*(s for s, _ in shards))"
COUNT = "count = sum(n for _, n in shards)\n"
MEAN = "return [sum(g) / len(shards) for g in zip(*means)]"
TWICE = "sum(g * n for g, (_, n) in zip(gs, shards)) / count"
RIGHT = [[f"{COUNT}return [sum(g) / count for g in {SUMS}]"]]
MISTAKES = {
    "divides_by_nothing": [[f"means = [[g / n for g in s] for s, n in shards]\n{MEAN}"]],
    "mean_of_means": [[f"means = [[g / max(n, 1) for g in s] for s, n in shards]\n{MEAN}"]],
    "whole_numbers": [[f"{COUNT}return [sum(g) // count for g in {SUMS}]"]],
    "sum": [[f"return [sum(g) for g in {SUMS}]"]],
    "weighted_twice": [[f"{COUNT}return [{TWICE} for gs in {SUMS}]"]],
    "by_machines": [[f"return [sum(g) / len(shards) for g in {SUMS}]"]],
    "means_added": [
        [f"return [sum(g / n for g, (_, n) in zip(gs, shards) if n) for gs in {SUMS}]"]
    ],
    "one_count": [
        [f"return [sum(g) / shards[0][1] for g in {SUMS}]"],
        [f"return [sum(g) / max(n for _, n in shards) for g in {SUMS}]"],
    ],
    "first_machine": [["sums, n = shards[0]\nreturn [g / n for g in sums]"]],
    "not_a_list": [
        ["return sum(sum(s) for s, _ in shards) / sum(n for _, n in shards)"],
        ["return sum(s for s, _ in shards) / sum(n for _, n in shards)"],
    ],
    "in_a_row": [
        [f"{COUNT}sums = []\nfor s, _ in shards:\n    sums += s\nreturn [s / count for s in sums]"]
    ],
    "two_parameters": [[f"{COUNT}return [sum(s[k] for s, _ in shards) / count for k in range(2)]"]],
    "two_machines": [["(a, m), (b, n) = shards\nreturn [(x + y) / (m + n) for x, y in zip(a, b)]"]],
    "first_two": [
        [
            "a, b = shards[0], shards[1]\n"
            "return [(x + y) / (a[1] + b[1]) for x, y in zip(a[0], b[0])]"
        ]
    ],
    "otherwise": [["return [0.0 for _ in shards[0][0]]"]],
}
