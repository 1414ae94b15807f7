RIGHT = [["return (f(x + h) - f(x - h)) / (2 * h)"], ["return (f(x + h) - f(x - h)) / h / 2"]]
MISTAKES = {
    "over_h": [["return (f(x + h) - f(x - h)) / h"]],
    "precedence": [["return (f(x + h) - f(x - h)) / 2 * h"]],
    "not_divided": [["return f(x + h) - f(x - h)"]],
    "one_sided": [["return (f(x + h) - f(x)) / h"]],
    "backward": [["return (f(x) - f(x - h)) / h"]],
    "sign": [["return (f(x - h) - f(x + h)) / (2 * h)"]],
    "nothing_returned": [["result = (f(x + h) - f(x - h)) / (2 * h)"], ["pass"]],
    "brackets": [["return f(x + h) - f(x - h) / (2 * h)"]],
    "other_arguments": [
        [
            ("def slope(f, x, h=1e-6)", "def slope(f, x)"),
            "return (f(x + 1e-6) - f(x - 1e-6)) / 2e-6",
        ],
        ["return (f * (x + h) - f * (x - h)) / (2 * h)"],
    ],
    "otherwise": [["return 12.0"]],
}
