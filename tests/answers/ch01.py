RIGHT = [["return (f(x + h) - f(x - h)) / (2 * h)"], ["return (f(x + h) - f(x - h)) / h / 2"]]
MISTAKES = {
    "over_h": [["return (f(x + h) - f(x - h)) / h"]],
    "precedence": [["return (f(x + h) - f(x - h)) / 2 * h"]],
    "not_divided": [["return f(x + h) - f(x - h)"]],
    "one_sided": [["return (f(x + h) - f(x)) / h"]],
    "backward": [["return (f(x) - f(x - h)) / h"]],
    "sign": [["return (f(x - h) - f(x + h)) / (2 * h)"]],
    "nothing_returned": [["result = (f(x + h) - f(x - h)) / (2 * h)"], ["pass"]],
    "otherwise": [["return 12.0"]],
}
